"""Values that a span names in order to turn them down, or to say that they are missing.

Each rule reads the words around one occurrence of a value: what stands before it in its clause,
what is said of it behind, whether the clause only reports what the tool returned while another
clause gives the answer, and whether the value is given as another fact than the one asked for.
"""

import re

from memtoc.scoring.belief import PRESENT, believed, former
from memtoc.scoring.claims import asserts, value
from memtoc.scoring.clauses import clauses_of, opens_with_contrast
from memtoc.scoring.lexicon import KIN
from memtoc.scoring.text import Text, occurs

# How far a value's context reaches, in characters.
_REACH = 240

_ASIDE = re.compile(r"^\s*\([^()]{1,60}\)")

# "not sure" and the like are hedges: they turn nothing down.
_SURE = (
    r"(?!\s+(?:only|just|sure|certain|entirely|completely|absolutely|fully|100|mistaken|wrong"
    r"|confident|positive|aware)\b)"
)
_NOT = rf"(?:\b(?:not|never|cannot)|n't)\b{_SURE}"
_NEGATIVE = re.compile(_NOT)
_NEGATED_BEFORE = re.compile(
    rf"{_NOT}|\b(?:doubt(?:s|ed|ful)?|unlikely|improbable|implausible|hardly|scarcely"
    r"|disagree|dispute|reject|rule out|ruled out|dismiss|exclude|far from being"
    r"|(?:any(?:thing|one|body|where)|all) but)\b"
    r"|\b(?:nor|neither|unable to|fails? to|failed to|impossible to"
    r"|no (?:information|records?|mention|evidence|indication|data|details?|reference))\b"
    r"|\b(?:rather than|instead of|(?<!none )(?<!no )other than|opposed to|contrary to|unlike"
    r"|except|excluding"
    r"|without)\b(?:\s\S+){0,5}?\s?$"
    # In other languages straight before the value alone: nicht Rom, pas en France.
    r"|\b(?:nicht|pas|niet|nao|inte|ikke|не)\s(?!nur\b)(?:\w{1,4}\s)?$"
)
# Two negatives affirm: no doubt, not unlikely.
_AFFIRMED = re.compile(
    r"\b(?:no|not|without|beyond|never|little)(?: \w+){0,2}? (?:doubt\w*|unlikely|improbable"
    r"|dispute|reject|exclude)\b"
    r"|n't (?:doubt\w*|unlikely|dispute|disagree|reject|exclude)\b"
)
# Behind these a clause starts afresh: "I cannot call the tool, so I will answer X".
_AFRESH = re.compile(
    r",\s|\b(?:so|therefore|hence|thus|then)\b"
    r"|\band (?=(?:i|it|the|he|she|we|they|returned|gave|gives|says?|answer|only)\b)"
    r"|\bi (?=(?:will|would|can|believe|think|recall|guess|say|answer)\b)"
)
_NOT_RIGHT = (
    r"(?:incorrect|wrong|inaccurate|false|mistaken|erroneous|an error|a mistake|untrue|invalid"
    r"|an? (?:incorrect|wrong)"
    r"|(?:unlikely|improbable)(?! to be (?:wrong|incorrect))|implausible|doubtful|impossible"
    r"|out of the question|(?:ruled out|rejected|excluded|dismissed)"
    r"|not (?:correct|right|accurate|true|the (?:correct|right|answer)))"
)
_BE = (
    r"(?:is|was|are|were|seems?|appears?|looks|sounds|(?:would|must|can|has to|should|have to) be"
    r"|would have been)"
)
_HOW = (
    r"(?:\s+(?:actually|likely|probably|clearly|simply|definitely|certainly|also|to be|in fact|very"
    r"|highly|quite|rather|extremely|most))?"
)
_DENIED_AFTER = re.compile(
    rf"[\"'\s)]*(?:\w+\s+){{0,2}}?(?:{_BE}|be|has|have|had|did|does|do|could|can?|would|should)"
    rf"{_HOW}\s?(?:n't|not|never)\b{_SURE}|[\"'\s)]*cannot\b"
)
_WRONG_AFTER = re.compile(
    rf"[\"'\s)]*(?:\w+\s+){{0,4}}?(?:\W{{0,3}}(?:which|this|that|it|but this|but that|but it)"
    rf"(?:\s+\w+)?\s+)?(?:{_BE}{_HOW}\s+{_NOT_RIGHT}|makes no sense)\b"
    # Behind a stop another value may be called wrong: only what points back is read.
    rf"|[\"'\s).,;:]*(?:but\s+)?(?:which|(?:this|that|the)(?:\s+\w+){{0,3}}?|it)\s+{_BE}{_HOW}\s+"
    rf"{_NOT_RIGHT}\b"
)
# "X? No, Y" asks for X and answers Y.
_ASKED_AND_DENIED = re.compile(
    rf"[\"'\s)]*\?[\"'\s]*(?:no|nope|wrong|incorrect|unlikely|hardly"
    rf"|(?:i )?(?:would|do|did)?\s?{_NOT})"
    r"(?!\s+(?:idea|doubt|problem)|,?\s+(?:sure|certain|\d)\b)\b"
)
# The man of "the grandson of Lord Byron" is another one, unless the question asks for a relation.
_KIN_NOUN = re.compile(rf"\b(?:{'|'.join(KIN)})s?\b")
_ASKS_KIN = re.compile(
    rf"{_KIN_NOUN.pattern}|\b(?:children|marri\w+|marry|related|descend\w*|whose|famil\w+)\b"
)
_KIN_BEFORE = re.compile(rf"{_KIN_NOUN.pattern} (?:of|to) (?:the )?(?:\w+ )?$")
_NAMED_BEHIND = re.compile(r",?\s*\(?(?:namely|called|named|i\.e\.|viz)(?!\w)")
# Words by which a clause reports what the tool returned, rather than asserts it.
_REPORT = re.compile(
    r"\b(?:tool|returns?|returned|output|result|response|lookup|search|database|sources?|passage"
    r"|document|api|cached|retrieved|information provided|provided information)\b"
)
# "The tool says X, so X": a conclusion asserts what was reported.
_CONCLUDED = re.compile(r"\b(?:so|therefore|thus|hence)\b[^,.;]*$")
_CONFLICT = re.compile(r"\b(?:conflict|contradict|disagree|discrepan|inconsisten|differ|mismatch)")
_ADVERSATIVE = re.compile(r"\W*(?:but|however|yet|nevertheless)\b")
_GIVES_WAY = re.compile(
    r"\b(?:would|think|believe|guess|memory|recall|remember|thought|knowledge|believed|recollection|initially)\b"
)
_MENTION = re.compile(
    r"\b(?:mentions?|mentioned|returns?|returned|lists?|listed|refers?|states?|stated|provides?"
    r"|shows?|contains?|includes?|gives?|only|associated|related)\b"
)
_REFUSED = re.compile(
    r"\b(?:does|do|did|is|are|was|were|could|can?) ?(?:not|n't)\b.{0,60}?\b(?:provid|specif|contain"
    r"|includ|mention|answer|found|find|state|available|listed|indicate|give)|\bno information\b"
    r"|\bunable to\b|\bcannot\b"
)
# "The tool says X, but this may be outdated" gives no other value, so X is the answer.
_CAVEAT = re.compile(
    r"\bnot\b|n't\b|\bcannot\b|\bno (?:idea|clue)\b"
    r"|\b(?:may (?:be|have|also)|might|could|stale|outdated|verif\w*"
    r"|confirm\w*|accura\w*|reliab\w*|unsure|uncertain|conflict\w*|differ\w*|disagree\w*)\b"
)
_UNTIL = re.compile(r"\b(?:until|till)\b")
_DOUBTFUL = re.compile(
    r"\bnot (?:sure|certain)\b|\b(?:unsure|uncertain|verif\w*|stale|outdated|cannot|unable)\b"
)
# What reports a value, and is no value itself: "the lookup returns | Y".
_REPORTED = re.compile(rf"{_REPORT.pattern}|\b(?:gives?|gave|says?|said|turns? out|right)\b")
_BIRTH = re.compile(r"\b(?:born|birth|birthdate|birthday)\b")
_DEATH = re.compile(
    r"\b(?:die[sd]?|dying|deaths?|dead|deceased|pass(?:es|ed|ing)? away|perish(?:ed)?|killed"
    r"|executed|assassinated|murdered)\b"
)


