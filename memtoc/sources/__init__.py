"""Where questions come from: one source a file."""

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from harness.errors import UserError
from harness.fingerprint import COSMETIC
from harness.validators import Filled, Name
from memtoc.questions import Benchmark, load_rows

NOT_BUILT = (
    "benchmark=toolhop has no wrong values yet: python build.py benchmark=toolhop, then"
    " benchmark=folder benchmark.path=built/toolhop"
)


# How many questions an arm takes that names no number; it reaches the run through its ``limit``.
DefaultLimit = Annotated[int | None, COSMETIC]


@dataclass(frozen=True)
class BuildDefaults:
    """What a build of this source does if the command line says nothing.

    ``strict``: a wrong value that breaks a rule stops the build; for a published benchmark, which
    is fixed, the build reports it. ``redraw_temporal``: dates, years and time zones that the source
    brings are drawn anew from the seed.
    """

    strict: bool
    redraw_temporal: bool


@dataclass(frozen=True)
class Publisher:
    """Where a source is fetched from, and the digest that it must have."""

    url: Filled | None
    sha256: str


@dataclass(frozen=True)
class StarterSpec:
    """The embedded questions."""

    name: Name
    source: Literal["starter"]
    limit: DefaultLimit
    build: Annotated[BuildDefaults, COSMETIC]

    def load(self) -> Benchmark:
        """Return all of them."""
        from memtoc.sources import starter

        return starter.load()


@dataclass(frozen=True)
class MemtocSpec:
    """The released mapping at ``path``, with repaired near values and without excluded rows.

    ``toolhop`` is ToolHop's file, whose tools are joined to the questions; without it each has the
    tool of its family and kind.
    """

    name: Name
    source: Literal["memtoc"]
    path: Annotated[Filled | None, COSMETIC]
    # Its tools are part of the benchmark's digest.
    toolhop: Annotated[Filled | None, COSMETIC]
    limit: DefaultLimit
    apply_repairs: bool
    drop_excluded: bool
    build: Annotated[BuildDefaults, COSMETIC]
    publisher: Annotated[Publisher, COSMETIC]

    def load(self) -> Benchmark:
        """Load the benchmark; raises UserError naming file, row and field of a wrong row."""
        from memtoc.sources import memtoc

        toolhop = Path(self.toolhop) if self.toolhop else None
        return memtoc.load(Path(self.path or ""), self.apply_repairs, self.drop_excluded, toolhop)


@dataclass(frozen=True)
class ToolhopSpec:
    """ToolHop's chains at ``path``: questions without wrong values, for a build."""

    name: Name
    source: Literal["toolhop"]
    path: Annotated[Filled | None, COSMETIC]
    limit: DefaultLimit
    build: Annotated[BuildDefaults, COSMETIC]
    publisher: Annotated[Publisher, COSMETIC]

    def load(self) -> Benchmark:
        """Raise UserError: an arm needs the benchmark that is built from them."""
        raise UserError(NOT_BUILT)


@dataclass(frozen=True)
class FolderSpec:
    """A benchmark folder of our own shape, or its questions.jsonl, at ``path``."""

    name: Name
    source: Literal["folder"]
    path: Annotated[Filled, COSMETIC]
    limit: DefaultLimit
    drop_excluded: bool
    build: Annotated[BuildDefaults, COSMETIC]

    def load(self) -> Benchmark:
        """Load the benchmark; raises UserError naming file, row and field of a wrong row."""
        path = Path(self.path)
        read = load_rows(path / "questions.jsonl" if path.is_dir() else path)
        kept = tuple(q for q in read if not (self.drop_excluded and q.review == "exclude"))
        if not kept:
            raise UserError(f"{path}: every row is excluded: set benchmark.drop_excluded=false")
        counts = {"read": len(read), "kept": len(kept), "dropped": len(read) - len(kept)}
        return Benchmark(self.name, kept, counts)


@dataclass(frozen=True)
class CsvSpec:
    """Your own questions in a csv file at ``path``."""

    name: Name
    source: Literal["csv"]
    path: Annotated[Filled, COSMETIC]
    limit: DefaultLimit
    build: Annotated[BuildDefaults, COSMETIC]

    def load(self) -> Benchmark:
        """Load the benchmark; raises UserError naming file, row and column of a wrong row."""
        from memtoc.sources import csv_source

        return csv_source.load(Path(self.path), self.name)


@dataclass(frozen=True)
class ReleasedSpec:
    """The publisher's episode files in the folder ``path``, one for each of ``formulations``."""

    name: Name
    source: Literal["released"]
    path: Annotated[Filled, COSMETIC]
    formulations: tuple[str, ...]
    limit: DefaultLimit
    build: Annotated[BuildDefaults, COSMETIC]

    def load(self) -> Benchmark:
        """Load the benchmark; raises UserError naming file, episode and field of a wrong one."""
        from memtoc.sources import released

        benchmark = released.benchmark(released.load(Path(self.path), self.formulations))
        return replace(benchmark, name=self.name)


BenchmarkSpec = Annotated[
    StarterSpec | MemtocSpec | ToolhopSpec | FolderSpec | CsvSpec | ReleasedSpec,
    Field(discriminator="source"),
]


def label_of(spec: BenchmarkSpec) -> str:
    """Return the name of a benchmark in the names of run folders.

    Of a csv or a folder without a name of its own that is the file's or the folder's: all of them
    would be called ``folder``.
    """
    if not isinstance(spec, FolderSpec | CsvSpec) or spec.name != spec.source:
        return spec.name
    path = Path(spec.path).resolve()
    own = path.parent.name if path.name == "questions.jsonl" else path.name.partition(".")[0]
    return re.sub(r"[^A-Za-z0-9_]+", "-", own).strip("-_")[:32] or spec.name
