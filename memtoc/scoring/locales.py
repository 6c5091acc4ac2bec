"""Countries, languages and currencies by their names in any language, by code and by symbol.

The names come from CLDR through Babel, and from ``locales.toml``. Nothing is loaded before a
question asks for such a thing and its plain comparison failed; names are sought in English first,
then in some twenty languages, and in all of them only where those know no such name.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from memtoc.scoring.asked import asked_kinds
from memtoc.scoring.claims import value_range
from memtoc.scoring.lexicon import AREA_KINDS, COMMON, QUALIFIERS, words
from memtoc.scoring.rejection import turned_down
from memtoc.scoring.text import Text, fold, read

_TABLE: dict[str, Any] = tomllib.loads(
    Path(__file__).with_name("locales.toml").read_text(encoding="utf-8")
)
KINDS = ("country", "language", "currency")
_CLDR = {"country": "territories", "language": "languages", "currency": "currency_names"}

Codes = frozenset[str]
_NONE: Codes = frozenset()
# All but letters, figures and the vowel signs of Indic and neighbouring scripts.
_SPACING = re.compile(r"[^\w\u0900-\u109f\u1780-\u17ff]+|_")
_THE = re.compile(r"\bthe\b")
_BRACKETED = re.compile(r"^([^()]{1,80})\(([^()]{1,80})\)$")
# Names of more words than this are no names; in scripts without spaces each sign is a word.
_MOST_WORDS, _MOST_SIGNS = 7, 14
# A runaway reply is read this far for names.
_MOST_CHARS = 400
# Regional indicators: the flag of Germany is the letters D and E.
_FLAG = re.compile("[\U0001f1e6-\U0001f1ff]{2}")
_TERRITORY = re.compile(r"[A-Z]{2}")
_BESIDE = COMMON | AREA_KINDS | frozenset(("language", "currency", "federal", "official"))
# Country names elsewhere: "a Swiss town" says Switzerland in Indonesian.
_DEMONYMS = frozenset(words("demonyms_elsewhere"))
_NEGATIONS = frozenset(words("negations_elsewhere"))
_NO_COUNTRY = frozenset(("EU", "EZ", "UN", "ZZ", "XA", "XB", "QO"))


@dataclass(frozen=True)
class _Place:
    """What words ``first`` up to ``last`` of a text name; several codes for a shared symbol."""

    codes: Codes
    first: int
    last: int


def same_local_name(answer: str, target: str, question: str) -> tuple[bool, str] | None:
    """Return whether both name one country, language or currency, and by which rule.

    None where the question asks for none of them, the target names none, or the answer another.
    """
    asked = asked_kinds(question)
    answer, target = answer[:_MOST_CHARS], target[:_MOST_CHARS]
    for kind in KINDS:
        wanted = _wanted(kind, target, question) if kind in asked else _NONE
        if not wanted:
            continue
        whole = _whole(kind, answer)
        if whole & wanted:
            return True, "shared_symbol" if len(whole | wanted) > 1 else f"same_{kind}"
        if whole:
            return None
        found = _by_name(kind, answer, target, wanted, question)
        if found:
            return found
    return None


def names_another(answer: str, target: str, question: str) -> bool:
    """Return whether both are English names of two countries, languages or currencies.

    "Republic of China" and "China" share their words.
    """
    for kind in asked_kinds(question) & set(KINDS):
        one, other = (_english(kind).get(_key(text), _NONE) for text in (answer, target))
        if one and other and not one & other:
            return True
    return False


def _by_name(
    kind: str, answer: str, target: str, wanted: Codes, question: str
) -> tuple[bool, str] | None:
    """Return whether the wanted thing is named among other words, and not turned down there."""
    said, down = read(answer), ""
    own = read(target).part(*value_range(target, question)).words
    for place in _places(kind, said, answer):
        if place.codes != wanted:
            continue
        # The target's own words were looked at already, and not taken.
        if said.words[place.first : place.last] == own:
            continue
        before = _words_before(said, place.first)
        # Northern Ireland is another country than Ireland; "pas en France" turns France down.
        if (before[-1:] and before[-1] in QUALIFIERS) or _NEGATIONS & set(before):
            continue
        down = turned_down(said, place.first, place.last, question)
        if not down:
            return True, f"same_{kind}"
    return (False, down) if down else None


def _words_before(said: Text, first: int) -> tuple[str, ...]:
    """Return the two words before a word, as far as no sign stands between."""
    at = first
    while at and first - at < 2 and not said.before(at).strip(" '\""):
        at -= 1
    return said.words[at:first]


@lru_cache(maxsize=4096)
def _wanted(kind: str, target: str, question: str) -> Codes:
    """Return what a target names: as a whole, or as the one name in its value beside its kind."""
    said = read(target)
    value = said.part(*value_range(target, question))
    whole = _whole(kind, target) or _whole(kind, value.shown)
    if whole:
        return whole
    places = list(_places(kind, value, target))
    if len(places) != 1:
        return _NONE
    # "The Spanish language" and "Federal Republic of Germany", but not "Gulf of Mexico".
    rest = (*value.words[: places[0].first], *value.words[places[0].last :])
    return places[0].codes if _BESIDE.issuperset(rest) else _NONE


def _whole(kind: str, text: str) -> Codes:
    """Return what a text means if it is nothing but a name, a code or a symbol."""
    plain = text.strip(" .,;:!\"'*()")
    flag = _FLAG.fullmatch(plain)
    if kind == "country" and flag:
        return frozenset(("".join(chr(ord(sign) - 0x1F1E6 + ord("A")) for sign in plain),))
    if len(plain) > 80:
        return _NONE
    if kind == "currency" and (symbol := _symbols().get(plain.lower().replace("u.s.", "us"))):
        return symbol
    code = _by_code(kind, plain)
    if code:
        return code
    name = _named(kind, _key(plain))
    bracket = _BRACKETED.match(text.strip(" .,;:!\"'*"))
    if name or not bracket:
        return name
    # "the yen (JPY)": two names of one thing, or a name and what explains it.
    return _whole(kind, bracket[1]) or _whole(kind, bracket[2])


def _by_code(kind: str, text: str) -> Codes:
    """Return what an ISO code means, which stands alone: IN and no are words elsewhere."""
    from babel.core import get_global

    if kind == "country" and text.isupper() and 2 <= len(text) <= 3:
        if len(text) == 3:
            two = list(get_global("territory_aliases").get(text, ()))
            return frozenset(two) if len(two) == 1 else _NONE
        return frozenset((text,)) if text in _codes("country") else _NONE
    if kind == "language" and 2 <= len(text) <= 3 and (text.islower() or text.isupper()):
        code = text.lower()
        code = str(get_global("language_aliases").get(code, code))
        return frozenset((code,)) if code in _codes("language") else _NONE
    # In small letters ALL, TRY and MAD are words.
    if kind == "currency" and len(text) == 3 and text in _codes("currency"):
        return frozenset((text,))
    return _NONE


def _places(kind: str, said: Text, raw: str) -> Iterator[_Place]:
    """Yield the names in a text, the longest at each place; a name is written with a capital."""
    at = 0
    while at < min(len(said.words), 60):
        last, codes = _longest(kind, said, at, raw)
        if codes:
            yield _Place(codes, at, last)
        at = max(last, at + 1)


def _longest(kind: str, said: Text, at: int, raw: str) -> tuple[int, Codes]:
    unspaced = not said.words[at].isascii() and len(said.words[at]) == 1
    for size in range(_MOST_SIGNS if unspaced else _MOST_WORDS, 0, -1):
        last = at + size
        if last > len(said.words):
            continue
        shown = said.shown[said.starts[at] : said.ends[last - 1]]
        codes = _in_sentence(kind, shown, raw)
        # Half of a hyphenated word is no name: Guinea in Guinea-Bissau.
        if codes and said.after(last - 1) != "-" and (not at or said.before(at) != "-"):
            return last, codes
    return at, _NONE


def _in_sentence(kind: str, shown: str, raw: str) -> Codes:
    """Return what words inside a text name; a short form or code is written in capitals."""
    key = _key(shown)
    if not key:
        return _NONE
    if kind == "currency" and len(key) == 3 and key.upper() in _codes(kind):
        return frozenset((key.upper(),)) if key.upper() in raw else _NONE
    if len(key) <= 3 and key.isascii():
        spelled = r"\.?\s?".join(key.upper())
        return _named(kind, key) if re.search(rf"(?<!\w){spelled}(?!\w)", raw) else _NONE
    codes = _named(kind, key)
    if kind == "country" and (key in _english("language") or key in _DEMONYMS):
        return _NONE
    # "an island" is not Iceland (Island), nor "a turkey" Turkey; currencies are written small.
    small = kind == "country" and shown.isascii() and shown in raw
    return _NONE if small and not (raw.islower() and key in _english(kind)) else codes


def _named(kind: str, key: str) -> Codes:
    """Return the one thing that a name means, English names first; none if it means several."""
    if not key:
        return _NONE
    for names in (_english(kind), _in_first(kind)):
        if key in names:
            return names[key] if len(names[key]) == 1 else _NONE
    # Three seconds once a process: only for what has the length of a name.
    if len(key) > 40:
        return _NONE
    found = _in_all(kind).get(key, _NONE)
    return found if len(found) == 1 else _NONE


def _key(name: str) -> str:
    """Return a name without case, accents, articles and spaces."""
    return _SPACING.sub("", _THE.sub(" ", fold.__wrapped__(name)))


@lru_cache
def _symbols() -> Mapping[str, Codes]:
    return {symbol: frozenset(codes.split()) for symbol, codes in _TABLE["symbols"].items()}


@lru_cache
def _english(kind: str) -> Mapping[str, Codes]:
    names = _index(kind, ["en"])
    if kind == "currency":
        names = _bare_units(names) | names
    # Short and official names that CLDR lacks.
    for code, listed in _TABLE[kind].items():
        for name in listed.split(";"):
            names[_key(name)] = _only(code)
    return names


@lru_cache
def _in_first(kind: str) -> Mapping[str, Codes]:
    return _index(kind, _TABLE["first"].split())


@lru_cache
def _in_all(kind: str) -> Mapping[str, Codes]:
    from babel.localedata import locale_identifiers

    # Regional forms of a language (de_AT) name few things otherwise; scripts (sr_Latn) do.
    names = [name for name in locale_identifiers() if not re.search(r"_(?:[A-Z]{2}|\d{3})\b", name)]
    return _index(kind, names)


@lru_cache
def _codes(kind: str) -> Codes:
    """Return the ISO codes of a kind that CLDR has English names for."""
    return frozenset(code for code, _ in _rows(kind, "en"))


def _index(kind: str, locales: Iterable[str]) -> dict[str, Codes]:
    names: dict[str, Codes] = {}
    for locale in locales:
        for code, name in _rows(kind, locale):
            # "Myanmar (Burma)" is both; what a currency has in brackets are its years.
            forms = {name} if kind == "currency" else {name, *re.split(r"\s?[()]", name)}
            for key in map(_key, forms):
                # Equal sets are one set, since there are tens of thousands.
                names[key] = names[key] | {code} if key in names else _only(code)
    return names


@lru_cache(maxsize=4096)
def _only(code: str) -> Codes:
    return frozenset((code,))


def _rows(kind: str, locale: str) -> Iterator[tuple[str, str]]:
    from babel.localedata import load

    data = load(locale, merge_inherited=False)
    for code, name in data.get(_CLDR[kind], {}).items():
        if kind == "country" and (not _TERRITORY.fullmatch(code) or code in _NO_COUNTRY):
            continue
        # Of old currencies CLDR gives the years: "Italian Lira (1862-2002)" bears no bare name.
        if isinstance(name, str) and name != code:
            yield code, name
    if kind == "currency":
        for code, forms in data.get("currency_names_plural", {}).items():
            for form in forms.values():
                yield code, form


def _bare_units(names: Mapping[str, Codes]) -> dict[str, Codes]:
    """Return the units that one currency alone has in English: yen, baht, rand."""
    units: dict[str, Codes] = {}
    for code, name in _rows("currency", "en"):
        if not re.search(r"[\d()]", name):
            unit = _key(name.split()[-1])
            units[unit] = units.get(unit, _NONE) | {code}
    return {unit: codes for unit, codes in units.items() if len(codes) == 1 and unit not in names}
