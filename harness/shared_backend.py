"""One backend for many threads: dialogues run side by side, the model answers what has gathered."""

import queue
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from harness.cache import GenerationCache
from harness.completions import Completion, Request
from harness.generation import Backend, generate

Waiting = tuple[Request, "Future[Completion]"]


@dataclass
class _Silent:
    """Takes a pass's progress; a dialogue's requests are shown as dialogues."""

    def cached_rows(self, rows: int) -> None:
        """Not shown."""

    def generated(self, rows: int, failed: int, tokens: int) -> None:
        """Not shown."""


class SharedBackend:
    """Completions from one backend for any number of threads.

    A thread of its own owns engine and cache (neither may change threads). It takes what waits,
    at most ``batch`` requests, runs that, and goes on; with ``batch`` 1 no text depends on what
    else happened to wait.
    """

    def __init__(self, backend: Backend, cache: Path, batch: int) -> None:
        """Starts the thread; the engine is loaded at the first request that the cache lacks."""
        self.backend = backend
        self._cache = cache
        self._batch = batch
        self._waiting: queue.SimpleQueue[Waiting | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def complete(self, request: Request) -> Completion:
        """The completion, once it is there; raises what the engine raised."""
        future: Future[Completion] = Future()
        self._waiting.put((request, future))
        return future.result()

    def close(self) -> None:
        """Ends the thread after what waits is answered, and gives the memory back."""
        self._waiting.put(None)
        self._thread.join()

    def __enter__(self) -> Self:
        """The backend itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Closes."""
        self.close()

    def _serve(self) -> None:
        ended = False
        while not ended:
            group, ended = self._gather()
            if group:
                self._answer(group)
        self.backend.close()

    def _gather(self) -> tuple[list[Waiting], bool]:
        """What waits, at least one; and whether the end stood among it."""
        group: list[Waiting] = []
        while len(group) < self._batch:
            try:
                item = self._waiting.get(block=not group)
            except queue.Empty:
                break
            if item is None:
                return group, True
            group.append(item)
        return group, False

    def _answer(self, group: Sequence[Waiting]) -> None:
        def hand_out(found: Mapping[str, Completion]) -> None:
            for request, future in group:
                if request.digest in found and not future.done():
                    future.set_result(found[request.digest])

        try:
            with GenerationCache(self._cache) as cache:
                requests = [request for request, _ in group]
                generate(requests, self.backend, cache, _Silent(), hand_out)
        except BaseException as error:  # noqa: BLE001 - whoever waits gets it, whatever it is
            _fail(group, error)
        _fail(group, RuntimeError("the engine gave no completion"))


def _fail(group: Sequence[Waiting], error: BaseException) -> None:
    for _, future in group:
        if not future.done():
            future.set_exception(error)
