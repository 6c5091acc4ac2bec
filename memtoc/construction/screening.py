"""Which sub-questions recall a fact, and what a reviewer should look at in those that do.

A sub-question that computes is dropped, with one named reason; reasons.json holds the patterns of
each reason, tried in its order. Everything else is a mark and drops nothing.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
from rapidfuzz import fuzz
from rapidfuzz.process import cdist
from scipy.sparse import csr_matrix, vstack
from scipy.sparse.csgraph import connected_components

from memtoc.benchmark.drafts import (
    Draft,
    SourceQuestion,
    groups_of,
    names,
    natural_key,
    normalised,
    words_of,
)
from memtoc.benchmark.families import asked_by
from memtoc.benchmark.kinds import kind_of

# The paper's 0.90, in the unit of rapidfuzz.
NEAR_DUPLICATE = 90.0
# In words: bounds the search for golds in a question of any length.
LONGEST_NAME = 12
MOST_SIGNS = 1_000
_STRIP = 256
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)", re.IGNORECASE)
_TOKEN = re.compile(r"[\w'’]+")
_ROMAN = frozenset(
    "x" * tens + units
    for tens in range(4)
    for units in ("", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix")
) - {""}
# Words of other languages, or a pronoun, unless they are written as capitals.
_CAPITAL_ONLY = frozenset({"i", "v", "x", "vi", "xi"})
# fmt: off
_STOP_WORDS = frozenset({
    "a", "an", "and", "at", "by", "de", "del", "der", "des", "di", "du", "el", "for", "from", "in",
    "la", "le", "of", "on", "or", "the", "to", "und", "van", "von", "with", "y",
})
# fmt: on
_QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”|«[^»]*»|\([^)]*\)")


@cache
def _reasons() -> dict[str, re.Pattern[str]]:
    path = Path(__file__).with_name("reasons.json")
    patterns: dict[str, list[str]] = json.loads(path.read_text(encoding="utf-8"))
    return {name: re.compile("|".join(parts)) for name, parts in patterns.items()}


def reasons() -> tuple[str, ...]:
    """Return the names of all reasons for which a sub-question can be dropped."""
    return ("no_gold", *_reasons(), "duplicate")


def computes(question: str) -> str:
    """Return the reason why a question computes; empty if it recalls.

    What stands in quotes or brackets is a title, and so is the subject of a template: ``Who is the
    director of The Sum of All Fears?`` recalls. A placeholder counts wherever it stands. Reads the
    first MOST_SIGNS characters.
    """
    text = " ".join(question[:MOST_SIGNS].lower().split())
    patterns = _reasons()
    # Before the templates: "Who is the father of #1?" asks for nothing, whatever its form.
    if patterns["placeholder"].search(text):
        return "placeholder"
    if asked_by(question).role is not None:
        return ""
    text = _QUOTED.sub(" ", text)
    return next((name for name, pattern in patterns.items() if pattern.search(text)), "")


def screen(questions: Iterable[SourceQuestion]) -> list[Draft]:
    """Return all questions in natural order of their ids, kept or dropped with a reason.

    Among questions alike after normalising, the lowest (chain, hop) that has a gold stands for all:
    it keeps the ids of all occurrences and the golds that differ from its own.
    """
    # ToolHop has 3,912 sub-questions, 1,948 of them different; the paper keeps 605 and, after
    # review, 575.
    ordered = sorted(questions, key=lambda question: natural_key(question.id))
    alike: dict[str, list[SourceQuestion]] = defaultdict(list)
    for question in ordered:
        alike[normalised(question.text)].append(question)
    drafts = [_draft(question, alike[normalised(question.text)]) for question in ordered]
    kept = [draft for draft in drafts if not draft.dropped]
    duplicates, linked = groups_of(near_duplicates(kept)), groups_of(links(kept))
    return [
        replace(
            draft,
            duplicate_group=duplicates.get(draft.id, ""),
            linked_group=linked.get(draft.id, ""),
        )
        for draft in drafts
    ]


def _draft(question: SourceQuestion, alike: Sequence[SourceQuestion]) -> Draft:
    # An occurrence without a gold cannot stand for one that has it.
    first = next((other for other in alike if normalised(other.gold)), alike[0])
    dropped = computes(question.text)
    if not normalised(question.gold):
        dropped = "no_gold"
    elif not dropped and question is not first:
        dropped = "duplicate"
    return Draft(
        id=question.id,
        chain=question.chain,
        hop=question.hop,
        domain=question.domain,
        text=question.text,
        gold=question.gold,
        kind=question.kind or kind_of(question.gold),
        family=question.family or asked_by(question.text).family,
        dropped=dropped,
        gold_in_question=names(question.text, question.gold),
        echo=echo(question.text, question.gold),
        ordinal_in_both=bool(ordinals(question.text)) and bool(ordinals(question.gold)),
        other_golds=_other_golds(question, alike),
        occurrences=tuple(other.id for other in alike) if question is first else (),
    )


def _other_golds(question: SourceQuestion, alike: Sequence[SourceQuestion]) -> tuple[str, ...]:
    own = words_of(question.gold)
    # Reversed, so that of two spellings of a gold the first occurrence's is kept.
    others = {words_of(other.gold): other.gold for other in reversed(alike)}
    return tuple(sorted(gold for words, gold in others.items() if words not in (own, ())))


def echo(question: str, gold: str) -> float:
    """Return the share (0 to 1) of the gold's content words that the question repeats."""
    content = [word for word in words_of(gold) if word not in _STOP_WORDS]
    asked = set(words_of(question))
    return round(sum(word in asked for word in content) / len(content), 3) if content else 0.0


