"""Several processes on one cache and one runs folder: nothing lost, nothing there twice."""

import json
import sqlite3
import subprocess
from pathlib import Path

import pytest
from support.arms import command_environment, command_line, read_jsonl

SWEEP = ("-m", "engine=mock", "limit=12", "tracker=none", "frame=tool,passage",
         "formulation=ref,paraA,paraB")  # fmt: skip


@pytest.mark.slow
def test_four_processes_of_one_sweep_share_the_work(tmp_path: Path):
    running = [
        subprocess.Popen(
            command_line(*SWEEP),
            cwd=tmp_path,
            env=command_environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    outputs = [process.communicate(timeout=300)[0] for process in running]
    assert [process.returncode for process in running] == [0] * 4, outputs
    folders = [path.parent for path in (tmp_path / "runs").glob("*/DONE")]
    assert len(folders) == 6
    for folder in folders:
        rows = read_jsonl(folder / "generations.jsonl")
        labels = [(row["id"], row["condition"]) for row in rows]
        assert len(set(labels)) == len(labels) == len(read_jsonl(folder / "episodes.jsonl"))
    made = [json.loads((f / "manifest.json").read_text())["counts"] for f in folders]
    memories = [path.parent for path in (tmp_path / "memories").glob("*/DONE")]
    made += [json.loads((f / "manifest.json").read_text())["counts"] for f in memories]
    with sqlite3.connect(tmp_path / ".cache" / "generations.sqlite") as cache:
        (stored,) = cache.execute("SELECT COUNT(*) FROM completions").fetchone()
    assert sum(counts["generated"] for counts in made) == stored
