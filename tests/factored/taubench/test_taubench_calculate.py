"""The calculate tool: Python's values and texts in bounded steps."""

import re
import warnings

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from factored.taubench.arithmetic import ALLOWED, evaluate

TABLE = {
    "(1.5 + 2) * 3": "10.5",
    "2**3": "8.0",
    "7//2": "3.0",
    "0.1+0.2": "0.3",
    "3.14159": "3.14",
    "-0": "0.0",
    "5.": "5.0",
    "  1 ": "1.0",
    "10**21": "1e+21",
    "9**400/9**399": "9.0",
    "1/0": "Error: division by zero",
    "0**-1": "Error: 0.0 cannot be raised to a negative power",
    "1 + ": "Error: invalid syntax (<string>, line 1)",
    "": "Error: invalid syntax (<string>, line 0)",
    "(2": "Error: '(' was never closed (<string>, line 1)",
    "01+1": "Error: leading zeros in decimal integer literals are not permitted; "
    "use an 0o prefix for octal integers (<string>, line 1)",
    "2(3)": "Error: 'int' object is not callable",
    "2(*3)": "Error: 2 argument after * must be an iterable, not int",
    "9**400": "Error: int too large to convert to float",
    "()": "Error: float() argument must be a string or a real number, not 'tuple'",
    "(-8)**.5": "Error: float() argument must be a string or a real number, not 'complex'",
    "1,000+2": "Error: invalid characters in expression",
    "2+2 # x": "Error: invalid characters in expression",
    "__import__": "Error: invalid characters in expression",
    "1e5": "Error: invalid characters in expression",
    "5%2": "Error: invalid characters in expression",
}


@pytest.mark.parametrize(("expression", "answer"), TABLE.items())
def test_every_kind_of_expression_gets_pythons_own_answer(shop, expression, answer):
    assert shop("calculate", expression=expression) == answer


@pytest.mark.parametrize(
    ("given", "answer"),
    [
        (7, "Error: 'int' object is not iterable"),
        (None, "Error: 'NoneType' object is not iterable"),
        ([1], "Error: 'in <string>' requires string as left operand, not int"),
        (["1", "+"], "Error: eval() arg 1 must be a string, bytes or code object"),
    ],
)
def test_an_expression_that_is_no_text_gets_pythons_error(shop, given, answer):
    assert shop("calculate", expression=given) == answer


def python_says(expression: str) -> str:
    try:
        return str(round(float(eval(expression, {"__builtins__": None}, {})), 2))
    except Exception as error:  # noqa: BLE001
        return f"Error: {error}"


def we_say(expression: str) -> str:
    try:
        return evaluate(expression)
    except Exception as error:  # noqa: BLE001
        return f"Error: {error}"


@settings(max_examples=1500, deadline=None)
@given(st.text(alphabet="0123479+-*/(). ", max_size=12))
@example("1(**2)")
@example("()(*())")
@example("...")
@example("3.(*6)")
@example("2**-3")
def test_short_expressions_agree_with_python(expression):
    # Python itself would not come back from a tower of powers.
    towers = re.findall(r"\*\s*\*", expression)
    assume(len(towers) < 2 and not re.search(r"\*\s*\*[\s(+-]*\d{4}", expression))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert we_say(expression) == python_says(expression)


TOO_LARGE = "int too large to convert to float"
HOSTILE = {
    "9**9**9": TOO_LARGE,
    "9**9**9**9": TOO_LARGE,
    "(9**9)**(9**9)": TOO_LARGE,
    "(0-9)**(9**9)": TOO_LARGE,
    "2**-(9**9**9)": TOO_LARGE,
    "(9**20000)*" * 900 + "1": TOO_LARGE,
    "(9**20000)//(9**9999)+" * 400 + "1": TOO_LARGE,
    "(" * 5000 + "1" + ")" * 5000: "expression is longer than 10000 characters",
    "(" * 4000 + "1" + ")" * 4000: "too many nested parentheses",
    "-" * 5000 + "1": "maximum recursion depth exceeded",
    "-" * 9999 + "1": "",  # Python's MemoryError has no text
    "1+" * 4999 + "1": "maximum recursion depth exceeded",
    "9" * 9999: "Exceeds the limit (4300 digits)",
    "1" * 1_000_000: "expression is longer than 10000 characters",
    "()*9" + "9" * 30: "cannot fit 'int' into an index-sized integer",
}


@pytest.mark.parametrize(
    ("expression", "text"), HOSTILE.items(), ids=lambda text: f"{text[:12]}-{len(text)}"
)
def test_hostile_expressions_are_answered_with_an_error(shop, expression, text):
    assert shop("calculate", expression=expression).startswith(f"Error: {text}")


def test_a_long_sum_is_worked_out_without_pythons_recursion_limit(shop):
    assert shop("calculate", expression="+".join(["1.5"] * 2000)) == "3000.0"


def test_only_the_documented_characters_are_allowed():
    assert set(ALLOWED) == set("0123456789+-*/(). ")
