from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import pytest
from support.engines import Capabilities

from harness.cache import GenerationCache
from harness.completions import Completion, Decoding, Message, Request, failed
from harness.engines.mock import MockSpec, Rule
from harness.errors import RunFailedError, UserError
from harness.folders import RunFolder
from harness.generation import Backend, PassCounts, generate, loaded, release
from harness.models import ModelSpec
from harness.passes import Row, check_errors, read_pass, run_pass
from harness.progress import PassProgress

MODEL = ModelSpec("m", "chat", "keep", False)
GREEDY = Decoding("greedy", 0.0, 16)


def ask(text: str) -> Request:
    return Request((Message("user", text),), GREEDY)


def rows(*texts: str) -> list[Row]:
    return [Row({"id": f"q{at}"}, ask(text)) for at, text in enumerate(texts)]


@dataclass
class Stumbling(Capabilities):
    """An engine of groups of two that dies after so many of them; it notes what it is asked."""

    groups: int
    asked: list[str] = field(default_factory=list)
    plans: list[int] = field(default_factory=list)

    name: ClassVar[str] = "stumbling"

    def identity(self) -> dict[str, Any]:
        return {"kind": self.name}

    def version(self) -> str:
        return "1"

    def open(self, model: ModelSpec, checkpoint: None) -> "Stumbling":
        return self

    def run(
        self, requests: Sequence[Request], missing: Collection[int]
    ) -> Iterator[Mapping[int, Completion]]:
        self.plans.append(len(requests))
        order = sorted(missing)
        for number, start in enumerate(range(0, len(order), 2)):
            if number == self.groups:
                raise KeyboardInterrupt
            group = order[start : start + 2]
            self.asked += [requests[index].messages[0].content for index in group]
            yield {index: Completion(f"to {requests[index].digest}", "stop") for index in group}

    def close(self) -> None:
        pass


def folder_at(path: Path) -> RunFolder:
    path.mkdir(parents=True, exist_ok=True)
    return RunFolder(path)


def passed(
    asked: Sequence[Row], folder: RunFolder, engine: Any, cache: Path, before: Any = lambda: None
) -> tuple[list[Completion], PassCounts, Backend]:
    backend = Backend(engine, MODEL, None)
    with GenerationCache(cache) as open_cache:
        completions, counts = run_pass("pass", asked, folder, backend, open_cache, before)
    return completions, counts, backend


def test_identical_requests_are_generated_once_and_fanned_out(tmp_path: Path):
    engine = Stumbling(groups=9)
    asked = rows("a", "b", "a", "a", "c", "b")
    folder = folder_at(tmp_path / "arm")
    completions, counts, _ = passed(asked, folder, engine, tmp_path / "c.sqlite")
    assert sorted(engine.asked) == ["a", "b", "c"]
    assert [reply.text for reply in completions] == [f"to {row.request.digest}" for row in asked]
    assert [(row["id"], row["text"]) for row in folder.generations()] == [
        (row.labels["id"], f"to {row.request.digest}") for row in asked
    ]
    assert counts == PassCounts(6, 3, 0, 3, 0, 0, 0)


def test_the_counters_of_a_pass_are_exact(tmp_path: Path):
    script = MockSpec(
        "mock", "mock", "one two three", (Rule("bad", error="down"), Rule("long", "a b"))
    )
    cache = tmp_path / "c.sqlite"
    passed(rows("x y", "bad"), folder_at(tmp_path / "one"), script, cache)
    asked = rows("x y", "x y", "bad", "bad", "long prompt here", "new")
    _, counts, backend = passed(asked, folder_at(tmp_path / "two"), script, cache)
    assert counts == PassCounts(
        rows=6,
        distinct=4,
        cached=1,
        generated=2,
        failed=1,
        prompt_tokens=3 + 1,
        completion_tokens=2 + 3,
    )
    assert backend.loads == 1


