import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from support.arms import (
    arm_of,
    compose_config,
    mock_config,
    options,
    prompt,
    requests_of,
    row,
    write_rows,
)

from memtoc.episodes import episodes, sentinel_episodes
from memtoc.settings import CONDITIONS

FORMULATIONS = options("formulation")
FRAMES = options("frame")
LAYOUTS = options("layout")
MITIGATIONS = options("mitigation")
TOOL_FRAMES = [name for name in FRAMES if compose_config(f"frame={name}")["frame"]["has_error"]]
VALUED = ("tool_right", "tool_wrong", "tool_wrong_far")


@pytest.fixture
def towns(tmp_path: Path) -> Path:
    """Values that are found in no wording."""
    rows = [
        row("q1", "Ravenna", "Modena", "Cuzco"),
        row(
            "q2",
            "Château-d'Œx",
            'Sankt "Gallen"',
            "日本橋\\n",
            question="Où {question} ça, {value}?",
        ),
    ]
    return write_rows(tmp_path / "questions.jsonl", rows)


def prompts(root: Path, questions: Path, *overrides: str) -> dict[tuple[str, str], str]:
    asked = requests_of(mock_config(root, questions, *overrides))
    return {key: prompt(request) for key, request in asked.items()}


def returned(text: str, config: Mapping[str, Any]) -> str:
    """The section under the return's heading."""
    heading = config["formulation"]["heading"]
    name = "return" if config["frame"]["presents"] == "tool" else "passage"
    found = re.search(rf"{re.escape(heading[name])}\n(.*)", text)
    assert found, text
    return found[1]


def wording(name: str) -> dict[str, Any]:
    return compose_config(f"formulation={name}")["formulation"]


def shape(value: Any) -> Any:
    return {key: shape(item) for key, item in value.items()} if isinstance(value, dict) else str


def sentences(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for item in value.values() for text in sentences(item)]
    return [value]


def test_the_formulations_say_the_same_things_under_the_same_keys():
    shapes = [shape(wording(name)) for name in FORMULATIONS]
    assert FORMULATIONS == ["paraA", "paraB", "ref"]
    assert all(each == shapes[0] for each in shapes)
    assert all(text.strip() for name in FORMULATIONS for text in sentences(wording(name)))


def test_the_formulations_differ_in_every_wording():
    texts = [sentences({**wording(name), "name": ""}) for name in FORMULATIONS]
    for wordings in list(zip(*texts, strict=True))[1:]:
        assert len({text.lower() for text in wordings}) == len(FORMULATIONS), wordings


@pytest.mark.parametrize("name", FORMULATIONS)
def test_no_wording_holds_a_placeholder_that_a_model_could_copy(name: str):
    texts = sentences(wording(name))
    texts += [
        compose_config(f"mitigation={other}")["mitigation"]["instruction"] or ""
        for other in MITIGATIONS
    ]
    for text in texts:
        assert not re.search(r"[<>\[\]{}|_]|\.\.\.|…|\bYOUR\b|\bANSWER\b|\bXX+\b", text), text


@pytest.mark.parametrize("name", FORMULATIONS)
def test_every_prompt_asks_for_a_last_line_that_starts_with_final(tmp_path, towns, name):
    for text in prompts(tmp_path, towns, f"formulation={name}").values():
        assert text.count("FINAL:") == 1
        assert wording(name)["answer_line"] in text
        assert "last line" in wording(name)["answer_line"]


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_question_schema_and_return_are_byte_identical_across_formulations(
    tmp_path, towns, frame, layout
):
    questions = arm_of(mock_config(tmp_path, towns)).questions
    for payload in options("payload") if frame in TOOL_FRAMES else ["unavailable"]:
        found = []
        for name in FORMULATIONS:
            overrides = (f"frame={frame}", f"layout={layout}", f"payload={payload}")
            config = mock_config(tmp_path, towns, *overrides, f"formulation={name}")
            asked = prompts(tmp_path, towns, *overrides, f"formulation={name}")
            assert all(q.text in asked[q.id, c] for q in questions for i, c in asked if i == q.id)
            found.append(
                {
                    key: (returned(text, config), _schemas(text))
                    for key, text in asked.items()
                    if key[1] not in ("memory", "no_tool")
                }
            )
        assert found[0] == found[1] == found[2]
        assert len(found[0]) == (2 * 5 if frame in TOOL_FRAMES else 2 * 3)


