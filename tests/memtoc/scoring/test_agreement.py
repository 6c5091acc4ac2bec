"""The command that compares the scorer with decisions made elsewhere."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from memtoc.scoring import extract
from memtoc.scoring.__main__ import main
from memtoc.scoring.containment import canonical

ROW: dict[str, Any] = {
    "model": "m",
    "formulation": "ref",
    "id": "q1",
    "condition": "tool_wrong",
    "question": "Who is the father of Ada Lovelace?",
    "gold": "Lord Byron",
    "tool_value": "Isaac Newton",
    "closed_book_span": "I'm not sure, but it might be Lord Byron.",
    "final_span": "Lord Byron, not Isaac Newton",
    "published": {
        "memory_correct": None,
        "memory_absent": True,
        "cell": "mem_absent",
        "followed_tool": True,
        "kept_memory": False,
        "final_correct": True,
        "outcome": "followed_tool",
        "neither": None,
        "abstain": False,
    },
    "read": {
        "memory_correct": True,
        "followed_tool": False,
        "kept_memory": True,
        "final_correct": True,
        "abstain": False,
    },
}
SHARED = Path(os.environ.get("MEMTOC_SCORED_OUTPUTS", "../shared/data/memtoc/scored_outputs.jsonl"))


def write(folder: Path, *rows: dict[str, Any]) -> Path:
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def counted(path: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert main([str(path), "--json"]) == 0
    counts: dict[str, Any] = json.loads(capsys.readouterr().out)
    return counts


def test_agreement_is_counted_per_matcher_judge_and_field(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    counts = counted(write(tmp_path, ROW), capsys)
    full = {"agree": 1, "total": 1}
    assert all(cell == full for cell in counts["containment"]["published"].values())
    assert all(cell == full for cell in counts["boundary"]["read"].values())
    assert counts["boundary"]["published"]["followed_tool"] == {"agree": 0, "total": 1}
    assert "outcome" not in counts["boundary"]["read"]


def test_a_published_neither_is_compared_as_abstain_or_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    published = ROW["published"] | {"outcome": "neither", "neither": "abstain", "abstain": True}
    row = ROW | {"final_span": "Unknown", "published": published}
    counts = counted(write(tmp_path, row), capsys)
    assert counts["containment"]["published"]["outcome"] == {"agree": 1, "total": 1}


def test_the_report_splits_by_condition_and_outcome_and_shows_each_disagreement(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, ROW, ROW | {"condition": "no_tool", "tool_value": None})
    assert main([str(path)]) == 0
    shown = capsys.readouterr().out
    assert "boundary against read" in shown
    order = [line.strip().split("  ")[0] for line in shown.splitlines() if line[:1] == " "]
    assert order.index("tool_wrong") < order.index("no_tool")
    assert "= followed_tool" in shown
    assert "followed_tool: ours False (negated), theirs True" in shown


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"question": None}, "row 2: field 'question' must be a text"),
        ({"tool_value": 3}, "row 2: field 'tool_value' must be a text or null"),
        ({"read": "yes"}, "row 2: field 'read' must be an object"),
        ({"read": {"abstain": "no"}}, "row 2: field 'read.abstain' must be true, false or null"),
        ({"read": {"followed_tool": 1}}, "'read.followed_tool' must be true, false or null"),
        ({"published": {"outcome": "kept"}}, "did you mean 'kept_memory'?"),
        ({"published": {"outcome": "neither"}}, "'published.outcome' is None: choose one of"),
    ],
)
def test_a_row_that_cannot_be_scored_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: dict[str, Any], message: str
) -> None:
    assert main([str(write(tmp_path, ROW, ROW | change))]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_a_file_without_rows_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(write(tmp_path))]) == 2
    assert "holds no row" in capsys.readouterr().err


@pytest.mark.skipif(not SHARED.exists(), reason="the shared scored outputs are not here")
def test_the_scorer_reaches_the_agreement_that_the_method_asks_for() -> None:
    command = [sys.executable, "-m", "memtoc.scoring", str(SHARED), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    counts = json.loads(done.stdout)

    def share(matcher: str, judge: str, field: str) -> float:
        cell = counts[matcher][judge][field]
        return float(cell["agree"] / cell["total"])

    for field in ("followed_tool", "kept_memory", "final_correct", "memory_correct"):
        assert share("containment", "published", field) == 1
    assert share("containment", "published", "abstain") >= 0.97
    assert share("containment", "published", "outcome") >= 0.96
    assert share("boundary", "read", "followed_tool") >= 0.99
    for field in ("final_correct", "kept_memory", "memory_correct"):
        assert share("boundary", "read", field) >= 0.98
    assert share("boundary", "read", "abstain") >= 0.975


@pytest.mark.skipif(not SHARED.exists(), reason="the shared scored outputs are not here")
def test_taking_markup_off_changes_no_published_span_for_the_papers_matcher() -> None:
    rows = [json.loads(line) for line in SHARED.read_text(encoding="utf-8").splitlines()]
    spans = [row[field] for row in rows for field in ("final_span", "closed_book_span")]
    for span in filter(None, spans):
        assert canonical(extract(f"FINAL: {span}").text) == canonical(span)