def test_an_interrupted_pass_goes_on_where_it_stopped(tmp_path: Path):
    asked = rows(*"abcdefgh")
    folder, cache = folder_at(tmp_path / "arm"), tmp_path / "c.sqlite"
    with pytest.raises(KeyboardInterrupt):
        passed(asked, folder, Stumbling(groups=2), cache)
    assert len(folder.generations()) == 4
    engine = Stumbling(groups=9)
    _, counts, _ = passed(asked, folder, engine, cache)
    assert engine.asked == list("efgh")
    assert engine.plans == [8], "the engine plans from the whole pass, not from what is left"
    assert (counts.cached, counts.generated) == (4, 4)
    assert [row["id"] for row in folder.generations()] == [f"q{at}" for at in range(8)]


def test_generations_alone_are_enough_to_go_on(tmp_path: Path):
    asked = rows(*"abcdef")
    folder = folder_at(tmp_path / "arm")
    with pytest.raises(KeyboardInterrupt):
        passed(asked, folder, Stumbling(groups=2), tmp_path / "lost.sqlite")
    engine = Stumbling(groups=9)
    _, counts, _ = passed(asked, folder, engine, tmp_path / "new.sqlite")
    assert engine.asked == list("ef")
    assert counts.cached == 4


def test_the_cache_alone_is_enough_and_loads_no_engine(tmp_path: Path):
    asked, cache = rows(*"abca"), tmp_path / "c.sqlite"
    first, _, _ = passed(asked, folder_at(tmp_path / "one"), Stumbling(groups=9), cache)
    second, counts, backend = passed(asked, folder_at(tmp_path / "two"), Stumbling(0), cache)
    assert second == first
    assert backend.loads == 0
    assert (counts.cached, counts.generated) == (3, 0)
    texts = [(tmp_path / name / "generations.jsonl").read_text() for name in ("one", "two")]
    assert texts[0] == texts[1]


def test_what_must_be_checked_first_is_checked_before_a_generation_and_only_then(tmp_path: Path):
    asked, cache, calls = rows("a", "b"), tmp_path / "c.sqlite", []

    def refuse() -> None:
        calls.append("refused")
        raise UserError("the template swallows a word")

    engine = Stumbling(groups=9)
    with pytest.raises(UserError):
        passed(asked, folder_at(tmp_path / "one"), engine, cache, refuse)
    assert engine.asked == []
    passed(asked, folder_at(tmp_path / "one"), engine, cache, lambda: calls.append("checked"))
    passed(asked, folder_at(tmp_path / "two"), engine, cache, refuse)
    assert calls == ["refused", "checked"]


def test_rows_that_are_no_completions_are_generated_again(tmp_path: Path):
    asked = rows("a", "b")
    folder = folder_at(tmp_path / "arm")
    folder.append(
        [
            {"request": asked[0].request.digest, "text": None},
            {"request": asked[1].request.digest},
            {"request": ["odd"]},
            {"no": "request"},
        ]
    )
    engine = Stumbling(groups=9)
    completions, _, _ = passed(asked, folder, engine, tmp_path / "c.sqlite")
    assert engine.asked == ["a", "b"]
    assert [reply.status for reply in completions] == ["ok", "ok"]


def test_a_row_of_another_request_does_not_answer(tmp_path: Path):
    folder = folder_at(tmp_path / "arm")
    passed(rows("a"), folder, Stumbling(groups=9), tmp_path / "c.sqlite")
    engine = Stumbling(groups=9)
    passed(rows("b"), folder, engine, tmp_path / "new.sqlite")
    assert engine.asked == ["b"]


def test_failed_rows_are_tried_again_and_their_errors_kept_meanwhile(tmp_path: Path):
    asked = rows("good", "bad")
    folder, cache = folder_at(tmp_path / "arm"), tmp_path / "c.sqlite"
    down = MockSpec("mock", "mock", "fine", (Rule("bad", error="down"),))
    completions, _, _ = passed(asked, folder, down, cache)
    assert [reply.status for reply in completions] == ["ok", "error"]
    assert [row["error"] for row in folder.generations()] == [None, "down"]
    up = MockSpec("mock", "mock", "fine", ())
    completions, counts, _ = passed(asked, folder, up, cache)
    assert [reply.status for reply in completions] == ["ok", "ok"]
    assert counts.failed == 0


