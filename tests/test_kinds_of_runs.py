"""Every kind of run goes one way: begun, killed, failed, continued, repeated, tracked alike."""

import json
import shutil
import signal
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.arms import command, command_environment, command_line, finished, obey_file_modes
from support.entries import Entry

from harness.folders import RunFolder
from harness.manifest import COUNTED, FORMAT

FACTS = {
    "format", "kind", "fingerprint", "started", "finished", "pid", "seed", "digests", "models",
    "engines", "counts", "files", "python", "packages", "git_commit", "hardware", "about",
}  # fmt: skip


@dataclass(frozen=True)
class Kind:
    """A kind of run: its command on mock engines, where its folder is, what makes it fail."""

    name: str
    arguments: tuple[str, ...]
    breaks: tuple[str, ...]
    roles: frozenset[str]
    root: str = "runs"

    def folder(self) -> Path:
        (found,) = [path for path in Path(self.root).iterdir() if path.name[0] not in ".w"]
        return found

    def manifest(self) -> dict:
        return json.loads((self.folder() / "manifest.json").read_text(encoding="utf-8"))


TAUBENCH = ("domain.tasks=[0,1]", "engine@tool_agent.engine=mock", "report.max_error_rate=0")
EVALUATE = ("engine=mock", "limit=3", "report.max_error_rate=0")
DOWN = "rules=[{contains: '', error: down}]"
KINDS = (
    Kind("evaluate", EVALUATE, (f"engine.{DOWN}",), frozenset({"model"})),
    Kind("memory", EVALUATE, (f"engine.{DOWN}",), frozenset({"model"}), root="memories"),
    Kind(
        "taubench",
        ("--config-name=taubench", *TAUBENCH, "pool.retries=0"),
        (f"tool_agent.engine.{DOWN}",),
        frozenset({"tool_agent"}),
    ),
    Kind(
        "calls",
        ("--config-name=calls", *TAUBENCH),
        (f"tool_agent.engine.{DOWN}",),
        frozenset({"tool_agent"}),
    ),
)
kinds = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


def times(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}


@kinds
def test_a_finished_run_says_what_every_kind_says(entry: Entry, kind: Kind):
    assert entry(*kind.arguments, "tracker=none").code == 0
    manifest, folder = kind.manifest(), kind.folder()
    assert set(manifest) == FACTS
    assert (manifest["format"], manifest["kind"]) == (FORMAT, kind.name)
    assert set(COUNTED) <= set(manifest["counts"])
    assert manifest["counts"]["rows"] > 0
    assert set(manifest["models"]) == set(manifest["engines"]) == kind.roles
    for role in kind.roles:
        assert set(manifest["models"][role]) == {"name", "weights", "revision", "adapters"}
        assert {"version"} < set(manifest["engines"][role])
    assert all(isinstance(digest, str | None) for digest in manifest["digests"].values())
    written = {path.name for path in folder.glob("*.json*")} - {"manifest.json", "tracked.json"}
    assert set(manifest["files"]) == written
    for name, facts in manifest["files"].items():
        lines = (folder / name).read_text(encoding="utf-8").splitlines()
        assert facts["rows"] == (len(lines) if name.endswith(".jsonl") else None)
    assert (folder / "DONE").exists()
    assert not (folder / "FAILED").exists()


@kinds
def test_a_finished_run_is_read_and_never_written_again(entry: Entry, kind: Kind):
    entry(*kind.arguments, "tracker=none")
    before = times(kind.folder())
    again = entry("-m", *kind.arguments, "tracker=none")
    assert "1 already done; model loads: 0" in again.out
    assert times(kind.folder()) == before


@kinds
def test_a_run_that_fails_leaves_the_reason_and_goes_on_once_it_may(entry: Entry, kind: Kind):
    broken = (*kind.arguments, *kind.breaks, "tracker=none")
    ended = entry(*broken)
    assert ended.code == 1
    assert ended.err.splitlines()[-1].startswith("failed: ")
    reason = (kind.folder() / "FAILED").read_text(encoding="utf-8")
    assert "down" in reason
    assert not (kind.folder() / "DONE").exists()
    assert entry(*broken, "report.max_error_rate=1").code == 0
    assert (kind.folder() / "DONE").exists()
    assert not (kind.folder() / "FAILED").exists()


@kinds
def test_an_error_that_nobody_foresaw_leaves_its_reason_too(
    entry: Entry, kind: Kind, monkeypatch: pytest.MonkeyPatch
):
    def breaks(*_: object) -> None:
        raise ZeroDivisionError("nobody foresaw it")

    with monkeypatch.context() as patched:
        patched.setattr(RunFolder, "write_rows", breaks)
        assert entry(*kind.arguments, "tracker=none").code == 1
    assert "ZeroDivisionError: nobody foresaw it" in (kind.folder() / "FAILED").read_text()
    assert entry(*kind.arguments, "tracker=none").code == 0


