"""A GPU for each job: names from the environment, locks on disk; no GPU is touched."""

import os
import threading
from pathlib import Path

import pytest

from harness import devices
from harness.devices import own_gpu, visible_gpus


def test_the_environment_says_which_gpus_there_are(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2, 3")
    assert visible_gpus() == ("2", "3")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert visible_gpus() == ()


def test_jobs_side_by_side_hold_different_gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    with own_gpu(("0", "1"), tmp_path) as first:
        with own_gpu(("0", "1"), tmp_path) as second:
            assert {first, second} == {"0", "1"}
            assert os.environ["CUDA_VISIBLE_DEVICES"] == second
        assert os.environ["CUDA_VISIBLE_DEVICES"] == first
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "0,1"


def test_a_job_waits_until_a_gpu_is_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(devices, "POLL_S", 0.01)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    taken: list[str | None] = []

    def job() -> None:
        with own_gpu(("7",), tmp_path) as gpu:
            taken.append(gpu)

    with own_gpu(("7",), tmp_path):
        waiting = threading.Thread(target=job)
        waiting.start()
        waiting.join(0.1)
        assert taken == []
    waiting.join(30)
    assert taken == ["7"]
    assert "CUDA_VISIBLE_DEVICES" not in os.environ


def test_without_gpus_nothing_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    with own_gpu((), tmp_path / "locks") as gpu:
        assert gpu is None
        assert "CUDA_VISIBLE_DEVICES" not in os.environ
    assert not (tmp_path / "locks").exists()
