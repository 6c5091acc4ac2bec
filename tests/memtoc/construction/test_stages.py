import csv
import json
import random
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import pytest
from sklearn.metrics import cohen_kappa_score
from support.fake_wikidata import World, item, serve

from harness.errors import UserError
from memtoc.construction import stages, tables
from memtoc.construction.stages import DistractSettings
from memtoc.construction.wikidata import Wikidata, WikidataSettings
from memtoc.questions import load_rows
from memtoc.sources import csv_source, memtoc, toolhop
from memtoc.sources.schemas import check_call

FIXTURE = Path(__file__).parents[1] / "sources/toolhop_30.json"
RELEASED = Path(__file__).parents[4] / "shared/data/memtoc/questions.jsonl"
KEPT, TEMPORAL, OPEN = 51, 16, 35


def read(folder, questions=None):
    chains = toolhop.read(FIXTURE)
    stages.read_stage(folder, "toolhop", questions or chains.questions, chains.notes)


def to_distractors(folder, seed=0, questions=None, wikidata=None):
    read(folder, questions)
    stages.screen_stage(folder)
    return stages.distract_stage(folder, DistractSettings(seed, 2025), wikidata)


def returned(folder, form, who, fill):
    """An annotator fills in each row of a packet and sends it back."""
    name = f"{form}_{who}.csv" if who else f"{form}_adjudication.csv"
    with (folder / "packets" / name).open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row.update(fill(row))
    (folder / "returned").mkdir(exist_ok=True)
    with (folder / "returned" / name).open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return {row["id"]: row for row in rows}


def author(folder):
    stages.author_stage(folder, 0)
    for who in "12":
        returned(folder, "authoring", who, lambda row: {"near": f"Wrong for {row['id'][1:]}"})
    return stages.author_stage(folder, 0)


def whole_build(folder, seed=0, questions=None):
    to_distractors(folder, seed, questions)
    author(folder)
    stages.check_stage(folder, 2025)
    stages.fold_stage(folder, seed)
    return stages.write_stage(folder, folder / "out", 2025)


