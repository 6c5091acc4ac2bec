import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from support import scripted
from support.arms import ArmResult, mock_config, row, run, write_rows

from harness.completions import Completion, Decoding, Message, Request
from memtoc.arms import FinishedArm
from memtoc.episodes import Episode
from memtoc.metrics import measure
from memtoc.questions import Question
from memtoc.scored import ScoredRow, read_memory, score_episode
from memtoc.settings import Report
from memtoc.sources.schemas import call_for
from memtoc.tables import figures, in_words, legend, show

RULES = "┃│"


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> ArmResult:
    return run(scripted.config(tmp_path_factory.mktemp("scripted")))


def shown(result: ArmResult, **report: Any) -> str:
    text = io.StringIO()
    settings = Report(**{"matcher": "boundary", "min_support": 30, "max_error_rate": 1} | report)
    show(FinishedArm.load(result.folder), settings, Console(file=text, width=200))
    return text.getvalue()


def cells_of(text: str, *start: str) -> list[str]:
    """The cells of the one table row that begins with these."""
    rows = [
        [cell.strip() for cell in line.strip(RULES).replace("┃", "│").split("│")]
        for line in text.splitlines()
        if line[:1] in RULES
    ]
    (found,) = [cells for cells in rows if tuple(cells[: len(start)]) == start]
    return found


def test_the_cells_of_each_condition_are_shown(result: ArmResult):
    text = shown(result)
    tables = text.split("What the answer did")
    header = cells_of(tables[0], "condition")
    assert dict(zip(header, cells_of(tables[0], "tool_right"), strict=True)) == {
        "condition": "tool_right", "agree": "4", "arb": "0", "tool_gold": "2", "both_wrong": "0",
        "mem_absent": "1", "none": "1",
    }  # fmt: skip


def test_a_rate_without_support_is_not_given(result: ArmResult):
    text = shown(result)
    assert cells_of(text, "retention", "ours")[2:] == ["2/3", "n too small", "", "", "1"]
    assert "66.7" not in text


def test_a_rate_with_support_comes_with_its_interval(result: ArmResult):
    cells = cells_of(shown(result, min_support=3), "retention", "ours")
    assert cells[2:4] == ["2/3", "66.7"]
    assert cells[4].endswith(" to 100.0")
    text = shown(result, min_support=3)
    assert cells_of(text, "correct-tool following", "ours")[2:4] == ["1/2", "n too small"]


@pytest.mark.parametrize(("support", "given"), [(30, True), (31, False)])
def test_the_bound_itself_is_enough(tmp_path: Path, support: int, given: bool):
    rows = [row(f"q{at}", f"Gold{at}", f"Near{at}") for at in range(30)]
    config = mock_config(tmp_path, write_rows(tmp_path / "q.jsonl", rows))
    text = shown(run(config), min_support=support)
    cells = cells_of(text, "tool-error abstention", "released")
    assert cells[2:4] == ["30/30", "100.0" if given else "n too small"]


def test_cut_and_failed_rows_stand_beside_the_rate(result: ArmResult):
    text = shown(result, min_support=0)
    header = cells_of(text, "metric")
    accuracy = dict(zip(header, cells_of(text, "noop accuracy", "ours"), strict=True))
    assert (accuracy["n"], accuracy["cut"], accuracy["errors"]) == ("3/6", "1", "1")


def test_a_mean_of_cells_has_no_numerator(result: ArmResult):
    cells = cells_of(shown(result, min_support=2), "conflict-resolved accuracy", "mean of cells")
    assert cells[2:4] == ["2", "58.3"]


def test_statuses_and_what_was_skipped_are_said(result: ArmResult):
    text = shown(result)
    assert "47 rows: 3 error, 43 ok, 1 truncated; 1 questions without tool_wrong_far" in text
    assert f"arm: {result.folder}" in text


def test_the_matcher_of_the_report_is_the_one_shown(result: ArmResult):
    assert "Rates (containment matcher" in shown(result, matcher="containment")
    assert "Rates (boundary matcher" in shown(result)


def judged(memory: str, returned: str, right: str, reply: str) -> list[ScoredRow]:
    """One question's rows under no_tool, tool_right, tool_wrong and tool_error, truly scored."""
    question = Question(
        id="q1", text="In which city was the mill built?", gold=right, near=returned, far=None,
        kind="place", family="free_form", chain="q1", fold="A",
        tool=call_for("In which city was the mill built?", "free_form", "place"), source="human",
    )  # fmt: skip
    known = read_memory(question, Completion(memory, "stop"))
    nothing = Request((Message("user", "x"),), Decoding("greedy", 0.0, 8))
    values = {"tool_right": right, "tool_wrong": returned, "tool_error": None, "no_tool": None}
    correct = {"tool_right": True, "tool_wrong": False, "tool_error": False, "no_tool": None}
    return [
        score_episode(
            Episode(question, condition, value, correct[condition], nothing),
            Completion(memory if condition == "no_tool" else reply, "stop"),
            known,
        )
        for condition, value in values.items()
    ]


