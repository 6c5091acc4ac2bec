import csv
import random
from dataclasses import replace

import pytest
from openpyxl import load_workbook
from sklearn.metrics import cohen_kappa_score

from harness.errors import UserError
from memtoc.benchmark.drafts import Draft, Verdict, WrongValues
from memtoc.construction.forms import (
    AUTHORING,
    REVIEW,
    authoring_rows,
    review_rows,
)
from memtoc.construction.packets import (
    cohens_kappa,
    merge,
    read_adjudication,
    read_packet,
    write_adjudication,
    write_packets,
)
from memtoc.construction.review import (
    read_overlay,
    review_counts,
    reviewed,
    verdicts,
    write_overlay,
)
from memtoc.questions import Question
from memtoc.sources.schemas import call_for

ROWS = [
    {"id": f"q{n}-0", "question": f"Who is the father of N{n}?", "gold": f"G {n}", "near": f"W {n}"}
    for n in range(1, 41)
]


def fill(path, changes, default):
    """An annotator: opens the packet, fills in each row, saves it."""
    if path.suffix == ".csv":
        with path.open(newline="", encoding="utf-8") as file:
            lines = list(csv.reader(file))
    else:
        lines = [["" if c is None else c for c in r] for r in load_workbook(path).active.values]
    header = lines[0]
    for line in lines[1:]:
        for name, value in (default | changes.get(line[0], {})).items():
            line[header.index(name)] = value
    save(path, lines)


def save(path, lines):
    if path.suffix == ".csv":
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(lines)
    else:
        book = load_workbook(path)
        for number, line in enumerate(lines, start=1):
            for column, value in enumerate(line, start=1):
                book.active.cell(number, column).value = value
        book.save(path)


def test_a_packet_is_blind_and_shuffled_for_each_annotator(tmp_path):
    drafts = [Draft(r["id"], "1", 0, "D", r["question"], r["gold"], "person", "genealogy")
              for r in ROWS]  # fmt: skip
    wrong = {r["id"]: WrongValues(r["id"], r["near"], None, "wikidata") for r in ROWS}
    rows = review_rows(drafts, wrong)
    assert rows == ROWS
    paths = write_packets(tmp_path, REVIEW, rows, seed=1)
    assert [path.name for path in paths] == [
        "review_1.xlsx", "review_1.csv", "review_2.xlsx", "review_2.csv",
    ]  # fmt: skip
    orders = []
    for path in paths:
        fill(path, {}, {"verdict": "pass"})
        orders.append(list(read_packet(path, REVIEW, rows)))
    assert orders[0] == orders[1] != orders[2] == orders[3]
    assert sorted(orders[0]) == sorted(orders[2])
    assert "wikidata" not in paths[1].read_text()


def test_the_same_seed_writes_the_same_bytes_whatever_the_order_of_the_rows(tmp_path):
    first = write_packets(tmp_path / "1", REVIEW, ROWS, seed=3)
    second = write_packets(tmp_path / "2", REVIEW, ROWS[::-1], seed=3)
    assert [p.read_bytes() for p in first] == [p.read_bytes() for p in second]


