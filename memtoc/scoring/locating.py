"""Places that a reply names only to say where another place is.

"A town in Armenia, near the border of Azerbaijan" answers Armenia; "Vienna, Austria" answers
Vienna where a city is asked for and both are candidates.
"""

import re
from collections.abc import Sequence

from memtoc.scoring.asked import asked_kinds
from memtoc.scoring.claims import value
from memtoc.scoring.lexicon import COMMON, COPULAS, words
from memtoc.scoring.text import Text, read

_REACH = 120
_SIDE = r"(?:north|south|east|west)(?:[- ]?(?:east|west))?(?:ern)?(?:wards?)?"
_BORDER = r"(?:borders?|frontier|boundary|edge|shores?|banks?)"
# Say that a place is beside the one named behind them.
_BESIDE = (
    r"(?:near(?:by|est)?(?: to)?|close (?:to|by)|next to|adjacent to|adjoining|beside|alongside"
    # "Hosted by Spain" names who did it.
    r"|(?:(?<!ed )|(?<=located )|(?<=situated ))by"
    r"|not far from|a short \w+ from|outside(?: of)?|in the vicinity of|within reach of"
    r"|in the shadow of|on the (?:outskirts|fringes?) of)"
)
# Say that it is another one.
_APART = (
    rf"(?:{_SIDE} of|{_BORDER} (?:with|of|to|from|between|shared with)"
    r"|(?:bordered|flanked|surrounded|enclosed) by|bordering(?: on)?|borders(?: on)?|abut(?:s|ting)"
    r"|neighbou?ring \w+ (?:is|are)|(?:neighbou?ring|neighbou?rs?)(?: of| to| with)?"
    r"|(?:up|down)(?:stream|river) (?:of|from)"
    r"|(?<!connection )(?<!link )(?<!relation )(?<!relationship )between|opposite|facing"
    r"|overlook(?:s|ing)|faces"
    r"|across(?: \w+){0,4} from|(?:\w+ )?(?:km|kilomet(?:er|re)s|miles|mi|hours?|minutes?)"
    r"(?: \w+){0,2}? (?:from|of)|away from|far from|(?:on|along) the (?:road|way|route) to"
    r"|en route to|toward(?:s)?|separated from|not to be confused with|but not|as opposed to)"
)
# What may stand between such a phrase and the place: more places of a list, a kind, an article;
# a preposition, a verb or a stop begins another statement.
_GAP = (
    r"(?:(?!\b(?:in|at|within|inside|is|are|was|were|lies|lie|it|this|that|which|so|but)\b)"
    r"[^.;:()]){0,80}?"
)
_APART_BEFORE = re.compile(rf"\b{_APART}\s(?P<gap>{_GAP})$")
_BESIDE_BEFORE = re.compile(rf"\b{_BESIDE}\s(?P<gap>{_GAP})$")
_APART_BEHIND = re.compile(
    rf"[\"'\s]*(?:(?:is|lies|being|lying|sits)\s)?(?:just |immediately |directly )?(?:to|on|in)"
    rf" (?:the|its) (?:far )?(?:{_SIDE}|(?:other|opposite|far) (?:side|bank|shore|end))\b"
    rf"|[\"'\s]*(?:is|lies) (?:nearby|next door)"
    rf"|[\"'\s]*{_BORDER}\b"
)
# A question that asks by a relation is answered by one.
_ASKS_RELATION = re.compile(
    rf"\b(?:{_APART}|{_BESIDE}|{_BORDER}|shares?|closest|neighbou?r\w*|adjacent|adjoin\w*|flank\w*"
    r"|abut\w*)\b"
)
_NATURAL = frozenset(words("asked_natural"))
_WIDE = frozenset(("country", "state", "region", "continent", "nationality"))


def only_locates(
    said: Text, first: int, last: int, question: str, rivals: Sequence[str] = ()
) -> str:
    """Return ``only_locates`` where words ``first`` up to ``last`` only locate another place."""
    asked = asked_kinds(question)
    if "place" not in asked or _asks_relation(question):
        return ""
    start, end = said.starts[first], said.ends[last - 1]
    before = re.split(r"[.;:()\n](?:\s|$)", said.shown[max(0, start - _REACH) : start])[-1]
    behind = said.shown[end : end + _REACH]
    if asked & _NATURAL:
        # "It lies by Lake Geneva" answers "On which lake ...?".
        inside = _contains_rival(said, first, last, asked, rivals)
        return "only_locates" if inside else ""
    apart = _located(_APART_BEFORE, before, behind) or bool(_APART_BEHIND.match(behind))
    if not apart and _located(_BESIDE_BEFORE, before, behind):
        # "Near Salisbury" is the answer where nothing else is and no town is asked for.
        apart = bool(asked - {"place"}) or _names_another(said, first, question)
    if apart or _contains_rival(said, first, last, asked, rivals):
        return "only_locates"
    return ""


def _asks_relation(question: str) -> bool:
    shown = read(question).shown
    return any(match.group() not in ("by",) for match in _ASKS_RELATION.finditer(shown))


def _located(pattern: re.Pattern[str], before: str, behind: str) -> bool:
    """Return whether a locating phrase before a place reaches it.

    Behind a comma it does in a list alone: "bordered by Ghana, Benin and Togo".
    """
    found = pattern.search(before)
    if not found:
        return False
    gap = found["gap"]
    listed = bool(re.search(r"\b(?:and|or) $", gap) or re.match(r",? (?:and|or)\b|, \w+", behind))
    return "," not in gap or (listed and "and" in gap + behind[:60])


def _names_another(said: Text, first: int, question: str) -> bool:
    """Return whether a word before a place is neither the question's nor a common one."""
    asked = frozenset(read(question).words)
    return any(
        word not in COMMON and word not in asked and not word.isdigit() and len(word) > 3
        for word in said.words[: max(0, first - 1)]
    )


def _contains_rival(
    said: Text, first: int, last: int, asked: frozenset[str], rivals: Sequence[str]
) -> bool:
    """Return whether a smaller candidate stands straight before, as in "Vienna, Austria"."""
    if not asked - {"place"} or asked & _WIDE:
        return False
    at = first - 1 if first and said.words[first - 1] in ("in", "within", "inside") else first
    joined = said.before(at).strip() in (",", "(") or at < first
    # "..., Bilbao is the port" begins another statement.
    if not joined or not COPULAS.isdisjoint(said.words[last : last + 1]):
        return False
    for rival in rivals:
        inner = value(rival, "").words
        begins = max(0, at - len(inner))
        if inner and said.words[begins:at] == inner:
            # "Opposite Windsor, in Eton": that candidate itself only locates.
            ahead = said.shown[max(0, said.starts[begins] - _REACH) : said.starts[begins]]
            return not (_APART_BEFORE.search(ahead) or _BESIDE_BEFORE.search(ahead))
    return False
