"""The table of rules between groups."""

import pytest
from support.arms import compose_config

from harness.errors import UserError
from memtoc.rules import plan


def test_conditions_that_a_frame_cannot_show_are_left_out_with_a_note():
    planned = plan(compose_config("frame=passage"))
    assert planned.config["conditions"] == ["tool_right", "tool_wrong", "tool_wrong_far", "no_tool"]
    assert planned.notes == ("frame passage has no tool_error, noop: left out",)
    assert not planned.dropped


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (("frame=passage", "conditions=[tool_error,noop]"), "frame 'passage' can show none"),
        (("mitigation=assess", "conditions=[no_tool]"), "mitigation 'assess' stands in no prompt"),
    ],
)
def test_an_arm_that_says_nothing_new_is_dropped(overrides: tuple[str, ...], words: str):
    assert words in plan(compose_config(*overrides)).dropped


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (("model=llama_base", "model.thinking=true"), "does not think in tags"),
        (("model=llama_base", "+model.template={x: 1}"), "prompted without a template"),
        (("conditions=[tool]",), "unknown condition 'tool'"),
    ],
)
def test_an_arm_that_cannot_be_is_refused(overrides: tuple[str, ...], words: str):
    with pytest.raises(UserError, match=words):
        plan(compose_config(*overrides))


def test_arms_keep_a_model_together_when_model_and_engine_agree():
    first = plan(compose_config("formulation=ref"))
    assert first.loaded == plan(compose_config("formulation=paraB", "limit=3")).loaded
    assert first.loaded != plan(compose_config("model=qwen")).loaded
    assert first.loaded != plan(compose_config("engine=mock")).loaded


def test_a_payload_that_nothing_shows_does_not_make_another_arm():
    plans = [
        plan(compose_config(f"payload={name}", "conditions=[tool_wrong]")).config
        for name in ("timeout", "unavailable")
    ]
    assert plans[0] == plans[1]
    shown = [plan(compose_config(f"payload={name}")).config for name in ("timeout", "unavailable")]
    assert shown[0] != shown[1]


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (("frame.value=''",), "frame.value is empty"),
        (("frame.value=It is so.",), "frame.value holds no {value}: write it where"),
        (("frame.value.result=x",), "frame.value holds no {value}"),
        (("frame.noop=' '",), "frame.noop is empty"),
        (("frame=passage", "frame.value='See {question}.'"), "frame.value holds no {value}"),
        (("mitigation=warn", "mitigation.instruction=' '"), "mitigation.instruction is empty"),
        (("formulation.answer_line=''",), "formulation.answer_line is empty"),
        (("formulation.closed_book.open=' '",), "formulation.closed_book.open is empty"),
        (("formulation.heading.return=' '",), "formulation.heading.return is empty"),
    ],
)
def test_a_wording_that_says_nothing_is_refused(overrides: tuple[str, ...], words: str):
    with pytest.raises(UserError) as refused:
        plan(compose_config(*overrides))
    assert words in str(refused.value)


def test_a_frame_may_say_what_it_likes_around_the_value():
    for value in ("'{value}'", "{answer: {text: 'so: {value}', unit: ''}}", "{found: ['{value}']}"):
        override = f"frame.value={value}" if value.startswith("'") else f"++frame.value={value}"
        assert not plan(compose_config(override)).dropped


@pytest.mark.parametrize("key", ["model.name", "benchmark.name", "engine.name", "frame.name"])
@pytest.mark.parametrize("name", ["''", "' '", "a b", "a/b", "..", "x{}", "a" * 65])
def test_a_name_is_fit_for_a_folder(key: str, name: str):
    with pytest.raises(UserError, match=rf"{key}=.* does not fit: a name is"):
        plan(compose_config(f"{key}={name!s}" if "{" not in name else f"{key}='{name}'"))


@pytest.mark.parametrize(
    "override",
    ["model.path=", "model.revision=", "model.hub=", "benchmark.path=", "tracker.project="],
)
def test_a_setting_that_is_given_is_not_empty(override: str):
    hub, csv = ("model=qwen", "benchmark=csv")
    with pytest.raises(UserError, match=f"{override}'' does not fit: it is empty"):
        plan(compose_config(hub, csv, "benchmark.path=x.csv", override))


@pytest.mark.parametrize("value", ["null", "3", "[x]"])
def test_a_value_of_another_kind_is_told_which_kinds_there_are(value: str):
    words = r"^frame\.value=.* does not fit: .*valid string or .*an object$"
    with pytest.raises(UserError, match=words):
        plan(compose_config("frame=passage", f"frame.value={value}"))
