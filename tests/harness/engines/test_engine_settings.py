"""Settings of engines that do not fit, each refused in one line."""

from typing import Any

import pytest

from harness.engines import HfSpec, MockSpec
from harness.errors import UserError
from harness.settings import parse

HF = {"name": "hf", "kind": "hf", "dtype": "auto", "batch_tokens": 4096, "device": "cpu"}
MOCK = {"name": "mock", "kind": "mock", "reply": "x", "rules": []}


@pytest.mark.parametrize("batch_tokens", [0, -1])
def test_a_batch_of_no_tokens_is_refused(batch_tokens):
    assert parse(HfSpec, HF).batch_tokens == 4096
    with pytest.raises(UserError, match=f"batch_tokens={batch_tokens} does not fit"):
        parse(HfSpec, {**HF, "batch_tokens": batch_tokens})


@pytest.mark.parametrize("given", [{}, {"reply": "a", "error": "b"}, {"reply": None}])
def test_a_rule_of_the_mock_gives_a_reply_or_an_error(given: dict[str, Any]):
    fitting = [{"contains": "x", "reply": ""}, {"contains": "x", "error": "down"}]
    assert len(parse(MockSpec, {**MOCK, "rules": fitting}).rules) == 2
    with pytest.raises(UserError, match="either a reply or an error") as raised:
        parse(MockSpec, {**MOCK, "rules": [{"contains": "x", **given}]})
    assert "\n" not in str(raised.value)
