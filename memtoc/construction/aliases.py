"""Other names of a gold, from its item on Wikidata: what a reader knows and no rule can.

JFK is John F. Kennedy and Wien is Vienna by these alone.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from memtoc.benchmark.drafts import WrongValues, names, words_of
from memtoc.construction.checks import scored_as_one
from memtoc.construction.wikidata import Entity, Wikidata

# Countries bear hundreds of names there; those of the first languages come first.
MOST = 60


@dataclass(frozen=True)
class Aliases:
    """The other names of a gold; ``provenance`` says where they are from and what was left out."""

    kept: tuple[str, ...]
    provenance: dict[str, Any]


def aliases_of(source: Wikidata, gold: Entity, written: str, wrong: Sequence[str]) -> Aliases:
    """Return an item's labels and aliases in the languages of the settings, MOST at most.

    ``written`` is the gold as the question has it. A name that equals, contains or is scored as one
    of the ``wrong`` values is left out: with it the wrong value would count as right.
    """
    found, retrieved = source.names(gold)
    other = {words_of(name): name for name in reversed(found)}
    other.pop(words_of(written), None)
    # In the order of the languages, each spelling once; a name of signs alone says nothing.
    ordered = [name for name in found if words_of(name) and other.get(words_of(name)) == name]
    ordered = list(dict.fromkeys(ordered))
    left_out = [name for name in ordered if any(_is_wrong(name, value) for value in wrong)]
    kept = [name for name in ordered if name not in left_out]
    provenance: dict[str, Any] = {"item": gold.id, "languages": list(source.settings.languages)}
    if retrieved:
        provenance["retrieved"] = retrieved
    if left_out:
        provenance["left_out"] = left_out
    if len(kept) > MOST:
        provenance["beyond_bound"] = len(kept) - MOST
    return Aliases(tuple(kept[:MOST]), provenance)


def _is_wrong(name: str, value: str) -> bool:
    return names(name, value) or scored_as_one(name, value)


def alias_counts(wrong: Iterable[WrongValues]) -> dict[str, int]:
    """Return how many other names were found, and how many left out; none that is zero."""
    counts = Counter[str]()
    for values in wrong:
        counts["aliases"] += len(values.gold_aliases)
        counts["aliases_left_out"] += len(values.provenance.get("aliases", {}).get("left_out", ()))
    return dict(+counts)
