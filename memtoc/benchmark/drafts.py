"""What the stages hand to each other: questions on their way into a benchmark."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from memtoc.questions import ToolCall
from memtoc.scoring.text import fold, occurs


@dataclass(frozen=True)
class SourceQuestion:
    """A question as its source has it: one hop of one chain.

    What follows ``domain`` is filled if the source was authored or built before; ``tool`` is the
    source's own tool with a call made for the question, None if it has none.
    """

    chain: str
    hop: int
    text: str
    gold: str
    domain: str = ""
    name: str = ""
    kind: str = ""
    family: str = ""
    near: str | None = None
    far: str | None = None
    fold: str = ""
    source: str = ""
    aliases: tuple[str, ...] = ()
    tool: ToolCall | None = None

    @property
    def id(self) -> str:
        """Return its own name, else chain and hop: the command line keeps ``q10-1`` as text."""
        return self.name or f"q{self.chain}-{self.hop}"


@dataclass(frozen=True)
class Draft:
    """A screened question; ``dropped`` is the reason why it is left out, empty if it is kept.

    ``echo`` is the share of the gold's content words that the question repeats. The two groups are
    named by their first question's id and empty for a question that stands alone.
    """

    id: str
    chain: str
    hop: int
    domain: str
    text: str
    gold: str
    kind: str
    family: str
    dropped: str = ""
    gold_in_question: bool = False
    echo: float = 0.0
    ordinal_in_both: bool = False
    duplicate_group: str = ""
    linked_group: str = ""
    other_golds: tuple[str, ...] = ()
    occurrences: tuple[str, ...] = ()


@dataclass(frozen=True)
class WrongValues:
    """The wrong values of a question and where they come from.

    ``branch`` is how near was made: source, temporal, wikidata or authored; ``unresolved`` is the
    reason if near is None. ``alternatives`` are further valid values, ``gold_aliases`` and
    ``near_aliases`` other names. ``provenance`` keeps properties, values, query and date; ``kind``
    is the gold's kind by its item on Wikidata, empty without one.
    """

    id: str
    near: str | None
    far: str | None
    branch: str
    unresolved: str = ""
    alternatives: tuple[str, ...] = ()
    gold_aliases: tuple[str, ...] = ()
    near_aliases: tuple[str, ...] = ()
    kind: str = ""
    provenance: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Verdict:
    """A review: pass, repair (with the repaired near value) or exclude (with a reason)."""

    verdict: str
    near_repaired: str = ""
    reason: str = ""
    decided_by: str = "agreement"


def natural_key(text: str) -> tuple[tuple[int, int, str], ...]:
    """Return a sort key that puts q2-0 before q10-0: runs of digits compare as numbers."""
    runs = re.findall(r"[0-9]+|[^0-9]+", text)
    return tuple((0, int(run), run) if run.isdecimal() else (1, 0, run) for run in runs)


def normalised(text: str) -> str:
    """Return a text in lower case, its letters and digits alone, one space between words."""
    return " ".join("".join(c for c in text.lower() if c.isalnum() or c.isspace()).split())


def words_of(text: str) -> tuple[str, ...]:
    """Return lower-case words without accents and punctuation: what two spellings share."""
    return tuple(re.findall(r"\w+", fold(text).lower().replace("'", "").replace("_", " ")))


def names(text: str, value: str) -> bool:
    """Return whether ``value`` stands in ``text``, word for word: not "Paris" in "Parisian"."""
    return occurs(words_of(value), words_of(text))


def groups_of(links: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return member -> name of its connected group, the least member in natural order."""
    parent: dict[str, str] = {}

    def root(member: str) -> str:
        while parent.setdefault(member, member) != member:
            parent[member] = parent[parent[member]]
            member = parent[member]
        return member

    for first, second in links:
        low, high = sorted((root(first), root(second)), key=natural_key)
        # The least member stays the root, so that names of groups do not depend on the order of
        # links.
        parent[high] = low
    return {member: root(member) for member in list(parent)}
