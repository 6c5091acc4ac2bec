import pytest

from harness.thoughts import (
    after_thoughts,
    closes_unopened,
    opens_thought,
    thought_is_open,
    without_thoughts,
    without_unopened,
)


@pytest.mark.parametrize(
    ("text", "without", "after", "is_open"),
    [
        ("plain", "plain", "plain", False),
        ("<think>a</think> b", "b", " b", False),
        ("a</think> b", "b", " b", False),  # opened by the template, in the prompt
        ("a <THINKING>b</thinking> c", "a  c", " c", False),
        ("<think>a</think> b <reasoning>c", "b", " b ", True),
        ("<think>a</think>b<thought>c</thought>d", "bd", "d", False),
        ("<think>a", "", "", True),
    ],
)
def test_thoughts_are_told_from_what_is_said(text: str, without: str, after: str, is_open: bool):
    assert without_thoughts(text) == without
    assert after_thoughts(text) == after
    assert thought_is_open(text) is is_open
    assert opens_thought(text) is ("<" in text.replace("</", ""))


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a</think> b", "b"),
        ("a</THINKING>\n\nb <think>c</think> d", "b <think>c</think> d"),
        ("</think>b", "b"),
        ("a</think>", ""),
        ("plain ", "plain "),
        ("<think>a</think> b", "<think>a</think> b"),
        ("<think>a</think> b</think> c", "<think>a</think> b</think> c"),
        ("a <think>b", "a <think>b"),
    ],
)
def test_a_thought_that_the_prompt_opened_is_told_by_its_end_alone(text: str, left: str):
    assert without_unopened(text) == left
    assert closes_unopened(text) is (text != left)


def test_a_long_text_without_a_thought_is_read_in_no_time():
    for text in ("<" * 200_000, "</think" * 50_000, "a" * 1_000_000):
        assert without_unopened(text) == text
