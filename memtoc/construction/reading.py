"""Read a source's questions, whatever its shape, for the first stage."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness.errors import UserError
from harness.hashing import digest_of_file
from harness.progress import bar
from memtoc.benchmark.drafts import SourceQuestion, Verdict
from memtoc.construction.download import fetch
from memtoc.construction.stages import source_questions, source_verdicts
from memtoc.sources import (
    BenchmarkSpec,
    CsvSpec,
    MemtocSpec,
    Publisher,
    ReleasedSpec,
    ToolhopSpec,
)


@dataclass(frozen=True)
class Source:
    """Questions, counts made while reading, and the verdicts that the source brings, if any.

    ``remarks`` are lines for the person who builds.
    """

    questions: Sequence[SourceQuestion]
    notes: Mapping[str, Any]
    review: Mapping[str, Verdict] | None = None
    remarks: tuple[str, ...] = ()


def read_source(spec: BenchmarkSpec, downloads: Path) -> Source:
    """Read all rows, excluded ones too; fetch a published file that no path is given for.

    Raises UserError naming file, row and field of the first wrong row.
    """
    if isinstance(spec, MemtocSpec | ToolhopSpec):
        return _published(spec, downloads)
    if isinstance(spec, CsvSpec):
        from memtoc.sources import csv_source

        found = csv_source.gather(Path(spec.path), spec.reading)
        return Source(found.questions, found.notes, remarks=found.remarks)
    if isinstance(spec, ReleasedSpec):
        benchmark = spec.load()
        return Source(source_questions(benchmark), benchmark.notes)
    # A build marks excluded questions; it does not lose them.
    whole = replace(spec, drop_excluded=False) if spec.source == "folder" else spec
    benchmark = whole.load()
    verdicts = source_verdicts(benchmark)
    return Source(source_questions(benchmark), benchmark.notes, verdicts, benchmark.remarks)


def _published(spec: MemtocSpec | ToolhopSpec, downloads: Path) -> Source:
    from memtoc.sources import memtoc, toolhop

    path = Path(spec.path) if spec.path else _fetched(spec.name, spec.publisher, downloads)
    remarks = _remarks(path, spec.publisher)
    if isinstance(spec, ToolhopSpec):
        chains = toolhop.read(path)
        return Source(chains.questions, chains.notes, remarks=remarks)
    tools = Path(spec.toolhop) if spec.toolhop else None
    # Unrepaired: the published repairs are verdicts, an overlay that can be turned off.
    benchmark = memtoc.load(path, apply_repairs=False, drop_excluded=False, toolhop=tools)
    if not spec.drop_excluded:
        remarks += ("drop_excluded changes nothing here: a folder keeps excluded rows, marked",)
    questions = source_questions(benchmark)
    return Source(questions, benchmark.notes, memtoc.verdicts(path), remarks)


def _fetched(name: str, publisher: Publisher, downloads: Path) -> Path:
    if publisher.url is None:
        raise UserError(
            f"benchmark.path has no value and benchmark={name} no known address: set"
            " benchmark.path=FILE or benchmark.publisher.url=ADDRESS"
        )
    # The digest in the name keeps two releases of one source apart.
    target = downloads / f"{name}-{publisher.sha256[:12]}"
    with bar(f"fetching {name}", of_bytes=True) as progress:
        return fetch(publisher.url, publisher.sha256, target, progress)


def _remarks(path: Path, publisher: Publisher) -> tuple[str, ...]:
    """Return a remark for a file that differs from the published one."""
    if not path.is_file() or digest_of_file(path) == publisher.sha256:
        return ()
    return (f"{path} is not the published file (sha256 {publisher.sha256[:12]}...)",)
