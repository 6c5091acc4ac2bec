"""One pass over rows of prompts: generate what is missing, keep every text in the run's folder.

A pass survives a kill: generations.jsonl and the cache each hold what arrived, and either of the
two is enough to continue.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from harness.cache import GenerationCache
from harness.completions import Completion, Request, from_row, to_row
from harness.errors import RunFailedError, UserError
from harness.folders import RunFolder
from harness.generation import Backend, PassCounts, generate
from harness.progress import PassProgress


@dataclass(frozen=True)
class Row:
    """A row that needs a completion; ``labels`` tell its origin (question id, condition, ...)."""

    labels: Mapping[str, str]
    request: Request

    def generation(self, completion: Completion) -> dict[str, Any]:
        """Return the row of generations.jsonl: labels, the request's digest, text and cost."""
        return {**self.labels, "request": self.request.digest, **to_row(completion)}


def run_pass(
    title: str,
    rows: Sequence[Row],
    folder: RunFolder,
    backend: Backend,
    cache: GenerationCache,
    before: Callable[[], None],
) -> tuple[list[Completion], PassCounts]:
    """Return completions in the order of ``rows``, and what they cost.

    First puts what an interrupted pass left in the folder into the cache, then reads or generates
    every completion. Rows are appended to generations.jsonl as they come, and at the end written in
    the order of ``rows``. ``before`` runs once, ahead of the first generation; if the cache holds
    everything it does not run.
    """
    _store(_kept(rows, folder), rows, backend, cache)
    folder.write_generations([])
    waiting: dict[str, list[Row]] = {}
    for row in rows:
        waiting.setdefault(row.request.digest, []).append(row)

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
    """Raise RunFailedError if more than this share (0 to 1) of the rows failed."""
    errors = [reply.error for reply in completions if reply.status == "error"]
    if len(errors) > max_error_rate * len(completions):
        raise RunFailedError(
            f"{len(errors)} of {len(completions)} rows failed (first: {errors[0]}): mend the cause"
            " and run the same command again, or raise report.max_error_rate"
        )


def check_empties(completions: Sequence[Completion], max_empty_rate: float) -> None:
    """Raise RunFailedError if more than this share (0 to 1) of the rows have no text.

    Nothing, spaces and line ends are no text; of other control characters a model wrote something.
    """
    blank = [reply for reply in completions if not reply.text.strip(" \n")]
    empties = [reply for reply in blank if reply.status == "empty"]
    if len(empties) > max_empty_rate * len(completions):
        where = next((f" (text stands in {r.text_in})" for r in empties if r.text_in), "")
        raise RunFailedError(
            f"{len(empties)} of {len(completions)} rows are empty{where}: mend the server or the"
            " prompt and run the same command again, or raise report.max_empty_rate"
        )


def read_pass(
    rows: Sequence[Row], folder: RunFolder, backend: Backend, cache: GenerationCache
) -> list[Completion]:
    """Return the completions of a finished pass, in the order of ``rows``, and cache them.

    A later pass that asks the same then reads the same texts. Raises UserError if the folder has
    lost some of them.
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
    """Return what a manifest says of a pass."""
    return {**counts.as_row(), "engine_loads": backend.loads}


def _kept(rows: Sequence[Row], folder: RunFolder) -> dict[str, Completion]:
    """Return the folder's completions for ``rows``, by request digest, without torn rows."""
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
