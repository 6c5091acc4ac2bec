"""The command: what it writes, what it says, how it ends."""

import json
import random
import shutil
import sys
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler

import pytest
from support.arms import (
    ROOT,
    compose_config,
    finished,
    folders,
    mock_config,
    requests_of,
    row,
    write_rows,
)
from support.building import RELEASE, SHARED, TOOLHOP, Builder, files_of, save, send_back, sheet
from support.servers import serving

from harness.errors import UserError
from memtoc.questions import Benchmark, load_rows
from memtoc.sources import starter

WORK = "built/starter/work"


@pytest.fixture
def build(tmp_path, monkeypatch, capsys):
    return Builder(tmp_path, monkeypatch, capsys)


def questions_of(folder):
    return {q.id: q for q in load_rows(folder / "questions.jsonl")}


def manifest_of(folder):
    return json.loads((folder / "manifest.json").read_text("utf-8"))


def test_two_builds_are_byte_for_byte_the_same(build, tmp_path):
    assert build().code == 0
    first = files_of(tmp_path / "built/starter")
    assert build().code == 0
    assert files_of(tmp_path / "built/starter") == first
    assert build(f"out={tmp_path / 'elsewhere'}").code == 0
    assert files_of(tmp_path / "elsewhere") == first
    assert {"questions.jsonl", "manifest.json"} <= {str(path) for path in first}


def test_another_seed_changes_the_distractors_and_nothing_of_the_questions(build, tmp_path):
    build()
    build("seed=1", f"out={tmp_path / 'other'}")
    one, other = questions_of(tmp_path / "built/starter"), questions_of(tmp_path / "other")
    assert [(q.id, q.text, q.gold, q.tool) for q in one.values()] == [
        (q.id, q.text, q.gold, q.tool) for q in other.values()
    ]
    drawn = [name for name, q in one.items() if q.source == "temporal"]
    assert len(drawn) == 49
    assert sum(one[name].near != other[name].near for name in drawn) > len(drawn) // 2


def test_the_starter_folder_holds_the_embedded_questions(build, tmp_path):
    build("redraw_temporal=false", "folds=published")
    rebuilt = Benchmark("starter", tuple(questions_of(tmp_path / "built/starter").values()))
    assert rebuilt.digest == starter.load().digest


def test_an_arm_asks_a_built_folder_the_same_as_its_source(build, tmp_path):
    build("redraw_temporal=false", "folds=published")
    chosen = ("engine=mock", "tracker=none", "limit=12", *folders(tmp_path))
    built = mock_config(tmp_path, tmp_path / "built/starter", *chosen)
    assert requests_of(built) == requests_of(compose_config(*chosen))


def test_a_built_folder_is_a_source_like_any_other(build, tmp_path):
    build()
    first = questions_of(tmp_path / "built/starter")
    path = tmp_path / "built/starter/questions.jsonl"
    lines = path.read_text("utf-8").splitlines()
    random.Random(3).shuffle(lines)
    shuffled = tmp_path / "shuffled.jsonl"
    shuffled.write_text("\n".join(lines) + "\n", encoding="utf-8")
    for source, out in ((path, "1"), (shuffled, "2")):
        arguments = ("benchmark=folder", f"benchmark.path={source}", f"out={tmp_path / out}")
        assert build(*arguments, "folds=published").code == 0
    assert files_of(tmp_path / "1") == files_of(tmp_path / "2")
    assert questions_of(tmp_path / "1") == first


@pytest.mark.skipif(not SHARED.is_file(), reason="the released mapping is not on this machine")
def test_the_released_mapping_is_counted_and_its_flagged_values_are_told(build, tmp_path):
    ended = build("benchmark=memtoc", f"benchmark.path={SHARED}")
    assert ended.code == 0
    said = " ".join(ended.out.split())
    for line in (
        "575 questions: 503 pass, 39 repair, 33 exclude; 542 in the analysis set; 463 far"
        " (443 in the analysis set); 0 open",
        "kind: person 304, date 111, place 50, year 44, organization 23, timezone 18,"
        " other_string 17, work 8",
        "family: genealogy 206, free_form 190, birth_death_date 96, creator_role 65,"
        " birth_death_place 18",
        "575 questions, 1 violation; strict=false: told, not stopped",
        "q185-1 near 'Henry Ford': in_question (the question names it)",
        "no chain in both, 0 groups in both",
    ):
        assert line in said
    folder = tmp_path / "built/memtoc"
    assert manifest_of(folder)["violations"] == {"in_question": 1}
    assert manifest_of(folder)["stages"]["fold"]["imbalance"] < 17.25
    excluded = {q.id for q in questions_of(folder).values() if q.review == "exclude"}
    assert len(excluded) == 33
    asked = {name for name, _ in requests_of(mock_config(tmp_path, folder, "limit=null"))}
    assert len(asked) == 542 and not asked & excluded

    stopped = build("benchmark=memtoc", f"benchmark.path={SHARED}", "strict=true")
    assert stopped.code == 2 and stopped.err.count("\n") == 1
    assert "question 'q185-1', near 'Henry Ford', in_question" in stopped.err


