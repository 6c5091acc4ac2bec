"""An arm with a LoRA adapter, on the embedded model: its own memory, its own cells, one load."""

import json
import shutil
from pathlib import Path

import pytest
from support.entries import Entry, arm_folders

pytestmark = pytest.mark.slow

LIMITS = ("limit=2", "conditions=[tool_wrong,tool_error]", "decoding.max_new_tokens=8",
          "engine.dtype=float32", "tracker=none")  # fmt: skip


@pytest.fixture(scope="module")
def adapter(smollm2: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An adapter as PEFT makes one, with random weights on both sides, so that replies differ."""
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    torch.manual_seed(0)
    base = AutoModelForCausalLM.from_pretrained(smollm2, dtype=torch.float32)
    wanted = LoraConfig(
        r=4, lora_alpha=64, target_modules=["q_proj", "v_proj"], init_lora_weights=False
    )
    folder = tmp_path_factory.mktemp("adapter") / "made=by, PEFT"
    get_peft_model(base, wanted).save_pretrained(folder)
    return folder


def manifest(folder: Path) -> dict:
    return json.loads((folder / "manifest.json").read_text(encoding="utf-8"))


def texts(folder: Path) -> list[str]:
    lines = (folder / "generations.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["text"] for line in lines]


def test_base_and_adapter_in_one_sweep_load_the_model_once(
    entry: Entry, smollm2: Path, adapter: Path
):
    sweep = ("-m", *LIMITS, f"model.path={smollm2}", f"mitigation.adapter=null,'{adapter}'")
    ended = entry(*sweep)
    assert ended.code == 0, ended.err
    assert "2 arms: 2 done; model loads: 1" in ended.out
    base, tuned = sorted(arm_folders(Path("runs")), key=lambda path: "-lora-" in path.name)
    digest = manifest(tuned)["digests"]["adapter"]
    assert manifest(base)["digests"]["adapter"] is None
    assert f"-lora-{digest[:8]}-" in tuned.name
    assert manifest(tuned)["models"]["model"]["adapters"] == [digest]
    assert texts(base) != texts(tuned)
    memories = {manifest(folder)["about"]["memory"]["folder"] for folder in (base, tuned)}
    assert len(memories) == 2, "an adapter changes the memory too"

    before = (texts(base), texts(tuned))
    for folder in (base, tuned):
        shutil.rmtree(folder)
    shutil.rmtree("memories")
    again = entry(*sweep)
    assert "2 arms: 2 done; model loads: 0" in again.out, "the cache keeps the two apart"
    assert (texts(base), texts(tuned)) == before


def test_the_same_adapter_elsewhere_is_the_same_arm(
    entry: Entry, smollm2: Path, adapter: Path, tmp_path: Path
):
    shutil.copytree(adapter, tmp_path / "moved")
    one = entry(*LIMITS, f"model.path={smollm2}", f"mitigation.adapter='{adapter}'")
    assert one.code == 0, one.err
    two = entry("-m", *LIMITS, f"model.path={smollm2}", "mitigation.adapter=moved")
    assert "1 already done" in two.out


def test_an_adapter_that_lacks_a_weight_is_refused_by_name(
    entry: Entry, smollm2: Path, adapter: Path, tmp_path: Path
):
    from safetensors.torch import load_file, save_file

    broken = shutil.copytree(adapter, tmp_path / "broken")
    weights = load_file(broken / "adapter_model.safetensors")
    save_file(dict(list(weights.items())[1:]), broken / "adapter_model.safetensors")
    ended = entry(*LIMITS, f"model.path={smollm2}", f"mitigation.adapter={broken}")
    assert ended.code == 2
    assert "broken lacks base_model.model" in ended.err


def test_a_folder_that_is_no_adapter_is_refused_before_anything_is_loaded(entry: Entry):
    Path("empty").mkdir()
    ended = entry("engine=mock", "limit=2", "tracker=none", "mitigation.adapter=empty")
    assert ended.code == 2
    assert "adapter empty has no adapter_config.json" in ended.err
    assert not Path("runs").exists()
