"""Our decoding against transformers' own, on tiny random models of several architectures."""

import itertools
import random

import pytest
import torch
import transformers

from harness.engines.attention import FOLDED
from harness.engines.decode import Work, decode, greedy
from harness.engines.fitting import fit
from harness.engines.library import library_decode
from harness.engines.scores import score_choices

NEW = 40
WINDOW = 8
SHAPE = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 3, "vocab_size": 211,
         "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 256,
         "bos_token_id": None, "eos_token_id": None, "pad_token_id": 0,
         "initializer_range": 0.3}  # fmt: skip
LAYERS = ["sliding_attention", "full_attention", "sliding_attention"]
GEMMA = {**SHAPE, "head_dim": 8, "sliding_window": WINDOW, "layer_types": LAYERS}
# Name, its own fields, and the attention that we compute it with.
MODELS = {
    "Llama": (SHAPE, FOLDED),
    "Mistral": ({**SHAPE, "sliding_window": WINDOW}, FOLDED),
    "Qwen2": (
        {**SHAPE, "use_sliding_window": True, "sliding_window": WINDOW, "layer_types": LAYERS},
        FOLDED,
    ),
    "Gemma2": ({**GEMMA, "query_pre_attn_scalar": 8, "attn_logit_softcapping": 2.0}, "eager"),
    "Gemma3": ({**GEMMA, "query_pre_attn_scalar": 8}, FOLDED),
    "GptOss": (
        {**GEMMA, "num_local_experts": 2, "num_experts_per_tok": 1, "eos_token_id": None},
        "eager",
    ),
}
CONFIGS = {"Gemma3": "Gemma3TextConfig"}


def tiny(name: str):
    fields, _ = MODELS[name]
    torch.manual_seed(0)
    config = getattr(transformers, CONFIGS.get(name, f"{name}Config"))(**fields)
    return getattr(transformers, f"{name}ForCausalLM")(config).eval()


def prompts() -> list[list[int]]:
    """Two families that share beginnings, two prompts alike, and one with nothing in common."""
    draw = random.Random(0)

    def words(number: int) -> list[int]:
        return [draw.randrange(1, 211) for _ in range(number)]

    root, left, right = words(20), words(9), words(70)
    found = [root + left + words(number) for number in (1, 5, 12)]
    found += [root + right + words(number) for number in (3, 3, 90)]
    return [*found, found[0], root, words(2)]


def alone(model, prompt: list[int], new: int = NEW) -> list[int]:
    ids = torch.tensor([prompt])
    out = model.generate(
        input_ids=ids, attention_mask=torch.ones_like(ids), max_new_tokens=new, do_sample=False,
        eos_token_id=None, pad_token_id=0,
    )  # fmt: skip
    return out[0, len(prompt) :].tolist()


@pytest.mark.parametrize("name", MODELS)
def test_every_row_of_a_wave_is_what_the_library_gives_for_it_alone(name):
    model = tiny(name)
    model.set_attn_implementation("eager")
    expected = [alone(model, prompt) for prompt in prompts()]
    model = tiny(name)
    ends = {row: 1 + 5 * row for row in range(len(expected))}  # each row leaves at its own time
    with torch.inference_mode():
        masks = fit(model)
        assert model.config._attn_implementation == MODELS[name][1]
        assert masks is not None
        work = Work()
        ended = lambda row, new: len(new) == ends[row]  # noqa: E731
        found = decode(model, masks, prompts(), NEW, greedy, ended, work)
    for row, new in enumerate(found):
        assert len(new) == min(ends[row], NEW)
        assert new == expected[row][: len(new)]
    assert work.steps == NEW - 1
    assert work.decoded == sum(len(new) - 1 for new in found)


@pytest.mark.parametrize("name", MODELS)
def test_choices_score_what_a_plain_forward_pass_gives_them(name):
    model = tiny(name)
    model.set_attn_implementation("eager")
    choices = [[3], [3, 4, 5], [7] * 12]
    pairs = list(itertools.product(prompts(), choices))
    expected = []
    for prompt, choice in pairs:
        with torch.inference_mode():
            logits = model(input_ids=torch.tensor([prompt + choice])).logits[0]
        logs = logits[len(prompt) - 1 : -1].log_softmax(-1)
        expected.append([float(logs[at, token]) for at, token in enumerate(choice)])
    model = tiny(name)
    with torch.inference_mode():
        found = score_choices(model, fit(model), pairs, Work())
    for score, tokens in zip(found, expected, strict=True):
        assert score.tokens == pytest.approx(tokens, abs=1e-4)
        assert score.total == pytest.approx(sum(tokens), abs=1e-3)


def test_a_shared_prefix_is_computed_once():
    model = tiny("Llama")
    with torch.inference_mode():
        masks = fit(model)
        work = Work()
        decode(model, masks, prompts(), 1, greedy, lambda *_: False, work)
        assert work.prefilled == 20 + 9 + (1 + 5 + 12) + 70 + (3 + 3 + 90) + 2
        assert (work.steps, work.decoded) == (0, 0)
        scored = Work()
        score_choices(model, masks, [(prompts()[5], [1, 2]), (prompts()[5], [1, 3])], scored)
    assert scored.prefilled == len(prompts()[5]) + 1


def test_a_model_that_keeps_more_than_keys_generates_with_the_librarys_cache():
    torch.manual_seed(0)
    shape = {**SHAPE, "layer_types": ["conv", "full_attention", "conv"]}
    model = transformers.Lfm2ForCausalLM(transformers.Lfm2Config(**shape)).eval()
    attention = model.config._attn_implementation
    expected = [alone(model, prompt, 8) for prompt in prompts()]
    with torch.inference_mode():
        assert fit(model) is None
        assert model.config._attn_implementation == attention
        found = [
            library_decode(model, [prompt], 8, greedy, lambda *_: False, Work())[0]
            for prompt in prompts()
        ]
        (score,) = score_choices(model, None, [(prompts()[0], [3, 4])], Work())
        logits = model(input_ids=torch.tensor([[*prompts()[0], 3]])).logits[0, -2:]
    assert found == expected
    logs = logits.log_softmax(-1)
    assert score.tokens == pytest.approx([float(logs[0, 3]), float(logs[1, 4])], abs=1e-5)
