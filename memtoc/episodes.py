"""question x condition x formulation x frame x mitigation -> chat messages."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from harness.completions import Message, Request
from harness.seeds import generator
from harness.templates import fill_all
from memtoc.questions import Question, ToolCall
from memtoc.settings import ArmSettings

# Conditions that a row can only have with a far value, and the value that each returns.
VALUE_OF = {"tool_right": "gold", "tool_wrong": "near", "tool_wrong_far": "far"}


@dataclass(frozen=True)
class Episode:
    """One row of an arm. ``request`` is the closed-book one under ``no_tool``.

    ``tool_value`` is None if the return carries no value. ``tool_correct`` is None if nothing was
    returned at all, and False for an error or an empty return.
    """

    question: Question
    condition: str
    tool_value: str | None
    tool_correct: bool | None
    request: Request


def episodes(arm: ArmSettings, questions: Sequence[Question]) -> list[Episode]:
    """Return all rows of an arm, by question, then condition: neighbours share the longest prefix.

    A question without a far value has no ``tool_wrong_far`` row; one with a release's prompts has
    the rows that there are prompts for.
    """
    return [
        episode(arm, question, condition)
        for question in questions
        for condition in arm.conditions
        if has_row(arm, question, condition)
    ]


def has_row(arm: ArmSettings, question: Question, condition: str) -> bool:
    """Return whether a question can be put under a condition."""
    if question.prompts and condition != "no_tool":
        return condition in question.prompts[arm.formulation.name]
    return condition != "tool_wrong_far" or question.far is not None


def episode(arm: ArmSettings, question: Question, condition: str) -> Episode:
    """Return the row of a question under a condition."""
    if condition == "no_tool":
        return Episode(question, condition, None, None, memory_request(arm, question))
    name = VALUE_OF.get(condition)
    value = None if name is None else str(getattr(question, name))
    prompt = tool_prompt(arm, question, condition, value)
    request = _request(arm, prompt, f"{question.id} {condition}")
    return Episode(question, condition, value, condition == "tool_right", request)


def memory_request(arm: ArmSettings, question: Question) -> Request:
    """Return the closed-book prompt: instruction, question, answer line."""
    wording = arm.formulation
    if question.prompts:
        return _request(arm, question.prompts[wording.name]["memory"], f"{question.id} memory")
    sections = [
        wording.closed_book[arm.elicitation.name],
        f"{wording.heading['question']} {question.text}",
        wording.answer_line,
    ]
    return _request(arm, _joined(sections), f"{question.id} memory")


def tool_prompt(arm: ArmSettings, question: Question, condition: str, value: str | None) -> str:
    """Return the with-tool prompt of a condition, its sections in the layout's order."""
    wording, frame = arm.formulation, arm.frame
    if question.prompts:
        return question.prompts[wording.name][condition]
    assert arm.layout is not None
    schema = json.dumps(question.tool.schema, ensure_ascii=False)
    heading = wording.heading["return" if frame.presents == "tool" else "passage"]
    sections = {
        "note": _note(arm),
        "schema": f"{wording.heading['schema']}\n{schema}" if frame.shows_schema else None,
        "question": f"{wording.heading['question']} {question.text}",
        "return": f"{heading}\n{_returned(arm, question, condition, value)}",
        "mitigation": arm.mitigation.instruction,
        "answer_line": wording.answer_line,
    }
    return _joined([sections[name] for name in arm.layout.sections])


def _note(arm: ArmSettings) -> str:
    assert arm.clauses is not None
    wording, presents = arm.formulation, arm.frame.presents
    sentences = [wording.note[presents]]
    if arm.clauses.no_recall:
        sentences.append(wording.no_recall[presents])
    if arm.clauses.judgement:
        sentences.append(wording.judgement[presents])
    return " ".join(sentences)


def _returned(arm: ArmSettings, question: Question, condition: str, value: str | None) -> str:
    if condition == "tool_error":
        assert arm.payload is not None
        return json.dumps(arm.payload.error, ensure_ascii=False)
    template = arm.frame.noop if condition == "noop" else arm.frame.value
    filled = fill_all(template, value=value or "", question=question.text)
    return filled if isinstance(filled, str) else json.dumps(filled, ensure_ascii=False)


def _joined(sections: Sequence[str | None]) -> str:
    return "\n\n".join(section for section in sections if section)


def _request(arm: ArmSettings, prompt: str, key: str) -> Request:
    base = arm.model.kind == "base"
    # A base checkpoint goes on to invent the next question; its heading ends the answer.
    stop = (f"\n{arm.formulation.heading['question']}",) if base else ()
    drawn = arm.decoding.temperature > 0
    seed = generator(arm.seed, "decoding", key).getrandbits(32) if drawn else 0
    return Request((Message("user", prompt),), arm.decoding, stop, seed)


def sentinel_episodes(arm: ArmSettings) -> list[tuple[Episode, tuple[str, ...]]]:
    """Return an episode of made-up words for each condition, and the words its prompt must show.

    The words stand in the question, in the tool schema (if the frame shows it) and in the return
    (if the condition carries a value).
    """
    asked, schema, gold, near, far = (
        f"zq{generator(arm.seed, 'sentinel', str(i)).getrandbits(40):010x}" for i in range(5)
    )
    tool = ToolCall({"name": schema, "parameters": {}}, {}, "")
    question = Question("s", asked, gold, near, far, "other_string", "free_form", "s", "A", tool)
    if arm.layout is None:  # The benchmark brings its own prompts: one text for each.
        words = dict.fromkeys(arm.conditions, f"{schema} {gold} {near} {far} {asked}")
        question = replace(question, prompts={arm.formulation.name: {"memory": asked, **words}})
    rows = []
    for condition in arm.conditions:
        row = episode(arm, question, condition)
        shown = [asked] + ([row.tool_value] if row.tool_value else [])
        if arm.frame.shows_schema and condition != "no_tool":
            shown.append(schema)
        rows.append((row, tuple(shown)))
    return rows
