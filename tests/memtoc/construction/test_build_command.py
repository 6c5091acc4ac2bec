"""The command with its far sides: Wikidata, people who edit and mistake, ToolHop's tools."""

import csv
import json
import shutil

import pytest
from openpyxl import load_workbook
from sklearn.metrics import cohen_kappa_score
from support.building import SHARED, TOOLHOP, Builder, files_of, save, send_back, sheet
from support.fake_wikidata import World, item, serve

from memtoc.questions import load_rows

HUMAN = {"P31": "Q5", "P21": "Q6581097", "P27": "Q145", "P106": "Q2526255"}
WORLD = World(
    {
        "Q1": item("Alien", P57="Q10", P31="Q11424"),
        "Q10": item("Ridley Scott", "Sir Ridley Scott", **HUMAN, P569="+1937-11-30T00:00:00Z"),
        "Q11": item("Nicolas Roeg", **HUMAN, P569="+1928-08-15T00:00:00Z"),
    }
)
CSV = """question,answer
Who is the director of Alien?,Ridley Scott
In which year did the Berlin Wall fall?,1989
"""
YEARS = [
    (f"In which year was the town of Number {n} founded?", str(1200 + 13 * n)) for n in range(40)
]


@pytest.fixture
def build(tmp_path, monkeypatch, capsys):
    return Builder(tmp_path, monkeypatch, capsys)


def own_csv(tmp_path, text=CSV):
    path = tmp_path / "my.csv"
    path.write_text(text)
    return ("benchmark=csv", f"benchmark.path={path}")


def test_entities_come_from_wikidata_and_a_rebuild_asks_nothing(build, tmp_path):
    with serve(WORLD, faults=[{"status": 429, "headers": {"Retry-After": "0"}}]) as (url, seen):
        service = (
            f"distractors.endpoint={url}/sparql",
            f"distractors.api={url}/w/api.php",
            "distractors.user_agent='a test (nobody@example.org)'",
            "distractors.interval=0",
            "distractors.backoff=0",
        )
        ended = build(*own_csv(tmp_path), *service)
        asked = len(seen)
    assert ended.code == 0, ended.err
    assert {agent for _, agent in seen} == {"a test (nobody@example.org)"}
    assert f"{asked} requests to Wikidata" in ended.out
    (question,) = (
        q for q in load_rows(tmp_path / "built/csv/questions.jsonl") if q.kind == "person"
    )
    assert (question.near, question.source) == ("Nicolas Roeg", "wikidata")
    first = files_of(tmp_path / "built/csv")
    offline = build(*own_csv(tmp_path), *service)
    assert "0 requests to Wikidata" in offline.out
    assert files_of(tmp_path / "built/csv") == first


def test_no_question_needs_wikidata_so_nobody_must_be_named(build, tmp_path):
    text = "question,answer\nIn which year did the Berlin Wall fall?,1989\n"
    ended = build(*own_csv(tmp_path, text))
    assert ended.code == 0 and "Wikidata" not in ended.out


def reviewed(build, tmp_path, first, second):
    lines = ["question,answer", *(f"{text},{year}" for text, year in YEARS)]
    arguments = own_csv(tmp_path, "\n".join(lines) + "\n")
    assert build(*arguments).code == 0
    work = tmp_path / "built/csv/work"
    rows = [send_back(work, f"review_{who}", fill) for who, fill in (("1", first), ("2", second))]
    return arguments, work, rows


def verdict_of(wrong):
    """An annotator who excludes and repairs by the gold."""

    def fill(row):
        year = int(row["gold"])
        if year % 10 in wrong:
            return {"verdict": "exclude", "reason": "implausible"}
        if year % 7 == 0:
            return {"verdict": "repair", "new_value": str(year + 5)}
        return {"verdict": "pass"}

    return fill


def test_two_reviews_merge_to_the_kappa_of_scikit_learn(build, tmp_path):
    arguments, work, (one, two) = reviewed(build, tmp_path, verdict_of({0, 1}), verdict_of({1, 2}))
    ended = build(*arguments)
    ids = sorted(one)
    verdicts = [[rows[name]["verdict"] for name in ids] for rows in (one, two)]
    assert f"kappa {cohen_kappa_score(*verdicts):.3f}" in ended.out
    differ = {name for name, a, b in zip(ids, *verdicts, strict=True) if a != b}
    assert len(differ) > 5
    assert {row["id"] for row in sheet(work / "packets/review_adjudication.csv")} == differ
    book = load_workbook(work / "packets/review_adjudication.xlsx").worksheets[0]
    assert book.max_row == len(differ) + 1

    send_back(work, "review_adjudication", lambda row: {"verdict": "pass"})
    assert build(*arguments).code == 0
    built = {q.id: q for q in load_rows(tmp_path / "built/csv/questions.jsonl")}
    agreed = {name: a for name, a, b in zip(ids, *verdicts, strict=True) if a == b}
    assert {n: q.review for n, q in built.items()} == agreed | dict.fromkeys(differ, "pass")
    repaired = [name for name, verdict in agreed.items() if verdict == "repair"]
    assert repaired and all(built[n].near == one[n]["new_value"] for n in repaired)
    overlay = {row["id"]: row["decided_by"] for row in sheet(work / "review.csv")}
    assert {name for name, by in overlay.items() if by == "adjudication"} == differ

    assert build(*arguments, "apply_repairs=false").code == 0
    plain = {q.id: q for q in load_rows(tmp_path / "built/csv/questions.jsonl")}
    assert all(plain[n].near == one[n]["near"] and plain[n].review == "repair" for n in repaired)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows[0].update(verdict="passs"), "passs"),
        (lambda rows: rows.pop(), "1 missing"),
        (lambda rows: rows.append(rows[0]), "stands twice"),
        (lambda rows: rows[0].update(question="Another?"), "'question' was edited"),
        (lambda rows: rows[0].update(verdict="repair", new_value=""), "'new_value' is empty"),
    ],
)
def test_a_wrong_cell_of_a_returned_packet_is_one_line(build, tmp_path, change, message):
    arguments, work, _ = reviewed(build, tmp_path, *[lambda row: {"verdict": "pass"}] * 2)
    path = work / "returned/review_2.csv"
    rows = sheet(path)
    change(rows)
    save(path, rows)
    ended = build(*arguments)
    assert ended.code == 2 and ended.err.count("\n") == 1
    assert "review_2.csv" in ended.err and message in ended.err