def test_a_finished_pass_is_read_and_fills_the_cache(tmp_path: Path):
    asked, folder = rows("a", "b", "a"), folder_at(tmp_path / "memory")
    engine = Stumbling(groups=9)
    first, _, backend = passed(asked, folder, engine, tmp_path / "lost.sqlite")
    with GenerationCache(tmp_path / "new.sqlite") as cache:
        assert read_pass(asked, folder, backend, cache) == first
    _, counts, later = passed(rows("b"), folder_at(tmp_path / "arm"), engine, cache.path)
    assert (counts.cached, later.loads) == (1, 0)


def test_a_finished_pass_that_has_lost_rows_says_so(tmp_path: Path):
    folder = folder_at(tmp_path / "memory")
    _, _, backend = passed(rows("a"), folder, Stumbling(groups=9), tmp_path / "c.sqlite")
    with (
        GenerationCache(tmp_path / "c.sqlite") as cache,
        pytest.raises(UserError, match=r"generations\.jsonl has lost 1 of 2 rows.*'q1'"),
    ):
        read_pass(rows("a", "b"), folder, backend, cache)


@pytest.mark.parametrize(
    ("errors", "of", "allowed", "fails"),
    [(0, 0, 0.0, False), (0, 9, 0.0, False), (1, 50, 0.02, False), (2, 50, 0.02, True),
     (1, 9, 0.0, True), (5, 5, 1.0, False)],
)  # fmt: skip
def test_a_pass_fails_above_the_share_of_errors_that_is_allowed(errors, of, allowed, fails):
    replies = [failed("down")] * errors + [Completion("x", "stop")] * (of - errors)
    if not fails:
        check_errors(replies, allowed)
        return
    with pytest.raises(RunFailedError, match=rf"{errors} of {of} rows failed \(first: down\)"):
        check_errors(replies, allowed)


@pytest.mark.parametrize(
    ("text", "finish", "status"),
    [
        ("FINAL: x", "stop", "ok"),
        ("FINAL: x", "length", "truncated"),
        ("", "stop", "empty"),
        (" \n\t", "stop", "empty"),
        ("", "length", "truncated"),
        ("<think> hm", "stop", "truncated"),
        ("<think> hm </think> FINAL: x", "stop", "ok"),
        ("</think> FINAL: x", "stop", "ok"),
        ("<think>a</think><think>b", "stop", "truncated"),
        ("", "error", "error"),
    ],
)
def test_the_status_of_a_completion(text, finish, status):
    assert Completion(text, finish).status == status


def test_cached_groups_come_before_generated_ones(tmp_path: Path):
    seen: list[int] = []
    backend = Backend(Stumbling(groups=9), MODEL, None)
    with GenerationCache(tmp_path / "c.sqlite") as cache, PassProgress("t", 3) as progress:
        generate([ask("a")], backend, cache, PassProgress("t", 1), lambda group: None)
        generate(
            [ask("b"), ask("a"), ask("b")],
            backend,
            cache,
            progress,
            lambda group: seen.append(len(group)),
        )
        assert seen == [1, 1]
        assert (progress.done, progress.cached, progress.failed) == (3, 1, 0)


def test_a_sweep_keeps_one_model_in_memory():
    closed: list[str] = []

    @dataclass(frozen=True)
    class Opening(Capabilities):
        name: str

        def open(self, model: ModelSpec, checkpoint: None) -> "Opening":
            return self

        def close(self) -> None:
            closed.append(self.name)

    first = loaded(Opening("one"), MODEL, None)
    first.engine()
    assert loaded(Opening("one"), MODEL, None) is first
    first.engine()
    assert (first.loads, closed) == (1, [])
    loaded(Opening("two"), MODEL, None).engine()
    assert closed == ["one"]
    release()
    assert closed == ["one", "two"]
