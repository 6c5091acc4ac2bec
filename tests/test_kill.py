"""kill -9 at any moment, then the same command: the same result as a run never killed."""

import json
import os
import random
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from support import dying
from support.arms import (
    ROOT,
    folders,
    mock_config,
    results,
    row,
    run,
    write_rows,
)
from support.dying import processes

import evaluate
from harness import entry

KILLS = 10
RANDOM = random.Random(20240229)
# The modules that touch files; the many lines that score a row touch none.
UNTOUCHED = {str(ROOT / "memtoc" / f"{name}.py") for name in ("metrics", "scored", "questions")}
TRACED = frozenset(
    {str(path) for name in ("harness", "memtoc") for path in (ROOT / name).glob("*.py")} - UNTOUCHED
)


def outcome(home: Path) -> dict[str, Any]:
    """What the memory and the arm of a home say, times aside; both must be done."""
    found = {}
    for kind in ("memories", "runs"):
        (folder,) = (path.parent for path in (home / kind).glob("*/DONE"))
        assert not (folder / "FAILED").exists()
        found[folder.name] = results(folder)
    return found


# With the mock engine: killed at single lines of our own code.


@pytest.fixture(scope="module")
def context() -> Any:
    return processes(["memtoc.evaluation", "memtoc.rules", "support.arms", "support.dying"])


def child(context: Any, config: dict[str, Any], line: int) -> tuple[int, int]:
    return dying.child(context, run, config, line, TRACED)


def test_a_run_killed_between_any_two_lines_goes_on_to_the_same_result(
    tmp_path: Path, context: Any
):
    rows = [row(f"q{at}", f"Gold{at}", f"Near{at}", f"Far{at}") for at in range(60)]
    questions = write_rows(tmp_path / "questions.jsonl", rows)

    def config(home: str) -> dict[str, Any]:
        made = mock_config(tmp_path / home, questions)
        rules = [{"contains": f'"Near{at}"', "reply": f"FINAL: Near{at}"} for at in range(0, 60, 3)]
        rules += [{"contains": "numbered q7?", "error": "server down"}]
        made["report"]["max_error_rate"] = 0.5
        return {**made, "engine": {**made["engine"], "rules": rules}}

    code, lines = child(context, config("whole"), line=-1)
    assert code == 0
    expected = outcome(tmp_path / "whole")
    assert lines > 1000

    # Spread over the whole run in one half of the kills, over its end, where the results are
    # written, in the other.
    moments = [*RANDOM.sample(range(1, lines), 4), *RANDOM.sample(range(lines - 300, lines), 4)]
    for number, line in enumerate(moments):
        home = f"killed{number}"
        assert child(context, config(home), line)[0] == -signal.SIGKILL
        assert child(context, config(home), line=-1)[0] == 0
        assert outcome(tmp_path / home) == expected, line


def test_a_run_killed_again_and_again_comes_to_the_same_result(tmp_path: Path, context: Any):
    questions = write_rows(
        tmp_path / "questions.jsonl", [row(f"q{at}", f"Gold{at}", f"Near{at}") for at in range(60)]
    )
    code, lines = child(context, mock_config(tmp_path / "whole", questions), line=-1)
    assert code == 0
    config, killed = mock_config(tmp_path / "killed", questions), 0
    for line in sorted(RANDOM.sample(range(lines // 20, lines), 5)):
        killed += child(context, config, line)[0] == -signal.SIGKILL
    assert killed >= 2
    assert child(context, config, line=-1)[0] == 0
    assert outcome(tmp_path / "killed") == outcome(tmp_path / "whole")


# With the real model: killed at random moments of the command's life. Its processes fork from one
# that has imported the libraries: what takes seconds each time has no file of ours to lose.


@pytest.fixture(scope="module")
def warm() -> Any:
    library = "transformers.models"
    heavy = ["torch", f"{library}.llama.modeling_llama", f"{library}.auto.modeling_auto"]
    return processes([*heavy, "harness.engines.hf", "memtoc.evaluation", "evaluate", "test_kill"])


def command(home: str, model: str) -> None:
    """The command in a folder of its own; ends the process if it fails."""
    os.chdir(home)
    sys.argv = [
        "evaluate.py", "tracker=none", "limit=3", "conditions=[tool_right,tool_wrong,no_tool]",
        "frame=tool_no_schema", "decoding.max_new_tokens=8", f"model.path={model}",
        "engine.dtype=float32", "engine.batch_tokens=400", *folders(Path(home)),
    ]  # fmt: skip
    entry.start(evaluate.CONFIGS)


def start(warm: Any, home: Path, model: Path) -> Any:
    home.mkdir(exist_ok=True)
    process = warm.Process(target=command, args=(str(home), str(model)))
    process.start()
    return process


def whole(warm: Any, home: Path, model: Path) -> None:
    """Runs the command to its end."""
    process = start(warm, home, model)
    process.join(300)
    assert process.exitcode == 0


def killed(process: Any) -> bool:
    process.kill()
    process.join(60)
    return process.exitcode == -signal.SIGKILL


def progress(home: Path) -> int:
    """How far a run has come: the files that it has written, and the rows of texts in them."""
    reached = 0
    for path in [path for name in ("runs", "memories") for path in (home / name).glob("*/*")]:
        with suppress(OSError):  # renamed into place or removed since
            reached += 1 + (
                path.read_bytes().count(b"\n") if path.name == "generations.jsonl" else 0
            )
    return reached


@pytest.mark.slow
def test_the_real_model_killed_at_random_moments_gives_the_same_result(
    tmp_path: Path, shallow: Path, warm: Any
):
    """Killed by how far it has come, for seconds differ with what else the machine does.

    Each of two homes is killed again and again, as it goes on: one moment in each tenth of a run.
    """
    whole(warm, tmp_path / "never-killed", shallow)
    expected = outcome(tmp_path / "never-killed")
    texts = [item["text"] for found in expected.values() for item in found["generations.jsonl"]]
    assert len(texts) == 3 + 9
    assert all(text.strip() for text in texts)

    end, interrupted = progress(tmp_path / "never-killed"), 0
    for number in range(KILLS):
        home = tmp_path / f"killed{number % 2}"
        process = start(warm, home, shallow)
        moment = int(end * (number + RANDOM.random()) / KILLS)
        while process.is_alive() and progress(home) < moment:
            time.sleep(0.005)
        interrupted += killed(process)
    for home in (tmp_path / "killed0", tmp_path / "killed1"):
        whole(warm, home, shallow)
        assert outcome(home) == expected
    assert interrupted >= KILLS - 2


@pytest.mark.slow
def test_the_kills_of_the_real_model_leave_a_manifest_that_counts_the_rest(
    tmp_path: Path, shallow: Path, warm: Any
):
    """Killed once something is generated: what is there is not generated again."""
    process = start(warm, tmp_path / "arm", shallow)
    pattern = "runs/*/generations.jsonl"  # three rows of it are no_tool's, read again
    while not any(path.read_bytes().count(b"\n") > 3 for path in (tmp_path / "arm").glob(pattern)):
        assert process.is_alive()
        time.sleep(0.01)
    assert killed(process)
    whole(warm, tmp_path / "arm", shallow)
    (manifest,) = (tmp_path / "arm").glob("runs/*/manifest.json")
    counts = json.loads(manifest.read_text())["counts"]
    assert counts["cached"] > 3
    assert counts["cached"] + counts["generated"] == counts["distinct"] == 9
