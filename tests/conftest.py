"""What tests of several packages share."""

from pathlib import Path

import pytest
from arms import row, write_rows

from harness.generation import release

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
    from arms import ROOT, compose_config

    from harness.gguf import find_gguf
    from harness.models import ModelSpec, locate
    from harness.settings import parse

    spec = parse(ModelSpec, compose_config()["model"])
    if find_gguf(str(spec.package)) is None:
        pytest.skip("the embedded model is not installed: make install")
    return locate(spec, ROOT / ".cache").folder