@pytest.mark.skipif(not SHARED.is_file(), reason="the released mapping is not on this machine")
def test_shuffled_rows_and_published_folds_of_the_released_mapping(build, tmp_path):
    lines = SHARED.read_text("utf-8").splitlines()
    random.Random(3).shuffle(lines)
    shuffled = tmp_path / "shuffled.jsonl"
    shuffled.write_text("\n".join(lines) + "\n", encoding="utf-8")
    common = ("benchmark=memtoc", "folds=published")
    first = build(*common, f"benchmark.path={SHARED}", f"out={tmp_path / '1'}")
    second = build(*common, f"benchmark.path={shuffled}", f"out={tmp_path / '2'}")
    assert "A 287, B 288; imbalance 17.25; no chain in both, 15 groups in both" in first.out
    assert "is not the published file" in second.out and "published file" not in first.out
    assert files_of(tmp_path / "1") == files_of(tmp_path / "2")


def near_for(row):
    return {"near": "12" if row["kind"] == "number" else f"Wrong for {row['id'][1:]}"}


def build_toolhop(build, path, *more):
    """Through every stage: the packets of wrong values and those of the review come back."""
    command = ("benchmark=toolhop", f"benchmark.path={path}", "distractors=authored", *more)
    waiting = build(*command)
    work = build.root / "built/toolhop/work"
    for who in "12":
        send_back(work, f"authoring_{who}", near_for)
    return command, waiting, work


def test_toolhop_goes_through_all_stages(build, tmp_path):
    command, waiting, work = build_toolhop(build, TOOLHOP)
    assert waiting.code == 0
    assert "51 of 76 questions kept; dropped: arithmetic 2, capitalising 1" in waiting.out
    assert "near: kind_number 1, no_wikidata 34, temporal 16; far: 16" in waiting.out
    assert "waiting for returned/authoring_1, returned/authoring_2" in waiting.out
    assert not (tmp_path / "built/toolhop/questions.jsonl").exists()

    unreviewed = build(*command)
    assert "agreement 1.000" not in unreviewed.out and "35 decided" in unreviewed.out
    assert "51 questions, 0 violations" in unreviewed.out
    assert "all count as passed until returned/review_1, returned/review_2" in unreviewed.out
    assert "51 questions: 51 pass, 0 repair, 0 exclude; 51 in the analysis set; 16 far" in " ".join(
        unreviewed.out.split()
    )

    def first(row):
        excluded = {"verdict": "exclude", "reason": "implausible"}
        return excluded if row["id"] in ("q5-0", "q7-0") else {"verdict": "pass"}

    def second(row):
        return {"verdict": "pass"} if row["id"] == "q7-0" else first(row)

    send_back(work, "review_1", first)
    send_back(work, "review_2", second)
    disputed = build(*command)
    # One of 51 differs: observed 50/51, by chance (49 * 50 + 2 * 1) / 51 ** 2.
    chance = (49 * 50 + 2) / 51**2
    kappa = (50 / 51 - chance) / (1 - chance)
    assert f"verdict: agreement {50 / 51:.3f}, kappa {kappa:.3f}" in disputed.out
    assert "returned/review_adjudication (xlsx or csv), 1 rows" in disputed.out
    assert [r["id"] for r in sheet(work / "packets/review_adjudication.csv")] == ["q7-0"]
    send_back(work, "review_adjudication", lambda _: {"verdict": "pass"})
    assert build(*command).code == 0
    manifest = manifest_of(tmp_path / "built/toolhop")
    counts = manifest["counts"]
    assert (counts["pass"], counts["exclude"], counts["open"]) == (50, 1, 0)
    assert counts["schema_source"] == {"toolhop": 47, "family_kind": 4}
    assert manifest["outdated_stages"] == []


