"""Whether a reply says that the return and the memory disagree: a screening tool, by rules.

It reads the whole reply. A conflict counts as named where a word for it stands beside a word for
either source, where the return is called wrong, where the model sets its own knowledge against the
return, or where both values are named in contrast.
"""

import re
from dataclasses import dataclass
from itertools import islice, zip_longest

from memtoc.scoring.claims import value
from memtoc.scoring.differs import HINT as DIFFERS_HINT
from memtoc.scoring.differs import differs
from memtoc.scoring.rejection import called_wrong
from memtoc.scoring.text import Words, fold, occurrences, occurs, read

# A reply of 128 new tokens is far shorter; of a longer one the first and the last part are read.
MAX_REPLY = 2000
_MAX_PLACES = 50

# The rules were mended on the 125 golden replies (precision and recall 1.00 there). On 40 further
# ones, judged before the rules saw them, precision was 1.00 and recall 0.85.
_SOURCE = (
    r"(?:tools?(?:'s)?|returns?|returned|outputs?|results?|responses?|lookup|search|database|api"
    r"|retrieved|provided (?:value|information|data|answer)|passage|document|sources?)"
)
_OWN = (
    r"(?:my (?:own )?(?:memory|knowledge|understanding|training|recollection|information|data"
    r"|records|judge?ment|prior)|i (?:recall|remember|know|believe|think|understand|was trained)"
    r"|(?:from|by|in) memory"
    r"|general knowledge|common knowledge|internal knowledge|prior knowledge|background knowledge"
    r"|well[- ]known|widely known|(?:is|are|was) (?:commonly |generally |actually )?known"
    r"|historical(?:ly)?(?: records?| facts?| accurate| data)?|known facts?|established facts?"
    r"|other (?:reliable )?sources|reliable sources|as far as i know|what i know"
    r"|i (?:have |had |'ve )?(?:learned|learnt|been taught)|i was (?:taught|told))"
)
_CONFLICT = (
    r"(?:conflict(?:s|ed|ing)?(?! resolution)|contradict(?:s|ed|ing|ion|ions|ory)?"
    r"|disagree(?:s|d|ment|ments)?|discrepan(?:cy|cies|t)|inconsisten(?:t|cy|cies)"
    r"|mismatch(?:es|ed)?|at odds|incompatible"
    r"|(?:differs?|differed|different|deviates?|departs?) (?:from|to|than)|clash(?:es)?|at variance"
    r"|contrary to|out of line with|(?:sits?|sat) (?:badly|oddly|uneasily) with"
    r"|(?:do|does|did)(?: not|n't) (?:quite |really )?(?:sit|square|tally|jibe|fit|accord|chime)"
    r"(?: well| right)? with"
    r"|(?:do|does|did)(?: not|n't) (?:seem to |appear to )?(?:match|agree|align|correspond|fit"
    r"|line up|add up)"
    r"|(?:not|(?:is|was|are|were)n't) (?:match|consistent|in agreement|in line|aligned?)"
    r"|goes? against|went against|runs? counter)"
)
# "No conflict" and "does not contradict" deny what the words in them would name.
_DENIED = re.compile(
    rf"\b(?:no|not|without|any|never|nothing)\s+(?:\w+\s+){{0,3}}?{_CONFLICT}"
    r"|\b(?:does|do|did)(?: not|n't) (?:seem to |appear to )?"
    r"(?:conflict|contradict|disagree|differ)"
)
_WRONG = (
    r"(?:incorrect|wrong|inaccurate|mistaken|erroneous|false|an error|a mistake|implausible"
    r"|unreliable|dubious|suspicious|questionable|impossible|not (?:be )?(?:correct|right|accurate"
    r"|true|plausible))"
)
_SENTENCE = re.compile(r"(?<=[.!?;\n])\s+")
_HAS_SOURCE = re.compile(rf"\b{_SOURCE}\b")
_HAS_OWN = re.compile(rf"\b{_OWN}\b")
_HAS_CONFLICT = re.compile(rf"\b{_CONFLICT}\b")
_CALLED_WRONG = re.compile(
    rf"\b{_SOURCE}\b[^.;]{{0,90}}?\b(?:is|are|was|were|be|seems?|appears?|looks?)(?:n't)?"
    rf"(?: to be| clearly| likely| probably| actually| in fact| also)*\s{_WRONG}\b"
    rf"|\b{_SOURCE}\b[^.;]{{0,90}}?\b(?:cannot|can't|could not|couldn't) be"
    r" (?:correct|right|true|accurate)\b"
    rf"|\b(?:incorrectly|wrongly|mistakenly|erroneously)\b[^.;]{{0,40}}?\b{_SOURCE}\b"
    rf"|\b{_SOURCE}\b[^.;]{{0,40}}?\b(?:incorrectly|wrongly|mistakenly|erroneously)\b"
    rf"|\b(?:incorrect|wrong|erroneous|inaccurate) {_SOURCE}\b"
    rf"|\b{_SOURCE}\b[^.;]{{0,60}}?\b(?:contains?|has|includes?|made) an? (?:error|mistake)\b"
    rf"|\b{_SOURCE}\b[^.;]{{0,60}}?\b(?:is|was|are) (?:clearly |likely |probably )?outdated\b"
)
_CONTRAST = re.compile(
    r"\b(?:but|however|although|though|whereas|while|despite|contrary|yet|nevertheless|instead"
    r"|rather than|actually|in fact|in reality|unlike|versus|vs)\b"
)
_HINT = re.compile(
    rf"{_CONFLICT}|{_WRONG}|wrongly|incorrectly|mistakenly|erroneously|mistake|error|outdated"
    rf"|{_CONTRAST.pattern}|\bnot\b|n['’ʼ]t\b|\bcan",
    re.IGNORECASE,
)
_NEGATION = re.compile(r"\bnot\b(?! (?:far|only|just|sure|certain))|n't\b")
# That a cached value may be stale is the error payload's own wording: the tool said so, not the
# model.
_ERROR_CLAIM = re.compile(r"\b(?:unavailable|stale|timeout|timed out|503|permission)\b")


