"""The rows that no rule settles, written for annotators who do not know which value is which."""

import json
import sys
from pathlib import Path

import pytest
from support.arms import ROOT, command_environment, finished, mock_config, row, run, write_rows

from harness.errors import UserError
from memtoc import scoring
from memtoc.arms import FinishedArm
from memtoc.benchmark.sheets import read_sheet
from memtoc.packet import CHOICES, COLUMNS, KEY_COLUMNS, write_packet
from memtoc.rescoring import rescore
from memtoc.tables import unsettled

FILLED = tuple(CHOICES)


@pytest.fixture
def dated_arm(tmp_path: Path) -> Path:
    """An arm on two questions for a date; every reply is a date that can be read both ways."""
    asked = "On what date was the monument unveiled?"
    rows = [
        row("q1", "4 May 1790", "12 June 1790", question=asked, kind="date"),
        row("q2", "3 March 1912", "9 July 1913", question=asked, kind="date"),
    ]
    folder = run(mock_config(tmp_path, write_rows(tmp_path / "q.jsonl", rows))).folder
    texts = (folder / "generations.jsonl").read_text(encoding="utf-8").splitlines()
    said = {"q1": "FINAL: 04/05/1790", "q2": "FINAL: 3 March 1912"}
    changed = [{**json.loads(text), "text": said[json.loads(text)["id"]]} for text in texts]
    write_rows(folder / "generations.jsonl", changed)
    return folder


def cells(path: Path, columns: tuple[str, ...]) -> list[dict[str, str]]:
    return [found for _, found in read_sheet(path, columns)]


def test_the_rows_of_an_open_decision_are_written_without_saying_which_value_is_which(dated_arm):
    found = write_packet(dated_arm)
    shown = cells(found.sheet, COLUMNS)
    assert shown == cells(found.sheet.with_suffix(".csv"), COLUMNS)
    assert len(shown) == found.rows > 0
    assert {one["reply"] for one in shown} == {"04/05/1790"}
    assert {one["row"] for one in shown} == {f"r{n}" for n in range(1, found.rows + 1)}
    assert not any(one[name] for one in shown for name in (*FILLED, "remark"))
    visible = json.dumps(shown)
    assert not any(word in visible for word in ("q1", "gold", "memory", "tool_wrong"))


def test_the_key_says_what_each_candidate_is(dated_arm):
    found = write_packet(dated_arm)
    key = {one["row"]: one for one in cells(found.key, KEY_COLUMNS)}
    assert found.key.parent != found.sheet.parent
    for shown in cells(found.sheet, COLUMNS):
        roles = key[shown["row"]]
        assert roles["id"] == "q1"
        by_role = {
            role: shown[f"candidate_{slot}"]
            for slot in "123"
            for role in roles[f"candidate_{slot}_is"].split()
        }
        assert by_role["gold"] == "4 May 1790"
        if roles["condition"] == "tool_wrong":
            assert by_role["return"] == "12 June 1790"
        assert roles["final_correct"] == "ambiguous_date"


def test_the_order_is_drawn_from_the_seed(dated_arm):
    first, again = (write_packet(dated_arm).sheet.read_bytes() for _ in range(2))
    assert first == again
    orders = {
        write_packet(dated_arm, seed=n).sheet.with_suffix(".csv").read_text() for n in range(4)
    }
    assert len(orders) > 1


def test_a_packet_that_has_been_filled_in_is_kept(dated_arm):
    sheet = write_packet(dated_arm).sheet.with_suffix(".csv")
    text = sheet.read_text().splitlines()
    sheet.write_text("\n".join([text[0], text[1] + "unclear", *text[2:]]) + "\n")
    with pytest.raises(UserError, match=r"packet.csv has been filled in: move it elsewhere"):
        write_packet(dated_arm)


def test_an_arm_whose_rows_are_all_settled_gives_no_packet(tmp_path, towns):
    folder = run(mock_config(tmp_path, towns)).folder
    assert write_packet(folder).rows == 0
    assert not (folder / "packet").exists()


def test_the_command_says_how_many_rows_and_where(dated_arm, tmp_path):
    line = [sys.executable, str(ROOT / "analyze.py"), "--config-name=packet", f"arm={dated_arm}"]
    done = finished(line, cwd=tmp_path, env=command_environment())
    assert done.returncode == 0
    assert "ambiguous rows" in done.stdout
    assert "packet_key.csv" in done.stdout


def test_the_counts_stand_in_the_metrics_and_below_the_table(dated_arm, monkeypatch):
    monkeypatch.setattr(scoring, "SCORER_VERSION", "99")
    metrics = rescore(dated_arm).metrics
    counted = write_packet(dated_arm).rows
    assert sum(metrics.matchers["boundary"].ambiguous.values()) == counted
    assert not metrics.matchers["containment"].ambiguous
    written = json.loads((dated_arm / "metrics.scorer-99.json").read_text())
    assert written["matchers"]["boundary"]["ambiguous"] == metrics.matchers["boundary"].ambiguous
    (line,) = [line for line in unsettled(metrics.matchers["boundary"]) if "ambiguous" in line]
    assert line.startswith(f"{counted} rows (")
    assert "--config-name=packet" in line


def test_a_table_of_settled_rows_says_nothing_of_it(tmp_path, towns):
    arm = FinishedArm.load(run(mock_config(tmp_path, towns)).folder)
    assert unsettled(arm.metrics.matchers["boundary"]) == []