def _schemas(text: str) -> list[str]:
    return [line for line in text.split("\n") if line.startswith('{"name": ')]


@pytest.mark.parametrize("frame", FRAMES)
def test_the_schema_is_shown_whole_where_the_frame_shows_it(tmp_path, towns, frame):
    config = mock_config(tmp_path, towns, f"frame={frame}")
    schema = arm_of(config).questions[0].tool.schema
    for (_, condition), text in prompts(tmp_path, towns, f"frame={frame}").items():
        shown = config["frame"]["shows_schema"] and condition not in ("memory", "no_tool")
        assert [json.loads(line) for line in _schemas(text)] == ([schema] if shown else [])


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("name", FORMULATIONS)
@pytest.mark.parametrize("mitigation", MITIGATIONS)
def test_no_value_stands_in_another_conditions_prompt(tmp_path, towns, frame, name, mitigation):
    overrides = (f"frame={frame}", f"formulation={name}", f"mitigation={mitigation}")
    asked = prompts(tmp_path, towns, *overrides)
    for question in arm_of(mock_config(tmp_path, towns)).questions:
        values = dict(zip(VALUED, (question.gold, question.near, question.far), strict=True))
        for (asked_id, condition), text in asked.items():
            shown = {name for name, value in values.items() if _holds(text, value)}
            expected = {condition} & set(VALUED) if asked_id == question.id else set()
            assert shown == expected, (question.id, asked_id, condition)


def _holds(text: str, value: str) -> bool:
    """As it is, or as a JSON text writes it."""
    return value in text or json.dumps(value, ensure_ascii=False)[1:-1] in text


@pytest.mark.parametrize("frame", ["tool", "tool_no_schema", "passage_json"])
def test_json_returns_are_json_and_carry_the_exact_value(tmp_path, towns, frame):
    config = mock_config(tmp_path, towns, f"frame={frame}")
    asked = prompts(tmp_path, towns, f"frame={frame}")
    for question in arm_of(config).questions:
        for condition, value in zip(
            VALUED, (question.gold, question.near, question.far), strict=True
        ):
            found = json.loads(returned(asked[question.id, condition], config))
            assert found == {"status": "ok", "result": value}


def test_inserted_text_with_braces_is_not_read_again(tmp_path, towns):
    value = "{question} {value} {0} {{x}} %s \\1"
    path = write_rows(tmp_path / "b.jsonl", [row("q1", value, "near", question="Is it {value}?")])
    config = mock_config(tmp_path, path, "frame=passage")
    text = prompts(tmp_path, path, "frame=passage")["q1", "tool_right"]
    assert returned(text, config) == (
        f'A reference work takes up the question "Is it {{value}}?" and states the answer: {value}.'
    )
    text = prompts(tmp_path, path)["q1", "tool_right"]
    assert json.loads(returned(text, mock_config(tmp_path, path)))["result"] == value


def test_a_return_without_a_value_says_so_and_an_error_is_the_payload(tmp_path, towns):
    for payload in options("payload"):
        config = mock_config(tmp_path, towns, f"payload={payload}")
        asked = prompts(tmp_path, towns, f"payload={payload}")
        empty = json.loads(returned(asked["q1", "noop"], config))
        assert (empty["status"], empty["result"]) == ("ok", None)
        error = json.loads(returned(asked["q1", "tool_error"], config))
        assert error == config["payload"]["error"]
        assert error["status"] == "error"
    codes = {name: compose_config(f"payload={name}") for name in options("payload")}
    assert codes["unavailable"]["payload"]["error"]["error"]["code"] == 503