def ordinals(text: str) -> set[str]:
    """Return a text's ordinals and Roman numerals in lower case; I, V, X, VI, XI if capitals."""
    return {token.lower() for token in _TOKEN.findall(text) if _is_ordinal(token)}


def _is_ordinal(token: str) -> bool:
    if token.lower() in _CAPITAL_ONLY:
        return token.isupper()
    return token.lower() in _ROMAN or _ORDINAL.fullmatch(token) is not None


def near_duplicates(drafts: Iterable[Draft]) -> Iterator[tuple[str, str]]:
    """Yield pairs of ids that connect each group of near-duplicates.

    Near-duplicates have the same gold, and texts of a similarity of at least 0.90.
    """
    by_gold: dict[tuple[str, ...], list[Draft]] = defaultdict(list)
    for draft in drafts:
        by_gold[words_of(draft.gold)].append(draft)
    for same in by_gold.values():
        if len(same) > 1:
            first: dict[int, str] = {}
            # Each member is tied to the first of its group: enough to connect it, without all
            # pairs.
            for draft, group in zip(same, _similar([d.text for d in same]), strict=True):
                if group in first:
                    yield first[group], draft.id
                first.setdefault(group, draft.id)


def _similar(texts: Sequence[str]) -> list[int]:
    """Return the number of the connected group of each text."""
    plain = [normalised(text) for text in texts]
    # In strips, so that thousands of questions with one gold need no square of memory at once.
    strips = [
        csr_matrix(
            cdist(
                plain[start : start + _STRIP],
                plain,
                scorer=fuzz.ratio,
                score_cutoff=NEAR_DUPLICATE,
                dtype=np.uint8,
            )
        )
        for start in range(0, len(plain), _STRIP)
    ]
    groups: list[int] = connected_components(vstack(strips), directed=False)[1].tolist()
    return groups


def links(drafts: Sequence[Draft]) -> Iterator[tuple[str, str]]:
    """Yield pairs of ids where the gold of the first is what the second asks about.

    The subject of a template must equal the gold; in a free question a gold of two words or more
    must stand as such. Golds that are dates, years, numbers or time zones link to nothing.
    """
    by_gold: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for draft in drafts:
        if draft.kind not in ("date", "year", "number", "timezone"):
            by_gold[words_of(draft.gold)].append(draft.id)
    for draft in drafts:
        for words in _subjects(draft.text, by_gold):
            yield from ((other, draft.id) for other in by_gold[words] if other != draft.id)


def _subjects(text: str, golds: Mapping[tuple[str, ...], object]) -> Iterator[tuple[str, ...]]:
    subject = asked_by(text).subject
    if subject is not None:
        if words_of(subject) in golds:
            yield words_of(subject)
        return
    words = words_of(text)
    for start in range(len(words)):
        for end in range(start + 2, min(start + LONGEST_NAME, len(words)) + 1):
            if words[start:end] in golds:
                yield words[start:end]
