import copy
import json
from pathlib import Path

import pytest

from harness.errors import UserError
from memtoc.sources.released import FILES, load

FIXTURE = Path(__file__).parent / "released"
CONTENT = {name: json.loads((FIXTURE / name).read_text("utf-8")) for name in FILES.values()}


def broken(folder, change, name="reference.json"):
    """The fixture with one file changed in place."""
    for file, original in CONTENT.items():
        content = copy.deepcopy(original)
        if file == name:
            change(content)
        (folder / file).write_text(json.dumps(content), encoding="utf-8")
    return folder


def test_prompts_are_those_of_the_files_verbatim():
    release = load(FIXTURE)
    raw = CONTENT["paraphrase_a.json"]["episodes"]
    ours = [episode for episode in release.episodes if episode.formulation == "paraA"]
    assert [(e.closed_book, e.with_tool) for e in ours] == [
        (r["prompts"]["closed_book"], r["prompts"]["with_tool"]) for r in raw
    ]
    assert ours[0].question_id == "q7-0"
    assert [e.tool_correct for e in ours] == [r["tool_correct"] for r in raw]
    assert [e.tool_output for e in ours] == [r["tool_output"] for r in raw]


def test_what_was_read_is_counted():
    notes = load(FIXTURE).notes
    assert notes["episodes"] == {"ref": 5, "paraA": 5, "paraB": 4}
    assert notes["conditions"]["tool_wrong"] == 6
    assert (notes["questions"], notes["not_in_all_formulations"]) == (2, 1)
    assert set(notes["sha256"]) == set(FILES.values())
    assert load(FIXTURE, ["paraB"]).notes["episodes"] == {"paraB": 4}


def set_field(field, value):
    def change(content):
        row = content["episodes"][1]
        if value is KeyError:
            del row[field]
        else:
            row[field] = value

    return change


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("episode_id", None, "field 'episode_id' must be a number or a text"),
        ("instance_id", 1.5, "field 'instance_id' must be a number or a text"),
        ("hop_idx", True, "field 'hop_idx' must be a number or a text"),
        ("condition", "tool_wrongg", "field 'condition' is unknown ('tool_wrongg'): did you mean"),
        ("condition", 3, "field 'condition' must be a non-empty text"),
        ("family", "genealogie", "did you mean 'genealogy'"),
        ("question", "", "field 'question' must be a non-empty text"),
        ("gold_answer", ["x"], "field 'gold_answer' must be a non-empty text"),
        ("tool_output", KeyError, "field 'tool_output' is missing"),
        ("tool_correct", "yes", "field 'tool_correct' must be true, false or null"),
        ("tool_schema", {"name": "x"}, "field 'tool_schema' must hold a name and parameters"),
        ("tool_schema", None, "field 'tool_schema' must be an object"),
        ("prompts", "text", "field 'prompts' must be an object"),
        ("prompts", {"closed_book": "x"}, "field 'prompts.with_tool' must be a non-empty text"),
        ("provenance", [1], "field 'provenance' must be an object"),
        ("episode_id", CONTENT["reference.json"]["episodes"][0]["episode_id"], "stands twice"),
    ],
)
def test_a_wrong_field_is_named_with_its_episode(tmp_path, field, value, message):
    with pytest.raises(UserError) as caught:
        load(broken(tmp_path, set_field(field, value)))
    assert message in str(caught.value)
    assert "reference.json" in str(caught.value) and "episode" in str(caught.value)


@pytest.mark.parametrize(
    ("field", "value"),
    [("question", "Another?"), ("gold_answer", "Another"), ("tool_output", "Another")],
)
def test_what_must_not_differ_between_formulations_may_not(tmp_path, field, value):
    folder = broken(tmp_path, set_field(field, value), "paraphrase_b.json")
    with pytest.raises(UserError, match=r"paraphrase_b\.json episode .* differs from"):
        load(folder)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", "'episodes' must be a list"),
        ('{"episodes": []}', "'episodes' must be a list with at least one"),
        ('{"episodes": [3]}', "episode 0: an object is needed"),
        ('{"episodes": [{}], "summary": 3}', "'summary' must be an object"),
        ("{", "not valid JSON"),
    ],
)
def test_a_file_of_another_shape_is_refused(tmp_path, content, message):
    folder = broken(tmp_path, lambda _: None)
    (folder / "reference.json").write_text(content)
    with pytest.raises(UserError, match=message):
        load(folder)


def test_a_missing_file_and_an_unknown_formulation_are_named(tmp_path):
    with pytest.raises(UserError, match=r"reference\.json: No such file"):
        load(tmp_path)
    with pytest.raises(UserError, match="unknown formulation 'para': did you mean"):
        load(FIXTURE, ["para"])