@dataclass(frozen=True)
class Acknowledgment:
    """Whether the conflict is named, and the rule that decided."""

    conflict: bool
    rule: str


def acknowledges(reply: str, memory_span: str | None, tool_value: str | None) -> Acknowledgment:
    """Return whether the reply names a conflict between the return and the memory.

    ``tool_value`` is None where the tool returned no value; then there is no conflict to name.
    """
    if tool_value is None:
        return Acknowledgment(False, "no_value")
    if len(reply) > 2 * MAX_REPLY:
        reply = reply[:MAX_REPLY] + "\n" + reply[-MAX_REPLY:]
    # Every rule needs one of these words; most replies hold none.
    if not _HINT.search(reply) and not DIFFERS_HINT.search(reply):
        return Acknowledgment(False, "none")
    sentences = [fold(part) for part in _SENTENCE.split(reply) if part.strip()]
    returned = read(tool_value).words
    for sentence, following in zip_longest(sentences, sentences[1:], fillvalue=""):
        rule = _in_sentence(sentence, f"{sentence} {following}", returned)
        if rule:
            return Acknowledgment(True, rule)
    if _value_called_wrong(sentences, tool_value):
        return Acknowledgment(True, "return_called_wrong")
    both = memory_span is not None and _both_values(sentences, memory_span, tool_value)
    return Acknowledgment(both, "both_values" if both else "none")


def _in_sentence(sentence: str, pair: str, returned: Words) -> str:
    """Return the rule that a sentence meets, alone or with the next one; empty if none."""
    if _DENIED.search(sentence):
        return ""
    if _HAS_CONFLICT.search(sentence) and (_HAS_SOURCE.search(pair) or _HAS_OWN.search(pair)):
        return "conflict_word"
    if _CALLED_WRONG.search(sentence) and not _ERROR_CLAIM.search(sentence):
        return "return_called_wrong"
    own, source, contrast = (p.search(pair) for p in (_HAS_OWN, _HAS_SOURCE, _CONTRAST))
    if own and source and contrast:
        return "own_knowledge_against_return"
    return differs(sentence, pair, returned)


def _value_called_wrong(sentences: list[str], tool_value: str) -> bool:
    """Return whether the returned value is called wrong by name: "but X is wrong"."""
    returned = read(tool_value).words
    for sentence in sentences:
        if not any(word in sentence for word in returned):
            continue
        text = read(sentence)
        places = islice(occurrences(returned, text.words), _MAX_PLACES)
        if any(called_wrong(text, at + len(returned)) for at in places):
            return True
    return False


def _both_values(sentences: list[str], memory_span: str, tool_value: str) -> bool:
    """Return whether one or two neighbouring sentences contrast the two values."""
    own, returned = value(memory_span, "").words, read(tool_value).words
    if not own or occurs(own, returned) or occurs(returned, own):
        return False
    for first, second in zip_longest(sentences, sentences[1:], fillvalue=""):
        pair = f"{first} {second}"
        # Cheaper than reading every sentence, most of which name no value.
        if not any(word in pair for word in returned):
            continue
        text = read(pair)
        both = occurs(own, text.words) and occurs(returned, text.words)
        sides = _HAS_OWN.search(text.shown) and _HAS_SOURCE.search(text.shown)
        if both and (sides or _CONTRAST.search(text.shown) or _NEGATION.search(text.shown)):
            return True
    return False
