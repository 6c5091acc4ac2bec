"""W&B offline: what stands in the run files that a later ``wandb sync`` would send."""

import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.arms import command_environment, command_line
from support.entries import Entry

from harness.engines.mock import MockEngine
from harness.errors import UserError
from harness.tracking import NoTracker, TrackedRun, TrackerLog, WandbTracker, tracked

OFFLINE = WandbTracker("wandb", "wandb", "offline", "trials", None, None, ())
BLOCK, HEADER = 32768, 7


def records(path: Path) -> Iterator[object]:
    """The records of a .wandb file: a LevelDB log (blocks of 32 KiB, chunks with a 7-byte head)."""
    from wandb.proto.wandb_internal_pb2 import Record

    data, at, parts = path.read_bytes(), HEADER, b""
    while at + HEADER <= len(data):
        left = BLOCK - at % BLOCK
        if left < HEADER:
            at += left
            continue
        size, kind = int.from_bytes(data[at + 4 : at + 6], "little"), data[at + 6]
        parts += data[at + HEADER : at + HEADER + size]
        at += HEADER + size
        if kind in (1, 4):  # whole, or the last chunk
            record = Record()
            record.ParseFromString(parts)
            parts = b""
            yield record


def _when_closed(file: Path) -> list[object]:
    """All records, once W&B's own process has written the last: it may lag behind ours."""
    for _ in range(1200):  # it is closed within seconds; a minute or two where all cores are busy
        found = list(records(file))
        if any(record.HasField("exit") for record in found):
            return found
        time.sleep(0.1)
    raise AssertionError(f"{file} was never closed")


class Offline:
    """What an offline run's file says."""

    def __init__(self, folder: Path):
        (file,) = folder.glob("run-*.wandb")
        found = _when_closed(file)
        self.run = next(record.run for record in found if record.HasField("run"))
        self.config = {item.key: json.loads(item.value_json) for item in self.run.config.update}
        self.history = {
            item.key or "/".join(item.nested_key): json.loads(item.value_json)
            for record in found
            if record.HasField("history")
            for item in record.history.item
        }
        self.exits = [record.exit.exit_code for record in found if record.HasField("exit")]
        self.artifacts = [
            record.request.log_artifact.artifact if record.HasField("request") else record.artifact
            for record in found
            if record.HasField("artifact")
            or (record.HasField("request") and record.request.HasField("log_artifact"))
        ]

    def files(self) -> dict[str, Path]:
        """The files of the one artifact, where they wait to be sent."""
        (artifact,) = self.artifacts
        return {item.path: Path(item.local_path) for item in artifact.manifest.contents}

    def sample(self) -> list[list[object]]:
        return json.loads(self.files()["sample.table.json"].read_text(encoding="utf-8"))["data"]


def offline_runs(runs: Path) -> list[Offline]:
    return [Offline(path) for path in sorted((runs / "wandb").glob("offline-run-*"))]


def described(root: Path, name: str = "arm-1") -> TrackedRun:
    return TrackedRun(name, name, "evaluate", {"seed": 1}, root / name, root)


