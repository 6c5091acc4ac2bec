"""The worked example of docs/words.md, scored: its rows, cells, outcomes and rates."""

import re

from support.arms import ROOT
from support.judging import judged

from memtoc.metrics import measure

PAGE = (ROOT / "docs/words.md").read_text(encoding="utf-8")
EXAMPLE = PAGE.partition("## A worked example")[2].partition("## ")[0]
ROWS = [
    [cell.strip(" `") for cell in line.strip("|").split("|")]
    for line in EXAMPLE.splitlines()
    if line.startswith("| ") and "asked with" not in line
]


def test_each_row_has_the_cell_and_the_outcome_that_the_page_gives():
    assert len(ROWS) == 6
    for number, (memory, answer, cell, outcome, _) in enumerate(ROWS):
        scored = {row.condition: row for row in example(number, memory, answer)}
        found = scored["tool_wrong"].scores["boundary"]
        assert (found.cell, found.outcome) == (cell, outcome), (memory, answer)


def example(number: int, memory: str, answer: str):
    return judged(f"FINAL: {memory}", "Modena", "Ravenna", f"FINAL: {answer}", name=f"q{number}")


def test_the_rates_are_those_of_the_page():
    questions = [example(at, memory, answer) for at, (memory, answer, *_) in enumerate(ROWS)]
    rows = [row for question in questions for row in question]
    metrics = measure(rows, 0).matchers["boundary"]
    shown = {
        (metric, definition): f"{rate.numerator}/{rate.denominator}"
        for metric, definition in (
            ("retention", "ours"), ("retention", "released"),
            ("incorrect-tool following", "ours"), ("incorrect-tool following", "released"),
        )
        for rate in [metrics.rate(metric, definition)]
    }  # fmt: skip
    said = re.findall(r"\d/\d", EXAMPLE.partition("Retention is then")[2])
    assert list(shown.values()) == said == ["2/3", "1/3", "1/1", "2/2"]


def test_every_metric_and_definition_has_its_place_on_the_page():
    table = PAGE.partition("## A rate")[2].partition("## A worked")[0]
    for rate in measure([], 0).matchers["boundary"].rates:
        metric = rate.metric.removesuffix(" (far)")
        if metric.startswith(("noop", "no_tool")):
            assert metric.partition(" ")[2] in table
            continue
        line = next(line for line in table.splitlines() if line.startswith(f"| {metric} |"))
        # A definition that is the only one of its metric is not told apart from others.
        words = {"memory right": "memory is right", "memory wrong": "it is wrong"}
        alone = metric in ("correct-tool following", "tool-error fall-back")
        assert alone or words.get(rate.definition, rate.definition) in line, rate