def turned_down(said: Text, first: int, last: int, question: str) -> str:
    """Return the rule by which words ``first`` up to ``last`` are no answer; empty if they are one.

    In a question that is itself negative ("Who did not sign?") a negation behind the value turns
    nothing down.
    """
    start = said.starts[first]
    clauses = clauses_of(said.shown)
    own = next(i for i, (_, stop) in enumerate(clauses) if start < stop)
    before = said.shown[max(clauses[own][0], start - _REACH) : start]
    behind = _behind(said, last)
    rule = _around(before, behind, question)
    if rule:
        return rule
    past = believed(before, behind) or _gives_way(said, clauses, own, before)
    if past and _outlived(said, clauses, own, said.words[first:last], question):
        return "former_belief"
    # Order matters: what is said of the value itself comes before what other clauses say.
    if not _CONCLUDED.search(before) and _only_reported(
        said, clauses, own, said.words[first:last], question
    ):
        return "only_reported"
    # A text that declines to answer first only mentions what it names afterwards.
    if _REFUSED.search(said.shown, 0, clauses[own][0]) and _MENTION.search(before):
        return "only_mentioned"
    sentence = said.shown[max(0, start - _REACH) : start].rsplit(". ", 1)[-1]
    return "another_fact" if another_fact(sentence, question) else ""