@pytest.fixture(autouse=True)
def _no_login(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in [name for name in os.environ if name.startswith("WANDB_")]:
        monkeypatch.delenv(name)


def test_an_arm_is_one_run_with_config_rates_sample_and_artifact(entry: Entry):
    assert entry("engine=mock", "limit=3", "tracker.project=trials").code == 0
    (shown,) = offline_runs(Path("runs"))
    (folder,) = [path.parent for path in Path("runs").glob("*/DONE")]
    assert (shown.run.project, shown.run.display_name) == ("trials", folder.name)
    assert shown.run.job_type == "evaluate"
    assert shown.config["formulation"]["name"] == "ref"
    assert shown.config["limit"] == 3
    assert set(shown.config["digests"]) == {"adapter", "benchmark", "engine", "weights"}
    metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    rates = metrics["matchers"]["boundary"]["rates"]
    for rate in rates:
        key = f"boundary/{rate['metric']} ({rate['definition']})"
        assert shown.history.get(key) == rate["value"]
    assert shown.history["rows/ok"] == 18
    assert len(shown.sample()) == 18
    assert [artifact.type for artifact in shown.artifacts] == ["evaluate"]
    assert set(shown.files()) >= {"config.yaml", "manifest.json", "metrics.json", "episodes.jsonl"}
    assert shown.exits == [0]


def test_a_finished_arm_is_shown_once(entry: Entry):
    arguments = ("engine=mock", "limit=2")
    entry(*arguments, "tracker=none")
    assert not Path("runs/wandb").exists()
    entry(*arguments)
    entry(*arguments)
    assert len(offline_runs(Path("runs"))) == 1


def test_two_processes_that_want_one_arm_show_it_once(tmp_path: Path):
    line = command_line("engine=mock", "limit=40")
    both = [
        subprocess.Popen(line, cwd=tmp_path, env=command_environment(), stdout=subprocess.DEVNULL)
        for _ in range(2)
    ]
    assert [process.wait(120) for process in both] == [0, 0]
    assert len(offline_runs(tmp_path / "runs")) == 1


def test_the_arms_of_a_sweep_are_runs_of_one_group(entry: Entry):
    assert entry("-m", "formulation=ref,paraA", "engine=mock", "limit=2").code == 0
    runs = offline_runs(Path("runs"))
    assert len({shown.run.run_id for shown in runs}) == 2
    (group,) = {shown.run.run_group for shown in runs}
    assert group.startswith("sweep-")


def test_the_sample_has_at_most_200_rows(entry: Entry):
    entry("engine=mock", "limit=40")
    (shown,) = offline_runs(Path("runs"))
    assert len(shown.sample()) == 200
    assert shown.history["rows/ok"] == 240


def test_a_run_that_fails_is_closed_as_failed(entry: Entry):
    ended = entry("engine=mock", "limit=2", "engine.rules=[{contains: FINAL, error: down}]")
    assert ended.code == 1
    (shown,) = offline_runs(Path("runs"))
    assert shown.exits == [1]


def test_an_interrupted_run_is_closed(entry: Entry, monkeypatch: pytest.MonkeyPatch):
    def interrupted(self, request):
        raise KeyboardInterrupt

    monkeypatch.setattr(MockEngine, "_reply", interrupted)
    assert entry("engine=mock", "limit=2").code == 130
    (shown,) = offline_runs(Path("runs"))
    assert shown.exits == [130]


def test_a_dry_run_and_no_tracker_leave_nothing(entry: Entry):
    entry("engine=mock", "limit=2", "dry_run=true")
    entry("engine=mock", "limit=2", "tracker=none")
    assert not list(Path().rglob("wandb"))


def test_leftovers_of_other_libraries_do_not_reach_the_run_and_come_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    left = {
        "WANDB_PROJECT": "huggingface", "WANDB_RUN_ID": "stale", "WANDB_MODE": "online",
        "WANDB_RUN_GROUP": "stale", "WANDB_NAME": "stale",
    }  # fmt: skip
    for name, value in left.items():
        monkeypatch.setenv(name, value)
    with tracked(OFFLINE, described(tmp_path)) as log:
        assert "WANDB_RUN_ID" not in os.environ
        log(TrackerLog({"rate": 0.5}, [], []))
    assert {name: os.environ[name] for name in left} == left
    (shown,) = offline_runs(tmp_path)
    assert (shown.run.project, shown.run.run_id, shown.run.run_group) == ("trials", "arm-1", "")
    assert shown.history["rate"] == 0.5


def test_everything_of_the_tracker_lies_under_the_runs_folder(tmp_path: Path):
    root = tmp_path / "runs"
    file = tmp_path / "file.json"
    file.write_text("{}", encoding="utf-8")
    with tracked(OFFLINE, described(root)) as log:
        log(TrackerLog({}, [{"id": "q1"}], [file]))
    assert {path.name for path in tmp_path.iterdir()} <= {"runs", "file.json", "home"}
    assert not [path for path in (tmp_path / "home").rglob("*") if path.is_file()]


def test_online_without_a_key_is_a_mistake_and_asks_for_nothing(entry: Entry):
    ended = entry("engine=mock", "limit=2", "tracker.mode=online")
    assert ended.code == 2
    assert "tracker.mode=online needs a key of W&B" in ended.err


def test_without_a_tracker_findings_go_nowhere(tmp_path: Path):
    with tracked(NoTracker("none", "none"), described(tmp_path)) as log:
        log(TrackerLog({"rate": 1.0}, [], []))
    assert not list(tmp_path.iterdir())


def test_an_error_inside_passes_through(tmp_path: Path):
    with (
        pytest.raises(UserError, match="mend it"),
        tracked(OFFLINE, described(tmp_path)),
    ):
        raise UserError("mend it")
    assert [shown.exits for shown in offline_runs(tmp_path)] == [[1]]
