import json
from pathlib import Path
from typing import Any

import pytest
from support.arms import row, write_rows

from harness.errors import UserError
from memtoc.questions import Benchmark, load_rows, same_value

GOOD = [row("q1", "Ravenna", "Modena", "Cuzco"), row("q2", "Bergen", "Stavanger")]


def refused(path: Path) -> str:
    with pytest.raises(UserError) as caught:
        load_rows(path)
    message = str(caught.value)
    assert "\n" not in message
    assert str(path) in message
    return message


def test_good_rows_are_read_whole(tmp_path: Path):
    path = write_rows(tmp_path / "q.jsonl", GOOD)
    first, second = load_rows(path)
    assert (first.id, first.text, first.gold) == ("q1", GOOD[0]["question"], "Ravenna")
    assert (first.far, second.far) == ("Cuzco", None)
    assert first.tool.schema == GOOD[0]["tool"]["schema"]
    assert second.review == "pass"


def test_a_byte_order_mark_and_blank_lines_are_no_rows(tmp_path: Path):
    path = tmp_path / "q.jsonl"
    lines = [json.dumps(item) for item in GOOD]
    path.write_text("\n".join(["\ufeff" + lines[0], "", "  ", lines[1], ""]), encoding="utf-8")
    assert [question.id for question in load_rows(path)] == ["q1", "q2"]


@pytest.mark.parametrize(
    "name", ["id", "question", "gold", "near", "kind", "family", "chain", "fold", "tool"]
)
@pytest.mark.parametrize("value", ["absent", None, ""])
def test_a_missing_field_is_named_with_its_row(tmp_path: Path, name: str, value: Any):
    broken = {key: item for key, item in GOOD[1].items() if key != name or value != "absent"}
    if value != "absent":
        broken[name] = value
    message = refused(write_rows(tmp_path / "q.jsonl", [GOOD[0], broken]))
    assert f"row 2: field '{name}' is missing: add it or remove the row" in message


ODD_FIELDS = {
    "near as the gold": ({"near": "ravenna"}, "near 'ravenna' equals the gold"),
    "near as the gold but for accents": ({"near": "  RÁVENNA."}, "equals the gold"),
    "far as the gold": ({"far": "Ravenna"}, "far 'Ravenna' equals the gold"),
    "far as near": ({"far": "modena"}, "far 'modena' equals the near"),
    "near as an alias": ({"near": "Classe", "aliases": ["Classe"]}, "equals the alias 'Classe'"),
    "near as a longer form of the gold": ({"near": "the city of Ravenna"}, "is scored as the gold"),
    "far as the gold's date in another form": (
        {"gold": "12 March 1874", "near": "4 May 1875", "far": "1874-03-12"},
        "far '1874-03-12' is scored as the gold",
    ),
    "a line feed in the gold": ({"gold": "Rav\nenna"}, "field 'gold' holds a control character"),
    "a NUL in an alias": ({"aliases": ["x", "y\0"]}, "field 'aliases' holds a control"),
    "a NUL in the question": ({"question": "Who\0?"}, "field 'question' holds a control"),
    "an invisible near": ({"near": "\u200b"}, "field 'near' shows nothing"),
    "a book for a gold": ({"gold": "x" * 10_001}, "field 'gold' is over 10000 characters"),
    "another kind": ({"kind": "town"}, "unknown kind 'town'"),
    "a kind nearly right": ({"kind": "palce"}, "did you mean 'place'?"),
    "another family": ({"family": "free-form"}, "did you mean 'free_form'?"),
    "another fold": ({"fold": "C"}, "unknown fold 'C'"),
    "another review": ({"review": "maybe"}, "unknown review 'maybe'"),
    "no review": ({"review": None}, "review"),
    "a review that is a list": ({"review": ["pass"]}, "review"),
    "an id that a command line reads as a number": ({"id": "10.1"}, "id '10.1' must be a letter"),
    "an id with a comma": ({"id": "a,b"}, "id 'a,b' must be a letter"),
    "an id with a line feed": ({"id": "a\n"}, "must be a letter"),
    "a number as gold": ({"gold": 7}, "field 'gold' must be a non-empty text, not 7"),
    "a list as near": ({"near": ["x"]}, "field 'near' must be a non-empty text"),
    "white space as near": ({"near": " \t"}, "field 'near' must be a non-empty text"),
    "a number as far": ({"far": 7}, "field 'far' must be a non-empty text"),
    "a number as chain": ({"chain": 7}, "field 'chain'"),
    "no tool": ({"tool": "x"}, "field 'tool' must hold schema"),
    "a tool without a schema": ({"tool": {"arguments": {}}}, "field 'tool' must hold schema"),
    "one alias": ({"aliases": "Ravenna"}, "field 'aliases' must be a list of texts"),
    "aliases of another type": ({"aliases": ["x", 7]}, "field 'aliases' must be a list of texts"),
    "no aliases": ({"aliases": None}, "field 'aliases' must be a list of texts"),
    "a source of another type": ({"source": 7}, "field 'source' must be a non-empty text"),
    "half a character": ({"question": "Where is \ud83d?"}, "field 'question' holds half a char"),
    "half a character in an alias": ({"aliases": ["\udc00"]}, "holds half a character"),
    "half a character in the tool": ({"tool": {**GOOD[0]["tool"], "arguments": {"a": "\ud83d"}}},
                                     "field 'tool' holds half a character"),
}  # fmt: skip


