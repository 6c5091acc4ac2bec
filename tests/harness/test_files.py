import json
import os
import stat
import sys
from pathlib import Path

import pytest
from support.arms import ROOT, finished

from harness.errors import UserError
from harness.files import write_json, write_jsonl

SMALL_FILES_ONLY = """
import resource, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from harness.errors import UserError
from harness.files import write_atomic
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    write_atomic(Path(sys.argv[2]), "x" * 100_000)
except UserError as error:
    print(error)
"""


def test_a_write_that_does_not_fit_leaves_what_was_there(tmp_path: Path):
    target = tmp_path / "metrics.json"
    target.write_text("old")
    done = finished([sys.executable, "-c", SMALL_FILES_ONLY, str(ROOT), str(target)])
    assert "no room left" in done.stdout
    assert str(target) in done.stdout
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["metrics.json"]


def test_an_interrupted_write_leaves_what_was_there(tmp_path: Path):
    target = tmp_path / "rows.jsonl"
    target.write_text("old")

    def rows():
        yield {"id": "q1"}
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_jsonl(target, rows())
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["rows.jsonl"]


def test_written_files_have_the_permissions_that_the_user_asked_for(tmp_path: Path):
    before = os.umask(0o027)
    try:
        write_json(tmp_path / "metrics.json", {})
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "metrics.json").stat().st_mode) == 0o640


@pytest.mark.parametrize(
    "text", ["a\u2028b", "a\x85b", "a\x0cb", "a\r\nb", "\x00", "\U0001f600", "\ud83d"]
)
def test_one_row_is_one_line_whatever_its_text(tmp_path: Path, text: str):
    write_jsonl(tmp_path / "rows.jsonl", [{"text": text}, {"text": "next"}])
    lines = (tmp_path / "rows.jsonl").read_bytes().split(b"\n")
    assert [json.loads(line)["text"] for line in lines if line] == [text, "next"]


def test_a_folder_in_the_place_of_a_file_is_named(tmp_path: Path):
    (tmp_path / "metrics.json").mkdir()
    with pytest.raises(UserError, match=r"metrics\.json: cannot be written"):
        write_json(tmp_path / "metrics.json", {})
