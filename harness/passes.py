"""One pass over rows of prompts: generate what is missing, keep every text in the run's folder."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from harness.cache import GenerationCache, cache_key
from harness.completions import Completion, Request, from_row, to_row
from harness.folders import RunFolder
from harness.generation import Backend, PassCounts, generate
from harness.progress import PassProgress


class RunFailedError(Exception):
    """Too many rows of a pass failed; what was generated is kept."""


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
) -> tuple[list[Completion], PassCounts]:
    """Completions in the order of ``rows``, and what they cost.

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
        found, counts = generate(requests, backend, cache, progress, keep)
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


def read_pass(rows: Sequence[Row], folder: RunFolder) -> list[Completion]:
    """The completions of a finished pass, in the order of ``rows``."""
    stored = {row["request"]: from_row(row) for row in folder.generations()}
    return [stored[row.request.digest] for row in rows]


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
    left = folder.generations()
    if not left:
        return
    requests = {row.request.digest: row.request for row in rows}
    semantics = backend.semantics()
    cache.put(
        (cache_key(requests[row["request"]], backend.weights, semantics), from_row(row))
        for row in left
        if row.get("request") in requests
    )
    folder.write_generations([])