def files_of(folder):
    return {
        path.relative_to(folder): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_the_chains_go_through_all_stages_with_the_expected_counts(tmp_path):
    read(tmp_path)
    assert stages.screen_stage(tmp_path) == {
        "kept": KEPT, "arithmetic": 2, "capitalising": 1, "counting": 1, "date_arithmetic": 2,
        "date_part": 2, "duplicate": 3, "encoding": 1, "initials": 1, "length": 1,
        "letters_or_words": 1, "name_part": 2, "no_gold": 1, "placeholder": 1, "reversing": 1,
        "rounding": 1, "sorting": 1, "starts_with_digit": 1, "time_difference": 2,
    }  # fmt: skip
    counts = stages.distract_stage(tmp_path, DistractSettings(0, 2025))
    assert counts == {"temporal": TEMPORAL, "no_wikidata": 34, "kind_number": 1, "far": TEMPORAL}

    waiting = stages.author_stage(tmp_path, 0)
    assert (waiting.sent, waiting.decided) == (OPEN, {})
    assert waiting.waiting == "returned/authoring_1, returned/authoring_2 (xlsx or csv)"
    with pytest.raises(UserError, match=rf"{OPEN} violations.*missing.*checks\.md"):
        stages.check_stage(tmp_path, 2025)
    authored = author(tmp_path)
    assert (len(authored.decided), authored.waiting) == (OPEN, "")
    report = stages.check_stage(tmp_path, 2025, strict=False)
    # A number cannot be replaced by a text.
    assert [(v.id, v.rule) for v in report.violations] == [("q28-1", "kind")]
    overlay = tables.read_authored(tmp_path) | {"q28-1": ("12", None)}
    tables.write_authored(
        tmp_path, {i: {"near": near, "far": far or ""} for i, (near, far) in overlay.items()}
    )
    assert stages.check_stage(tmp_path, 2025).violations == ()

    folds = stages.fold_stage(tmp_path, 0)
    assert folds["groups_crossing"] == 0
    assert sum(folds["sizes"].values()) == KEPT
    benchmark = stages.write_stage(tmp_path, tmp_path / "out", 2025)
    counted = benchmark.notes["counts"]
    assert (counted["questions"], counted["pass"], counted["open"]) == (KEPT, KEPT, 0)
    assert counted["family"] == {
        "free_form": 20, "creator_role": 11, "genealogy": 9, "birth_death_date": 6,
        "birth_death_place": 5,
    }  # fmt: skip
    assert counted["kind"] == {
        "other_string": 34, "date": 8, "timezone": 4, "year": 4, "number": 1,
    }  # fmt: skip
    assert counted["source"] == {"authored": OPEN, "temporal": TEMPORAL}
    assert counted["schema_source"] == {"toolhop": 47, "family_kind": 4}


def test_the_written_folder_is_one_that_the_loader_reads(tmp_path):
    fixed(tmp_path)
    questions = load_rows(tmp_path / "out/questions.jsonl")
    manifest = json.loads((tmp_path / "out/manifest.json").read_text("utf-8"))
    assert len(questions) == manifest["counts"]["questions"]
    assert manifest["stages"]["distract"]["seed"] == 0
    assert {"source.jsonl", "screened.csv", "folds.csv"} <= set(manifest["inputs"])
    assert manifest["outdated_stages"] == []
    assert manifest["domains"]["Film"][:2] == ["q0-0", "q0-1"]
    assert manifest["linked_groups"]["q0-0"] == ["q0-0", "q0-1", "q1-0", "q23-1"]
    assert manifest["duplicate_groups"]["q17-1"] == ["q17-1", "q19-0"]
    assert manifest["stages"]["read"]["notes"]["tools"]["missing"] == 1
    for question in questions:
        check_call(question.tool, question.id)
    by_id = {question.id: question for question in questions}
    assert by_id["q5-0"].gold == "Bedřich Smetana"
    assert by_id["q0-0"].tool.source == "family_kind" and by_id["q0-1"].tool.source == "toolhop"


def fixed(folder, seed=0, questions=None):
    """A whole build without the one number, which people would have to give."""
    chosen = [q for q in questions or toolhop.read(FIXTURE).questions if q.gold != "11"]
    return whole_build(folder, seed, chosen)


def test_two_builds_and_a_shuffled_one_are_byte_for_byte_the_same(tmp_path):
    first, second = tmp_path / "1", tmp_path / "2"
    fixed(first)
    shuffled = list(toolhop.read(FIXTURE).questions)
    random.Random(8).shuffle(shuffled)
    fixed(second, questions=shuffled)
    assert files_of(first) == files_of(second)
    fixed(second)
    assert files_of(first) == files_of(second)


def test_another_seed_draws_other_distractors(tmp_path):
    def near(benchmark):
        return {q.id: q.near for q in benchmark.questions if q.source == "temporal"}

    first, second = near(fixed(tmp_path / "1")), near(fixed(tmp_path / "2", seed=1))
    assert set(first) == set(second)
    assert sum(first[name] != second[name] for name in first) > len(first) // 2


def test_a_gold_conflict_is_kept_away_from_the_wrong_values(tmp_path):
    to_distractors(tmp_path)
    assert tables.read_screened(tmp_path)[0].other_golds == ("James Cameron",)
    drafts = {draft.id: draft for draft in tables.read_screened(tmp_path)}
    assert drafts["q22-0"].dropped == "duplicate"
    assert drafts["q0-0"].occurrences == ("q0-0", "q22-0", "q23-0")


def test_a_stage_goes_on_from_what_was_edited_by_hand(tmp_path):
    read(tmp_path)
    stages.screen_stage(tmp_path)
    path = tmp_path / "screened.csv"
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        if row["id"] == "q24-0":
            row["gold"] = "1990"
        if row["id"] == "q25-0":
            row["dropped"] = "by hand"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    assert stages.distract_stage(tmp_path, DistractSettings(0, 2025))["temporal"] == TEMPORAL - 1
    questions = {q.id: q for q in stages.questions_so_far(tmp_path)}
    assert questions["q24-0"].gold == "1990" and "q25-0" not in questions


def test_a_file_changed_after_a_later_stage_read_it_is_told(tmp_path):
    fixed(tmp_path)
    path = tmp_path / "screened.csv"
    path.write_text(path.read_text("utf-8").replace("Lake Baikal", "Baikal"), encoding="utf-8")
    benchmark = stages.write_stage(tmp_path, tmp_path / "out", 2025)
    assert benchmark.notes["outdated_stages"] == ["distract", "author", "check", "fold"]


def test_a_draft_added_after_the_distract_stage_asks_for_it_again(tmp_path):
    to_distractors(tmp_path)
    path = tmp_path / "distractors.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join(lines[1:]) + "\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"'q0-0' has no row.*run the distract stage"):
        stages.questions_so_far(tmp_path)


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("screened.csv", "id,chain\nq1-0,1\n", r"screened\.csv row 1: column 'hop' is missing"),
        ("distractors.jsonl", '{"id": "q0-0", "branch": "x", "nearr": "x"}\n',
         "row 1: not a row of wrong values"),
        ("distractors.jsonl", '{"id": "q0-0", "near": 3, "far": null, "branch": "x"}\n',
         "row 1: field 'near' must be a text"),
        ("distractors.jsonl", '{"id": "q0-0", "near": null, "far": null, "branch": "x",'
         ' "near_aliases": "abc"}\n', "row 1: field 'near_aliases' must be a list"),
        ("distractors.jsonl", '{"id": "q0-0", "near": null, "far": null, "branch": "x",'
         ' "provenance": []}\n', "row 1: field 'provenance' must be an object"),
        ("source.jsonl", '{"chain": "1"}\n', "row 1: not a source question"),
        ("source.jsonl", '{"chain": "1", "hop": 0, "text": 3, "gold": "x"}\n',
         "row 1: not a source question .text must be a text"),
        ("source.jsonl", "\n", "holds no question"),
        ("authored.csv", "id,near,far\nq0-0,,\n", "row 2: give each id once, with a near value"),
        ("stages.json", "[]", "is damaged"),
    ],
)  # fmt: skip
def test_a_file_damaged_by_hand_is_named(tmp_path, file, content, message):
    to_distractors(tmp_path)
    (tmp_path / file).write_text(content, encoding="utf-8")
    with pytest.raises(UserError, match=message):
        stages.questions_so_far(tmp_path)
        stages.check_stage(tmp_path, 2025)


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("kind", "persn", "unknown kind 'persn': did you mean 'person'"),
        ("family", "", "unknown family ''"),
        ("gold", " ", "'gold' is empty"),
        ("hop", "x", "hop and echo must be numbers"),
        ("id", "q0-1", "id 'q0-1' stands twice"),
    ],
)
def test_a_wrong_cell_in_screened_is_named_with_its_row(tmp_path, column, value, message):
    read(tmp_path)
    stages.screen_stage(tmp_path)
    path = tmp_path / "screened.csv"
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    rows[0][column] = value
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    with pytest.raises(UserError) as caught:
        tables.read_screened(tmp_path)
    assert message in str(caught.value) and "screened.csv row" in str(caught.value)


