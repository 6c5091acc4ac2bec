"""Log-probabilities of given continuations: cached as texts are, of engines that give them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from support.engines import Capabilities

from harness.adapters import Adapter
from harness.cache import GenerationCache
from harness.completions import ChoiceScore, Decoding, Message, Request
from harness.engines import HfSpec, MockSpec
from harness.errors import UserError
from harness.generation import Backend
from harness.models import ModelSpec, locate
from harness.scoring import score_choices

MODEL = ModelSpec("m", "chat", "keep", thinking=False)
GREEDY = Decoding("greedy", 0.0, 8)


def ask(text: str, **fields: Any) -> Request:
    return Request((Message("user", text),), GREEDY, **fields)


@dataclass
class Counting(Capabilities):
    """An engine whose score of a choice is its length; it notes what it is asked."""

    name: ClassVar[str] = "counting"
    scores: ClassVar[bool] = True
    supports_adapters: ClassVar[bool] = True
    asked: list[tuple[int, ...]] = field(default_factory=list)

    def identity(self) -> dict[str, Any]:
        return {"kind": self.name}

    def version(self) -> str:
        return "1"

    def open(self, model: ModelSpec, checkpoint: None) -> "Counting":
        return self

    def close(self) -> None:
        pass

    def score(
        self,
        requests: Sequence[Request],
        choices: Sequence[Sequence[str]],
        missing: Collection[int],
    ) -> Iterator[Mapping[int, tuple[ChoiceScore, ...]]]:
        self.asked.append(tuple(missing))
        for index in missing:
            yield {index: tuple(ChoiceScore((-1.0,) * len(text)) for text in choices[index])}


def scored(path: Path, engine: Any, requests: list[Request], choices: list[list[str]]) -> list:
    with GenerationCache(path / "cache.sqlite") as cache:
        return score_choices(requests, choices, Backend(engine, MODEL, None), cache)


def test_scores_come_in_the_order_of_the_requests_and_equal_ones_are_computed_once(tmp_path: Path):
    engine = Counting()
    requests = [ask("b"), ask("a"), ask("b")]
    found = scored(tmp_path, engine, requests, [["x", "yy"], ["z"], ["x", "yy"]])
    assert [[score.total for score in row] for row in found] == [[-1, -2], [-1], [-1, -2]]
    assert engine.asked == [(0, 1)]


def test_what_the_cache_holds_is_not_computed(tmp_path: Path):
    engine = Counting()
    first = scored(tmp_path, engine, [ask("a")], [["x"]])
    again = scored(tmp_path, engine, [ask("c"), ask("a")], [["x"], ["x"]])
    assert again[1] == first[0]
    assert engine.asked == [(0,), (0,)], "of the second call only the new request"
    scored(tmp_path, engine, [ask("a")], [["x", "y"]])
    assert len(engine.asked) == 3, "other choices are another question"


def test_how_a_text_would_be_drawn_is_no_part_of_a_score(tmp_path: Path):
    engine = Counting()
    scored(tmp_path, engine, [ask("a")], [["x"]])
    scored(tmp_path, engine, [ask("a", stop=("Q",), seed=3, schema="{}")], [["x"]])
    assert len(engine.asked) == 1


def test_an_adapters_scores_are_its_own(tmp_path: Path):
    engine = Counting()
    tuned = replace(ask("a"), adapter=Adapter(tmp_path, "digest", 4, None))
    scored(tmp_path, engine, [ask("a")], [["x"]])
    scored(tmp_path, engine, [tuned], [["x"]])
    assert len(engine.asked) == 2


def test_an_engine_that_gives_none_says_so(tmp_path: Path):
    with pytest.raises(UserError, match="engine=mock gives no probabilities: use engine=hf"):
        scored(tmp_path, MockSpec("mock", "mock", "hi", ()), [ask("a")], [["x"]])


@pytest.mark.slow
def test_the_embedded_model_prefers_what_is_true(tmp_path: Path, smollm2: Path):
    model = ModelSpec("smollm2", "chat", "keep", thinking=False, path=str(smollm2))
    backend = Backend(
        HfSpec("hf", "hf", "float32", 4096, "cpu"), model, locate(model, tmp_path / "cache")
    )
    asked = [ask("What is the capital of France?"), ask("What is the capital of Italy?")]
    choices = [["The capital of France is Paris", "The capital of France is Oslo"],
               ["The capital of Italy is Paris", "The capital of Italy is Rome"]]  # fmt: skip
    with GenerationCache(tmp_path / "cache.sqlite") as cache:
        (paris, oslo), (wrong, rome) = score_choices(asked, choices, backend, cache)
        assert paris.total > oslo.total
        assert rome.total > wrong.total
        assert paris.total == pytest.approx(sum(paris.tokens))
        again = score_choices(asked, choices, backend, cache)
    assert again == [(paris, oslo), (wrong, rome)]
    assert backend.loads == 1
