"""Find the dialogues that a user ends while agreeing to a change that the agent has not made yet.

    agent  I can cancel order #W1; 20.00 goes back to your card. Shall I proceed?
    user   Yes, please. ###STOP###

Simulated users do so now and then: the agent has no turn left, and the task fails through no fault
of its own. English words are looked for, in the last two messages; the rules err on the side of not
counting.
"""

import re
from collections.abc import Collection, Sequence

from factored.episode import Turn
from factored.taubench.tasks import RESPOND, Action
from factored.taubench.users import STOP

MAX_LENGTH = 4_000  # last characters of a message that are looked at

_CHANGE = (
    r"(?:cancel|return|exchang|modif|chang|updat|book|rebook|reserv|refund|add|remov|upgrad|downgrad"
    r"|send|issu|switch|replac|mov|appl|charg|process|submit|swap|giv|plac|creat|initiat|extend"
    r"|mak|complet|finali[sz]|proceed|go ahead|do (?:so|that|this|it)|continu)\w*"
)
_TO = r"(?:also |now |then |please |just |both |go ahead and |proceed (?:to|and) |help you )*"
# The agent offers to do something.
_OFFERS = re.compile(
    rf"\b(?:(?:shall|should|may|can|could) i|(?:would you like|do you want|do you wish|you(?:'d|"
    rf" would)? (?:like|want)|happy|okay|ok|need)(?: for)?(?: me)? to|i(?:'ll| will| can| could|"
    rf" am ready to| can now| am going to)) {_TO}{_CHANGE}",
    re.IGNORECASE,
)
# The agent asks whether something is as it should be: a change, or one that is made already.
_CONFIRMS = re.compile(
    r"\b(?:please|can you|could you|do you|once you|if you|you) confirm\b|\byour confirmation\b"
    r"|\byes ?(?:/|or) ?no\b|\b(?:reply|answer|respond|say|type|with|a) [\"'(]*yes\b"
    r"|\bis (?:that|this|it|everything|all this) (?:all )?(?:correct|right|okay|ok|fine)\b"
    r"|\b(?:does|do) (?:that|this|these|it)\b.{0,20}\b(?:correct|right|good|work|ok|okay)\b"
    r"|\bare you (?:sure|okay with|ok with|happy with)\b|\bdo you (?:agree|approve|consent)\b"
    r"|\bready to (?:proceed|go|continue)\b|\b(?:explicit|final) confirmation\b",
    re.IGNORECASE,
)
_IDENTITY = re.compile(
    r"\bconfirm (?:your|the|me your) (?:\w+ ){0,2}(?:name|e-?mail|id|zip|postal|birth|dob|identity"
    r"|phone|number|reason)\b",
    re.IGNORECASE,
)
_CHANGES = re.compile(rf"\b{_CHANGE}", re.IGNORECASE)
# "Is there anything else?" and its like ask for a further wish, and propose nothing.
_FURTHER = re.compile(
    r"\b(?:anything|something|what|else|any|other) (?:else|other|further|more)\b|\bfurther assist"
    r"|\bassist you (?:further|with)\b|\bin the future\b|\blater\b",
    re.IGNORECASE,
)
_AGREES = re.compile(
    r"\b(?:yes|yeah|yep|yup|sure|ok|okay|agreed|absolutely|definitely|of course|certainly"
    r"|go ahead|please do|proceed|do it|sounds (?:good|great|fine|perfect)"
    r"|that works|works for me|correct|that(?:'s| is) (?:right|fine|okay|ok|good)"
    r"|looks (?:good|right)"
    r"|i(?:'d| would) like (?:that|to proceed)|i (?:confirm|agree|accept|approve)|confirmed)\b",
    re.IGNORECASE,
)
_REFUSES = re.compile(
    r"\A\W*(?:no|nope|nah)\b"
    r"|\b(?:do not|don't|dont|not) (?:proceed|want|do|cancel|book|change|go)\b"
    r"|\bnever ?mind\b|\bchanged my mind\b|\bno,? thank|\brather not\b"
    r"|\bnot (?:now|yet|today|sure)\b"
    r"|\bi(?:'ll| will) (?:think|pass|wait|leave|keep)\b|\bhold off\b|\binstead\b|\bno need\b",
    re.IGNORECASE,
)
_TRANSFER = re.compile(r"\btransfer|\bhuman agent|\bsupervisor\b", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")


def agrees_and_stops(proposal: str, reply: str, just_changed: bool) -> bool:
    """Return whether ``reply`` agrees to the change that ``proposal`` asks about, and ends.

    With ``just_changed`` the agent has changed data since the user last spoke: then a mere "is this
    correct?" is about that change, and only an offer of a further one counts.
    """
    said = reply.replace(STOP, " ")[-MAX_LENGTH:].replace("\u2019", "'")
    if STOP not in reply or not _AGREES.search(said) or _REFUSES.search(said):
        return False
    asked = proposal[-MAX_LENGTH:].replace("\u2019", "'").replace("*", "")
    sentences = _SENTENCE.split(asked)
    # "I can transfer you to a human agent. Shall I do that?" offers no change.
    told = [
        one
        for before, one in zip(["", *sentences], sentences, strict=False)
        if not _FURTHER.search(one) and not _TRANSFER.search(f"{before} {one}")
    ]
    if any(_OFFERS.search(one) for one in told):
        return True
    if just_changed or not any(_CHANGES.search(one) for one in told):
        return False
    return any(_CONFIRMS.search(one) and not _IDENTITY.search(one) for one in told)


def ended_on_agreement(turns: Sequence[Turn], writes: Collection[str]) -> bool:
    """Return whether an episode ends so; ``writes`` names the tools that change data."""
    taken = [(turn.action, turn.observation) for turn in turns if turn.action]
    return actions_end_on_agreement(taken, writes)


def actions_end_on_agreement(taken: Sequence[tuple[Action, str]], writes: Collection[str]) -> bool:
    """Return whether a dialogue ends so, from its actions and what each was answered.

    A write that was answered with an error has changed nothing.
    """
    if not taken or taken[-1][0].name != RESPOND:
        return False
    just_changed = False
    for action, answer in reversed(taken[:-1]):
        if action.name == RESPOND:
            break
        just_changed |= action.name in writes and not answer.startswith("Error: ")
    said, reply = taken[-1]
    return agrees_and_stops(str(said.kwargs.get("content")), reply, just_changed)
