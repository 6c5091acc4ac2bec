import json
from pathlib import Path

import pytest

from harness.errors import UserError
from memtoc.sources import memtoc
from memtoc.sources.schemas import check_call
from memtoc.sources.toolhop import read, tools_of

FIXTURE = Path(__file__).parent / "toolhop_30.json"


def chain(**changes):
    return {
        "id": 1, "domain": "Film", "question": "Q?", "answer": "A",
        "sub_task": {"Who is the director of Alien?": "Ridley Scott"},
        "tools": {}, "functions": [],
    } | changes  # fmt: skip


def write(folder, chains):
    path = folder / "ToolHop.json"
    path.write_text(json.dumps(chains), encoding="utf-8")
    return path


def test_every_hop_of_every_chain_is_read_with_its_domain_and_tool():
    chains = read(FIXTURE)
    assert (chains.notes["chains"], chains.notes["sub_questions"]) == (30, 76)
    assert chains.notes["tools"] == {
        "invalid_schema": 1, "missing": 1, "no_valid_call": 1, "used": 72, "wrong_shape": 1,
    }  # fmt: skip
    second = chains.questions[1]
    assert (second.id, second.domain, second.gold) == ("q0-1", "Film", "30 November 1937")
    assert second.tool.arguments == {"person_name": "Ridley Scott", "fact_type": "date of birth"}
    assert second.tool.source == "toolhop"


def test_every_stored_call_is_valid_against_its_schema():
    for question in read(FIXTURE).questions:
        if question.tool is not None:
            check_call(question.tool, question.id)


def test_arguments_of_every_type_are_filled():
    tools = {question.text: question.tool for question in read(FIXTURE).questions}
    assert tools["Who is the father of Ada Lovelace?"].arguments == {
        "person": "Ada Lovelace", "relation_type": "father", "generations": 1,
        "include_in_laws": False,
    }  # fmt: skip
    assert tools["Who is the composer of Má vlast?"].arguments == {
        "subject": "Má vlast", "attribute": "composer", "options": {"tags": ["Má vlast"]},
    }  # fmt: skip


def test_its_tools_are_joined_to_the_released_mapping(tmp_path):
    row = {
        "id": "9.0", "chain": 9, "hop": 0, "question": "who is the father of Ada Lovelace",
        "gold": "Lord Byron", "kind": "person", "family": "free_form", "near": "John Keats",
        "near_repaired": None, "far": None, "source": "s", "review": "pass", "fold": "A",
    }  # fmt: skip
    path = tmp_path / "questions.jsonl"
    path.write_text(json.dumps(row) + "\n" + json.dumps(row | {"id": "9.1", "hop": 1,
                    "question": "Who was it?"}) + "\n")  # fmt: skip
    benchmark = memtoc.load(path, toolhop=FIXTURE)
    assert [q.tool.name for q in benchmark.questions] == ["family_tree", "reference_person_lookup"]
    assert benchmark.notes["schema_source"] == {"toolhop": 1, "family_kind": 1}
    assert set(tools_of(FIXTURE)) > {"who is the father of ada lovelace"}


@pytest.mark.parametrize(
    ("chains", "message"),
    [
        ({}, "must hold a list of chains"),
        ([], "must hold a list of chains"),
        ([5], "chain 0: a JSON object is needed"),
        ([chain(), chain(id=2.5)], "chain 1: field 'id' must be a number"),
        ([chain(id="a b")], "chain 0: field 'id' must be a number"),
        ([chain(), chain()], "chain 1: id '1' stands twice"),
        ([chain(domain=3)], "chain 0: field 'domain' must be a text"),
        ([chain(sub_task=["Who?"])], "chain 0: field 'sub_task' must map sub-questions"),
        ([chain(tools=None)], "chain 0: field 'tools' must map sub-questions"),
        ([chain(sub_task={" ": "x"})], "chain 0: field 'sub_task' has an empty question"),
        ([chain(sub_task={"Who?": None})], "chain 0: the answer to 'Who?' must be a text"),
        ([chain(sub_task={"Who?": "x\x00"})], "chain 0: the answer to 'Who?' holds a control"),
        ([chain(sub_task={"Wh\x1bo?": "x"})], "field 'sub_task' holds a control character"),
    ],
)
def test_another_shape_is_refused_with_chain_and_field(tmp_path, chains, message):
    with pytest.raises(UserError) as caught:
        read(write(tmp_path, chains))
    assert message in str(caught.value) and "ToolHop.json" in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[{", "not valid JSON"),
        (b"[" * 200_000, "not valid JSON"),
        ("[\"é\"]".encode("latin-1"), "not UTF-8"),
        (b'[{"id": 1, "sub_task": {"Who?": "a", "Who?": "b"}}]', "'Who\\?' stands twice"),
    ],
)  # fmt: skip
def test_a_broken_file_is_refused(tmp_path, content, message):
    path = tmp_path / "ToolHop.json"
    path.write_bytes(content)
    with pytest.raises(UserError, match=message):
        read(path)


def test_tabs_and_line_breaks_are_spaces(tmp_path):
    (question,) = read(write(tmp_path, [chain(sub_task={"Who\n is  it?\n": "A\tB"})])).questions
    assert (question.text, question.gold) == ("Who is  it?", "A B")


def test_a_number_as_an_answer_is_taken_as_written(tmp_path):
    questions = read(write(tmp_path, [chain(sub_task={"When?": 1990})])).questions
    assert questions[0].gold == "1990"


@pytest.mark.parametrize(
    "schema",
    [
        [], {"name": 5, "parameters": {}}, {"name": "x", "parameters": []},
        {"name": "x", "parameters": {"type": "object", "required": "place"}},
        {"name": "x", "parameters": {"properties": [], "required": ["place"]}},
        {"name": "x", "parameters": {"type": "object", "required": [1], "properties": {}}},
        {"name": "x", "parameters": {"type": "object", "required": ["a"],
                                     "properties": {"a": {"type": "null"}}}},
    ],
)  # fmt: skip
def test_an_unusable_tool_is_counted_and_the_question_kept(tmp_path, schema):
    text = "Who is the director of Alien?"
    chains = read(write(tmp_path, [chain(tools={text: schema})]))
    assert chains.questions[0].tool is None
    assert sum(chains.notes["tools"].values()) == 1 and "used" not in chains.notes["tools"]


def test_the_sources_code_is_never_run():
    assert "raise SystemExit" in FIXTURE.read_text(encoding="utf-8")
    assert len(read(FIXTURE).questions) == 76
