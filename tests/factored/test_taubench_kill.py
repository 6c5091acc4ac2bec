"""A sweep of TauBench arms killed, interrupted or damaged, then the same command again."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from support import dying
from support.arms import (
    ROOT,
    command,
    command_environment,
    command_line,
    hear_ctrl_c,
    read_jsonl,
    results,
)

import evaluate
from harness.entry import start

RANDOM = random.Random(20311)
CALL = '{"name": "get_member", "arguments": {"member_id": "M-101"}}'
SWEEP = (
    "--config-name=taubench", "-m", "agent=factored,faep", "trials=2", "tracker=none", "user=llm",
    "engine@user.engine=mock", "user.engine.reply=Hello.", "engine@tool_agent.engine=mock",
    f"tool_agent.engine.reply='{CALL}'", "domain.tasks=[0,4]",
)  # fmt: skip
# Modules that only compute, and are slow to trace.
PURE = (
    "settings", "metrics", "requests", "compose",
    "episode", "call_checks", "fingerprint", "hashing",
)  # fmt: skip
# The modules that touch files, and those that run the episodes.
TRACED = frozenset(
    str(path)
    for folder in ("harness", "factored")
    for path in (ROOT / folder).glob("*.py")
    if path.stem not in PURE
)


def sweep(home: str) -> None:
    """The command in a folder of its own; ends the process if it fails."""
    os.chdir(home)
    sys.argv = ["evaluate.py", *SWEEP]
    try:
        start(evaluate.CONFIGS)
    except SystemExit as ended:
        if ended.code:
            raise


@pytest.fixture(scope="module")
def context() -> Any:
    return dying.processes(["factored.evaluation", "evaluate", "test_taubench_kill"])


def killed_at(context: Any, home: Path, line: int) -> tuple[int, int]:
    home.mkdir(exist_ok=True)
    return dying.child(context, sweep, str(home), line, TRACED)


def timeless(value: Any) -> Any:
    """A value without what depends on the clock."""
    if isinstance(value, dict):
        return {key: timeless(inner) for key, inner in value.items() if key != "seconds"}
    return [timeless(inner) for inner in value] if isinstance(value, list) else value


def outcome(home: Path) -> dict[str, Any]:
    """What the arms of a home say, all of them done."""
    found = {}
    for folder in sorted((home / "runs").iterdir()):
        if folder.name.startswith("."):
            continue
        assert (folder / "DONE").exists(), folder
        rows = json.loads((folder / "results.json").read_text())
        found[folder.name] = timeless({**results(folder), "results.json": rows})
    return found


def test_a_sweep_killed_at_any_line_goes_on_to_the_same_rows(tmp_path: Path, context: Any):
    code, lines = killed_at(context, tmp_path / "whole", -1)
    assert code == 0
    expected = outcome(tmp_path / "whole")
    assert [len(files["generations.jsonl"]) for files in expected.values()] == [4, 4]
    assert lines > 1000
    # Spread over all of it, and over the end, where the results of the last arm are written.
    moments = [*RANDOM.sample(range(1, lines), 3), *RANDOM.sample(range(lines - 300, lines), 2)]
    killed = 0
    for number, line in enumerate(moments):
        home = tmp_path / f"killed{number}"
        # Its dialogues run side by side: requests that wait for one another or not make a run some
        # lines longer or shorter, and a late line may never come.
        killed += killed_at(context, home, line)[0] == -signal.SIGKILL
        assert killed_at(context, home, -1)[0] == 0
        assert outcome(home) == expected, line
    assert killed >= len(moments) - 1


def finished_in(home: Path) -> list[tuple[str, int, int]]:
    """Arm, task and trial of each whole row that lies there."""
    found = []
    for path in home.glob("runs/*/generations.jsonl"):
        for line in path.read_text().splitlines(keepends=True):
            if line.endswith("\n"):
                row = json.loads(line)
                found.append((path.parent.name, row["task_id"], row["trial"]))
    return found


def test_a_sweep_killed_again_and_again_plays_no_finished_episode_twice(
    tmp_path: Path, context: Any
):
    code, lines = killed_at(context, tmp_path / "whole", -1)
    assert code == 0
    home, kept, killed = tmp_path / "killed", 0, 0
    for line in sorted(RANDOM.sample(range(lines // 10, lines), 3)):
        killed += killed_at(context, home, line)[0] == -signal.SIGKILL
        played = finished_in(home)
        assert len(played) == len(set(played)) >= kept, "what is finished stays, once"
        kept = len(played)
    assert killed
    assert killed_at(context, home, -1)[0] == 0
    assert outcome(home) == outcome(tmp_path / "whole")


def test_an_interrupt_ends_with_130_and_keeps_what_is_finished(tmp_path: Path):
    arguments = [part.replace("trials=2", "trials=60") for part in SWEEP]
    process = subprocess.Popen(
        command_line(*arguments), cwd=tmp_path, env=command_environment(), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        preexec_fn=hear_ctrl_c,  # noqa: PLW1509
    )  # fmt: skip
    pattern = "runs/*/generations.jsonl"
    while not any(path.stat().st_size for path in tmp_path.glob(pattern)):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "interrupted: run the same command again to go on" in errors
    assert "Traceback" not in errors
    (path,) = tmp_path.glob(pattern)
    before = read_jsonl(path)
    assert before and not (path.parent / "DONE").exists()
    again = command(*arguments, cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    rows = {(row["task_id"], row["trial"]): row for row in read_jsonl(path)}
    assert len(rows) == len(read_jsonl(path)) == 120
    assert all(rows[row["task_id"], row["trial"]] == row for row in before), "not played again"


def test_damaged_lines_of_the_generations_are_passed_over(tmp_path: Path, context: Any):
    assert killed_at(context, tmp_path, -1)[0] == 0
    expected = outcome(tmp_path)
    for folder in (tmp_path / "runs").glob("*-*"):
        (folder / "DONE").unlink()
        path = folder / "generations.jsonl"
        first, *others = path.read_text().splitlines()
        cut = json.dumps({**json.loads(first), "turns": None})
        damaged = [
            "not JSON",
            '{"task_id": 3}',
            "[1]",
            "\udcff\0",
            cut,
            *others,
            '{"task_id": 0, "tr',
        ]
        path.write_text("\n".join(damaged), errors="surrogateescape")
    assert killed_at(context, tmp_path, -1)[0] == 0
    assert outcome(tmp_path) == expected


def test_a_result_file_that_was_damaged_afterwards_is_one_line(tmp_path: Path):
    single = [part for part in SWEEP if part != "-m" and "agent=f" not in part]
    assert command(*single, cwd=tmp_path).returncode == 0
    (path,) = tmp_path.glob("runs/*/results.json")
    path.write_text(path.read_text()[:-20])
    again = command(*single, cwd=tmp_path)
    assert again.returncode == 2
    assert again.stderr.strip().startswith("error: ") and "results.json" in again.stderr
    assert len(again.stderr.strip().splitlines()) == 1
