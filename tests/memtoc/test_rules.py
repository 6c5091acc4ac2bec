"""The table of rules between groups."""

import pytest
from arms import compose_config

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
    assert first.resident == plan(compose_config("formulation=paraB", "limit=3")).resident
    assert first.resident != plan(compose_config("model=qwen")).resident
    assert first.resident != plan(compose_config("engine=mock")).resident


def test_a_payload_that_nothing_shows_does_not_make_another_arm():
    plans = [
        plan(compose_config(f"payload={name}", "conditions=[tool_wrong]")).config
        for name in ("timeout", "unavailable")
    ]
    assert plans[0] == plans[1]
    shown = [plan(compose_config(f"payload={name}")).config for name in ("timeout", "unavailable")]
    assert shown[0] != shown[1]