def _gives_way(said: Text, clauses: tuple[tuple[int, int], ...], own: int, before: str) -> bool:
    """Return whether a belief gives way to the tool: "I think it is X, but the tool says Y"."""
    if not PRESENT.search(before) or own + 1 >= len(clauses):
        return False
    following = said.shown[slice(*clauses[own + 1])]
    return bool(_ADVERSATIVE.match(following) and _REPORT.search(following))


def _outlived(
    said: Text,
    clauses: tuple[tuple[int, int], ...],
    own: int,
    words: tuple[str, ...],
    question: str,
) -> bool:
    """Return whether another clause gives another value, which a former belief gives way to."""
    # "I had assumed X until the tool returned Y" is one clause.
    until = _UNTIL.search(said.shown, *clauses[own])
    parts = [clause for i, clause in enumerate(clauses) if i != own]
    parts += [(until.end(), clauses[own][1])] if until else []
    for clause in parts:
        text = said.shown[slice(*clause)]
        told = _REPORTED.sub(" ", text)
        if not former(text) and asserts(told, question):
            found = value(told, question).words
            if not (_DOUBTFUL.search(text) or occurs(found, words)):
                return True
    return False


def _around(before: str, behind: str, question: str) -> str:
    """Return the rule that the words before or behind a value in its clause meet; else empty."""
    opening = _AFRESH.split(before)[-1]
    if _NEGATED_BEFORE.search(opening) and _NEGATED_BEFORE.search(_AFFIRMED.sub("", opening)):
        return "negated"
    if _is_relative(before, behind, question):
        return "relative_of"
    if _WRONG_AFTER.match(behind):
        return "called_wrong"
    # "Who did not sign?" is answered by "X did not".
    denied = not _NEGATIVE.search(question.lower()) and _DENIED_AFTER.match(behind)
    return "denied" if denied or _ASKED_AND_DENIED.match(behind) else ""


def called_wrong(said: Text, last: int) -> bool:
    """Return whether the value that ends before word ``last`` is said to be wrong."""
    return bool(_WRONG_AFTER.match(_behind(said, last)))


def _behind(said: Text, last: int) -> str:
    """Return what follows a value, past a bracket: "The Prestige (film)" is "The Prestige"."""
    end = said.ends[last - 1]
    return _ASIDE.sub("", said.shown[end : end + _REACH], count=1)


def _is_relative(before: str, behind: str, question: str) -> bool:
    """Return whether a value only leads to another person, as in "the grandson of X".

    A question for a relation ("Whose grandson ...?") asks for X itself.
    """
    # The slower pattern only where one of its prepositions stands.
    if not (" of " in before or " to " in before) or not _KIN_BEFORE.search(before):
        return False
    return not _ASKS_KIN.search(question.lower()) or bool(_NAMED_BEHIND.match(behind))


def _only_reported(
    said: Text,
    clauses: tuple[tuple[int, int], ...],
    own: int,
    words: tuple[str, ...],
    question: str,
) -> bool:
    """Return whether the return alone names the value: "The tool said X, but it was Y"."""
    # Only a value that its own clause reports can be outdone by another clause.
    if not _REPORT.search(said.shown, *clauses[own]):
        return False
    opening = said.shown[max(0, clauses[own][0] - 1)]
    text = said.shown[slice(*clauses[own])]
    turned = opening == "(" or bool(_CONFLICT.search(text))
    turned |= opens_with_contrast(said.shown, clauses[own])
    adversative = bool(_ADVERSATIVE.match(text))
    for i, clause in enumerate(clauses):
        # "I would have said X, but the tool returned Y" gives way to Y.
        other = said.shown[slice(*clause)]
        if former(other) or (adversative and _GIVES_WAY.search(other)):
            continue
        contrasted = turned or (i > own and opens_with_contrast(said.shown, clause))
        if i != own and contrasted and _gives_another(other, words, question):
            return True
    return False


def _gives_another(clause: str, words: tuple[str, ...], question: str) -> bool:
    """Return whether a clause asserts a value other than ``words`` or a part of them."""
    if _CAVEAT.search(clause) or _REPORT.search(clause) or not asserts(clause, question):
        return False
    return not occurs(value(clause, question).words, words)


def another_fact(before: str, question: str) -> bool:
    """Return whether the words before a value name birth if death is asked for, or the reverse.

    The last of the two that is named counts: "died in 1801, was born in" leads to a birth.
    """
    asked = question.lower()
    for own, other in ((_BIRTH, _DEATH), (_DEATH, _BIRTH)):
        if own.search(asked) and not other.search(asked):
            return _last(other, before) > _last(own, before)
    return False


def _last(pattern: re.Pattern[str], text: str) -> int:
    return max((match.start() for match in pattern.finditer(text)), default=-1)
