from pathlib import Path
from typing import Any

import pytest
from support import scripted
from support.arms import arm_of, mock_config, read_jsonl

from harness.cache import GenerationCache
from harness.errors import RunFailedError
from memtoc.memories import Memories, elicit
from memtoc.scoring import MATCHERS


def elicited(config: dict[str, Any]) -> Memories:
    with GenerationCache(Path(config["paths"]["cache"]) / "generations.sqlite") as cache:
        return elicit(arm_of(config), cache)


def test_a_memory_folder_holds_the_raw_texts_and_their_scores(tmp_path: Path):
    found = elicited(scripted.config(tmp_path))
    names = {path.name for path in found.folder.iterdir()}
    assert names == {
        "config.yaml", "manifest.json", "generations.jsonl", "memories.jsonl", "DONE", ".lock",
    }  # fmt: skip
    rows = {item["id"]: item for item in read_jsonl(found.folder / "memories.jsonl")}
    failed = rows.pop("q8")
    assert (failed["status"], failed["span"], failed["scores"]) == ("error", None, {})
    for matcher in MATCHERS:
        correct = {name: item["scores"][matcher]["correct"] for name, item in rows.items()}
        assert [name for name, right in correct.items() if right] == ["q1", "q2", "q3", "q7"]
        absent = [name for name, item in rows.items() if item["scores"][matcher]["absent"]]
        assert "q6" in absent


def test_the_config_of_a_memory_names_only_what_it_depends_on(tmp_path: Path):
    config = (elicited(scripted.config(tmp_path)).folder / "config.yaml").read_text()
    for name in ("mitigation", "frame", "layout", "payload", "clauses", "conditions", "paths"):
        assert f"\n{name}:" not in config
    for name in ("model", "engine", "benchmark", "formulation", "elicitation", "decoding", "seed"):
        assert f"\n{name}:" in config


def test_the_digest_is_of_the_texts(tmp_path: Path, towns: Path):
    def digest(home: str, reply: str) -> str:
        config = mock_config(tmp_path / home, towns)
        return elicited({**config, "engine": {**config["engine"], "reply": reply}}).digest

    assert digest("a", "FINAL: x") == digest("b", "FINAL: x") != digest("c", "FINAL: y")


def test_a_finished_memory_is_read_and_not_elicited_again(tmp_path: Path, towns: Path):
    config = mock_config(tmp_path, towns)
    first = elicited(config)
    second = elicited(config)
    assert second == first


def test_errors_beyond_the_share_that_is_borne_leave_the_memory_unfinished(tmp_path: Path):
    config = scripted.config(tmp_path)
    config["report"]["max_error_rate"] = 0.1
    with pytest.raises(RunFailedError, match=r"1 of 8 rows failed \(first: server down\)"):
        elicited(config)
    assert not list((tmp_path / "memories").glob("*/DONE"))
    config["report"]["max_error_rate"] = 0.2
    assert (elicited(config).folder / "DONE").exists()
