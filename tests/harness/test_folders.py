import json
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from support.arms import ROOT, compose_config, finished, obey_file_modes

from harness import folders
from harness.errors import UserError
from harness.folders import RunFolder

PRINT = "a" * 64
CONFIG = {"limit": 3, "model": {"name": "m"}, "paths": {"runs": "here"}}

WAITS = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from harness.folders import open_folder
config = {"limit": 3, "model": {"name": "m"}, "paths": {"runs": "there"}}
with open_folder(Path(sys.argv[2]), "arm", "a" * 64, config, ("paths",)) as folder:
    print("done" if folder.done else "not done")
"""


# As every run does: where a run lies is no part of what it is.
open_folder = partial(folders.open_folder, cosmetic=("paths",))


def begun(root: Path) -> RunFolder:
    with open_folder(root, "arm", PRINT, CONFIG) as folder:
        folder.append([{"id": "q1", "text": "one"}, {"id": "q2", "text": "two"}])
    return folder


def test_a_new_folder_holds_its_config_and_a_manifest_but_is_not_done(tmp_path: Path):
    with open_folder(tmp_path, "arm", PRINT, CONFIG) as folder:
        assert folder.path.name == "arm-aaaaaaaa"
        assert not folder.done
        assert folder.generations() == []
        assert folder.read("manifest.json")["fingerprint"] == PRINT
    assert "name: m" in (folder.path / "config.yaml").read_text()


def test_a_torn_last_line_is_passed_over_and_the_whole_rows_stay(tmp_path: Path):
    folder = begun(tmp_path)
    with (folder.path / "generations.jsonl").open("ab") as file:
        file.write(b'{"id": "q3", "text": "thr\xc3')
    with open_folder(tmp_path, "arm", PRINT, CONFIG) as again:
        assert [item["id"] for item in again.generations()] == ["q1", "q2"]


def test_text_with_odd_line_ends_survives(tmp_path: Path):
    texts = ["a\u2028b", "a\x85b", "a\x0c\x1cb", "a\r\nb", "half \ud83d", "\ufeff\x00"]
    with open_folder(tmp_path, "arm", PRINT, CONFIG) as folder:
        folder.append([{"text": text} for text in texts])
        assert [item["text"] for item in folder.generations()] == texts
        folder.write_generations(folder.generations())
        assert [item["text"] for item in folder.generations()] == texts


def test_finishing_removes_the_failure_and_marks_the_run_as_done_last(tmp_path: Path, monkeypatch):
    folder = begun(tmp_path)
    folder.fail("too many rows failed")
    renamed: list[tuple[str, bool, bool]] = []
    rename = Path.replace

    def spy(source: Path, target: Path) -> Path:
        there = [(folder.path / name).exists() for name in ("DONE", "FAILED")]
        renamed.append((Path(target).name, *there))
        return rename(source, target)

    monkeypatch.setattr(Path, "replace", spy)
    folder.finish({"seed": 7})
    assert renamed == [("manifest.json", False, True), ("DONE", False, False)]
    assert folder.done
    manifest = folder.read("manifest.json")
    assert (manifest["seed"], manifest["fingerprint"]) == (7, PRINT)
    assert manifest["started"] <= manifest["finished"]


def test_other_settings_are_refused_with_the_difference_shown(tmp_path: Path):
    begun(tmp_path)
    with (
        pytest.raises(UserError) as caught,
        open_folder(tmp_path, "arm", PRINT, {**CONFIG, "limit": 5}),
    ):
        pass
    message = str(caught.value)
    assert "limit: 3 there, 5 here" in message
    assert "move it away" in message
    assert "\n" not in message


def test_several_differences_are_counted(tmp_path: Path):
    begun(tmp_path)
    with (
        pytest.raises(UserError, match="and 2 more"),
        open_folder(tmp_path, "arm", PRINT, {"limit": 5, "ids": None, "model": {"name": "n"}}),
    ):
        pass


def test_other_data_under_the_same_settings_is_refused(tmp_path: Path):
    begun(tmp_path)
    with (
        pytest.raises(UserError, match="same settings on other data or weights"),
        open_folder(tmp_path, "arm", PRINT[:8] + "b" * 56, CONFIG),
    ):
        pass


def test_cosmetic_settings_may_differ(tmp_path: Path):
    begun(tmp_path)
    with open_folder(tmp_path, "arm", PRINT, {**CONFIG, "paths": {"runs": "there"}}) as folder:
        assert len(folder.generations()) == 2


def test_a_composed_config_survives_its_own_yaml(tmp_path: Path):
    config = compose_config("formulation=paraB", "ids=['1e3','0x1','no','null','2024-01-01']")
    for _ in range(2):
        with open_folder(tmp_path, "arm", PRINT, config):
            pass


@pytest.mark.parametrize("name", ["config.yaml", "manifest.json"])
@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"[1]", b"{", b"text", b"{}"])
def test_a_damaged_folder_is_named(tmp_path: Path, name: str, content: bytes):
    folder = begun(tmp_path)
    (folder.path / name).write_bytes(content)
    with (
        pytest.raises(UserError, match=r"move (it|the folder) away"),
        open_folder(tmp_path, "arm", PRINT, CONFIG),
    ):
        pass


def test_a_folder_killed_before_its_manifest_is_begun_again(tmp_path: Path):
    folder = begun(tmp_path)
    (folder.path / "manifest.json").unlink()
    (folder.path / "config.yaml").write_text("torn: [")
    with open_folder(tmp_path, "arm", PRINT, CONFIG) as again:
        assert again.read("manifest.json")["fingerprint"] == PRINT


def test_a_second_process_waits_for_the_first_and_finds_its_work_done(tmp_path: Path):
    with open_folder(tmp_path, "arm", PRINT, CONFIG) as folder:
        line = [sys.executable, "-c", WAITS, str(ROOT), str(tmp_path)]
        second = subprocess.Popen(line, stdout=subprocess.PIPE, text=True)
        _until_it_has_opened(second, folder.path / ".lock")
        assert second.poll() is None
        folder.finish({})
    assert second.communicate(timeout=60)[0].strip() == "done"


def _until_it_has_opened(process: "subprocess.Popen[str]", path: Path) -> None:
    for _ in range(1000):
        links = Path(f"/proc/{process.pid}/fd").glob("*")
        if any(link.is_symlink() and link.readlink() == path for link in links):
            return
        time.sleep(0.02)
    raise AssertionError(f"{path} was never opened")


def test_the_lock_of_a_killed_process_is_free(tmp_path: Path):
    script = f"{WAITS}\n    import os; os.kill(os.getpid(), 9)\n"
    line = [sys.executable, "-c", script, str(ROOT), str(tmp_path)]
    assert finished(line).returncode == -9
    with open_folder(tmp_path, "arm", PRINT, {**CONFIG, "paths": {}}) as folder:
        assert not folder.done


def test_a_folder_that_may_not_be_written_is_named(tmp_path: Path):
    root = tmp_path / "runs"
    root.mkdir(mode=0o555)
    line = [sys.executable, "-c", WAITS, str(ROOT), str(root)]
    done = finished(line, preexec_fn=obey_file_modes)
    assert f"UserError: {root}/arm-aaaaaaaa: cannot be written" in done.stderr


def test_a_read_of_a_lost_file_is_a_users_error(tmp_path: Path):
    folder = begun(tmp_path)
    with pytest.raises(UserError, match=r"metrics\.json cannot be read"):
        folder.read("metrics.json")
    assert json.loads((folder.path / "manifest.json").read_text())["fingerprint"] == PRINT
