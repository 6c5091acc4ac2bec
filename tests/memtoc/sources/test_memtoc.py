import json
import random
from pathlib import Path

import pytest

from harness.errors import UserError
from memtoc.sources.memtoc import load
from memtoc.sources.schemas import check_call

RELEASED = Path(__file__).parents[4] / "shared/data/memtoc/questions.jsonl"
needs_release = pytest.mark.skipif(
    not RELEASED.is_file(), reason="the released mapping is not on this machine"
)


def row(**changes):
    return {
        "id": "3.1", "chain": 3, "hop": 1, "question": "In what year was Ada Smith born?",
        "gold": "1926", "kind": "year", "family": "free_form", "near": "1914",
        "near_repaired": None, "far": "1582", "source": "generator", "method": "nonentity",
        "review": "pass", "fold": "A", "wikidata": {},
    } | changes  # fmt: skip


REPAIRED = row(id="10.0", chain=10, hop=0, review="repair", near_repaired="1930", far=None)
EXCLUDED = row(id="2.0", chain=2, hop=0, review="exclude", fold="B")


def write(folder, *rows):
    path = folder / "questions.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    return path


def test_repairs_and_exclusions_are_applied_and_counted(tmp_path):
    benchmark = load(write(tmp_path, row(), REPAIRED, EXCLUDED))
    assert [(q.id, q.near) for q in benchmark.questions] == [("q3-1", "1914"), ("q10-0", "1930")]
    counts = {name: benchmark.notes[name] for name in ("read", "pass", "repair", "exclude")}
    assert counts == {"read": 3, "pass": 1, "repair": 1, "exclude": 1}
    assert (benchmark.notes["kept"], benchmark.notes["dropped"]) == (2, 1)
    assert (benchmark.notes["far"], benchmark.notes["kept_far"]) == (2, 1)
    assert benchmark.notes["repairs_applied"] == 1


def test_both_can_be_turned_off(tmp_path):
    path = write(tmp_path, row(), REPAIRED, EXCLUDED)
    benchmark = load(path, apply_repairs=False, drop_excluded=False)
    assert [(q.id, q.near) for q in benchmark.questions] == [
        ("q2-0", "1914"),
        ("q3-1", "1914"),
        ("q10-0", "1914"),
    ]
    assert (benchmark.notes["repairs_applied"], benchmark.notes["dropped"]) == (0, 0)


def test_the_order_of_the_rows_changes_nothing(tmp_path):
    rows = [row(id=f"{chain}.1", chain=chain) for chain in range(1, 30)]
    expected = load(write(tmp_path, *rows)).digest
    random.Random(4).shuffle(rows)
    assert load(write(tmp_path, *rows)).digest == expected


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"id": 3.1}, "row 2: field 'id' must be CHAIN.HOP"),
        ({"id": "3-1"}, "row 2: field 'id' must be CHAIN.HOP"),
        ({"id": "4.1"}, "row 2: id '4.1' does not agree with chain 3"),
        ({"hop": "1"}, "row 2: field 'hop' must be int"),
        ({"chain": None}, "row 2: field 'chain' must be int or str"),
        ({"chain": True}, "row 2: field 'chain' must be int or str"),
        ({"gold": "  "}, "row 2: field 'gold' must be a non-empty text"),
        ({"gold": ""}, "row 2: field 'gold' is missing"),
        ({"question": 5}, "row 2: field 'question' must be a non-empty text"),
        ({"far": ["1582"]}, "row 2: field 'far' must be a non-empty text"),
        ({"near": "1926."}, "row 2: near '1926.' equals the gold"),
        ({"far": "1914"}, "row 2: far '1914' equals the near"),
        ({"kind": "perso"}, "row 2: unknown kind 'perso': did you mean 'person'"),
        ({"family": None}, "row 2: unknown family None"),
        ({"review": "passed"}, "row 2: unknown review 'passed': did you mean 'pass'"),
        ({"review": None}, "row 2: field 'review' must be str"),
        ({"fold": "C"}, "row 2: unknown fold 'C'"),
        ({"near_repaired": 7, "review": "repair"}, "row 2: field 'near_repaired' must be a text"),
        ({"near_repaired": "1920"}, "row 2: field 'near_repaired' is '1920' but review is 'pass'"),
        ({"review": "repair"}, "row 2: field 'near_repaired' is None but review is 'repair'"),
    ],
)
def test_a_wrong_field_is_named_with_its_row(tmp_path, changes, message):
    path = write(tmp_path, EXCLUDED, row(**changes))
    with pytest.raises(UserError, match=r"questions\.jsonl") as caught:
        load(path)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_id_twice_names_both_rows(tmp_path):
    with pytest.raises(UserError, match=r"row 2: id 'q3-1' stands already in .* row 1"):
        load(write(tmp_path, row(), row()))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "holds no question"),
        (b"\n\n", "holds no question"),
        (b'{"id": "1.0"', "row 1: not valid JSON"),
        (b"[]", "row 1: a JSON object is needed"),
        ('{"id": "é"}'.encode("latin-1"), "not UTF-8"),
    ],
)
def test_a_file_of_another_shape_is_refused(tmp_path, content, message):
    path = tmp_path / "questions.jsonl"
    path.write_bytes(content)
    with pytest.raises(UserError, match=message):
        load(path)


def test_a_missing_file_and_nothing_left_are_refused(tmp_path):
    with pytest.raises(UserError, match=r"check benchmark\.path"):
        load(tmp_path / "none.jsonl")
    with pytest.raises(UserError, match="every row is excluded"):
        load(write(tmp_path, EXCLUDED))


@needs_release
def test_the_released_counts_are_the_published_ones():
    benchmark = load(RELEASED)
    assert benchmark.notes == {
        "read": 575, "pass": 503, "repair": 39, "exclude": 33, "kept": 542, "dropped": 33,
        "far": 463, "kept_far": 443, "repairs_applied": 39,
        "schema_source": {"family_kind": 542},
    }  # fmt: skip
    for question in benchmark.questions:
        check_call(question.tool, question.id)
