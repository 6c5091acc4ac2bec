"""Sweeps over several processes on the mock engine: make test-cluster, in .venv-cluster."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest
from support.arms import command, command_line, finished, hear_ctrl_c

if find_spec("submitit") is None or find_spec("ray") is None:
    pytest.skip("the launchers are in .venv-cluster: make test-cluster", allow_module_level=True)

SWEEP = ("engine=mock", "limit=3", "tracker=none", "formulation=ref,paraA",
         "frame=tool,passage")  # fmt: skip


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("HOME", str(tmp_path))


def manifests(root: Path) -> list[dict]:
    return [
        json.loads((path.parent / "manifest.json").read_text(encoding="utf-8"))
        for path in sorted((root / "runs").glob("*/DONE"))
    ]


@pytest.mark.parametrize("launcher", ["submitit_local", "ray"])
def test_a_sweep_leaves_this_process_and_comes_back_as_one_table(tmp_path: Path, launcher: str):
    sweep = ("-m", f"hydra/launcher={launcher}", *SWEEP)
    ended = command(*sweep, cwd=tmp_path, timeout=300)
    assert ended.returncode == 0, ended.stderr
    assert "4 arms: 4 done" in ended.stdout
    assert len(manifests(tmp_path)) == 4
    assert len({found["pid"] for found in manifests(tmp_path)}) > 1
    again = command(*sweep, cwd=tmp_path, timeout=300)
    assert "4 arms: 4 already done; model loads: 0" in again.stdout


@pytest.mark.parametrize("launcher", ["submitit_local", "ray"])
def test_a_job_that_fails_elsewhere_is_reported_here(tmp_path: Path, launcher: str):
    rule = "engine.rules=[{contains: 'A passage has already', error: down}]"
    ended = command("-m", f"hydra/launcher={launcher}", rule, *SWEEP, cwd=tmp_path, timeout=300)
    assert ended.returncode == 1
    assert "4 arms: 3 done, 1 failed" in ended.stdout
    (line,) = [line for line in ended.stdout.splitlines() if "python " in line]
    assert "formulation=ref frame=passage" in line


def test_jobs_of_this_machine_take_a_gpu_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,5")
    ended = command("-m", "hydra/launcher=submitit_local", *SWEEP, cwd=tmp_path, timeout=300)
    assert ended.returncode == 0, ended.stderr
    used = [found["hardware"]["visible_gpus"] for found in manifests(tmp_path)]
    assert set(used) <= {"4", "5"}


def test_ctrl_c_ends_the_jobs_too_and_the_same_sweep_goes_on(tmp_path: Path):
    sweep = ("-m", "hydra/launcher=submitit_local", *SWEEP, "limit=null")
    with subprocess.Popen(
        command_line(*sweep), cwd=tmp_path, start_new_session=True,
        preexec_fn=hear_ctrl_c,  # noqa: PLW1509
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        wait_until(lambda: any((tmp_path / "runs").glob("*/generations.jsonl")))
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(60) == 130
        wait_until(lambda: not group_is_alive(process.pid))
    assert len(manifests(tmp_path)) < 4
    again = command(*sweep, cwd=tmp_path, timeout=300)
    assert again.returncode == 0, again.stderr
    assert len(manifests(tmp_path)) == 4


def wait_until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end, "it did not happen within a minute"
        time.sleep(0.05)


def group_is_alive(leader: int) -> bool:
    try:
        os.killpg(leader, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_launcher_that_cannot_start_is_one_failure_and_exit_code_1(tmp_path: Path):
    ended = command("-m", "hydra/launcher=submitit_slurm", *SWEEP, cwd=tmp_path, timeout=300)
    assert ended.returncode == 1
    assert "the launcher failed" in ended.stdout


def test_the_slurm_launcher_composes_with_what_a_site_sets(tmp_path: Path):
    ended = finished(
        command_line(
            "hydra/launcher=submitit_slurm", "hydra.launcher.partition=gpu",
            "hydra.launcher.gpus_per_node=1", "--cfg", "hydra", "-p", "hydra.launcher",
        ),
        cwd=tmp_path,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    assert "partition: gpu" in ended.stdout
    assert "SlurmLauncher" in ended.stdout
