"""Where questions come from: one source a file."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from memtoc.questions import Benchmark, load_rows


@dataclass(frozen=True)
class StarterSpec:
    """The embedded questions."""

    name: str
    source: Literal["starter"]
    limit: int | None

    def load(self) -> Benchmark:
        """All of them."""
        from memtoc.sources import starter

        return starter.load()


@dataclass(frozen=True)
class MemtocSpec:
    """The released mapping at ``path``, with repaired near values and without excluded rows."""

    name: str
    source: Literal["memtoc"]
    path: str
    limit: int | None
    apply_repairs: bool
    drop_excluded: bool

    def load(self) -> Benchmark:
        """Raises UserError naming file, row and field of the first wrong row."""
        from memtoc.sources import memtoc

        return memtoc.load(Path(self.path), self.apply_repairs, self.drop_excluded)


@dataclass(frozen=True)
class FolderSpec:
    """A benchmark folder of our own shape, or its questions.jsonl, at ``path``."""

    name: str
    source: Literal["folder"]
    path: str
    limit: int | None

    def load(self) -> Benchmark:
        """Raises UserError naming file, row and field of the first wrong row."""
        path = Path(self.path)
        return Benchmark(self.name, load_rows(path / "questions.jsonl" if path.is_dir() else path))


@dataclass(frozen=True)
class CsvSpec:
    """Questions of one's own in a csv file at ``path``."""

    name: str
    source: Literal["csv"]
    path: str
    limit: int | None

    def load(self) -> Benchmark:
        """Raises UserError naming file, row and column of the first wrong row."""
        from memtoc.sources import csv_source

        return csv_source.load(Path(self.path), self.name)


BenchmarkSpec = Annotated[
    StarterSpec | MemtocSpec | FolderSpec | CsvSpec, Field(discriminator="source")
]
