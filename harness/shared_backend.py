"""One backend for many threads: dialogues run side by side, the model answers them in batches.

Each dialogue has a thread and asks for one completion at a time::

    with SharedBackend(backend, cache, batch=8) as shared:
        shared.complete(request)  # from any thread; waits for the answer
"""

import queue
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from harness.cache import GenerationCache
from harness.completions import Completion, Request
from harness.generation import Backend, generate

Waiting = tuple[Request, "Future[Completion]"]


@dataclass
class _Silent:
    """Takes a pass's progress and shows none: a bar of its own counts the dialogues."""

    def cached_rows(self, rows: int) -> None:
        """Show nothing."""

    def generated(self, rows: int, failed: int, tokens: int) -> None:
        """Show nothing."""


class SharedBackend:
    """Completions from one backend for any number of threads.

    A serving thread takes the requests that wait, at most ``batch`` of them, runs them as one
    batch, hands out the answers, and takes the next. With ``batch`` 1 every text is independent of
    what else happened to wait. For an engine that asks a server there are ``batch`` serving threads
    (at most as many as the engine takes requests at once), each with one request, so that a fast
    dialogue goes on while a slow one waits.
    """

    def __init__(self, backend: Backend, cache: Path, batch: int) -> None:
        """Start the threads; the engine is loaded at the first request that the cache lacks."""
        self.backend = backend
        self._cache = cache
        self._batch, threads = batch, 1
        if backend.spec.asks_server:
            self._batch, threads = 1, min(batch, backend.spec.lanes)
        self._stopped = threading.Event()
        self._waiting: queue.SimpleQueue[Waiting | None] = queue.SimpleQueue()
        self._asked: dict[str, Future[Completion]] = {}
        self._asking = threading.Lock()
        self._threads = [threading.Thread(target=self._serve, daemon=True) for _ in range(threads)]
        for thread in self._threads:
            thread.start()

    def complete(self, request: Request) -> Completion:
        """Return the completion once it is there; raise what the engine raised.

        Equal requests that wait at the same time are generated once.
        """
        with self._asking:
            future = self._asked.get(request.digest)
            if future is None or future.done():
                future = self._asked[request.digest] = Future()
                self._waiting.put((request, future))
        try:
            return future.result()
        finally:
            with self._asking:
                if self._asked.get(request.digest) is future:
                    del self._asked[request.digest]

    def stop(self) -> None:
        """Give every waiting thread a CancelledError; cut off what a server is being asked."""
        self._stopped.set()
        if self.backend.spec.asks_server:
            self.backend.close()

    def close(self) -> None:
        """Answer what still waits, end the threads, and release the memory."""
        for _ in self._threads:
            self._waiting.put(None)
        if self._stopped.is_set():
            self.stop()  # an engine that was opened just then
        for thread in self._threads:
            thread.join()
        self.backend.close()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close as `close` does."""
        self.close()

    def _serve(self) -> None:
        ended = False
        while not ended:
            group, ended = self._gather()
            if self._stopped.is_set():
                _fail(group, CancelledError())
            elif group:
                self._answer(group)

    def _gather(self) -> tuple[list[Waiting], bool]:
        """Wait for a request; return all that wait, and whether the end was among them."""
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
            # Opened here, since SQLite's connections stay with the thread that made them.
            with GenerationCache(self._cache) as cache:
                requests = [request for request, _ in group]
                generate(requests, self.backend, cache, _Silent(), hand_out)
        except BaseException as error:  # noqa: BLE001 - raised again in the threads that wait
            _fail(group, error)
        _fail(group, RuntimeError("the engine gave no completion"))


def _fail(group: Sequence[Waiting], error: BaseException) -> None:
    for _, future in group:
        if not future.done():
            future.set_exception(error)