def test_review_is_merged_adjudicated_and_applied(tmp_path):
    fixed(tmp_path)
    sent = stages.review_stage(tmp_path, 0)
    assert sent.sent == KEPT - 1 and sent.waiting.startswith("returned/review_1, returned/review_2")

    def one(row):
        if row["id"] == "q0-0":
            return {"verdict": "repair", "new_value": "Michael Mann"}
        if row["id"] == "q5-0":
            return {"verdict": "exclude", "reason": "type"}
        return {"verdict": "pass"}

    def two(row):
        if row["id"] == "q7-0":
            return {"verdict": "exclude", "reason": "implausible"}
        return {"verdict": "pass"} if row["id"] == "q5-0" else one(row)

    first, second = returned(tmp_path, "review", "1", one), returned(tmp_path, "review", "2", two)
    pending = stages.review_stage(tmp_path, 0)
    assert pending.waiting == "returned/review_adjudication (xlsx or csv), 2 rows"
    ids = sorted(first)
    assert pending.kappa["verdict"] == pytest.approx(
        cohen_kappa_score([first[i]["verdict"] for i in ids], [second[i]["verdict"] for i in ids])
    )
    assert not (tmp_path / "review.csv").exists()
    adjudicated = returned(
        tmp_path, "review", "", lambda _: {"verdict": "exclude", "reason": "type"}
    )
    assert sorted(adjudicated) == ["q5-0", "q7-0"]
    assert stages.review_stage(tmp_path, 0).waiting == ""

    benchmark = stages.write_stage(tmp_path, tmp_path / "out", 2025)
    counts = benchmark.notes["counts"]
    assert (counts["pass"], counts["repair"], counts["exclude"]) == (KEPT - 4, 1, 2)
    assert counts["analysis_set"] == KEPT - 3
    by_id = {question.id: question for question in benchmark.questions}
    assert (by_id["q0-0"].near, by_id["q5-0"].review) == ("Michael Mann", "exclude")
    unrepaired = stages.write_stage(tmp_path, tmp_path / "raw", 2025, apply_repairs=False)
    assert {q.id: q for q in unrepaired.questions}["q0-0"].near == "Wrong for 0-0"


