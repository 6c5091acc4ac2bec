"""Adapters over a tiny random model: switched in place, refused by name where they do not fit."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file, save_file
from transformers import LlamaConfig, LlamaForCausalLM

from harness.adapters import read_adapter
from harness.engines.lora import Adapters
from harness.errors import UserError

IDS = torch.tensor([[3, 1, 4, 1, 5]])


def tiny(hidden: int = 32) -> LlamaForCausalLM:
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=64, hidden_size=hidden, intermediate_size=64, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2,
    )  # fmt: skip
    return LlamaForCausalLM(config).eval()


def saved(folder: Path, seed: int, hidden: int = 32, **settings: Any) -> Path:
    """An adapter as PEFT writes it, with random weights on both sides."""
    base = tiny(hidden)
    torch.manual_seed(seed)
    wanted = {"r": 4, "target_modules": ["q_proj", "v_proj"], "init_lora_weights": False}
    get_peft_model(base, LoraConfig(**{**wanted, **settings})).save_pretrained(folder)
    return folder


def logits(model: LlamaForCausalLM) -> torch.Tensor:
    with torch.inference_mode():
        return model(input_ids=IDS).logits


def test_adapters_switch_in_place_and_the_base_stays_what_it_was(tmp_path: Path):
    model = tiny()
    before = logits(model)
    adapters = Adapters(model)
    one, two = (read_adapter(saved(tmp_path / str(seed), seed)) for seed in (1, 2))
    adapters.use(None)
    assert torch.equal(logits(model), before)
    adapters.use(one)
    first = logits(model)
    adapters.use(two)
    second = logits(model)
    adapters.use(None)
    assert torch.equal(logits(model), before)
    adapters.use(one)
    assert torch.equal(logits(model), first)
    assert not torch.allclose(first, before)
    assert not torch.allclose(first, second)


def test_what_is_loaded_is_what_peft_itself_computes(tmp_path: Path):
    from peft import PeftModel

    folder = saved(tmp_path / "a", 3)
    model = tiny()
    Adapters(model).use(read_adapter(folder))
    assert torch.equal(logits(model), logits(PeftModel.from_pretrained(tiny(), folder).eval()))


def edited(folder: Path, change: Any) -> Path:
    path = folder / "adapter_model.safetensors"
    weights = load_file(path)
    save_file(change(weights), path)
    return folder


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda weights: dict(list(weights.items())[1:]), "lacks base_model.model.model.layers.0"),
        (lambda weights: {**weights, "base_model.model.odd.lora_A.weight": torch.ones(4, 4)},
         "does not know: base_model.model.odd"),
    ],
)  # fmt: skip
def test_missing_and_unknown_keys_are_named(tmp_path: Path, change: Any, words: str):
    adapter = read_adapter(edited(saved(tmp_path / "a", 1), change))
    with pytest.raises(UserError, match=words):
        Adapters(tiny()).use(adapter)


def test_an_adapter_of_a_model_of_another_size_is_refused(tmp_path: Path):
    adapter = read_adapter(saved(tmp_path / "a", 1, hidden=64))
    with pytest.raises(UserError, match="does not fit the model"):
        Adapters(tiny()).use(adapter)


def test_an_adapter_of_modules_that_the_model_lacks_is_refused(tmp_path: Path):
    folder = saved(tmp_path / "a", 1)
    path = folder / "adapter_config.json"
    config = json.loads(path.read_text())
    path.write_text(json.dumps({**config, "target_modules": ["query_key_value"]}))
    with pytest.raises(UserError, match="does not fit the model"):
        Adapters(tiny()).use(read_adapter(folder))
