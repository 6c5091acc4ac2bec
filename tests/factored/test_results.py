"""Rows of finished runs: the bytes that tau-bench's tools read, and damaged files as one line."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.arms import command
from support.playing import arm_of, compose_taubench, evaluate

from factored.arms import RESULTS
from factored.call_checks import Punt
from factored.calls.results import CallMetrics, CallRow
from factored.episode import Turn
from factored.metrics import TauBenchMetrics
from factored.results import EpisodeInfo, EpisodeRow, EpisodeSummary, RecordedRun
from factored.roles import Usage
from factored.taubench.tasks import Action, Task, Tau2
from harness.completions import ToolCall
from harness.errors import UserError
from harness.files import json_line
from harness.rows import read_rows, read_value

ARM = ("tool_agent=oracle", "trials=2", "domain.tasks=[0,1,4]")
FILES: dict[str, Any] = {
    "generations.jsonl": EpisodeRow, "episodes.jsonl": EpisodeSummary, "calls.jsonl": CallRow,
}  # fmt: skip

ROW = EpisodeRow(
    task_id=3,
    reward=1.0,
    info=EpisodeInfo(
        task=Task("M-1", "Say \ud83d.", (Action("get_member", {"n": [1, 1.0]}),), ("5",),
                  Tau2("7", None, {"nl_assertions": 2}, None)),
        source="user",
        user_cost=0.0,
        reward_info={
            "reward": 1.0, "info": {"r_actions": 1.0, "gt_data_hash": "ab"}, "actions": [],
        },
    ),
    traj=({"role": "user", "content": "half \ud83d"},),
    trial=0,
    seed=7,
    ended="user_stop",
    steps=2,
    error=None,
    final_hash="ab",
    recorded=RecordedRun(None, "ab", 0.0, True),
    turns=(
        Turn("call", calls=(ToolCall("get_member", "{}"),), punt=Punt("malformed", "no", ("x",))),
        Turn("text", "ask", "{}", Action("get_member", {}), observation="ok", source="get_member"),
    ),
    usage={"user": Usage(calls=1, seconds=0.5)},
)  # fmt: skip
LINE = (
    '{"task_id": 3, "reward": 1.0, "info": {"task": {"user_id": "M-1", "instruction": '
    '"Say \\ud83d.", "actions": [{"name": "get_member", "kwargs": {"n": [1, 1.0]}}], "outputs": '
    '["5"], "tau2": {"id": "7", "tau_bench_id": null, "not_graded": {"nl_assertions": 2}, '
    '"unscorable": null}}, "source": "user", "user_cost": 0.0, "reward_info": {"reward": 1.0, '
    '"info": {"r_actions": 1.0, "gt_data_hash": "ab"}, "actions": []}}, "traj": [{"role": "user", '
    '"content": "half \\ud83d"}], "trial": 0, "seed": 7, "ended": "user_stop", "steps": 2, '
    '"error": null, "final_hash": "ab", "recorded": {"reward": null, "final_hash": "ab", '
    '"no_call_reward": 0.0, "needs_write": true}, "turns": [{"text": "call", "request": null, '
    '"call": null, "action": null, "punt": {"error": "malformed", "reason": "no", "errors": '
    '["x"]}, "intended": null, "observation": "", "source": "", "calls": [{"name": "get_member", '
    '"arguments": "{}"}]}, {"text": "text", "request": "ask", "call": "{}", "action": {"name": '
    '"get_member", "kwargs": {}}, "punt": null, "intended": null, "observation": "ok", "source": '
    '"get_member"}], "usage": {"user": {"calls": 1, "prompt_tokens": 0, "completion_tokens": 0, '
    '"seconds": 0.5, "truncated": 0, "shortened": 0, "retries": 0, "cost": 0.0}}}\n'
)


def test_a_row_has_the_bytes_that_earlier_versions_wrote_and_comes_back_whole(tmp_path: Path):
    """The pinned line is what the version with plain dicts wrote for this row."""
    assert json_line(ROW.as_row()) == LINE
    (tmp_path / "rows.jsonl").write_text(LINE)
    assert read_rows(tmp_path / "rows.jsonl", EpisodeRow) == (ROW,)


def folder_of(outside: list[str], name: str) -> Path:
    config = compose_taubench(*ARM, *outside)
    if name == "taubench":
        return evaluate(arm_of(config)).folder
    from factored.calls.run import plan, run

    calls = compose_taubench("tool_agent=oracle", "domain.tasks=[0,4]", *outside, name="calls")
    return Path(run(plan(calls)).folder)


@pytest.mark.parametrize("name", ["taubench", "calls"])
def test_every_file_of_a_run_is_read_and_written_to_the_same_bytes(outside, name):
    folder = folder_of(outside, name)
    files = {path.name: path for path in folder.glob("*.jsonl")}
    assert files
    for file, path in files.items():
        rows = read_rows(path, FILES[file])
        assert "".join(json_line(row.as_row()) for row in rows) == path.read_text()
    kind: Any = TauBenchMetrics if name == "taubench" else CallMetrics
    text = (folder / "metrics.json").read_text()
    assert json.dumps(read_value(folder / "metrics.json", kind).as_row(), indent=2) + "\n" == text
    if name == "taubench":
        graded = json.dumps(
            [row.as_row() for row in read_value(folder / RESULTS, list[EpisodeRow])], indent=2
        )
        assert json.loads(graded) == json.loads((folder / RESULTS).read_text())


def without_last(text: str) -> str:
    return "".join(text.splitlines(keepends=True)[:-1])


def with_value(key: str, value: Any) -> Callable[[str], str]:
    return lambda text: json.dumps({**json.loads(text), key: value})


def second_without(key: str) -> Callable[[str], str]:
    def change(text: str) -> str:
        lines = text.splitlines()
        row = json.loads(lines[1])
        del row[key]
        return "\n".join([lines[0], json.dumps(row), *lines[2:]]) + "\n"

    return change


@pytest.mark.parametrize(
    ("name", "file", "change", "words"),
    [
        ("taubench", "metrics.json", lambda _: "{}", "metrics.json: 'episodes'"),
        ("taubench", "metrics.json", lambda _: "null", "metrics.json does not fit"),
        ("taubench", "metrics.json", lambda _: "[1]", "metrics.json"),
        ("taubench", "metrics.json", lambda text: text[:-9], "metrics.json is not JSON"),
        ("taubench", "metrics.json", with_value("turns", {}), "'turns.turns'"),
        ("taubench", "metrics.json", with_value("more", 1), "'more'"),
        ("taubench", "metrics.json", with_value("episodes", "6"), "'episodes'"),
        ("taubench", "episodes.jsonl", lambda _: "", "holds 0 rows, its run has 6"),
        ("taubench", "episodes.jsonl", without_last, "holds 5 rows, its run has 6"),
        ("taubench", "episodes.jsonl", second_without("usage"), "episodes.jsonl line 2: 'usage'"),
        ("taubench", "episodes.jsonl", lambda t: t[:-9] + "\n", "episodes.jsonl line 6 is not"),
        ("taubench", "generations.jsonl", without_last, "holds 5 rows, its run has 6"),
        ("taubench", "generations.jsonl", None, "generations.jsonl is gone"),
        ("taubench", RESULTS, lambda _: "[{}]", "results.json is not as its run left it"),
        ("taubench", RESULTS, lambda _: "{}", "results.json is not as its run left it"),
        ("calls", "metrics.json", lambda _: "{}", "metrics.json: 'groups'"),
        ("calls", "metrics.json", with_value("groups", {}), "metrics.json is not as its run"),
        ("calls", "calls.jsonl", without_last, "its run has"),
        ("calls", "calls.jsonl", second_without("exact"), "calls.jsonl line 2: 'exact'"),
        ("calls", "calls.jsonl", None, "calls.jsonl cannot be read"),
    ],
)
def test_a_damaged_file_is_one_line_with_its_place_and_what_to_do(
    outside, tmp_path, name, file, change, words
):
    path = folder_of(outside, name) / file
    if change is None:
        path.unlink()
    else:
        path.write_text(change(path.read_text()))
    mine = ARM if name == "taubench" else ("tool_agent=oracle", "domain.tasks=[0,4]")
    again = command(f"--config-name={name}", *mine, "tracker=none", *outside, cwd=tmp_path)
    assert again.returncode == 2, again.stderr
    (line,) = again.stderr.strip().splitlines()
    assert line.startswith("error: ")
    assert words in line
    assert "move the folder away" in line


@pytest.mark.parametrize("text", ['{"task_id": true}', "7", '"text"', "[" * 100_000, "NaN", ""])
def test_no_text_is_taken_for_a_row(tmp_path, text):
    (tmp_path / "row.json").write_text(text)
    with pytest.raises(UserError, match=r"row\.json"):
        read_value(tmp_path / "row.json", EpisodeRow)
