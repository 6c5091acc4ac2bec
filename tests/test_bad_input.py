"""What a user can get wrong, through the real command: one line that names it, exit code 2."""

import json
import shutil
import subprocess
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from support.arms import command, folders, obey_file_modes, read_jsonl, row, write_rows

GOOD = [row("q1", "Ravenna", "Modena", "Cuzco"), row("q2", "Bergen", "Stavanger")]
MOCK = ("engine=mock", "tracker=none")


@dataclass(frozen=True)
class Mistake:
    """What a file or an argument holds, and the words that the line must have."""

    named: tuple[str, ...]
    content: bytes | None = None
    arguments: tuple[str, ...] = field(default=("benchmark=folder", "benchmark.path={file}"))


def lines(*rows: Mapping[str, object]) -> bytes:
    return b"".join(json.dumps(item).encode() + b"\n" for item in rows)


def without(name: str) -> dict[str, object]:
    return {key: value for key, value in GOOD[1].items() if key != name}


MISTAKES = {
    "a missing field": Mistake(
        ("{file} row 2", "field 'near' is missing", "add it or remove the row"),
        lines(GOOD[0], without("near")),
    ),
    "near as the gold": Mistake(
        ("{file} row 2", "near 'bergen' equals the gold", "give a wrong value"),
        lines(GOOD[0], {**GOOD[1], "near": "bergen"}),
    ),
    "a duplicate id": Mistake(
        ("{file} row 3", "id 'q1' stands already in {file} row 1"),
        lines(*GOOD, {**GOOD[1], "id": "q1"}),
    ),
    "bad JSON": Mistake(
        ("{file} row 2", "not valid JSON", "mend or remove the row"),
        lines(GOOD[0]) + b"{'id': 1}\n",
    ),
    "wrong encoding": Mistake(
        ("{file} is not UTF-8", "save it as UTF-8"),
        json.dumps(row("q1", "Orléans", "Tours"), ensure_ascii=False).encode("latin-1"),
    ),
    "no rows": Mistake(("{file} holds no question", "check benchmark.path"), b"\n"),
    "no file": Mistake(("{file}", "No such file", "check benchmark.path")),
    "an unknown kind": Mistake(
        ("{file} row 1", "unknown kind 'plcae'", "did you mean 'place'?"),
        lines({**GOOD[0], "kind": "plcae"}),
    ),
    "an unknown condition": Mistake(
        ("unknown condition 'tool_wrnog'", "did you mean 'tool_wrong'?"),
        lines(*GOOD),
        ("benchmark=folder", "benchmark.path={file}", "conditions=[tool_wrnog]"),
    ),
    "an unknown question": Mistake(
        ("has no question 'q7'", "did you mean"),
        lines(*GOOD),
        ("benchmark=folder", "benchmark.path={file}", "ids=[q7]"),
    ),
    "a model folder without weights": Mistake(
        ("{here} has no weights (*.safetensors)", "set model.path"),
        lines(*GOOD),
        ("engine=hf", "model.path={here}", "benchmark=folder", "benchmark.path={file}"),
    ),
    "a model that is nowhere": Mistake(
        ("meta-llama/Llama-3.1-8B-Instruct is neither in the local cache nor reachable",
         "set model.path=FOLDER"),
        lines(*GOOD),
        ("engine=hf", "model=llama", "benchmark=folder", "benchmark.path={file}"),
    ),
    "a recording that is none": Mistake(
        ("{file} row 1 is not a generation", "mend or remove it"),
        lines(*GOOD),
        ("engine=replay", "engine.recording={file}", "benchmark=folder", "benchmark.path={file}"),
    ),
    "a recording that is not there": Mistake(
        ("engine.recording: {here}/absent is not a file",),
        lines(*GOOD),
        ("engine=replay", "engine.recording={here}/absent", "benchmark=folder",
         "benchmark.path={file}"),
    ),
    "a released row with a missing field": Mistake(
        ("{file} row 1", "'review'"),
        lines({"id": "1.0", "chain": 1, "hop": 0}),
        ("benchmark=memtoc", "benchmark.path={file}"),
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory):
    """Every mistake made once, two at a time; one that is not asked for is not made."""
    home = tmp_path_factory.mktemp("mistakes")
    pool = ThreadPoolExecutor(max_workers=2)

    def make(name: str) -> tuple[Path, "subprocess.CompletedProcess[str]"]:
        here = home / name.replace(" ", "-")
        here.mkdir()
        file = here / "questions.jsonl"
        if MISTAKES[name].content is not None:
            file.write_bytes(MISTAKES[name].content)
        given = [text.format(file=file, here=here) for text in MISTAKES[name].arguments]
        return here, command(*MOCK, *given, *folders(here), cwd=here, timeout=300)

    futures = {name: pool.submit(make, name) for name in MISTAKES}
    yield lambda name: futures[name].result()
    pool.shutdown(cancel_futures=True)


def one_line(done: "subprocess.CompletedProcess[str]") -> str:
    """The line on standard error; the counts of a pass may stand before it."""
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr + done.stdout
    *counts, line = done.stderr.splitlines()
    assert all("done, " in count for count in counts), done.stderr
    assert line.startswith("error: ")
    return line


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_line_with_file_row_and_fix(ended: Callable, name: str):
    here, done = ended(name)
    line = one_line(done)
    for words in MISTAKES[name].named:
        assert words.format(file=here / "questions.jsonl", here=here) in line
    assert not list(here.glob("runs/*/DONE"))


def arm(here: Path, *overrides: str, **options) -> "subprocess.CompletedProcess[str]":
    path = here / "questions.jsonl"
    if not path.exists():
        write_rows(path, GOOD)
    given = ("benchmark=folder", f"benchmark.path={path}", *overrides)
    return command(*MOCK, *folders(here), *given, cwd=here, timeout=300, **options)


def test_a_cache_that_is_no_database_is_named_and_left_alone(tmp_path: Path):
    cache = tmp_path / "cache" / "generations.sqlite"
    cache.parent.mkdir()
    cache.write_bytes(b"somebody's notes\n" * 100)
    line = one_line(arm(tmp_path))
    assert f"{cache} is not a generation cache" in line
    assert "move it away or set paths.cache" in line
    assert cache.read_bytes() == b"somebody's notes\n" * 100


def test_an_arm_folder_of_other_settings_is_refused_with_the_difference(tmp_path: Path):
    assert arm(tmp_path, "seed=1").returncode == 0
    (folder,) = (path for path in (tmp_path / "runs").iterdir() if (path / "DONE").exists())
    before = (folder / "episodes.jsonl").read_bytes()
    config = (folder / "config.yaml").read_text()
    (folder / "config.yaml").write_text(config.replace("seed: 1", "seed: 7"))
    line = one_line(arm(tmp_path, "seed=1"))
    assert f"{folder} holds a run of other settings (seed: 7 there, 1 here)" in line
    assert "move it away" in line
    assert (folder / "episodes.jsonl").read_bytes() == before


def test_a_read_only_cache_is_named(tmp_path: Path):
    assert arm(tmp_path).returncode == 0
    cache = tmp_path / "cache" / "generations.sqlite"
    cache.chmod(0o444)
    line = one_line(arm(tmp_path, "mitigation=warn", preexec_fn=obey_file_modes))
    assert f"{cache} cannot be written" in line
    assert len(list((tmp_path / "runs").glob("*/DONE"))) == 1


def test_a_full_disk_is_named_and_the_same_command_goes_on_with_room(tmp_path: Path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = shutil.which("mount")
    tmpfs = ["-t", "tmpfs", "-o", "size=1200k", "tmpfs", str(disk)]
    if (
        mount is None
        or subprocess.run([mount, *tmpfs], check=False, capture_output=True).returncode
    ):
        pytest.skip("needs the right to mount a disk")
    try:
        rows = [row(f"q{at}", f"Gold{at}", f"Near{at}") for at in range(200)]
        path = write_rows(tmp_path / "questions.jsonl", rows)
        reply = f"engine.reply={'x' * 300}"
        line = one_line(arm_on(disk, path, reply))
        assert "no room left on the disk" in line or "the disk refuses" in line
        assert "free some" in line
        subprocess.run(["mount", "-o", "remount,size=32m", str(disk)], check=True)
        done = arm_on(disk, path, reply)
        assert done.returncode == 0, done.stderr
        (folder,) = (found.parent for found in disk.glob("runs/*/DONE"))
        assert len(read_jsonl(folder / "generations.jsonl")) == 200 * 5
        counts = json.loads((folder / "manifest.json").read_text())["counts"]
        assert counts["cached"] > 200, "more than the memory's rows were kept"
        assert counts["cached"] + counts["generated"] == counts["distinct"] == 200 * 5
        assert not [path for path in folder.glob(".*") if path.name != ".lock"]
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def arm_on(disk: Path, questions: Path, *overrides: str) -> "subprocess.CompletedProcess[str]":
    given = ("benchmark=folder", f"benchmark.path={questions}", *overrides)
    return command(*MOCK, *folders(disk), *given, cwd=disk.parent, timeout=300)
