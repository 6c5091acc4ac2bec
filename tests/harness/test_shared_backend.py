"""One backend for many threads."""

import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from support.engines import Capabilities

from harness.completions import Completion, Decoding, Message, Request
from harness.generation import Backend
from harness.models import ModelSpec
from harness.shared_backend import SharedBackend

MODEL = ModelSpec("m", "chat", "keep", False)


def ask(text: str) -> Request:
    return Request((Message("user", text),), Decoding("greedy", 0.0, 8))


class Echo(Capabilities):
    """An engine that answers with the prompt, and keeps how it was used."""

    name = "echo"

    def __init__(self, silent: bool = False) -> None:
        self.batches: list[list[str]] = []
        self.threads: set[int] = set()
        self.closed = 0
        self.silent = silent

    def identity(self) -> dict[str, Any]:
        return {"kind": "echo"}

    def version(self) -> str:
        return "1"

    def open(self, model: ModelSpec, checkpoint: object) -> "Echo":
        return self

    def run(
        self, requests: Sequence[Request], missing: Collection[int]
    ) -> Iterator[Mapping[int, Completion]]:
        self.threads.add(threading.get_ident())
        texts = [requests[index].messages[0].content for index in sorted(missing)]
        self.batches.append(texts)
        if "break" in texts:
            raise RuntimeError("the engine broke")
        if not self.silent:
            yield {i: Completion(requests[i].messages[0].content, "stop") for i in missing}

    def close(self) -> None:
        self.closed += 1


def shared(engine: Echo, tmp_path: Path, batch: int) -> SharedBackend:
    return SharedBackend(Backend(engine, MODEL, None), tmp_path / "cache.sqlite", batch)  # type: ignore[arg-type]


@pytest.mark.parametrize("batch", [1, 4])
def test_every_thread_gets_its_own_completion_from_one_engine_thread(tmp_path, batch):
    engine = Echo()
    texts = [f"prompt {number}" for number in range(60)]
    with shared(engine, tmp_path, batch) as backend, ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda text: backend.complete(ask(text)).text, texts))
    assert replies == texts
    assert len(engine.threads) == 1
    assert max(len(asked) for asked in engine.batches) <= batch
    assert engine.closed == 1


def test_equal_requests_are_generated_once(tmp_path):
    engine = Echo()
    with shared(engine, tmp_path, 4) as backend, ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda _: backend.complete(ask("same")).text, range(20)))
    assert replies == ["same"] * 20
    assert engine.batches == [["same"]]


def test_what_an_engine_raises_reaches_the_asker_and_the_next_request_is_served(tmp_path):
    with shared(Echo(), tmp_path, 1) as backend:
        with pytest.raises(RuntimeError, match="the engine broke"):
            backend.complete(ask("break"))
        assert backend.complete(ask("on")).text == "on"


def test_an_engine_that_gives_nothing_leaves_nobody_waiting(tmp_path):
    with (
        shared(Echo(silent=True), tmp_path, 1) as backend,
        pytest.raises((RuntimeError, KeyError)),
    ):
        backend.complete(ask("hello"))
