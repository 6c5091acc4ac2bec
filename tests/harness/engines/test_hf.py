"""The transformers engine on the embedded model, in fp32."""

import importlib.util
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from harness.completions import Decoding, Message, Request
from harness.engines.batches import plan_batches
from harness.engines.decode import SeededSampling
from harness.engines.hf import HfEngine, HfSpec
from harness.models import ModelSpec, locate

pytestmark = pytest.mark.slow

GREEDY = Decoding("greedy", 0.0, 24)
PROMPTS = (
    "What is the capital city of France?",
    "Name three colours.",
    "Who wrote the play Hamlet? Answer in one short sentence, please, and say nothing else.",
    "Say hello.",
)


def request(text: str, decoding: Decoding = GREEDY, stop=(), seed: int = 0) -> Request:
    return Request((Message("user", text),), decoding, stop, seed)


@pytest.fixture(scope="module")
def engine(smollm2: Path, tmp_path_factory: pytest.TempPathFactory) -> HfEngine:
    model = ModelSpec("smollm2", "chat", "keep", thinking=False, path=str(smollm2))
    checkpoint = locate(model, tmp_path_factory.mktemp("cache"))
    return HfSpec("hf", "hf", "float32", 4096, "cpu").open(model, checkpoint)


def texts(engine: HfEngine, requests: list[Request], missing=None) -> dict[int, str]:
    wanted = range(len(requests)) if missing is None else missing
    return {i: c.text for group in engine.run(requests, wanted) for i, c in group.items()}


def test_a_batch_gives_what_the_library_gives_for_each_prompt_alone(engine):
    together = texts(engine, [request(prompt) for prompt in PROMPTS])
    for index, prompt in enumerate(PROMPTS):
        ids = torch.tensor([engine.renderer.token_ids(request(prompt).messages)])
        out = engine.model.generate(
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=GREEDY.max_new_tokens,
            do_sample=False,
        )
        alone = engine.renderer.tokenizer.decode(out[0, ids.shape[1] :], skip_special_tokens=True)
        assert together[index] == alone


def test_tools_reach_the_model_through_its_own_template(smollm2: Path, tmp_path: Path):
    trl = importlib.util.find_spec("trl")
    assert trl is not None and trl.origin is not None
    shutil.copytree(smollm2, tmp_path / "taught")
    template = Path(trl.origin).parent / "chat_templates" / "qwen2_5.jinja"
    (tmp_path / "taught" / "chat_template.jinja").write_bytes(template.read_bytes())
    model = ModelSpec("taught", "chat", "keep", thinking=False, path=str(tmp_path / "taught"))
    taught = HfSpec("hf", "hf", "float32", 4096, "cpu").open(model, locate(model, tmp_path))
    asked = request("Which member has the address ann@example.org?")
    tool = {"name": "find_member", "description": "Finds.", "parameters": {"type": "object"}}
    told = replace(asked, tools=(json.dumps({"type": "function", "function": tool}),))
    (without,), (with_tools,) = (list(taught.run([r], [0])) for r in (asked, told))
    shown = taught.renderer.token_ids(told.messages, told.tools)
    assert "find_member" in taught.renderer.tokenizer.decode(shown)
    assert with_tools[0].prompt_tokens == len(shown) > without[0].prompt_tokens


def test_a_continued_run_gives_the_rows_that_were_missing_and_no_others(engine):
    requests = [request(prompt) for prompt in PROMPTS]
    whole = texts(engine, requests)
    assert texts(engine, requests, {1, 3}) == {index: whole[index] for index in (1, 3)}


def test_a_reply_that_is_cut_off_says_so_and_one_that_ends_does_not(engine):
    requests = [
        request("Count from one to one hundred.", Decoding("g", 0.0, 8)),
        request("Say hi."),
    ]
    found = {i: c for group in engine.run(requests, {0, 1}) for i, c in group.items()}
    assert (found[0].finish, found[0].completion_tokens, found[0].status) == (
        "length",
        8,
        "truncated",
    )
    assert (found[1].finish, found[1].status) == ("stop", "ok")


def test_a_stop_text_ends_the_reply_and_is_cut_from_it(engine):
    free = texts(engine, [request(PROMPTS[0])])[0]
    word = free.split()[2]
    [stopped] = [
        c for g in engine.run([request(PROMPTS[0], stop=(word,))], {0}) for c in g.values()
    ]
    assert stopped.text == free[: free.index(word)]
    assert stopped.finish == "stop"


def test_a_prompt_longer_than_the_context_fails_alone(engine):
    requests = [request("word " * 9000), request(PROMPTS[0])]
    found = {i: c for group in engine.run(requests, {0, 1}) for i, c in group.items()}
    assert found[0].status == "error" and "context" in found[0].error
    assert found[1].status != "error"


def test_sampling_depends_on_the_row_seed_and_not_on_the_batch(engine):
    warm = Decoding("sampled", 0.9, 16)
    alone = texts(engine, [request(PROMPTS[1], warm, seed=5)])[0]
    batch = texts(
        engine, [request(p, warm, seed=s) for p, s in zip(PROMPTS, (1, 5, 2, 3), strict=True)]
    )
    other = texts(engine, [request(PROMPTS[1], warm, seed=6)])[0]
    assert batch[1] == alone != other


def test_seeded_sampling_draws_in_proportion_to_the_softmax():
    logits = torch.log(torch.tensor([[0.7, 0.2, 0.1]]))
    draws = [int(SeededSampling(1.0, [seed])(logits, [0])) for seed in range(3000)]
    shares = [draws.count(token) / len(draws) for token in range(3)]
    assert shares == pytest.approx([0.7, 0.2, 0.1], abs=0.03)


def test_batches_keep_within_their_token_budget_and_hold_every_row_once():
    lengths = [5, 50, 20, 20, 49, 1]
    prompts = [[0] * length for length in lengths]
    batches = plan_batches([request("x")] * 6, prompts, list(range(6)), batch_tokens=100)
    assert sorted(index for batch in batches for index in batch) == list(range(6))
    assert batches[0] == [1, 4]
    assert all(len(b) * max(lengths[i] for i in b) <= 100 for b in batches)


def test_rows_of_different_decoding_never_share_a_batch():
    requests = [request("x"), request("x", Decoding("g", 0.0, 5)), request("x", stop=("Q:",))]
    assert len(plan_batches(requests, [[0]] * 3, [0, 1, 2], batch_tokens=100)) == 3