def test_sections_stand_in_the_order_of_the_layout(tmp_path, towns):
    config = mock_config(tmp_path, towns)
    words = config["formulation"]
    marks = {
        "note": words["note"]["tool"],
        "schema": words["heading"]["schema"],
        "question": words["heading"]["question"],
        "return": words["heading"]["return"],
        "mitigation": compose_config("mitigation=warn")["mitigation"]["instruction"],
        "answer_line": words["answer_line"],
    }
    orders = {
        "shared_first": ["note", "schema", "question", "return", "mitigation", "answer_line"],
        "released": ["note", "schema", "return", "mitigation", "answer_line", "question"],
    }
    assert set(LAYOUTS) == set(orders)
    for layout, order in orders.items():
        asked = prompts(tmp_path, towns, f"layout={layout}", "mitigation=warn")
        for condition in ("tool_right", "tool_error", "noop"):
            text = asked["q1", condition]
            assert sorted(marks, key=lambda name: text.index(marks[name])) == order
            assert all(text.count(mark) == 1 for mark in marks.values())


def test_conditions_of_a_question_share_everything_before_the_return(tmp_path, towns):
    asked = prompts(tmp_path, towns)
    texts = [asked["q1", name] for name in CONDITIONS if name != "no_tool"]
    heading = wording("ref")["heading"]["return"]
    assert len({text.split(heading)[0] for text in texts}) == 1
    assert len({text.split("\n\n")[-1] for text in texts}) == 1


@pytest.mark.parametrize("mitigation", MITIGATIONS)
@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_mitigation_adds_one_instruction_just_before_the_answer_line_and_nothing_else(
    tmp_path, towns, mitigation, frame, layout
):
    overrides = (f"frame={frame}", f"layout={layout}")
    plain = prompts(tmp_path, towns, *overrides, "mitigation=none")
    mended = prompts(tmp_path, towns, *overrides, f"mitigation={mitigation}")
    instruction = compose_config(f"mitigation={mitigation}")["mitigation"]["instruction"]
    line = wording("ref")["answer_line"]
    for key, text in mended.items():
        if instruction is None or key[1] in ("memory", "no_tool"):
            assert text == plain[key]
        else:
            assert text == plain[key].replace(line, f"{instruction}\n\n{line}")


@pytest.mark.parametrize("clause", ["no_recall", "judgement"])
@pytest.mark.parametrize("name", FORMULATIONS)
@pytest.mark.parametrize("frame", FRAMES)
def test_a_clause_is_on_by_default_and_can_be_left_out_alone(tmp_path, towns, clause, name, frame):
    overrides = (f"formulation={name}", f"frame={frame}")
    whole = prompts(tmp_path, towns, *overrides)
    less = prompts(tmp_path, towns, *overrides, f"clauses.{clause}=false")
    presents = compose_config(f"frame={frame}")["frame"]["presents"]
    sentence = wording(name)[clause][presents]
    for (asked_id, condition), text in whole.items():
        memory = condition in ("memory", "no_tool")
        assert (sentence in text) != memory
        assert less[asked_id, condition] == text.replace(f" {sentence}", "")


def test_no_tool_asks_for_the_memory_again(tmp_path, towns):
    asked = requests_of(mock_config(tmp_path, towns))
    assert asked["q1", "no_tool"] == asked["q1", "memory"]
    assert asked["q1", "no_tool"].digest == asked["q1", "memory"].digest


@pytest.mark.parametrize("name", FORMULATIONS)
def test_the_two_elicitations_differ_in_whether_unknown_is_allowed(tmp_path, towns, name):
    texts = {
        kind: prompts(tmp_path, towns, f"formulation={name}", f"elicitation={kind}")["q1", "memory"]
        for kind in options("elicitation")
    }
    assert set(texts) == {"forced", "open"}
    assert "UNKNOWN" in texts["open"]
    assert "UNKNOWN" not in texts["forced"]


