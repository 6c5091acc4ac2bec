"""Companies without their legal forms: Apple, Apple Inc., Apple Incorporated."""

import re
import tomllib
from functools import lru_cache
from pathlib import Path

from memtoc.scoring.asked import asked_kinds
from memtoc.scoring.claims import value_range
from memtoc.scoring.rejection import turned_down
from memtoc.scoring.text import fold, read

_FORMS: dict[str, str] = tomllib.loads(
    Path(__file__).with_name("locales.toml").read_text(encoding="utf-8")
)["legal"]


def _pattern(listed: str) -> str:
    forms = {fold(form).strip() for form in listed.split(";")}
    # The longest first, so that "Co., Ltd." goes as a whole.
    return "|".join(re.escape(form) for form in sorted(forms, key=len, reverse=True) if form)


# In scripts without spaces the form stands straight beside the name.
_UNSPACED = r"[\u3040-\u9fff\uac00-\ud7af)]"
_BEHIND = re.compile(rf"(?:[\s,]{{1,3}}|(?<={_UNSPACED}))(?:{_pattern(_FORMS['behind'])})\.?$")
_BEFORE = re.compile(rf"^(?:{_pattern(_FORMS['before'])})(?:\s|(?<={_UNSPACED}))")
_MAKER = re.compile(r"\bwho (?:mak|own|manufactur|publish|produc|buil|built|develop)")
_LONGEST = 120


def same_company(answer: str, target: str, question: str) -> tuple[bool, str] | None:
    """Return whether both are one name once legal forms are left out; None if they are not.

    A person is no company: "Smith, S.A." is somebody's initials.
    """
    if len(answer) > _LONGEST or len(target) > _LONGEST:
        return None
    if asked_kinds(question) == {"person"} and not _MAKER.search(question.lower()):
        return None
    said = read(answer)
    first, last = value_range(answer, question)
    names = {_bare(said.part(first, last).shown), _bare(fold(answer))}
    wanted = _bare(read(target).part(*value_range(target, question)).shown)
    if not wanted or wanted not in names:
        return None
    down = turned_down(said, first, last, question)
    return not down, down or "same_company"


@lru_cache(maxsize=4096)
def _bare(shown: str) -> tuple[str, ...]:
    name = shown.strip(" .,;\"'«»")
    for _ in range(3):
        shorter = _BEFORE.sub("", _BEHIND.sub("", name)).strip(" ,;\"'«»")
        if shorter == name or not shorter:
            break
        name = shorter
    return read(name).words