@kinds
def test_a_run_killed_before_it_is_done_goes_on_where_it_was(tmp_path: Path, kind: Kind):
    """The process kills itself as it is about to mark the run of this kind as done."""
    script = (
        "import os, runpy, sys\n"
        "sys.argv = sys.argv[1:]\n"
        "sys.path.insert(0, os.path.dirname(sys.argv[0]))\n"
        "from harness.folders import RunFolder\n"
        "finish = RunFolder.finish\n"
        "def dies(folder, manifest):\n"
        f"    if manifest['kind'] == '{kind.name}':\n"
        "        os.kill(os.getpid(), 9)\n"
        "    finish(folder, manifest)\n"
        "RunFolder.finish = dies\n"
        "runpy.run_path(sys.argv[0], run_name='__main__')\n"
    )
    arguments = (*kind.arguments, "tracker=none")
    line = command_line(*arguments)
    killed = finished(
        [line[0], "-c", script, *line[1:]], cwd=tmp_path, env=command_environment(), timeout=120
    )
    assert killed.returncode == -signal.SIGKILL
    (folder,) = [path for path in (tmp_path / kind.root).iterdir() if path.name[0] != "."]
    assert not (folder / "DONE").exists()
    done = command(*arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    counts = json.loads((folder / "manifest.json").read_text())["counts"]
    assert counts["generated"] == 0, "what the killed run generated is kept"
    assert counts["cached"] > 0


@kinds
def test_a_finished_run_is_read_from_a_disk_that_cannot_be_written(tmp_path: Path, kind: Kind):
    if kind.name == "memory":
        pytest.skip("a memory is read by an arm, which then has a folder to write")
    arguments = (*kind.arguments, "tracker=none", f"paths.cache={tmp_path / 'cache'}")
    assert command(*arguments, cwd=tmp_path).returncode == 0
    folders = [path for path in (tmp_path / "runs").rglob("*") if path.is_dir()]
    for path in (tmp_path / "runs", *folders):
        path.chmod(0o555)
    again = command(*arguments, cwd=tmp_path, preexec_fn=obey_file_modes)
    for path in (tmp_path / "runs", *folders):
        path.chmod(0o755)
    assert again.returncode == 0, again.stderr


@kinds
def test_an_offline_tracker_gets_one_run_of_each_kind(
    entry: Entry, kind: Kind, monkeypatch: pytest.MonkeyPatch
):
    if kind.name == "memory":
        pytest.skip("a memory is shown as a part of the arms that share it")
    monkeypatch.setenv("HOME", str(Path.cwd() / "home"))
    for _ in range(2):
        assert entry(*kind.arguments, "tracker=wandb").code == 0
    assert len(list(Path("runs/wandb").glob("offline-run-*"))) == 1
    assert json.loads((kind.folder() / "tracked.json").read_text())["kind"] == "wandb"


@kinds
def test_a_folder_of_another_version_is_named_with_it(entry: Entry, kind: Kind):
    entry(*kind.arguments, "tracker=none")
    folder = kind.folder()
    manifest = {**kind.manifest(), "git_commit": "0123abc"}
    del manifest["format"]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    if kind.name == "memory":  # an arm that needs it again
        shutil.rmtree("runs")
    ended = entry(*kind.arguments, "tracker=none")
    assert ended.code == 2
    assert "was written by another version (format 1, commit 0123abc" in ended.err


@kinds
@pytest.mark.parametrize("content", ["", "{}", "null", "[1]", "{"])
@pytest.mark.parametrize("name", ["manifest.json", "metrics.json"])
def test_a_damaged_file_is_one_line(entry: Entry, kind: Kind, name: str, content: str):
    if kind.name == "memory" and name == "metrics.json":
        pytest.skip("a memory has no rates")
    entry(*kind.arguments, "tracker=none")
    (kind.folder() / name).write_text(content)
    if kind.name == "memory":
        shutil.rmtree("runs")
    ended = entry(*kind.arguments, "tracker=none")
    assert ended.code == 2
    lines = [line for line in ended.err.splitlines() if line]
    assert name in lines[-1]
    assert "Traceback" not in ended.err


@kinds
def test_a_row_or_section_that_says_nothing_is_named(entry: Entry, kind: Kind):
    entry(*kind.arguments, "tracker=none")
    for path in sorted(kind.folder().glob("*.json*")):
        if path.name in ("manifest.json", "tracked.json"):
            continue
        whole = path.read_text(encoding="utf-8")
        lines = whole.splitlines()
        damaged = ["\n".join([lines[0], "{}", *lines[2:]]) + "\n"]
        if path.name == "metrics.json":
            content = json.loads(whole)
            sections = [key for key, value in content.items() if isinstance(value, list | dict)]
            damaged = [
                json.dumps({**content, key: type(content[key])()}, indent=2) + "\n"
                for key in sections
                if content[key]
            ]
            assert damaged
        for text in damaged:
            if kind.name == "memory":
                shutil.rmtree("runs", ignore_errors=True)
            path.write_text(text, encoding="utf-8")
            ended = entry(*kind.arguments, "tracker=none")
            path.write_text(whole, encoding="utf-8")
            assert ended.code == 2, (path.name, text[:200])
            assert path.name in ended.err.splitlines()[-1]
            assert "Traceback" not in ended.err


@kinds
def test_files_that_lack_rows_or_are_gone_are_named(entry: Entry, kind: Kind):
    entry(*kind.arguments, "tracker=none")
    for path in sorted(kind.folder().glob("*.json*")):
        if path.name in ("manifest.json", "tracked.json"):
            continue
        whole = path.read_bytes()
        shorter = b"".join(whole.splitlines(keepends=True)[:-1])
        for damaged in (b"", shorter, None):
            if kind.name == "memory":
                shutil.rmtree("runs", ignore_errors=True)
            if damaged is None:
                path.unlink()
            else:
                path.write_bytes(damaged)
            ended = entry(*kind.arguments, "tracker=none")
            path.write_bytes(whole)
            assert ended.code == 2, (path.name, damaged)
            assert path.name in ended.err.splitlines()[-1]
    shutil.rmtree("runs", ignore_errors=kind.name == "memory")
