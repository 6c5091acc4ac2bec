"""Adapters as files: what identifies them, and what is refused before anything is loaded."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from harness.adapters import Adapter, read_adapter
from harness.completions import Decoding, Message, Request
from harness.engines import HfSpec, MockSpec, OpenAiSpec
from harness.errors import UserError
from harness.generation import Backend
from harness.models import Checkpoint, ModelSpec

CONFIG = {
    "peft_type": "LORA", "r": 8, "target_modules": ["q_proj"],
    "base_model_name_or_path": "/somewhere/else", "init_lora_weights": True,
}  # fmt: skip
MODEL = ModelSpec("m", "chat", "keep", thinking=False)
GREEDY = Decoding("greedy", 0.0, 4)


KEY = "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight"


def written(folder: Path, weight: float = 1.0, key: str = KEY, **config: Any) -> Path:
    folder.mkdir(exist_ok=True)
    save_file({key: np.full((8, 4), weight)}, folder / "adapter_model.safetensors")
    (folder / "adapter_config.json").write_text(json.dumps({**CONFIG, **config}))
    return folder


def test_an_adapter_is_its_weights_and_settings_wherever_it_and_its_base_lie(tmp_path: Path):
    one = read_adapter(written(tmp_path / "a"))
    assert (one.rank, one.base) == (8, None)
    moved = read_adapter(written(tmp_path / "b", base_model_name_or_path="hub/name"))
    assert moved.digest == one.digest
    assert read_adapter(written(tmp_path / "c", weight=2.0)).digest != one.digest
    assert read_adapter(written(tmp_path / "d", lora_alpha=32)).digest != one.digest


def test_the_rank_is_the_largest_of_any_module(tmp_path: Path):
    assert read_adapter(written(tmp_path / "a", rank_pattern={"q_proj": 32})).rank == 32


def test_the_base_that_training_noted_is_read(tmp_path: Path):
    folder = written(tmp_path / "a")
    (folder / "base.json").write_text('{"weights": "abc"}')
    assert read_adapter(folder).base == "abc"
    (folder / "base.json").write_text("[]")
    with pytest.raises(UserError, match=r"base\.json is not a JSON object"):
        read_adapter(folder)


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"peft_type": "PROMPT_TUNING"}, "only LORA adapters are read"),
        ({"r": 0}, "a rank is a number from 1 to 1024"),
        ({"r": True}, "a rank is a number"),
        ({"r": "8"}, "a rank is a number"),
        ({"modules_to_save": ["lm_head"]}, "modules_to_save is more than LoRA"),
        ({"layer_replication": [[0, 1]]}, "layer_replication is more than LoRA"),
        ({"init_lora_weights": "pissa"}, "changes the base model"),
        ({"bias": "all"}, "train the adapter with bias=none"),
        ({"init_lora_weights": "eva"}, "changes the base model"),
        ({"target_modules": "(a+)+$"}, "target_modules is a pattern"),
        ({"exclude_modules": "(a+)+$"}, "exclude_modules is a pattern"),
        ({"rank_pattern": {"(a+)+$": 4}}, "rank_pattern holds a pattern"),
        ({"alpha_pattern": ["q_proj"]}, "alpha_pattern holds a pattern"),
        ({"rank_pattern": {"q_proj": 0}}, "a rank is a number"),
    ],
)
def test_what_is_more_than_lora_is_refused_by_name(tmp_path: Path, config: dict, words: str):
    with pytest.raises(UserError, match=words):
        read_adapter(written(tmp_path / "a", **config))


def test_pickled_weights_are_not_read(tmp_path: Path):
    folder = written(tmp_path / "a")
    (folder / "adapter_model.safetensors").rename(folder / "adapter_model.bin")
    with pytest.raises(UserError, match="safetensors only"):
        read_adapter(folder)


def test_weights_that_would_replace_the_bases_are_refused(tmp_path: Path):
    key = "base_model.model.model.embed_tokens.base_layer.weight"
    with pytest.raises(
        UserError, match=r"embed_tokens\.base_layer\.weight is a weight of the base"
    ):
        read_adapter(written(tmp_path / "a", key=key))


@pytest.mark.parametrize("content", [b"", b"not safetensors", b"\xff" * 64])
def test_damaged_weights_are_named(tmp_path: Path, content: bytes):
    folder = written(tmp_path / "a")
    (folder / "adapter_model.safetensors").write_bytes(content)
    with pytest.raises(UserError, match=r"adapter_model\.safetensors is not safetensors"):
        read_adapter(folder)


@pytest.mark.parametrize("content", ["", "{", "[1]", '{"r": 8, "r": 9}'])
def test_a_damaged_config_is_named(tmp_path: Path, content: str):
    folder = written(tmp_path / "a")
    (folder / "adapter_config.json").write_text(content)
    with pytest.raises(UserError, match=r"adapter_config\.json"):
        read_adapter(folder)


def ask(adapter: Adapter | None) -> Request:
    return Request((Message("user", "hi"),), GREEDY, adapter=adapter)


def test_the_adapter_is_part_of_a_requests_identity_and_its_place_is_not(tmp_path: Path):
    one = read_adapter(written(tmp_path / "a"))
    moved = read_adapter(written(tmp_path / "b"))
    assert ask(one).digest == ask(moved).digest != ask(None).digest
    backend = Backend(MockSpec("mock", "mock", "hi", ()), MODEL, None)
    assert len(set(backend.keys([ask(None), ask(one), ask(moved)]))) == 2


def test_an_adapter_of_other_weights_is_refused(tmp_path: Path):
    checkpoint = Checkpoint(tmp_path, "digest-of-this-model", None)
    backend = Backend(HfSpec("hf", "hf", "float32", 64, "cpu"), MODEL, checkpoint)
    folder = written(tmp_path / "a")
    (folder / "base.json").write_text('{"weights": "digest-of-another"}')
    with pytest.raises(UserError, match="was trained on other weights"):
        backend.keys([ask(read_adapter(folder))])


def test_an_engine_without_adapters_says_so(tmp_path: Path):
    spec = OpenAiSpec(
        name="openai", kind="openai", base_url="http://127.0.0.1:1/v1", server="s", served=None,
        key_variable=None, takes=(), schemas="none", length_field="max_tokens", extra={},
        concurrency=1, timeout_s=1.0, retries=0, pause_s=0.0, max_bytes=1000,
    )  # fmt: skip
    with pytest.raises(UserError, match="answers with no LoRA adapter"):
        Backend(spec, MODEL, None).keys([ask(read_adapter(written(tmp_path / "a")))])