def test_a_repair_that_breaks_a_rule_stops_the_writing(tmp_path):
    fixed(tmp_path)
    rows = "q0-0,repair,Ridley,,agreement\n"
    (tmp_path / "review.csv").write_text(f"id,verdict,near_repaired,reason,decided_by\n{rows}")
    with pytest.raises(UserError, match=r"1 violation in the finished benchmark.*'q0-0'"):
        stages.write_stage(tmp_path, tmp_path / "other", 2025)
    assert not (tmp_path / "other").exists()
    assert stages.write_stage(tmp_path, tmp_path / "other", 2025, strict=False).notes["violations"]


def test_a_packet_that_came_back_in_both_forms_is_refused(tmp_path):
    to_distractors(tmp_path)
    author(tmp_path)
    (tmp_path / "returned/authoring_1.xlsx").write_bytes(b"")
    with pytest.raises(UserError, match="came back twice"):
        stages.author_stage(tmp_path, 0)


def test_given_folds_are_taken_and_a_chain_that_crosses_is_refused(tmp_path):
    fixed(tmp_path)
    with pytest.raises(UserError, match="the source gives no fold for"):
        stages.fold_stage(tmp_path, 0, "published")
    ids = [question.id for question in stages.questions_so_far(tmp_path)]
    path = tmp_path / "given.csv"
    path.write_text("id,fold\n" + "".join(f"{name},A\n" for name in ids))
    assert stages.fold_stage(tmp_path, 0, path)["sizes"] == {"A": KEPT - 1}
    path.write_text("id,fold\n" + "".join(f"{n},{'AB'[n == 'q0-1']}\n" for n in ids))
    with pytest.raises(UserError, match="chain 0 stands in both folds"):
        stages.fold_stage(tmp_path, 0, path)


@contextmanager
def wikidata(cache):
    human = {"P31": "Q5", "P21": "Q6581097", "P27": "Q145", "P106": "Q2526255"}
    world = World(
        {
            "Q1": item("Alien", P57="Q10", P31="Q11424"),
            "Q10": item("Ridley Scott", "Sir Ridley Scott", **human, P569="+1937-11-30T00:00:00Z"),
            "Q11": item("Nicolas Roeg", **human, P569="+1928-08-15T00:00:00Z"),
            "Q12": item("James Cameron", **human, P569="+1954-08-16T00:00:00Z"),
        }
    )
    with serve(world) as (url, seen):
        settings = WikidataSettings(
            f"{url}/sparql", f"{url}/w/api.php", "memtoc-tests", cache, interval=0.0
        )
        with Wikidata(settings) as client:
            yield client, seen


def test_with_wikidata_the_kind_and_the_aliases_are_known(tmp_path):
    with wikidata(tmp_path / "cache") as (client, seen):
        counts = to_distractors(tmp_path / "1", wikidata=client)
        asked = len(seen)
        assert to_distractors(tmp_path / "2", wikidata=client) == counts
        assert len(seen) == asked
    assert counts["wikidata"] == 2
    # James Cameron is the other gold of this question, so he is never offered.
    question = {q.id: q for q in stages.questions_so_far(tmp_path / "1")}["q0-0"]
    assert (question.near, question.kind, question.source) == ("Nicolas Roeg", "person", "wikidata")
    assert question.aliases == ("Sir Ridley Scott",)
    assert files_of(tmp_path / "1") == files_of(tmp_path / "2")


