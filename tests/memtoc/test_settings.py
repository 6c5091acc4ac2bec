from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from support.arms import arm_of, compose_config, mock_config, row, write_rows

from harness.errors import UserError
from memtoc.settings import CONDITIONS, arm_settings, canonical


def changed(key: str, value: Any, *overrides: str) -> dict[str, Any]:
    config = compose_config(*overrides)
    *path, last = key.split(".")
    inner = config
    for name in path:
        inner = inner[name]
    inner[last] = value
    return config


def refused(config: dict[str, Any]) -> str:
    with pytest.raises(UserError) as caught:
        arm_settings(canonical(config)[0])
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize(
    ("key", "value", "named"),
    [
        ("limit", 0, "limit=0: give at least 1"),
        ("limit", "ten", "limit='ten' does not fit"),
        ("limit", 2.5, "limit=2.5 does not fit"),
        ("limit", True, "limit"),
        ("seed", "x", "seed='x' does not fit"),
        ("seed", -1, "seed=-1"),
        ("dry_run", "yes", "dry_run='yes' does not fit"),
        ("conditions", "tool_wrong", "write 'conditions=[tool_wrong]'"),
        ("conditions", [], "conditions is empty"),
        ("conditions", ["tool_wrnog"], "did you mean 'tool_wrong'?"),
        ("conditions", None, "conditions"),
        ("ids", "q1", "write 'ids=[q1]'"),
        ("ids", [], "ids is empty"),
        ("decoding.max_new_tokens", 0, "decoding.max_new_tokens=0"),
        ("decoding.temperature", -0.5, "decoding.temperature=-0.5"),
        ("engine.kind", "hff", "engine"),
        ("engine.dtype", "float8", "engine.dtype='float8' does not fit"),
        ("model.kind", "chatty", "model.kind='chatty' does not fit"),
        ("model.hub", 7, "model.hub=7 does not fit"),
        ("layout.sections", ["note", "schema"], "layout.sections"),
        ("layout.sections", ["note", "note"], "layout.sections"),
        ("report.matcher", "exact", "report.matcher='exact' does not fit"),
        ("report.max_error_rate", 1.5, "report.max_error_rate=1.5"),
        ("report.max_error_rate", -0.1, "report.max_error_rate=-0.1"),
        ("report.min_support", -1, "report.min_support=-1"),
        ("frame", None, "frame"),
        ("model", None, "model"),
        ("formulation.heading", {"question": "Q:"}, "formulation.heading"),
        ("formulation.note", {"tool": "x"}, "formulation.note"),
        ("elicitation.name", "opne", "did you mean 'open'?"),
        ("paths.runs", None, "paths.runs"),
    ],
)
def test_a_setting_that_does_not_fit_is_named(key: str, value: Any, named: str):
    assert named in refused(changed(key, value))


def test_an_unknown_key_is_named():
    config = compose_config()
    assert "novelty is not a setting" in refused({**config, "novelty": 1})
    config["engine"]["batch"] = 3
    assert "engine" in refused(config)
    assert "batch" in refused(config)


@pytest.mark.parametrize("key", ["conditions", "ids", "shard", "frame", "payload"])
def test_a_key_that_was_deleted_is_named(key: str):
    config = compose_config()
    del config[key]
    assert f"{key} has no value: set it" in refused(config)


def test_conditions_come_in_canonical_order_once_each_aliases_resolved():
    config, notes = canonical(
        compose_config("conditions=[no_tool,no_conflict,tool_right,tool_error,no_tool]")
    )
    assert config["conditions"] == ["tool_right", "tool_error", "no_tool"]
    assert notes == []