def test_known_disagreements_give_the_right_kappa_and_adjudication(tmp_path):
    first, _, _, second = write_packets(tmp_path, REVIEW, ROWS, seed=1)
    one = {
        "q1-0": {"verdict": "repair", "new_value": "New One"},
        "q2-0": {"verdict": "repair", "new_value": "New Two"},
        "q3-0": {"verdict": "exclude", "reason": "gold_wrong"},
        "q4-0": {"verdict": "exclude", "reason": "type"},
        "q5-0": {"verdict": "Pass"},
        "q6-0": {"comment": "unsure"},
    }
    two = one | {
        "q2-0": {"verdict": "repair", "new_value": "Other Two"},
        "q3-0": {"verdict": "exclude", "reason": "implausible"},
        "q4-0": {"verdict": "pass"},
        "q5-0": {"verdict": "repair", "new_value": "New Five"},
        "q6-0": {},
    }
    fill(first, one, {"verdict": "pass"})
    fill(second, two, {"verdict": "pass"})
    merged = merge(REVIEW, read_packet(first, REVIEW, ROWS), read_packet(second, REVIEW, ROWS))
    assert list(merged.disputed) == ["q2-0", "q4-0", "q5-0"]
    assert merged.agreed["q1-0"]["new_value"] == "New One"
    assert merged.agreed["q3-0"]["reason"] == "gold_wrong / implausible"
    assert merged.agreed["q6-0"]["comment"] == "unsure"
    labels = [[changes.get(r["id"], {}).get("verdict", "pass").lower() for r in ROWS]
              for changes in (one, two)]  # fmt: skip
    assert merged.kappa["verdict"] == pytest.approx(cohen_kappa_score(*labels))
    assert merged.agreement["verdict"] == pytest.approx(38 / 40)

    sheet = write_adjudication(tmp_path, REVIEW, ROWS, merged)
    rows = list(load_workbook(sheet).active.values)
    assert [row[0] for row in rows[1:]] == ["q2-0", "q4-0", "q5-0"]
    shown = dict(zip(rows[0], rows[1], strict=True))
    assert (shown["new_value_1"], shown["new_value_2"]) == ("New Two", "Other Two")
    fill(
        sheet,
        {"q2-0": {"verdict": "repair", "new_value": "Other Two", "reason": ""}},
        {"verdict": "exclude", "reason": "type"},
    )
    decided = verdicts(merged.agreed, read_adjudication(sheet, REVIEW, ROWS, merged))
    assert len(decided) == 40
    assert decided["q2-0"] == Verdict("repair", "Other Two", "", "adjudication")
    write_overlay(tmp_path / "review.csv", decided)
    assert read_overlay(tmp_path / "review.csv") == decided


@pytest.mark.parametrize("ending", [".xlsx", ".csv"])
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"verdict": "okay"}, "row 2: unknown verdict 'okay'"),
        ({"verdict": ""}, "row 2: 'verdict' is empty"),
        ({"verdict": "repair"}, "row 2: verdict is repair but 'new_value' is empty"),
        ({"new_value": "X"}, "row 2: 'new_value' is given but verdict is pass"),
        ({"verdict": "exclude"}, "row 2: verdict is exclude but 'reason' is empty"),
        ({"verdict": "exclude", "reason": "boring"}, "row 2: unknown reason 'boring'"),
        ({"verdict": "repair", "new_value": "g 1"}, "row 2: 'new_value' equals the gold"),
        ({"verdict": "repair", "new_value": "W 1"}, "row 2: 'new_value' equals the value"),
        ({"question": "Who is the mother of N1?"}, "row 2: 'question' was edited"),
        ({"gold": "Someone"}, "row 2: 'gold' was edited"),
        ({"id": "q99-0"}, "row 2: id 'q99-0' was not sent"),
        ({"comment": "x" * 2001}, "row 2: 'comment' is longer than 2000"),
    ],
)
def test_each_cell_is_validated(tmp_path, ending, changes, message):
    path = next(p for p in write_packets(tmp_path, REVIEW, ROWS[:1], seed=1) if p.suffix == ending)
    fill(path, {"q1-0": changes}, {"verdict": "pass"})
    with pytest.raises(UserError) as caught:
        read_packet(path, REVIEW, ROWS[:1])
    assert message in str(caught.value)


def test_a_missing_and_a_doubled_row_are_named(tmp_path):
    path = write_packets(tmp_path, REVIEW, ROWS[:3], seed=1)[1]
    fill(path, {}, {"verdict": "pass"})
    lines = path.read_text().splitlines()
    path.write_text("\n".join(lines[:-1]) + "\n")
    with pytest.raises(UserError, match=r"no row for 'q\d-0' \(1 missing\)"):
        read_packet(path, REVIEW, ROWS[:3])
    path.write_text("\n".join([*lines, lines[1]]) + "\n")
    with pytest.raises(UserError, match=r"row 5: id 'q\d-0' stands twice"):
        read_packet(path, REVIEW, ROWS[:3])


def test_a_packet_filled_in_where_it_lies_is_not_written_over(tmp_path):
    paths = write_packets(tmp_path, REVIEW, ROWS[:2], seed=1)
    write_packets(tmp_path, REVIEW, ROWS[:3], seed=1)
    for path in paths[1:3]:
        fill(path, {}, {"verdict": "pass"})
        with pytest.raises(UserError, match="has been filled in: move it to"):
            write_packets(tmp_path, REVIEW, ROWS[:3], seed=1)
        path.unlink()