def test_your_own_csv_becomes_a_benchmark(tmp_path):
    path = tmp_path / "own.csv"
    path.write_text(
        "question,answer,chain,kind,near,far,aliases\n"
        "Who is the director of Alien?,Ridley Scott,alien,person,John Carpenter,,Sir Ridley Scott\n"
        "In which year was Ridley Scott born?,1937,alien,,,,\n"
        "How many letters has Alien?,5,,,,,\n"
        "When did the Titanic sink?,15 April 1912,,,16 May 1912,,\n",
        encoding="utf-8",
    )
    folder = tmp_path / "build"
    stages.read_stage(folder, "own", csv_source.read(path), {})
    assert stages.screen_stage(folder) == {"kept": 3, "counting": 1}
    stages.distract_stage(folder, DistractSettings(0, 2025, redraw_temporal=False))
    assert stages.check_stage(folder, 2025).violations == ()
    stages.fold_stage(folder, 0)
    benchmark = stages.write_stage(folder, folder / "out", 2025)
    by_gold = {question.gold: question for question in benchmark.questions}
    assert list(by_gold) == [question.gold for question in benchmark.questions]
    scott, year, titanic = (by_gold[gold] for gold in ("Ridley Scott", "1937", "15 April 1912"))
    assert (scott.near, scott.source, scott.aliases) == (
        "John Carpenter", "human", ("Sir Ridley Scott",)
    )  # fmt: skip
    assert (titanic.near, year.source) == ("16 May 1912", "temporal")
    assert scott.fold == year.fold and scott.id.startswith("qalien-")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("question\nWho?\n", "column 'answer' is missing"),
        ("question,answer\n,x\n", "row 2: 'question' is empty"),
        ("question,answer,chain\nWho?,x,a b\n", "row 2: chain 'a b' must be"),
        ("question,answer,kind\nWho?,x,persn\n", "row 2: unknown kind 'persn'"),
        ("question,answer\n", "holds no question"),
    ],
)
def test_a_wrong_csv_is_named_with_its_row(tmp_path, rows, message):
    path = tmp_path / "own.csv"
    path.write_text(rows)
    with pytest.raises(UserError, match=message):
        csv_source.read(path)


@pytest.mark.skipif(not RELEASED.is_file(), reason="the released mapping is not on this machine")
def test_the_released_questions_keep_their_counts_through_the_stages(tmp_path):
    benchmark = memtoc.load(RELEASED, apply_repairs=False, drop_excluded=False)
    stages.read_stage(
        tmp_path,
        "memtoc",
        stages.source_questions(benchmark),
        benchmark.notes,
        memtoc.verdicts(RELEASED),
    )
    assert stages.screen_stage(tmp_path) == {"kept": 575}
    stages.distract_stage(tmp_path, DistractSettings(0, 2025, redraw_temporal=False))
    report = stages.check_stage(tmp_path, 2025, strict=False)
    assert report.checked == 575
    folds = stages.fold_stage(tmp_path, 0, "published")
    assert folds["sizes"] == {"A": 287, "B": 288}
    counts = stages.write_stage(tmp_path, tmp_path / "out", 2025, strict=False).notes["counts"]
    assert (counts["questions"], counts["pass"], counts["repair"], counts["exclude"]) == (
        575, 503, 39, 33,
    )  # fmt: skip
    assert (counts["analysis_set"], counts["far"], counts["far_in_analysis_set"]) == (542, 463, 443)
    assert counts["kind"] == {
        "person": 304, "date": 111, "place": 50, "year": 44, "organization": 23, "timezone": 18,
        "other_string": 17, "work": 8,
    }  # fmt: skip
    assert counts["family"] == {
        "genealogy": 206, "free_form": 190, "birth_death_date": 96, "creator_role": 65,
        "birth_death_place": 18,
    }  # fmt: skip
    chains = Counter(q.fold for q in {q.chain: q for q in benchmark.questions}.values())
    assert chains == {"A": 154, "B": 155}
