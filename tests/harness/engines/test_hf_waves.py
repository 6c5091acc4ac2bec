"""Waves, counters and choices of the transformers engine, on the embedded model."""

import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from harness.completions import Decoding, Message, Request
from harness.engines.hf import HfEngine, HfSpec
from harness.errors import UserError
from harness.models import ModelSpec, locate

pytestmark = pytest.mark.slow

NOTE = "A register of towns says of each which river it stands by, and since which year. "
QUESTIONS = ["Which river?", "Which year?", "Which river, and since when? One line.", "Why?"]
WAVE = Decoding("greedy", 0.0, 12)


@pytest.fixture(scope="module")
def folder(smollm2: Path) -> Path:
    return smollm2


def opened(folder: Path, work: Path, dtype: str, batch_tokens: int = 4096) -> HfEngine:
    model = ModelSpec("smollm2", "chat", "keep", thinking=False, path=str(folder))
    return HfSpec("hf", "hf", dtype, batch_tokens, "cpu").open(model, locate(model, work))


@pytest.fixture(scope="module")
def fp32(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> HfEngine:
    return opened(folder, tmp_path_factory.mktemp("cache"), "float32")


@pytest.fixture(scope="module")
def bf16(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> HfEngine:
    return opened(folder, tmp_path_factory.mktemp("cache"), "bfloat16", batch_tokens=300)


def ask(text: str, decoding: Decoding = WAVE) -> Request:
    return Request((Message("user", text),), decoding)


def asked() -> list[Request]:
    return [ask(NOTE * at + question) for at in (1, 4) for question in QUESTIONS]


def groups(engine: HfEngine, requests: list[Request], missing) -> list[dict[int, str]]:
    return [{i: c.text for i, c in g.items()} for g in engine.run(requests, missing)]


def test_a_continued_run_gives_the_bytes_of_a_whole_one_in_bfloat16(bf16):
    whole = groups(bf16, asked(), range(8))
    assert len(whole) > 1
    for done in range(1, len(whole)):
        missing = {index for group in whole[done:] for index in group}
        assert groups(bf16, asked(), missing) == whole[done:]


def test_a_wave_of_which_one_row_is_missing_is_computed_as_a_whole(bf16):
    whole = groups(bf16, asked(), range(8))
    first = max(whole, key=len)
    one = next(iter(first))
    before = dict(bf16.counters)
    assert groups(bf16, asked(), {one}) == [{one: first[one]}]
    once = {name: bf16.counters[name] - before[name] for name in before}
    assert groups(bf16, asked(), set(first)) == [first]
    assert {n: bf16.counters[n] - before[n] - once[n] for n in before} == once
    assert groups(bf16, asked(), ()) == []


def test_counters_say_what_was_computed(fp32):
    before = dict(fp32.counters)
    found = [c for group in fp32.run(asked(), range(8)) for c in group.values()]
    spent = {name: fp32.counters[name] - before[name] for name in before}
    assert spent["prefilled"] < sum(c.prompt_tokens for c in found) / 2
    assert spent["decoded"] == sum(c.completion_tokens - 1 for c in found)
    assert spent["steps"] == max(c.completion_tokens - 1 for c in found)


def out_of_memory_above(engine: HfEngine, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    decode = engine._decode

    def bounded(prompts, *rest):
        if len(prompts) > rows:
            raise torch.OutOfMemoryError
        return decode(prompts, *rest)

    monkeypatch.setattr(engine, "_decode", bounded)


def test_a_wave_that_outgrows_the_memory_is_halved(fp32, monkeypatch):
    whole = groups(fp32, asked(), range(8))
    out_of_memory_above(fp32, 3, monkeypatch)
    assert groups(fp32, asked(), range(8)) == whole
    out_of_memory_above(fp32, 0, monkeypatch)
    (group,) = fp32.run(asked()[:2], [0, 1])
    assert all("out of memory" in str(completion.error) for completion in group.values())


def test_choices_score_what_a_plain_forward_pass_gives_them(fp32):
    requests, choices = asked(), [[" Yes", " No, it is not.", "Seine"]] * 8
    found = {
        i: row for group in fp32.score(requests, choices, range(8)) for i, row in group.items()
    }
    assert sorted(found) == list(range(8))
    for index, request in enumerate(requests):
        prompt = fp32.renderer.token_ids(request.messages)
        for text, score in zip(choices[index], found[index], strict=True):
            ids = fp32.renderer.tokenizer.encode(text, add_special_tokens=False)
            with torch.inference_mode():
                logits = fp32.model(input_ids=torch.tensor([prompt + ids])).logits[0]
            logs = logits[len(prompt) - 1 : -1].log_softmax(-1)
            plain = [float(logs[at, token]) for at, token in enumerate(ids)]
            assert score.tokens == pytest.approx(plain, abs=2e-3)
            assert score.total == pytest.approx(math.fsum(score.tokens))
    alone = [
        next(iter(fp32.score([r], [c], {0})))[0] for r, c in zip(requests, choices, strict=True)
    ]
    for index, scores in enumerate(alone):
        for one, other in zip(scores, found[index], strict=True):
            assert one.tokens == pytest.approx(other.tokens, abs=2e-3)


def test_scores_of_a_continued_run_are_those_of_a_whole_one(bf16, monkeypatch):
    monkeypatch.setattr(bf16, "spec", replace(bf16.spec, batch_tokens=100))
    choices = [[" Yes", " No"]] * 8
    whole = list(bf16.score(asked(), choices, range(8)))
    assert len(whole) > 1
    missing = set(whole[-1])
    assert list(bf16.score(asked(), choices, missing)) == whole[-1:]


def test_choices_that_cannot_be_scored_are_named(fp32):
    with pytest.raises(UserError, match="request 1: choice '' has no tokens"):
        list(fp32.score(asked()[:2], [[" Yes"], [""]], {0, 1}))
    with pytest.raises(UserError, match=r"request 0: a prompt of .* exceeds the context of 8192"):
        list(fp32.score(asked()[:1], [[" Yes", " no" * 9000]], {0}))
