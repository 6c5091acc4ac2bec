"""What a reply says that its writer believed before: an aside, and no second answer.

"I would have said X, but the tool gives Y", "Y, not X as I thought", "my first thought was X".
"""

import re

_WHEN = (
    r"(?: (?:always|long|initially|first|originally|previously|formerly|once|earlier|at first"
    r"|at one point|wrongly|mistakenly|incorrectly|erroneously|honestly|just|really|genuinely|only"
    r"|myself|also|had|have|quite|pretty|fairly|rather|absolutely))*"
)
_FIRST = (
    r"(?:first|initial|original|earlier|previous|former|prior|old|own|immediate|gut|instinctive"
    r"|mistaken)"
)
_IDEA = (
    r"(?:thoughts?|guess(?:es)?|instincts?|answers?|beliefs?|impressions?|assumptions?|ideas?"
    r"|reactions?|feelings?|inclinations?|hunch(?:es)?|expectations?|memory|recollection|understanding"
    r"|candidate|pick|choice)"
)
# What one thought: the past alone. "I believe it is X" gives X.
_PAST = (
    r"(?:(?:would|could|might)(?:'ve| have) (?:said|guessed|thought|answered|picked"
    r"|gone (?:with|for)|expected|named|put|bet|sworn|chosen|assumed|replied|given|written)"
    r"|thought(?! (?:about|it over|it through|so\b))|believed|assumed|presumed|supposed|imagined"
    r"|guessed|figured|reckoned|leaned"
    r"|recalled|remembered|misremembered|expected"
    r"|used to (?:think|believe|say|assume)|mistook|confused|mixed (?:it|this|him|her|them) up"
    r"|(?:was|were|been|felt) (?:sure|certain|convinced|confident|positive|persuaded"
    r"|under the impression|of the opinion|thinking|leaning|inclined|tempted|going to say"
    r"|about to say|expecting|picturing|remembering)"
    r"|was (?:to|about to) (?:say|answer)"
    r"|had (?:[\w.-]+ ){1,6}?in (?:my )?(?:mind|head)|had (?:learned|learnt))"
)
# The writer's own former belief; "as I thought" confirms, and is none.
_OWN = (
    rf"(?<!\bas )(?<!\blike )(?<!\bwhat )\b(?:i|we)(?:'d|'ve)?{_WHEN} {_PAST}"
    # "I expected this" confirms.
    r"(?! (?:this|that|it|as much|so|the same)(?: (?:right|correctly|too|already))?\W*(?:$|[.,;:]))"
    r"|\b(?:i|we)'d(?: have|'ve)"
    r" (?:said|guessed|thought|answered|picked|gone|named|bet|put|sworn)\b"
    rf"|(?<!that )(?<!this )(?<!it )(?<!which )\b(?:is|was|'s|had been) what (?:i|we)(?:'d|'ve)?"
    rf"{_WHEN} {_PAST}|(?<!that )(?<!this )(?<!it )\bcame to (?:my )?mind\b"
    r"|\b(?:i|we) (?:was|were|am|'m) (?:wrong|mistaken|incorrect) (?:to (?:think|say|believe|assume"
    r"|guess)|in (?:thinking|believing|assuming)|with|about)\b"
    rf"|\b(?:my|our) {_FIRST}(?: \w+)? {_IDEA}\b|\b(?:my|our) {_IDEA} (?:was|had been|used to"
    r"|would have been|said|told me|was telling|before|until|at first)\b"
    rf"|\bwhat (?:i|we)(?:'d|'ve)?{_WHEN} {_PAST} (?:was|is)\b"
    rf"|\b(?:despite|in spite of|against) (?:my|our)(?: \w+)? {_IDEA}\b"
    r"|\bfrom memory i would have\b|\bused to be my\b"
)
FORMER = re.compile(_OWN)
NOT_AS_BELIEVED = re.compile(
    rf"\bnot\b[^.;]{{1,60}}?,? (?:as|like|what) (?:i|we)(?:'d|'ve)?{_WHEN} {_PAST}"
)
# Behind the value: "X, as I thought", "X was my guess before the lookup".
_AFTER = re.compile(
    rf"[\"'\s,)-]*(?:(?:is|was|were|had been|would have been) )?(?:"
    rf"(?:what|who|which|as|the (?:one|name|answer|person|place|man|woman)(?: that)?)"
    rf" (?:i|we)(?:'d|'ve)?{_WHEN} {_PAST}"
    rf"|(?:my|our) {_FIRST}(?: \w+)? {_IDEA}\b|(?:my|our) {_IDEA} (?:before|until|at first|but)\b"
    r"|(?:the )?first (?:thing )?(?:that )?(?:came|to come|sprang) to mind\b"
    r"|came to (?:my )?mind(?: first| at first| initially)?\b)"
)
# "I had X in mind"
_HAD = re.compile(r"\b(?:i|we) had (?:the |an? )?$")
_IN_MIND = re.compile(r" in (?:my )?(?:mind|head)\b")
# "I thought it was X, and I still do" holds on to X.
_HOLDS = re.compile(
    r"\b(?:still|stick (?:with|to|by)|stay with|stand by|keep|hold to|nonetheless|rightly"
    r"|turned out (?:to be )?(?:right|correct|true)|was right|correctly|confirm\w*|indeed"
    r"|agrees?|matches|insist|trust (?:it|that|this|my))\b"
)
# Thoughts of something else than the answer.
_OTHER_OBJECT = re.compile(
    r"\b(?:expected|thought|assumed|hoped|remembered|recalled|figured|was expecting"
    r"|was under the impression(?: that)?|believed|supposed)(?: that)? (?:the |this |your |a )?"
    r"(?:tools?|lookup|search|database|service|output|return|result|response|query)\b"
)


PRESENT = re.compile(
    r"\b(?:i|we) (?:do |still )?(?:think|believe|guess|feel|suspect|recall|remember)\b"
    r"|\bmy (?:own )?(?:memory|recollection|knowledge|guess) (?:is|says|suggests)\b"
)


def holds(text: str) -> bool:
    """Return whether a text holds on to what was believed, or says that it was right."""
    return bool(_HOLDS.search(text))


def former(text: str) -> bool:
    """Return whether a clause tells a former belief of its writer."""
    return bool(FORMER.search(text)) and not _HOLDS.search(text) and not _OTHER_OBJECT.search(text)


def believed(before: str, behind: str) -> bool:
    """Return whether the words round a value in its sentence tell that it was once believed."""
    if _HOLDS.search(before) or _HOLDS.search(behind[:60]):
        return False
    # What follows is the value, and no end of the clause.
    in_mind = _HAD.search(before) and _IN_MIND.match(behind)
    return bool(FORMER.search(before + "_") or _AFTER.match(behind) or in_mind)
