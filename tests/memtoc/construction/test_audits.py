import csv

import pytest

from memtoc.benchmark.drafts import SourceQuestion
from memtoc.construction import stages
from memtoc.construction.audits import AuditSettings, audit_stage, target_stage
from memtoc.construction.stages import DistractSettings


def build(folder):
    questions = [
        SourceQuestion(str(n), 0, f"In which year was bridge {n} opened?", str(1900 + n))
        for n in range(40)
    ]
    stages.read_stage(folder, "bridges", questions, {})
    stages.screen_stage(folder)
    stages.distract_stage(folder, DistractSettings(0, 2025))


def returned(folder, form, filled):
    for who in "12":
        with (folder / f"packets/{form}_{who}.csv").open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        (folder / "returned").mkdir(exist_ok=True)
        with (folder / f"returned/{form}_{who}.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(row | filled(row) for row in rows)


def test_a_generator_is_audited_on_what_two_people_say(tmp_path):
    build(tmp_path)
    settings = AuditSettings("temporal", 30, target=0.2, seed=4)
    waiting, nothing = audit_stage(tmp_path, settings)
    assert (waiting.sent, nothing) == (30, None)
    rejected = sorted(row for row in (tmp_path / "packets/audit_temporal_1.csv").read_text()
                      .splitlines()[1:])[0].split(",")[0]  # fmt: skip
    returned(
        tmp_path,
        "audit_temporal",
        lambda row: (
            {"verdict": "reject", "reason": "implausible"}
            if row["id"] == rejected
            else {"verdict": "accept"}
        ),
    )
    collected, result = audit_stage(tmp_path, settings)
    assert (result.rejected, result.sampled, result.passed) == (1, 30, True)
    assert result.low < result.rate < result.high
    assert collected.kappa["verdict"] == pytest.approx(1)


def test_response_targets_are_counted_by_cell(tmp_path):
    build(tmp_path)
    questions = stages.questions_so_far(tmp_path)[:3]
    assert target_stage(tmp_path, questions, 0)[1] == {}
    responses = {"arb": "own_knowledge", "both_wrong": "abstain"}
    returned(
        tmp_path,
        "target",
        lambda row: {
            "response": responses.get(row["id"].rsplit("-", 1)[1], "follow"),
            "must_flag": "yes" if row["id"].endswith("both_wrong") else "no",
        },
    )
    _, wanted = target_stage(tmp_path, questions, 0)
    assert wanted["arb"] == {"must_flag": 0, "own_knowledge": 3}
    assert wanted["both_wrong"] == {"abstain": 3, "must_flag": 3}
    assert set(wanted) == {"agree", "arb", "tool_gold", "both_wrong"}