def sentences(*questions: tuple[str, str, str, str]) -> list[str]:
    rows = [row for question in questions for row in judged(*question)]
    return in_words(measure(rows, 0).matchers["boundary"])


# Memory, wrong return, gold, reply to every return; then what the summary may say of it.
TRUE, WRONG = "FINAL: Ravenna", "FINAL: Modena"


@pytest.mark.parametrize(
    ("question", "said"),
    [
        # The memory is right, and what the tool says otherwise is kept out, or is not.
        ((TRUE, "Modena", "Ravenna", TRUE), "contradicted it, it stayed right in 1 of 1."),
        ((TRUE, "Modena", "Ravenna", WRONG), "contradicted it, it stayed right in 0 of 1."),
        # The memory is wrong, the right return is taken, or is not.
        (("FINAL: Bergen", "Modena", "Ravenna", TRUE), "took the tool's value in 1 of 1."),
        (("FINAL: Bergen", "Modena", "Ravenna", "FINAL: Bergen"), "tool's value in 0 of 1."),
        # Both are wrong, differently.
        (
            ("FINAL: Bergen", "Modena", "Ravenna", WRONG),
            "differently, it took the tool's value in 1",
        ),
        (
            ("FINAL: Bergen", "Modena", "Ravenna", TRUE),
            "differently, it took the tool's value in 0",
        ),
        (("FINAL: Bergen", "Modena", "Ravenna", "FINAL: UNKNOWN"), "declined to answer in 1 of 1."),
        (("FINAL: Bergen", "Modena", "Ravenna", "FINAL: Bergen"), "declined to answer in 0 of 1."),
        ((TRUE, "Modena", "Ravenna", TRUE), "with no tool, the model was right in 1 of 1."),
        ((WRONG, "Modena", "Ravenna", TRUE), "with no tool, the model was right in 0 of 1."),
    ],
)
def test_each_sentence_is_true_of_what_it_counts(question: tuple[str, str, str, str], said: str):
    assert any(said in line for line in sentences(question)), sentences(question)


@pytest.mark.parametrize(
    ("question", "never"),
    [
        ((WRONG, "Modena", "Ravenna", WRONG), "Where both were wrong, differently"),
        ((WRONG, "Modena", "Ravenna", WRONG), "the tool contradicted it"),
        ((TRUE, "Modena", "Ravenna", TRUE), "Where it was wrong and the tool was right"),
        (("FINAL: UNKNOWN", "Modena", "Ravenna", WRONG), "Where both were wrong"),
        (("FINAL: UNKNOWN", "Modena", "Ravenna", WRONG), "it stayed right"),
    ],
)
def test_a_sentence_that_would_be_false_of_a_row_does_not_count_it(
    question: tuple[str, str, str, str], never: str
):
    assert not any(never in line for line in sentences(question))


def test_a_memory_that_is_the_tool_s_own_wrong_value_is_in_no_conflict():
    same, other = (WRONG, "Modena", "Ravenna", WRONG), ("FINAL: Bergen", "Modena", "Ravenna", WRONG)
    rows = [*judged(*same), *judged(*other)]
    found = measure(rows, 0).matchers["boundary"]
    ours = found.rate("incorrect-tool following", "ours")
    released = found.rate("incorrect-tool following", "released")
    assert (ours.numerator, ours.denominator, ours.left_out) == (1, 1, 1)
    assert (released.numerator, released.denominator, released.left_out) == (2, 2, 0)
    assert any("Left out of these: 1 row of tool_wrong" in line for line in in_words(found))


def test_a_sweep_shows_counts_below_the_support_and_what_befell_rows(result: ArmResult):
    report = Report(matcher="boundary", min_support=3, max_error_rate=1, max_empty_rate=1)
    cells = figures(FinishedArm.load(result.folder).metrics, report)
    assert cells["retention"] == "66.7 (3)"
    assert cells["correct tool"] == "1/2"
    assert cells["both right"] == "75.0 (4)"
    assert (cells["cut"], cells["failed"]) == ("1", "3")
    assert "empty" not in cells
    said = legend(cells, report)
    assert set(said) == {*cells, "a/b"}
    assert "min_support=3" in said["a/b"]


def test_an_arm_without_rows_can_be_shown(tmp_path: Path):
    path = write_rows(tmp_path / "q.jsonl", [row("q1", "Bergen", "Stavanger")])
    assert "0 rows" in shown(run(mock_config(tmp_path, path, "conditions=[tool_wrong_far]")))
