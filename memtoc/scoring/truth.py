"""Yes and no: "True" is "Yes" and "No, it is not" is "False" where the question asks for either."""

import re
from functools import lru_cache

from memtoc.scoring.lexicon import COMMON
from memtoc.scoring.text import Text, read

_ASKS = re.compile(
    r"(?:^|[,:.;]\s)\W*(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|may"
    r"|might|must)(?:n't)?\b(?!.{0,400}\b(?:who|what|which|when|where|how)\b)"
)
_EITHER = re.compile(r"\b(?:true (?:or|/) false|yes (?:or|/) no|true/false|yes/no|whether)\b")
_YES = r"(?:yes|yeah|yep|true|correct|right|affirmative|indeed)"
_NO = r"(?:no|nope|false|untrue|incorrect|wrong|negative)"
_BE = r"(?:is|was|are|were|would be|must be|seems|appears)"
_OPENING = (
    r"^\W*(?:(?:so|well|therefore|thus|hence|the|my|final|answer|statement|claim|sentence|it|that"
    rf"|this|i|think|believe|say|would|tool|says?|said|returned|s|{_BE}|to be)\W+){{0,8}}"
)
# A figure or a noun behind "no" makes another sentence: no information, no 5.
_NO_FOLLOWS = r"(?=\W*$|\s?[,.;:!)\"-]|\s(?:it|he|she|they|that|this|because|since)\b)"
_SAYS_YES = re.compile(rf"{_OPENING}{_YES}{_NO_FOLLOWS}")
_SAYS_NO = re.compile(rf"{_OPENING}(?:{_NO}|not (?:true|correct|right)){_NO_FOLLOWS}")
_BUT = re.compile(r"\b(?:but|however|yet)\b,?")
_NEGATED = re.compile(r"\b(?:not|never)\b|n't\b")
# "No doubt, yes."
_NO_DOUBT = re.compile(r"\b(?:no|without) (?:doubt|question)\b")


@lru_cache(maxsize=4096)
def asks_yes_or_no(question: str) -> bool:
    """Return whether a question is answered by yes or no; a choice ("or") is not."""
    shown = read(question).shown
    return bool(_EITHER.search(shown)) or (bool(_ASKS.search(shown)) and " or " not in shown)


def verdict(said: Text, question: str) -> bool | None:
    """Return True for a text that says yes, False for one that says no; None for any other.

    "The Danube is not longer than the Volga" says no to "Is the Danube longer than the Volga?".
    """
    # "The tool says no, but yes": what comes last is the answer.
    shown = _NO_DOUBT.sub(" ", said.shown)
    for part in (_BUT.split(shown)[-1], shown):
        if _SAYS_NO.search(part):
            return False
        if _SAYS_YES.search(part):
            return True
    asked, given = _content(read(question)), _content(said)
    # "He did not visit London": the pronoun stands for the question's subject.
    if given and said.words[0] in ("he", "she", "it", "they"):
        asked = asked[-len(given) :]
    if said.shown.endswith("?") or read(question).words == said.words or given != asked:
        return None
    return not _NEGATED.search(shown)


def _content(said: Text) -> list[str]:
    left = COMMON | {"true", "false", "yes", "no"}
    return [word for word in said.words if word not in left and not word.endswith("nt")]