def test_shuffled_chains_of_toolhop_change_nothing(build, tmp_path):
    chains = json.loads(TOOLHOP.read_text("utf-8"))
    random.Random(3).shuffle(chains)
    shuffled = tmp_path / "shuffled.json"
    shuffled.write_text(json.dumps(chains), encoding="utf-8")
    command, _, work = build_toolhop(build, TOOLHOP)
    build(*command)
    first = files_of(tmp_path / "built/toolhop")
    shutil.rmtree(work.parent)
    command, _, _ = build_toolhop(build, shuffled)
    build(*command)
    assert files_of(tmp_path / "built/toolhop") == first


def test_questions_that_people_owe_are_left_out_where_that_is_wanted(build, tmp_path):
    ended = build(
        "benchmark=toolhop", f"benchmark.path={TOOLHOP}", "distractors=authored", "strict=false"
    )
    assert ended.code == 0
    assert "35 without a near value" in ended.out and "35 open" in ended.out
    assert "15 more in" in ended.out
    assert len(questions_of(tmp_path / "built/toolhop")) == 16


CSV = """question,answer,chain,kind,near,far,aliases
Who is the director of Alien?,Ridley Scott,alien,person,John Carpenter,,Sir Ridley Scott
In which year was Ridley Scott born?,1937,alien,,,,
When did the Titanic sink?,15 April 1912,,,16 May 1913,,
How many letters has Alien?,5,,,,,
"""


def test_a_csv_of_question_and_answer_becomes_a_benchmark_in_any_order(build, tmp_path):
    path, other = tmp_path / "my.csv", tmp_path / "other.csv"
    path.write_text(CSV)
    header, *rows = CSV.splitlines()
    other.write_text("\n".join([header, *reversed(rows)]) + "\n")
    for source, out in ((path, "1"), (other, "2")):
        common = ("benchmark=csv", "benchmark.name=mine", f"benchmark.path={source}")
        assert build(*common, f"out={tmp_path / out}").code == 0
    assert files_of(tmp_path / "1") == files_of(tmp_path / "2")
    assert manifest_of(tmp_path / "1")["name"] == "mine"
    found = {q.gold: q for q in questions_of(tmp_path / "1").values()}
    assert found["Ridley Scott"].near == "John Carpenter"
    assert found["15 April 1912"].near == "16 May 1913"
    assert found["1937"].source == "temporal"


def test_entities_without_a_value_ask_for_a_user_agent_before_anything_is_asked(build, tmp_path):
    path = tmp_path / "my.csv"
    path.write_text("question,answer\nWho is the director of Alien?,Ridley Scott\n")
    ended = build("benchmark=csv", f"benchmark.path={path}")
    assert ended.code == 2
    assert "distractors.user_agent is empty" in ended.err
    assert "distractors=authored" in ended.err


def test_episode_files_become_a_folder(build, tmp_path):
    assert build("benchmark=released", f"benchmark.path={RELEASE}", "strict=false").code == 0
    found = questions_of(tmp_path / "built/released")
    assert found["q7-0"].near == "Ernest Rutherford"
    assert not found["q7-0"].prompts


def test_the_six_stages_run_one_after_another_as_they_do_at_once(build, tmp_path):
    build()
    whole = files_of(tmp_path / "built/starter")
    shutil.rmtree(tmp_path / "built")
    for stage in ("screen", "distract", "author", "check", "review", "fold", "write"):
        assert build(f"stages=[{stage}]").code == 0
    assert files_of(tmp_path / "built/starter") == whole
    shutil.rmtree(tmp_path / "built")
    assert build("stages=[screen,distract,check,review,fold,write]").code == 0
    path = "built/starter/questions.jsonl"
    assert (tmp_path / path).read_bytes() == whole[(tmp_path / path).relative_to(
        tmp_path / "built/starter")]  # fmt: skip


