"""Shards and their merge, on the mock engine."""

import json
import re
import shutil
from pathlib import Path

import pytest
from support.entries import Entry

from harness.engines.mock import MockEngine
from memtoc.settings import Shard
from memtoc.sources import starter

MOCK = ("engine=mock", "limit=9", "tracker=none")
MERGE = ("--config-name=merge", "shards=3", *MOCK)


@pytest.fixture
def sharded(entry: Entry) -> Entry:
    """The three shards of an arm of nine questions."""
    assert entry("-m", "shard=1/3,2/3,3/3", *MOCK).code == 0
    return entry


def texts(folder: Path) -> dict[str, bytes]:
    names = ("generations.jsonl", "episodes.jsonl", "metrics.json")
    return {name: (folder / name).read_bytes() for name in names}


def the_arm(runs: str = "runs") -> Path:
    (folder,) = [path.parent for path in Path(runs).glob("*/DONE") if "of3" not in path.parent.name]
    return folder


def shard(number: int) -> Path:
    (folder,) = Path("runs").glob(f"*-{number}of3-*")
    return folder


def test_every_question_falls_into_exactly_one_part():
    ids = [question.id for question in starter.load().questions]
    for parts in (1, 2, 7):
        held = [sum(Shard(part, parts).holds(name) for part in range(1, parts + 1)) for name in ids]
        assert set(held) == {1}
    sizes = [sum(Shard(part, 3).holds(name) for name in ids) for part in (1, 2, 3)]
    assert min(sizes) > len(ids) / 6


def test_a_question_stays_in_its_part():
    """Pinned: shards may come from machines with other versions of Python and of us."""
    names = ("q10-1", "q10-2", "q11-0", "s3-2", "row7")
    held = [next(n for n in (1, 2, 3, 4) if Shard(n, 4).holds(name)) for name in names]
    assert held == [4, 3, 1, 3, 4]


def test_the_merged_arm_is_the_arm_that_one_run_would_have_left(
    sharded: Entry, monkeypatch: pytest.MonkeyPatch
):
    shutil.rmtree(".cache")  # shards that come from other machines bring no cache along
    with monkeypatch.context() as patched:
        patched.setattr(MockEngine, "_reply", None)  # nothing may be generated
        assert sharded(*MERGE).code == 0
    merged = the_arm()
    again = sharded(*MOCK, "paths.runs=whole", "paths.memories=whole", "paths.cache=whole")
    assert again.code == 0
    (whole,) = [path.parent for path in Path("whole").glob("*-tool-*/DONE")]
    assert (merged.name, texts(merged)) == (whole.name, texts(whole))
    manifest = json.loads((merged / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["about"]["merged_from"] == [shard(number).name for number in (1, 2, 3)]


def test_after_a_merge_the_whole_arm_is_done(sharded: Entry):
    sharded(*MERGE)
    assert "1 already done" in sharded("-m", *MOCK).out


def test_an_unfinished_shard_is_named_with_the_way_to_finish_it(sharded: Entry):
    (shard(2) / "DONE").unlink()
    ended = sharded(*MERGE)
    assert ended.code == 2
    assert "shard 2/3" in ended.err
    assert "run the same settings with shard=2/3" in ended.err


@pytest.mark.parametrize("kind", ["runs", "memories"])
@pytest.mark.parametrize("number", [1, 3])
def test_a_lost_row_and_a_row_that_is_there_twice_are_found_and_the_shard_is_named(
    sharded: Entry, kind: str, number: int
):
    (folder,) = Path(kind).glob(f"*-{number}of3-*")
    file = folder / "generations.jsonl"
    rows = file.read_text(encoding="utf-8").splitlines(keepends=True)
    for content, words in (
        (rows[1:], "is missing, and 0 more"),
        ([], f"is missing, and {len(rows) - 1} more"),
        ([*rows, rows[0]], "is there twice or is of another arm, and 0 more"),
    ):
        file.write_text("".join(content), encoding="utf-8")
        ended = sharded(*MERGE)
        assert ended.code == 2
        assert f"shard {number}/3: {folder}: the row of question s" in ended.err
        assert words in ended.err
        assert f"run the same settings with shard={number}/3" in ended.err


@pytest.mark.parametrize("kind", ["runs", "memories"])
def test_doing_what_the_message_says_mends_a_shard(sharded: Entry, kind: str):
    (folder,) = Path(kind).glob("*-2of3-*")
    (folder / "generations.jsonl").write_text("", encoding="utf-8")
    message = sharded(*MERGE).err
    away = message.split(": move ")[1].split(" away")[0].split(" and ")
    for path in away:
        shutil.rmtree(path)
    assert sharded("shard=2/3", *MOCK).code == 0
    assert sharded(*MERGE).code == 0


def test_shards_of_other_settings_are_not_taken(sharded: Entry):
    ended = sharded(*MERGE, "formulation=paraA")
    assert ended.code == 2
    assert "shard 1/3" in ended.err


def test_failed_rows_of_a_shard_stay_failed_in_the_arm(entry: Entry):
    rule = "engine.rules=[{contains: Socrates, error: down}]"
    lenient = (rule, "report.max_error_rate=1.0", *MOCK)
    assert entry("-m", "shard=1/3,2/3,3/3", *lenient).code == 0
    assert entry("--config-name=merge", "shards=3", *lenient).code == 0
    status = json.loads((the_arm() / "metrics.json").read_text(encoding="utf-8"))["status"]
    parts = [json.loads((shard(n) / "metrics.json").read_text()) for n in (1, 2, 3)]
    assert status["error"] == sum(part["status"].get("error", 0) for part in parts) > 0


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("shards=1", "give the number of shards, from 2 to 9999"),
        ("shards=many", "give the number of shards"),
        ("shard=1/3", "leave it out, and set shards=n"),
    ],
)
def test_a_merge_asked_for_wrongly(entry: Entry, override: str, words: str):
    ended = entry(*MERGE, override)
    assert ended.code == 2
    assert words in ended.err


def test_a_shard_without_a_question_is_nothing_to_do_and_a_merge_does_without_it(entry: Entry):
    parts = ",".join(f"{number}/50" for number in range(1, 51))
    ended = entry("-m", f"shard={parts}", *MOCK)
    assert ended.code == 0
    totals = {words: int(count) for count, words in re.findall(r"(\d+) ([a-z ]+)[,;]", ended.out)}
    held = {re.findall(r"-(\d+)of50-", str(path))[0] for path in Path("runs").glob("*/DONE")}
    assert totals["done"] == len(held) <= 9
    assert totals["nothing to do"] == 50 - len(held)
    empty = next(number for number in range(1, 51) if str(number) not in held)
    alone = entry(f"shard={empty}/50", *MOCK)
    assert alone.code == 0
    assert "questions: nothing to do (--config-name=merge does without it)" in alone.out
    assert entry("--config-name=merge", "shards=50", *MOCK).code == 0
