"""What tests of several packages share."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings
from support.arms import row, write_rows

from harness.generation import release

if TYPE_CHECKING:
    from support.entries import Entry

# Hypothesis fails an example that takes over 200 ms, which says how busy a machine is.
settings.register_profile("no clock", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("no clock")

TOWNS = (
    ("q1", "Ravenna", "Modena", "Cuzco"),
    ("q2", "Utrecht", "Haarlem", "Kyoto"),
    ("q3", "Bergen", "Stavanger", None),
)


@pytest.fixture
def towns(tmp_path: Path) -> Path:
    """A benchmark of three rows, one of them without a far value."""
    return write_rows(tmp_path / "benchmark" / "questions.jsonl", (row(*town) for town in TOWNS))


@pytest.fixture(autouse=True)
def _no_engine_left_over():
    yield
    release()


@pytest.fixture(scope="session")
def smollm2() -> Path:
    """The embedded model's checkpoint, converted where that has not been done yet."""
    from support.arms import ROOT, compose_config

    from harness.gguf import find_gguf
    from harness.models import ModelSpec, locate
    from harness.settings import parse

    spec = parse(ModelSpec, compose_config()["model"])
    if find_gguf(str(spec.package)) is None:
        pytest.skip("the embedded model is not installed: make install")
    return locate(spec, ROOT / ".cache").folder


@pytest.fixture(scope="session")
def shallow(smollm2: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The embedded model with 2 of its 30 layers, its own tokenizer and template.

    For tests of how texts come to be, whatever they say: a tenth of the time.
    """
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

    config = AutoConfig.from_pretrained(smollm2, num_hidden_layers=2)
    folder = tmp_path_factory.mktemp("shallow") / "model"
    AutoModelForCausalLM.from_pretrained(
        smollm2, config=config, dtype=torch.float32
    ).save_pretrained(folder)
    AutoTokenizer.from_pretrained(smollm2).save_pretrained(folder)
    return folder


@pytest.fixture
def entry(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> "Entry":
    """``python evaluate.py`` run in an empty folder, with the width of a wide terminal."""
    from support.entries import Entry

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HYDRA_FULL_ERROR", "1")
    monkeypatch.setenv("COLUMNS", "200")
    return Entry(monkeypatch, capsys)
