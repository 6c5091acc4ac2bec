"""Codes: ISBN, telephone and catalogue numbers, standards, models, compared by their characters.

A code is read as runs of letters and runs of figures; what stands between them (a space, a hyphen,
a stop) decides nothing. "K. 525" and "KV525" are one, "BWV 1006" and "BWV 1006a" two.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

from memtoc.scoring.claims import STEM, known_words, value_range
from memtoc.scoring.lexicon import COMMON, FUNCTION_WORDS, words
from memtoc.scoring.rejection import turned_down
from memtoc.scoring.text import Text, read

_RUN = re.compile(r"[^\W\d_]{1,40}|\d{1,40}")
# A version is read with its stops: 1.12 and 11.2 have the same figures.
_VERSION_RUN = re.compile(r"[^\W\d_]{1,40}|\d{1,40}(?:\.\d{1,40}){0,5}")
# A label inside a code ("No.") is masked, so that places in the text stay.
_MASK = "\x00"
_GAP = re.compile(rf"\.?\s?[-/_.·()]{{0,2}}\s?|[,.]?\s?{_MASK}{{1,20}}\s?")
# One of these with a run straight behind it makes a longer code: ISO 9001:2015, 747-400.
_JOINT = re.compile(r"[-/_:.]")
_LABEL = re.compile(
    r"https?://(?:dx\.)?doi\.org/|\b(?:isbn|issn|ismn|ean|doi|tel|phone|telephone|fax|zip)"
    r"(?:[- ]?1[03]\b)?(?: code| number)?"
    r"(?:\s?(?:no|nr)\.)?[:.]?(?=[\s\d+(])|(?<=[\s.])(?:no|nr|number)\.?\s(?=\d)|№|#"
)
_COMMA_IN_CODE = re.compile(r"(?<=\d),(?=\s(?:no|nr|number|№))")  # Op. 18, No. 4
_NOT_IN_CODES = re.compile(r"[,;$€£¥₹%°\"'\n]|\d(?:st|nd|rd|th)\b")
_ASKS_CODE = re.compile(
    r"\b(?:isbn|issn|phone|telephone|fax|hotline|dial\w*|zip|postal|postcode|serial number"
    r"|registration|catalogue|catalog|doi|cas number|ip address|version|release|barcode|ean|vin"
    r"|iban|identifier|code|call number|social security)\b"
)
_ASKS_VERSION = re.compile(r"\b(?:version|release|ip address)\b")
_ASKS_PHONE = re.compile(r"\b(?:phone|telephone|fax|hotline|dial\w*|call)\b")
# Before a figure these make a date, a number or a price, and no code.
_NO_PREFIX = COMMON | frozenset(words("months")) | frozenset(words("no_code_prefixes"))
_SUFFIXES = frozenset(words("code_suffixes"))
_CATALOGUES = tuple(frozenset(group.split("/")) for group in words("catalogues"))
_PHONE = re.compile(r"(?:\+|\b00)?\s?\(?\d[\d\s()./-]{5,24}\d")
# So many figures in groups are one number (an IBAN, a call number), and fewer are several: Op. 27
# No. 2 is not Op. 2 No. 72.
_JOINED_FROM = 8

Runs = tuple[str, ...]


@dataclass(frozen=True)
class _Code:
    """The runs of a code; ``strict`` if a text without it gives another value."""

    runs: Runs
    strict: bool


def same_code(said: Text, target: str, question: str) -> tuple[bool, str] | None:
    """Return whether a text gives the code that the target is, by which rule; None for no code."""
    whole = read(target)
    if "+" in whole.shown or _asks(_ASKS_PHONE, question):
        phones = _phones(whole.shown)
        if len(phones) == 1 and (phones[0][0][0] == "+" or _asks(_ASKS_PHONE, question)):
            return _same_phone(said, phones[0], question)
    # The whole text first: in "Op. 27 No. 2" the stop ends no sentence.
    code = _code_of(whole.shown, question)
    code = code or _code_of(whole.part(*value_range(target, question)).shown, question)
    if code is None:
        return None
    reason = ""
    for runs in _spellings(code.runs):
        for start, end in _places(said.shown, runs, question):
            reason = turned_down(said, *said.words_at(start, end), question)
            if not reason:
                return True, "same_code"
    if _is_number_asked(said, code.runs, question):
        return True, "same_code"
    # "IEEE 802.11" is the beginning of another standard than "IEEE 802.11a".
    given = _runs_of(said.part(*value_range(said.shown, question)).shown, question)
    begun = given != code.runs and code.runs[: len(given)] == given and len(given) > 1
    return (False, reason or "different_code") if code.strict or begun or reason else None


def _asks(pattern: re.Pattern[str], question: str) -> bool:
    return bool(pattern.search(question.lower()))


@lru_cache(maxsize=4096)
def _code_of(sought: str, question: str) -> _Code | None:
    shown = _LABEL.sub(" ", _COMMA_IN_CODE.sub("", sought)).strip(" .:()*")
    runs = _runs_of(shown, question)
    figures = sum(len(run) for run in runs if run[0].isdigit())
    if not figures or len(runs) > 12 or _NOT_IN_CODES.search(shown):
        return None
    if all(run[0].isdigit() for run in runs):
        return _Code(runs, True) if _is_figure_code(shown, runs, question) else None
    if runs[0][0].isdigit():
        # 5 km and 3D are quantities and names; a postal code may open with figures.
        return _Code(runs, True) if _asks(_ASKS_CODE, question) else None
    if runs[0] in _NO_PREFIX:
        return None
    mixed = [run for run in runs if not run[0].isdigit()]
    longest = 4 if _asks(_ASKS_CODE, question) else 3
    names = [run for run in mixed if len(run) > longest and not _is_glued(shown, run)]
    if not names:
        return _Code(runs, True)
    # A name with a number (Apollo 11): another spelling of it counts, the rest is for names.
    return _Code(runs, False) if names == mixed[:1] else None


def _is_glued(shown: str, run: str) -> bool:
    return bool(re.search(rf"\d{run}|{run}-?\d", shown))


def _is_figure_code(shown: str, runs: Runs, question: str) -> bool:
    """Return whether figures are a code: no number, no thousands in groups, no pair of years."""
    if _asks(_ASKS_CODE, question):
        return True
    if len(runs[0]) > 2 and runs[0][0] == "0" and "." not in shown:
        return True
    if len(runs) < 2 or "." in shown:
        return False
    if len(runs) > 2:
        return not all(len(run) == 3 for run in runs[1:])
    # 10-15 and 1914-1918 are spans, 555-1234 is a code.
    alike = len(runs[0]) == len(runs[1])
    return "-" in shown and len(runs[0]) + len(runs[1]) >= 7 and not alike


def _runs_of(shown: str, question: str) -> Runs:
    pattern = _VERSION_RUN if _asks(_ASKS_VERSION, question) else _RUN
    return tuple(pattern.findall(shown))


def _spellings(runs: Runs) -> list[Runs]:
    """Return the ways to write a code: K and KV for Köchel, both lengths of an ISBN."""
    same = next((group for group in _CATALOGUES if runs[0] in group), frozenset((runs[0],)))
    spelled = [(prefix, *runs[1:]) for prefix in sorted(same)]
    joined = "".join(runs)
    if len(joined) in (10, 13) and (other := _other_isbn(joined)):
        spelled.append((other,))
    return spelled


def _other_isbn(code: str) -> str:
    """Return an ISBN of 10 figures as one of 13, and the reverse; empty if it is none."""
    if not re.fullmatch(r"\d{9}[\dx]|978\d{10}", code):
        return ""
    body = code[:9] if len(code) == 10 else code[3:12]
    ten = sum((10 - at) * int(figure) for at, figure in enumerate(body))
    short = body + "0123456789x"[-ten % 11]
    thirteen = sum(int(figure) * (1, 3)[at % 2] for at, figure in enumerate(f"978{body}"))
    long = f"978{body}{-thirteen % 10}"
    # A wrong check figure makes it no ISBN, and nothing is converted.
    return {short: long, long: short}.get(code, "")


def _places(shown: str, runs: Runs, question: str) -> list[tuple[int, int]]:
    """Return where in a text the runs stand as a whole code, as characters."""
    shown = _LABEL.sub(lambda found: _MASK * len(found[0]), shown)
    pattern = _VERSION_RUN if _asks(_ASKS_VERSION, question) else _RUN
    found = list(pattern.finditer(shown))
    figures = [run for run in runs if run[0].isdigit()]
    long = sum(map(len, figures)) >= (_JOINED_FROM - (len(figures) == len(runs)))
    loose = long or (len(figures) == len(runs) and _asks(_ASKS_CODE, question))
    opening = "".join(runs)
    places = []
    for at, run in enumerate(found):
        if opening.startswith(run[0]) if loose else run[0] == runs[0]:
            last = _last_run(shown, found, at, runs, loose=loose)
            if last is not None and _is_whole(shown, found, at, last):
                places.append((run.start(), found[last].end()))
    return places


def _last_run(
    shown: str, found: list[re.Match[str]], at: int, runs: Runs, *, loose: bool
) -> int | None:
    """Return the run that ends the code which begins at run ``at``; None if another begins."""
    wanted = ["".join(runs)] if loose else list(accumulate(runs))
    read_so_far = ""
    for i in range(at, min(at + 24, len(found))):
        if i > at and not _GAP.fullmatch(shown, found[i - 1].end(), found[i].start()):
            return None
        read_so_far += found[i][0]
        if read_so_far == wanted[-1]:
            return i if loose or i - at == len(runs) - 1 else None
        fits = wanted[0].startswith(read_so_far) if loose else read_so_far == wanted[i - at]
        if not fits:
            return None
    return None


def _is_whole(shown: str, found: list[re.Match[str]], first: int, last: int) -> bool:
    """Return whether no further run belongs to the code: 747 in 747-400, BWV 1006 in BWV 1006a."""
    if first:
        before = shown[found[first - 1].end() : found[first].start()]
        figures = found[first - 1][0].isdigit() and found[first][0][0].isdigit()
        if not before or before in "-/_" or (figures and _GAP.fullmatch(before)):
            return False
    if last + 1 == len(found):
        return True
    behind, following = shown[found[last].end() : found[last + 1].start()], found[last + 1][0]
    if not behind or _JOINT.fullmatch(behind):
        return False
    if behind != " ":
        return True
    extends = following[0].isdigit() or following in _SUFFIXES
    # Kepler-22 b is a planet, Kepler-22 its star.
    short = len(following) <= 2 and following not in COMMON | FUNCTION_WORDS
    return not (extends or short)


def _is_number_asked(said: Text, runs: Runs, question: str) -> bool:
    """Return whether a bare number answers a question that asks for one, or names the catalogue."""
    group = next((group for group in _CATALOGUES if runs[0] in group), frozenset((runs[0],)))
    known = known_words(question)
    asked = any(name[:STEM] in known for name in group) or _asks(_ASKS_VERSION, question)
    given = said.part(*value_range(said.shown, question)).shown
    return asked and len(runs) > 1 and _runs_of(_LABEL.sub(" ", given), question) == runs[1:]


def _phones(shown: str) -> list[tuple[str, int, int]]:
    """Return the telephone numbers of a text: figures, with + before a country's, and place."""
    found = []
    for match in _PHONE.finditer(shown):
        written = match[0].replace("(0)", "").strip()
        abroad = written.startswith(("+", "00"))
        figures = "".join(_RUN.findall(written)).removeprefix("00" if abroad else "")
        if 5 <= len(figures) <= 15:
            found.append(("+" * abroad + figures, match.start(), match.end()))
    return found


def _same_phone(said: Text, wanted: tuple[str, int, int], question: str) -> tuple[bool, str]:
    reason = "different_code"
    for phone, start, end in _phones(said.shown):
        if _is_phone(phone, wanted[0]) or _is_phone(wanted[0], phone):
            reason = turned_down(said, *said.words_at(start, end), question)
            if not reason:
                return True, "same_code"
    return False, reason


def _is_phone(one: str, other: str) -> bool:
    """Return whether two numbers are one, the first perhaps with the country's code before it.

    +44 20 7946 0958 is 020 7946 0958 at home.
    """
    if one == other:
        return True
    home = other.removeprefix("0")
    lone = one[:1] == "+" and other[:1] != "+" and len(home) >= 7
    return lone and one.endswith(home) and 1 <= len(one) - 1 - len(home) <= 3