def test_what_a_frame_cannot_show_is_left_out_with_a_note():
    config, notes = canonical(compose_config("frame=passage"))
    assert config["conditions"] == ["tool_right", "tool_wrong", "tool_wrong_far", "no_tool"]
    assert notes == ["frame passage has no tool_error, noop: left out"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (["conditions=[tool_wrong,tool_right]"], ["conditions=[tool_right,tool_wrong]"]),
        (["conditions=[no_conflict]"], ["conditions=[tool_right]"]),
        (["ids=[q2,q1,q2]"], ["ids=[q1,q2]"]),
        (["frame=passage", "payload=timeout"], ["frame=passage"]),
        (["conditions=[noop]", "payload=timeout"], ["conditions=[noop]"]),
    ],
)
def test_two_spellings_of_one_arm_are_one(tmp_path: Path, towns: Path, first, second):
    one, two = (arm_of(mock_config(tmp_path, towns, *given)) for given in (first, second))
    assert one.run.fingerprint == two.run.fingerprint
    assert one.config == two.config


@pytest.mark.parametrize(
    "override",
    [
        "frame=passage",
        "mitigation=warn",
        "payload=timeout",
        "clauses.judgement=false",
        "layout=released",
    ],
)
def test_arms_of_one_model_and_formulation_share_their_memory(tmp_path, towns, override):
    one, two = arm_of(mock_config(tmp_path, towns)), arm_of(mock_config(tmp_path, towns, override))
    assert one.memory_run.fingerprint == two.memory_run.fingerprint
    assert one.run.fingerprint != two.run.fingerprint


@pytest.mark.parametrize(
    "override",
    ["formulation=paraA", "elicitation=open", "decoding=sampled", "decoding.max_new_tokens=64",
     "limit=2", "ids=[q1]", "seed=1", "model=qwen", "engine.reply=other"],
)  # fmt: skip
def test_whatever_a_memory_depends_on_gives_another_memory(tmp_path, towns, override):
    one, two = arm_of(mock_config(tmp_path, towns)), arm_of(mock_config(tmp_path, towns, override))
    assert one.memory_run.fingerprint != two.memory_run.fingerprint
    assert one.run.fingerprint != two.run.fingerprint


def test_another_benchmark_under_the_same_name_is_another_arm_and_memory(tmp_path, towns):
    one = arm_of(mock_config(tmp_path, towns))
    write_rows(towns, [row("q1", "Ravenna", "Rimini")])
    two = arm_of(mock_config(tmp_path, towns))
    assert one.run.fingerprint != two.run.fingerprint
    assert one.memory_run.fingerprint != two.memory_run.fingerprint


def test_where_a_benchmark_lies_does_not_matter(tmp_path, towns):
    one = arm_of(mock_config(tmp_path, towns))
    moved = tmp_path / "elsewhere.jsonl"
    moved.write_bytes(towns.read_bytes())
    assert arm_of(mock_config(tmp_path, moved)).run.fingerprint == one.run.fingerprint
    folder = arm_of(mock_config(tmp_path, towns.parent))
    assert folder.run.fingerprint == one.run.fingerprint


def test_a_larger_limit_keeps_the_questions_of_a_smaller_one(tmp_path: Path):
    rows = [row(f"q{at}", f"Gold{at}", f"Near{at}") for at in range(40)]
    path = write_rows(tmp_path / "q.jsonl", rows)
    chosen = [
        [q.id for q in arm_of(mock_config(tmp_path, path, f"limit={limit}")).questions]
        for limit in (1, 5, 20, 39, 40, 99)
    ]
    assert [len(ids) for ids in chosen] == [1, 5, 20, 39, 40, 40]
    for smaller, larger in pairwise(chosen):
        assert [name for name in larger if name in smaller] == smaller
    assert chosen[-1] == [item["id"] for item in rows]
    other = [q.id for q in arm_of(mock_config(tmp_path, path, "limit=20", "seed=1")).questions]
    assert other != chosen[2]


def test_questions_are_chosen_by_name(tmp_path, towns):
    arm = arm_of(mock_config(tmp_path, towns, "ids=[q3,q1]"))
    assert [question.id for question in arm.questions] == ["q1", "q3"]
    with pytest.raises(UserError, match=r"has no question 'q4'.*did you mean"):
        arm_of(mock_config(tmp_path, towns, "ids=[q1,q4]"))


def test_the_conditions_of_the_default_config_are_all_of_them():
    assert compose_config()["conditions"] == list(CONDITIONS)