def test_a_filled_packet_is_not_written_over(build, tmp_path):
    arguments = own_csv(tmp_path)
    build(*arguments, "distractors=authored")
    work = tmp_path / "built/csv/work"
    path = work / "packets/authoring_1.csv"
    rows = sheet(path)
    rows[0]["near"] = "John Carpenter"
    save(path, rows)
    ended = build(*arguments, "distractors=authored")
    assert ended.code == 2 and "has been filled in: move it to" in ended.err


def test_a_wrong_value_that_breaks_a_rule_stops_with_the_report_written(build, tmp_path):
    text = "question,answer,near\nWho is the father of Ada Smith?,John Smith,Ada Smith\n"
    ended = build(*own_csv(tmp_path, text))
    work = tmp_path / "built/csv/work"
    assert ended.code == 2
    assert "near 'Ada Smith', in_question" in ended.err and "strict=false" in ended.err
    report = json.loads((work / "checks.json").read_text("utf-8"))
    assert report["counts"] == {"in_question": 1}
    assert "Ada Smith" in (work / "checks.md").read_text("utf-8")
    assert build(*own_csv(tmp_path, text), "strict=false").code == 0


def test_given_folds_come_from_a_csv(build, tmp_path):
    arguments = own_csv(tmp_path)
    build(*arguments, "distractors=authored", "stages=[screen]")
    ids = [row["id"] for row in sheet(tmp_path / "built/csv/work/screened.csv")]
    folds = tmp_path / "folds.csv"
    with folds.open("w", newline="") as file:
        csv.writer(file).writerows([("id", "fold"), *((name, "B") for name in ids)])
    common = (*arguments, "distractors=authored", "strict=false")
    assert build(*common, "folds=file", f"folds.path={folds}").code == 0
    assert {q.fold for q in load_rows(tmp_path / "built/csv/questions.jsonl")} == {"B"}


@pytest.mark.skipif(not SHARED.is_file(), reason="the released mapping is not on this machine")
def test_the_tools_of_toolhop_join_the_mapping(build, tmp_path):
    row = next(r for r in SHARED.read_text("utf-8").splitlines() if '"review": "pass"' in r)
    (tmp_path / "one.jsonl").write_text(row + "\n", encoding="utf-8")
    question = json.loads(row)["question"]
    chains = json.loads(TOOLHOP.read_text("utf-8"))
    tool = next(iter(chains[1]["tools"].values()))
    tool["parameters"] = {"type": "object", "properties": {}, "required": []}
    chains = [{**chains[1], "sub_task": {question: "x"}, "tools": {question: tool}}]
    (tmp_path / "hop.json").write_text(json.dumps(chains), encoding="utf-8")
    common = ("benchmark=memtoc", f"benchmark.path={tmp_path / 'one.jsonl'}")
    plain = build(*common)
    assert "schema_source: family_kind 1" in plain.out
    shutil.rmtree(tmp_path / "built")
    joined = build(*common, f"benchmark.toolhop={tmp_path / 'hop.json'}")
    assert "schema_source: toolhop 1" in joined.out
    (built,) = load_rows(tmp_path / "built/memtoc/questions.jsonl")
    assert built.tool.schema["name"] == tool["name"]
    assert build(*common, "benchmark.toolhop=none.json").code == 2


def test_a_packet_that_a_german_excel_saved_is_read_and_its_encoding_said(build, tmp_path):
    arguments, work, _ = reviewed(build, tmp_path, *[lambda row: {"verdict": "pass"}] * 2)
    path = work / "returned/review_2.csv"
    rows = sheet(path)
    rows[0]["comment"] = "schön; gut"
    save(path, rows)
    with path.open(newline="", encoding="utf-8") as file:
        lines = list(csv.reader(file))
    with path.open("w", newline="", encoding="cp1252") as file:
        csv.writer(file, delimiter=";").writerows(lines)
    ended = build(*arguments)
    assert ended.code == 0
    assert "review_2.csv: not UTF-8: read as Windows-1252, e.g. 'schön'" in ended.out
    assert "review_2.csv: separated by semicolons" in ended.out


def test_a_build_says_what_it_read(build, tmp_path):
    ended = build(*own_csv(tmp_path, CSV.replace(",", ";") + ";;\n"), "stages=[screen]")
    assert (
        ended.code == 0 and "1 empty (row" in ended.out and "separated by semicolons" in ended.out
    )