def test_an_edit_by_hand_is_built_on_and_never_lost(build, tmp_path):
    build("stages=[screen]")
    path = tmp_path / WORK / "screened.csv"
    rows = sheet(path)
    rows[0]["dropped"] = "by hand"
    save(path, rows)
    later = "stages=[distract,check,review,fold,write]"
    refused = build()
    assert refused.code == 2 and "screened.csv was changed by hand" in refused.err
    assert build(later).code == 0
    assert rows[0]["id"] not in questions_of(tmp_path / "built/starter")
    assert len(questions_of(tmp_path / "built/starter")) == 166


def test_a_stage_that_is_out_of_date_is_told(build, tmp_path):
    build()
    ended = build("seed=5", "stages=[distract]")
    assert "what check read has changed since it ran" in ended.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["benchmark=csv"], "benchmark.path has no value"),
        (["benchmark=memtoc"], "benchmark.path has no value and benchmark=memtoc no known address"),
        (["benchmark=csv", "benchmark.path=none.csv"], "none.csv is not a file"),
        (["benchmark=toolhop", "benchmark.path=none.json"], "none.json: No such file"),
        (["stages=[chek]"], "unknown stage 'chek': did you mean 'check'?"),
        (["stages=[]"], "stages is empty"),
        (["stages=screen"], "write 'stages=[screen]'"),
        (["stages=[check]"], "distractors.jsonl is not there: add distract to stages"),
        (["last_year=2999"], "last_year=2999: give a year from 1000 to"),
        (["seed=-1"], "seed=-1"),
        (["folds=file"], "folds.path has no value"),
        (["folds=file", "folds.path=none.csv"], "none.csv"),
        (["folds=even"], "folds=even: no such option"),
        (["distractors.user_agnet=x"], "did you mean 'distractors.user_agent'?"),
        (["limit=3"], "limit: no such setting"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(build, arguments, message):
    ended = build(*arguments)
    assert ended.code == 2
    assert ended.err.count("\n") == 1 and ended.err.startswith("error: ")
    assert message in ended.err


@contextmanager
def publisher(content, cut=None):
    """Serves one file by ranges; the first reply breaks off after ``cut`` bytes."""
    asked, cuts = [], [] if cut is None else [cut]

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            start = int(self.headers.get("Range", "bytes=0-")[6:-1])
            asked.append(start)
            body = content[start:]
            self.send_response(206 if start else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[: cuts.pop()] if cuts else body)

    with serving(Handler) as address:
        yield f"{address}/file", asked


def test_without_a_path_the_source_is_fetched_resumed_checked_and_kept(build, monkeypatch):
    monkeypatch.setattr("time.sleep", lambda _: None)
    content = TOOLHOP.read_bytes()
    pinned = f"benchmark.publisher.sha256={sha256(content).hexdigest()}"
    with publisher(content, cut=1000) as (url, asked):
        common = ("benchmark=toolhop", f"benchmark.publisher.url={url}", "stages=[screen]")
        assert "51 of 76 questions kept" in build(*common, pinned).out
        assert asked == [0, 1000]
        assert build(*common, pinned).code == 0
        assert len(asked) == 2
        other = build(*common, "benchmark.publisher.sha256=" + "0" * 64)
    assert other.code == 2 and "not 000000000000... as pinned" in other.err


def test_the_command_says_what_it_does(tmp_path):
    """Out of process: the file itself, from another folder, and its help."""
    line = [sys.executable, str(ROOT / "build.py")]
    asked = finished([*line, "--help"], cwd=tmp_path)
    assert asked.returncode == 0 and "python build.py benchmark=csv" in asked.stdout
    built = finished(line, cwd=tmp_path)
    assert built.returncode == 0 and built.stderr.count("Traceback") == 0
    assert (tmp_path / "built/starter/questions.jsonl").is_file()
    assert len((ROOT / "build.py").read_text("utf-8").splitlines()) < 70


def test_excluded_rows_of_a_folder_never_score(tmp_path):
    rows = [row("q1", "Ravenna", "Modena"), row("q2", "Utrecht", "Haarlem", review="exclude")]
    path = write_rows(tmp_path / "questions.jsonl", rows)
    assert {name for name, _ in requests_of(mock_config(tmp_path, path))} == {"q1"}
    both = mock_config(tmp_path, path, "benchmark.drop_excluded=false")
    assert {name for name, _ in requests_of(both)} == {"q1", "q2"}
    write_rows(path, rows[1:])
    with pytest.raises(UserError, match="every row is excluded"):
        requests_of(mock_config(tmp_path, path))