@pytest.mark.parametrize(("fields", "named"), ODD_FIELDS.values(), ids=ODD_FIELDS)
def test_a_row_that_no_arm_could_be_run_on_is_named(tmp_path: Path, fields, named: str):
    path = write_rows(tmp_path / "q.jsonl", [GOOD[1], {**GOOD[0], **fields}])
    message = refused(path)
    assert f"{path} row 2: " in message
    assert named in message


LINES = {
    "no JSON": (b"{", "not valid JSON"),
    "a list": (b"[1]", "a JSON object is needed, not list"),
    "a text": (b'"x"', "a JSON object is needed, not str"),
    "null": (b"null", "a JSON object is needed, not NoneType"),
    "a number that JSON does not know": (b'{"id": NaN}', "not valid JSON"),
    "a number of endless digits": (b'{"id": ' + b"9" * 5000 + b"}", "not valid JSON"),
    "nested without end": (b"[" * 100_000, "not valid JSON"),
}


@pytest.mark.parametrize(("line", "named"), LINES.values(), ids=LINES)
def test_a_line_that_is_no_json_object_is_named(tmp_path: Path, line: bytes, named: str):
    path = tmp_path / "q.jsonl"
    path.write_bytes(json.dumps(GOOD[0]).encode() + b"\n\n" + line + b"\n")
    message = refused(path)
    assert f"{path} row 3: " in message
    assert named in message
    assert len(message) < 400


@pytest.mark.parametrize("depth", [95, 400])
def test_a_schema_nested_beyond_reason_is_refused_and_a_deep_one_is_not(tmp_path: Path, depth: int):
    inner: dict[str, Any] = {"type": "string"}
    for _ in range(depth):
        inner = {"type": "object", "properties": {"x": inner}}
    tool = {"schema": {"name": "deep", "parameters": inner}, "arguments": {}}
    path = write_rows(tmp_path / "q.jsonl", [{**GOOD[0], "tool": tool}])
    if depth == 95:
        assert len(Benchmark("b", load_rows(path)).digest) == 64
    else:
        assert "nested too deeply" in refused(path)


def test_another_encoding_is_named(tmp_path: Path):
    path = tmp_path / "q.jsonl"
    path.write_bytes(json.dumps(row("q1", "Orléans", "Tours"), ensure_ascii=False).encode("cp1252"))
    assert "is not UTF-8" in refused(path)
    path.write_bytes(json.dumps(GOOD[0]).encode("utf-16"))
    assert "is not UTF-8" in refused(path)


@pytest.mark.parametrize("content", ["", "\n\n", "\ufeff"])
def test_a_file_without_a_question_is_named(tmp_path: Path, content: str):
    path = tmp_path / "q.jsonl"
    path.write_text(content, encoding="utf-8")
    assert "holds no question: check benchmark.path" in refused(path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path):
    assert "No such file" in refused(tmp_path / "absent.jsonl")
    assert "directory" in refused(tmp_path).lower()


def test_a_duplicate_id_names_both_rows(tmp_path: Path):
    path = write_rows(tmp_path / "q.jsonl", [*GOOD, {**GOOD[1], "id": "q1"}])
    assert f"row 3: id 'q1' stands already in {path} row 1" in refused(path)


def test_a_digest_changes_with_every_field_of_a_question(tmp_path: Path):
    def digest(**fields: Any) -> str:
        path = write_rows(tmp_path / "q.jsonl", [{**GOOD[0], **fields}, GOOD[1]])
        return Benchmark("b", load_rows(path)).digest

    tool = GOOD[0]["tool"]
    changed = [
        digest(),
        digest(question="Which?"),
        digest(gold="Rimini"),
        digest(near="Rimini"),
        digest(far="Rimini"),
        digest(kind="work"),
        digest(family="genealogy"),
        digest(chain="other"),
        digest(fold="B"),
        digest(review="repair"),
        digest(source="x"),
        digest(aliases=["R."]),
        digest(tool={**tool, "arguments": {"site": "q9"}}),
        digest(tool={**tool, "schema": {**tool["schema"], "name": "atlas"}}),
        digest(tool={**tool, "source": "x"}),
    ]
    assert len(set(changed)) == len(changed)


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("Gödel", "godel", True),
        ("Saint-Denis", "saint denis", True),
        ("1912", "1913", False),
        ("+5", "-5", True),
        ("Ann", "Anne", False),
        ("...", "!!!", False),
        ("北京", "東京", False),
    ],
)
def test_values_are_one_after_folding_case_accents_and_punctuation(first, second, same):
    assert same_value(first, second) is same
