"""One pass over rows of prompts: generate what is missing, keep every text in the run's folder."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

from harness.cache import GenerationCache
from harness.completions import Completion, Request, from_row, to_row
from harness.errors import RunFailedError, UserError
from harness.folders import RunFolder
from harness.generation import Backend, PassCounts, generate
from harness.progress import PassProgress


@dataclass(frozen=True)
class Row:
    """A row that wants a completion; ``labels`` say whose it is (question id, condition, ...)."""

    labels: Mapping[str, str]
    request: Request

    def generation(self, completion: Completion) -> dict[str, Any]:
        """The row of generations.jsonl: labels, the request's digest, text and cost."""
        return {**self.labels, "request": self.request.digest, **to_row(completion)}


def run_pass(
    title: str,
    rows: Sequence[Row],
    folder: RunFolder,
    backend: Backend,
    cache: GenerationCache,
    before: Callable[[], None],
) -> tuple[list[Completion], PassCounts]:
    """Completions in the order of ``rows``, and what they cost.

    ``before`` is called ahead of the first generation, and not where everything is there.

    Rows land in the folder's generations.jsonl as they come, and in canonical order at the end.
    What an interrupted pass left there goes back into the cache first, so that either of the
    two is enough to continue.
    """
    _restore(rows, folder, backend, cache)
    waiting = _by_request(rows)

    def keep(group: Mapping[str, Completion]) -> None:
        folder.append(
            [
                row.generation(reply)
                for digest, reply in group.items()
                for row in waiting.get(digest, ())
            ]
        )

    with PassProgress(title, len(rows)) as progress:
        requests = [row.request for row in rows]
        found, counts = generate(requests, backend, cache, progress, keep, before)
    completions = [found[row.request.digest] for row in rows]
    folder.write_generations(
        [row.generation(reply) for row, reply in zip(rows, completions, strict=True)]
    )
    return completions, counts


def check_errors(completions: Sequence[Completion], max_error_rate: float) -> None:
    """Raises RunFailedError where more than this share of the rows failed."""
    errors = [reply.error for reply in completions if reply.status == "error"]
    if len(errors) > max_error_rate * len(completions):
        raise RunFailedError(
            f"{len(errors)} of {len(completions)} rows failed (first: {errors[0]}): mend the cause"
            " and run the same command again, or raise report.max_error_rate"
        )


def read_pass(
    rows: Sequence[Row], folder: RunFolder, backend: Backend, cache: GenerationCache
) -> list[Completion]:
    """The completions of a finished pass, in the order of ``rows``.

    They go into the cache too, so that a later pass which asks the same reads the same. Raises
    UserError where the folder has lost some of them.
    """
    kept = _kept(rows, folder)
    absent = [row.labels for row in rows if row.request.digest not in kept]
    if absent:
        raise UserError(
            f"{folder.path / 'generations.jsonl'} has lost {len(absent)} of {len(rows)} rows"
            f" (first: {absent[0]}): move the folder away to generate them again"
        )
    _store(kept, rows, backend, cache)
    return [kept[row.request.digest] for row in rows]


def counts_row(counts: PassCounts, backend: Backend) -> dict[str, Any]:
    """What a manifest says of a pass."""
    return {**asdict(counts), "engine_loads": backend.loads}


def _by_request(rows: Sequence[Row]) -> dict[str, list[Row]]:
    grouped: dict[str, list[Row]] = {}
    for row in rows:
        grouped.setdefault(row.request.digest, []).append(row)
    return grouped


def _restore(
    rows: Sequence[Row], folder: RunFolder, backend: Backend, cache: GenerationCache
) -> None:
    """Puts an interrupted pass's rows into the cache, and starts the folder's file afresh."""
    _store(_kept(rows, folder), rows, backend, cache)
    folder.write_generations([])


def _kept(rows: Sequence[Row], folder: RunFolder) -> dict[str, Completion]:
    """What the folder holds for ``rows``, by request; what a kill tore is passed over."""
    wanted = {row.request.digest for row in rows}
    kept = {}
    for row in folder.generations():
        digest = str(row.get("request"))
        if digest in wanted:
            with suppress(ValueError):
                kept[digest] = from_row(row)
    return kept


def _store(
    kept: Mapping[str, Completion],
    rows: Sequence[Row],
    backend: Backend,
    cache: GenerationCache,
) -> None:
    requests = {row.request.digest: row.request for row in rows}
    keys = backend.keys([requests[digest] for digest in kept])
    cache.put(zip(keys, kept.values(), strict=True))
