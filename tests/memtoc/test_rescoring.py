"""A newer scorer on an old arm: nothing is generated, both versions are kept."""

import json
import sys
from pathlib import Path

import pytest
from support.arms import ROOT, command_environment, finished, mock_config, run, write_rows
from support.arms import row as question

from harness.errors import UserError
from memtoc import scoring
from memtoc.evaluation import run_arm
from memtoc.rescoring import rescore
from memtoc.rules import plan


@pytest.fixture
def finished_arm(tmp_path: Path, towns: Path) -> Path:
    return run(mock_config(tmp_path, towns)).folder


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_new_scores_stand_beside_the_old_ones(finished_arm, monkeypatch):
    before = files(finished_arm)
    monkeypatch.setattr(scoring, "SCORER_VERSION", "99")
    found = rescore(finished_arm)
    after = files(finished_arm)
    assert {name: after[name] for name in before} == before
    assert after.keys() - before.keys() == {"episodes.scorer-99.jsonl", "metrics.scorer-99.json"}
    assert json.loads(after["metrics.scorer-99.json"])["scorer"] == "99"
    assert found.changed == {"containment": 0, "boundary": 0}
    assert after["episodes.scorer-99.jsonl"] == before["episodes.jsonl"]


def test_changed_outcomes_are_counted(finished_arm, monkeypatch):
    rows = (finished_arm / "generations.jsonl").read_text().splitlines()
    changed = [{**json.loads(text), "text": "FINAL: Ravenna"} for text in rows]
    write_rows(finished_arm / "generations.jsonl", changed)
    monkeypatch.setattr(scoring, "SCORER_VERSION", "99")
    assert rescore(finished_arm).changed["boundary"] > 0


def test_the_same_version_is_refused(finished_arm):
    with pytest.raises(UserError, match="already: nothing to do"):
        rescore(finished_arm)


def test_a_benchmark_that_has_changed_is_refused(finished_arm, towns, monkeypatch):
    monkeypatch.setattr(scoring, "SCORER_VERSION", "99")
    write_rows(towns, [question("q1", "Ravenna", "Verona")])
    with pytest.raises(UserError, match="benchmark has changed"):
        rescore(finished_arm)


def test_text_that_is_gone_is_named(finished_arm, monkeypatch):
    monkeypatch.setattr(scoring, "SCORER_VERSION", "99")
    (finished_arm / "generations.jsonl").write_text("")
    with pytest.raises(UserError, match=r"no text for .*q1.*tool_right"):
        rescore(finished_arm)


def test_the_command_says_in_one_line_what_is_no_finished_arm(tmp_path):
    line = [sys.executable, str(ROOT / "analyze.py"), "--config-name=rescore"]
    done = finished([*line, f"arm={tmp_path}"], cwd=tmp_path, env=command_environment())
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {tmp_path} is not a finished arm")
    assert done.stderr.count("\n") == 1


def test_a_reading_by_other_rules_stands_beside_the_first(finished_arm):
    found = rescore(finished_arm, scoring.ScoringRules(surname=False))
    assert found.metrics.scorer == f"{scoring.SCORER_VERSION} surname=false"
    assert found.episodes.name == f"episodes.scorer-{scoring.SCORER_VERSION}-surname-false.jsonl"
    assert found.arm.metrics.scorer == scoring.SCORER_VERSION


def test_an_arm_under_other_rules_is_the_same_arm(tmp_path, towns, finished_arm):
    config = {**mock_config(tmp_path, towns), "scoring": {"surname": False}}
    assert run(config).folder == finished_arm


def test_an_arm_is_scored_by_its_own_switches(tmp_path, towns):
    config = {**mock_config(tmp_path, towns), "scoring": {"surname": False}}
    found = run(config)
    named = f"{scoring.SCORER_VERSION} surname=false"
    assert found.metrics["scorer"] == found.manifest["about"]["scorer"] == named


def test_the_command_scores_by_the_rules_that_it_is_given(finished_arm, tmp_path):
    line = [sys.executable, str(ROOT / "analyze.py"), "--config-name=rescore"]
    given = [f"arm={finished_arm}", "scoring.surname=false"]
    done = finished([*line, *given], cwd=tmp_path, env=command_environment())
    assert done.returncode == 0
    assert list(finished_arm.glob("metrics.scorer-*-surname-false.json"))


def test_a_finished_arm_is_not_shown_under_rules_that_it_was_not_read_by(
    tmp_path, towns, finished_arm
):
    config = {**mock_config(tmp_path, towns), "scoring": {"surname": False}}
    with pytest.raises(UserError, match=r"--config-name=rescore arm=\S+ scoring.surname=false"):
        run_arm(plan(config))
