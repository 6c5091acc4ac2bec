"""Work per reply is bounded: no pattern looks further than a fixed number of characters, and
within that number none grows faster than the text.
"""

import sys
import time
from collections.abc import Callable

import pytest

from memtoc.scoring import MATCHERS, acknowledges, decide, extract, match, score_memory
from memtoc.scoring import text as text_module

PHRASES = [
    "a", " ", "\n", "(", ")", "&", "1", ".", "'", '"', "*", "_", "[", "{", "<", "é", "北",
    "is not ", "the tool ", "FINAL: ", "FINAL:", "12 May ", "May 12, ", "a. ", "a-", "1,000,",
    "2000-01-01 ", "no information ", "which is wrong. ", "the tool returned X, but ", "Q: ",
    "<think>",
    "</think>", "X is not ", "I believe the tool ", "conflict ", "<answer> ", "twenty ",
    "Europe/", "cannot be ",
    "I would have said ", "not as I thought ", "north of ", "than ", "or ", "City of ", "in ",
    "born ", "not ", "n't ", "the ", "x (", "does not \n", "{ ", "[ ",
    "; ", " / ", ", a", " and ", "[1]", "[1](", "\\text{", "\\boxed{", "$1", "~~", "&amp;", "<b>",
    "(source: ", "http://a.b ", "978-0-", "K. 5", "nicht ", "no lo se, pero ", "不", "Inc. ",
    ", Inc",
]  # fmt: skip
QUESTION = "Who is the father of Ada?"


def score(reply: str) -> None:
    span = extract(reply).text
    for matcher in MATCHERS:
        memory = score_memory(matcher, reply, QUESTION, "Lord Byron")
        decide(matcher, span, QUESTION, "Lord Byron", memory, "X")
    acknowledges(reply, "Lord Byron", "X")


def calls(reply: str) -> int:
    """How many functions, Python's and C's, run while the reply is scored."""
    count = 0

    def tick(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(tick)
    try:
        score(reply)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("phrase", PHRASES)
def test_a_longer_runaway_reply_takes_no_more_steps(phrase: str) -> None:
    times = 50_000 // len(phrase)
    whole, twice = (calls(phrase * n + str(n)) for n in (times, 2 * times))
    assert twice <= 1.1 * whole + 200


def seconds(work: Callable[[], None]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


@pytest.mark.parametrize("phrase", PHRASES)
def test_time_grows_no_faster_than_the_text_within_the_bound(phrase: str) -> None:
    size = text_module.MAX_CHARS

    def best(length: int) -> float:
        replies = [(phrase * length)[:length] + f" {length} {i}" for i in range(4)]
        return min(seconds(lambda reply=reply: score(reply)) for reply in replies)

    # Linear work gives 8, quadratic 64; the constant covers what a reply costs at any length.
    assert best(size) < 24 * best(size // 8) + 0.003


VALUES = [("8,611 m", ""), ("44 BC", "When was it?"), ("80", "When was it?"), ("$5 million", "")]
FIGURES = [
    "1 ", "1,000,", "8 km ", "between 1 and ", "1.", "5 ft ", "$1 ", "1/2/", "昭和5年", "9",
    "3 h 1 min ", "a.d. ", "c. 44 bc ", "1 thousand ", "'1", "from 3 a ",
]  # fmt: skip


@pytest.mark.parametrize("phrase", FIGURES)
def test_time_to_compare_values_grows_no_faster_than_the_text(phrase: str) -> None:
    size = text_module.MAX_CHARS

    def best(length: int) -> float:
        replies = [(phrase * length)[:length] + f" {length} {i}" for i in range(4)]
        return min(
            seconds(lambda r=reply: [match("boundary", r, *value) for value in VALUES])
            for reply in replies
        )

    assert best(size) < 24 * best(size // 8) + 0.003
