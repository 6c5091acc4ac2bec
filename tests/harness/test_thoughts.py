import pytest

from harness.thoughts import after_thoughts, opens_thought, thought_is_open, without_thoughts


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