def test_the_memory_prompt_depends_on_nothing_but_what_names_the_memory(tmp_path, towns):
    base = prompts(tmp_path, towns)["q2", "memory"]
    for group in ("frame", "layout", "mitigation", "payload"):
        for name in options(group):
            assert prompts(tmp_path, towns, f"{group}={name}")["q2", "memory"] == base
    for clause in ("no_recall", "judgement"):
        assert prompts(tmp_path, towns, f"clauses.{clause}=false")["q2", "memory"] == base


def test_rows_come_by_question_then_condition_without_those_that_have_no_far_value(tmp_path):
    rows = [row("q1", "Ravenna", "Modena"), row("q2", "Bergen", "Stavanger", "Cuzco")]
    arm = arm_of(mock_config(tmp_path, write_rows(tmp_path / "q.jsonl", rows)))
    found = [(item.question.id, item.condition) for item in episodes(arm.settings, arm.questions)]
    without = [name for name in CONDITIONS if name != "tool_wrong_far"]
    assert found == [("q1", name) for name in without] + [("q2", name) for name in CONDITIONS]


def test_what_a_row_says_of_its_return(tmp_path, towns):
    arm = arm_of(mock_config(tmp_path, towns))
    said = {
        item.condition: (item.tool_value, item.tool_correct)
        for item in episodes(arm.settings, arm.questions)
        if item.question.id == "q1"
    }
    assert said == {
        "tool_right": ("Ravenna", True),
        "tool_wrong": ("Modena", False),
        "tool_wrong_far": ("Cuzco", False),
        "tool_error": (None, False),
        "noop": (None, False),
        "no_tool": (None, None),
    }


def test_a_base_checkpoint_stops_at_the_next_question(tmp_path, towns):
    for name in FORMULATIONS:
        overrides = ("model=llama_base", f"formulation={name}")
        for request in requests_of(mock_config(tmp_path, towns, *overrides)).values():
            assert request.stop == (f"\n{wording(name)['heading']['question']}",)
            assert request.stop[0] in f"\n{prompt(request)}"
    assert all(not r.stop for r in requests_of(mock_config(tmp_path, towns)).values())


def test_no_system_text_is_invented(tmp_path, towns):
    for request in requests_of(mock_config(tmp_path, towns)).values():
        assert [message.role for message in request.messages] == ["user"]


def test_seeds_play_a_part_only_where_text_is_drawn(tmp_path, towns):
    def seeds(*overrides: str) -> dict[tuple[str, str], int]:
        asked = requests_of(mock_config(tmp_path, towns, *overrides))
        return {key: request.seed for key, request in asked.items()}

    assert set(seeds("seed=7").values()) == {0}
    drawn, again = seeds("decoding=sampled"), seeds("decoding=sampled")
    assert drawn == again
    distinct = {key: seed for key, seed in drawn.items() if key[1] != "no_tool"}
    assert len(set(distinct.values())) == len(distinct)
    assert drawn["q1", "no_tool"] == drawn["q1", "memory"]
    assert set(drawn.values()).isdisjoint(seeds("decoding=sampled", "seed=1").values())


@pytest.mark.parametrize("frame", FRAMES)
def test_the_audits_words_stand_where_a_conditions_content_stands(tmp_path, towns, frame):
    settings = arm_of(mock_config(tmp_path, towns, f"frame={frame}")).settings
    rows = sentinel_episodes(settings)
    assert [item.condition for item, _ in rows] == list(settings.conditions)
    counts = {item.condition: len(words) for item, words in rows}
    schema = settings.frame.shows_schema
    assert counts["tool_right"] == counts["tool_wrong_far"] == 2 + schema
    assert counts["no_tool"] == 1
    for item, words in rows:
        assert all(prompt(item.request).count(word) >= 1 for word in words)
        assert len(set(words)) == len(words)