def test_formula_looking_values_survive_a_packet(tmp_path):
    rows = [{"id": "q1-0", "question": "=1+1 is?", "gold": "+5", "near": "@here"}]
    for path in write_packets(tmp_path, REVIEW, rows, seed=1):
        fill(path, {}, {"verdict": "pass"})
        if path.suffix == ".csv":
            assert read_packet(path, REVIEW, rows)["q1-0"]["verdict"] == "pass"


def test_kappa_is_that_of_scikit_learn():
    draw = random.Random(5)
    for _ in range(50):
        pairs = [(draw.choice("abc"), draw.choice("abcc")) for _ in range(draw.randint(5, 60))]
        assert cohens_kappa(pairs) == pytest.approx(cohen_kappa_score(*zip(*pairs, strict=True)))
    assert cohens_kappa([("a", "a")] * 5) is None
    assert cohens_kappa([]) is None
    assert cohens_kappa([("a", "b"), ("b", "a")]) == -1


QUESTION = Question("q1-0", "Who is the father of N?", "G", "W", "F", "person", "genealogy", "1",
                    "A", call_for("Who is the father of N?", "genealogy", "person"))  # fmt: skip


def test_the_overlay_can_be_turned_off():
    questions = [QUESTION, replace(QUESTION, id="q2-0"), replace(QUESTION, id="q3-0")]
    overlay = {"q1-0": Verdict("repair", "New"), "q2-0": Verdict("exclude", "", "type")}
    applied = reviewed(questions, overlay)
    assert [(q.review, q.near) for q in applied] == [
        ("repair", "New"), ("exclude", "W"), ("pass", "W"),
    ]  # fmt: skip
    assert [q.near for q in reviewed(questions, overlay, apply_repairs=False)] == ["W", "W", "W"]
    assert review_counts(applied) == {"pass": 1, "repair": 1, "exclude": 1}
    with pytest.raises(UserError, match="'q9-0' that is not there"):
        reviewed(questions, {"q9-0": Verdict("pass")})


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("q1-0,okay,,,x", "row 2: unknown verdict 'okay'"),
        ("q1-0,repair,,,x", "row 2: give 'near_repaired' exactly"),
        ("q1-0,pass,New,,x", "row 2: give 'near_repaired' exactly"),
        ("q1-0,exclude,,boring,x", "row 2: unknown reason"),
        ("q1-0,pass,,,x\nq1-0,pass,,,x", "row 3: id 'q1-0' stands twice"),
    ],
)
def test_an_overlay_edited_by_hand_is_validated(tmp_path, row, message):
    path = tmp_path / "review.csv"
    path.write_text(f"id,verdict,near_repaired,reason,decided_by\n{row}\n")
    with pytest.raises(UserError, match=message):
        read_overlay(path)


def test_authoring_asks_for_what_no_generator_found(tmp_path):
    drafts = [Draft(f"q{n}-0", "1", 0, "", "Who?", "Gold", "work", "free_form") for n in (1, 2, 3)]
    drafts[2] = replace(drafts[2], dropped="counting")
    wrong = {
        "q1-0": WrongValues("q1-0", None, None, "authored", "lost_country",
                            provenance={"suggested": {"label": "Someone"}}),
        "q2-0": WrongValues("q2-0", "There", None, "wikidata"),
    }  # fmt: skip
    rows = authoring_rows(drafts, wrong)
    assert [(row["id"], row["suggestion"]) for row in rows] == [("q1-0", "Someone")]
    one, _, two, _ = write_packets(tmp_path, AUTHORING, rows, seed=0)
    fill(one, {}, {"near": "Mary Shelley"})
    fill(two, {}, {"near": "mary shelley."})
    merged = merge(AUTHORING, read_packet(one, AUTHORING, rows), read_packet(two, AUTHORING, rows))
    assert merged.agreed["q1-0"]["near"] == "Mary Shelley" and not merged.disputed
    fill(two, {}, {"near": "GOLD"})
    with pytest.raises(UserError, match="'near' equals the gold"):
        read_packet(two, AUTHORING, rows)
