"""Replies to an arm's prompts in waves, against each prompt alone through transformers."""

import pytest

from benchmarks.hf import arm_requests, compare, opened, replies

pytestmark = pytest.mark.slow


def test_real_prompts_get_the_replies_that_they_get_alone(smollm2):
    engine = opened("float32")
    requests = arm_requests(2, new=8)[:12]  # of more, python -m benchmarks.hf
    assert len(requests) == 12
    assert all(difference.gap < 1e-3 for difference in compare(engine, requests))
    # Along the tree less than two thirds of the tokens are computed.
    tokens = sum(reply.prompt_tokens for reply in replies(engine, requests))
    assert engine.counters["prefilled"] < 2 * tokens / 3
