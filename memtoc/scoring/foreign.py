"""Refusals in other languages than English, from ``refusals.toml``.

By the same logic as in English: clause by clause, a refusal beside an answer is an answer.
"""

import re
import tomllib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from memtoc.scoring.lexicon import WORK_KINDS
from memtoc.scoring.text import fold, read

_TABLE: dict[str, dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("refusals.toml").read_text(encoding="utf-8")
)
_TOKEN_END = re.compile(r"[\s.,;:!?()\"'…،؛।。！？、，；|/-]+")
_CLAUSE_END = re.compile(r"[.!?;:,()\n،؛।。！？、，；|…]+|\s-\s")
# A clause of so many words that nothing marks as an answer is taken for an excuse.
_SHORT, _SHORT_UNSPACED = 5, 12


def _listed(table: dict[str, Any], name: str) -> frozenset[str]:
    return frozenset(fold(word.replace("_", " ")) for word in table[name].split())


_SPACED = dict[str, frozenset[str]]()
_UNSPACED = dict[str, str]()
for _name, _table in _TABLE.items():
    if _table.get("unspaced"):
        _UNSPACED[_name] = "".join(_listed(_table, "triggers"))
    else:
        for _word in _listed(_table, "triggers"):
            _SPACED[_word] = _SPACED.get(_word, frozenset()) | {_name}


@dataclass(frozen=True)
class _Language:
    refuses: re.Pattern[str]
    bare: re.Pattern[str]
    contrast: re.Pattern[str]
    guess: re.Pattern[str]
    silent: re.Pattern[str]
    opens: re.Pattern[str]
    unspaced: bool


@lru_cache
def _language(name: str) -> _Language:
    table = _TABLE[name]
    unspaced = bool(table.get("unspaced"))
    # Vowel signs of Indic scripts are no letters to Python, so that \b would split words there.
    edges = ("", "") if unspaced else (r"(?<![^\W_])", r"(?![^\W_]|[\u0900-\u0dff])")

    def anywhere(patterns: frozenset[str] | list[str]) -> re.Pattern[str]:
        return re.compile(f"{edges[0]}(?:{'|'.join(sorted(patterns))}){edges[1]}")

    return _Language(
        anywhere([fold(pattern) for pattern in table["refuses"]]),
        re.compile("|".join(fold(pattern) for pattern in table["bare"])),
        anywhere(_listed(table, "contrast")),
        anywhere(_listed(table, "guess")),
        anywhere(_listed(table, "silent")),
        anywhere(_listed(table, "opens")),
        unspaced,
    )


def declines(span: str, question: str) -> bool:
    """Return whether a span declines to answer in a language of ``refusals.toml``."""
    # Persian joins a prefix with a sign of no width.
    shown = fold(span).replace("\u200c", " ")
    return any(_declines(shown, question, _language(name)) for name in _languages(shown))


def _languages(shown: str) -> list[str]:
    """Return the languages of which the text holds a word of refusal."""
    tokens = _SPACED.keys() & set(_TOKEN_END.split(shown))
    names = {name: None for token in sorted(tokens) for name in sorted(_SPACED[token])}
    if not shown.isascii():
        for name, signs in _UNSPACED.items():
            if any(sign in shown for sign in signs):
                names[name] = None
    return list(names)


def _declines(shown: str, question: str, language: _Language) -> bool:
    refused = answered = False
    work = not WORK_KINDS.isdisjoint(read(question).words)
    for clause, contrasted in _clauses(shown, language):
        if _refuses(clause, question, language):
            # "Desconocido" and "Nadie sabe" may be the film that is asked for.
            title = work and clause == shown.strip(" .!\"'") and _may_be_title(clause, language)
            refused |= not title
        else:
            answered |= _answers(clause, question, language, contrasted=contrasted)
    return refused and not answered


def _clauses(shown: str, language: _Language) -> list[tuple[str, bool]]:
    """Return the clauses that hold a word, and whether a contrasting word opens each."""
    found = []
    for part in _CLAUSE_END.split(shown):
        rest, contrasted = part, False
        while contrast := language.contrast.search(rest):
            found.append((rest[: contrast.start()], contrasted))
            rest, contrasted = rest[contrast.end() :], True
        found.append((rest, contrasted))
    stripped = [(clause.strip(" \"'*"), contrasted) for clause, contrasted in found]
    return [(clause, contrasted) for clause, contrasted in stripped if clause]


def _refuses(clause: str, question: str, language: _Language) -> bool:
    found = language.bare.fullmatch(clause) or language.refuses.search(clause)
    return found is not None and found[0] not in fold(question)


def _may_be_title(clause: str, language: _Language) -> bool:
    return bool(language.bare.fullmatch(clause)) or bool(_NOBODY.search(clause))


_NOBODY = re.compile(
    r"\b(?:niemand|keiner|personne|nadie|nessuno|ninguem|nikt|nobody|kimse|ingen|senki|nimeni)\b"
    r"|никто|ніхто|nikdo|誰も|没人|沒人|无人|無人"
)


def _answers(clause: str, question: str, language: _Language, *, contrasted: bool) -> bool:
    """Return whether a clause without a refusal gives an answer, rather than an excuse."""
    words = read(clause).words
    asked = set(read(question).words)
    if not words or all(word in asked for word in words) or language.silent.search(clause):
        return False
    if language.guess.search(clause):
        return True
    if language.opens.match(clause):
        return False
    return contrasted or len(words) <= (_SHORT_UNSPACED if language.unspaced else _SHORT)
