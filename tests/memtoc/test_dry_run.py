import io
from pathlib import Path

import pytest
from rich.console import Console
from support.arms import arm_of, mock_config, options, prompt, requests_of, row, write_rows
from support.entries import Entry

from memtoc.dry_run import dry_run


def shown(root: Path, questions: Path, *overrides: str) -> str:
    text = io.StringIO()
    dry_run(arm_of(mock_config(root, questions, *overrides)), Console(file=text, width=80))
    return text.getvalue()


def test_the_first_prompt_of_each_condition_is_shown_to_the_letter(tmp_path: Path, towns: Path):
    text = shown(tmp_path, towns)
    for (name, condition), request in requests_of(mock_config(tmp_path, towns)).items():
        assert (prompt(request) in text) == (name == "q1"), (name, condition)


def test_the_first_far_prompt_is_of_the_first_question_that_has_one(tmp_path: Path):
    rows = [row("q1", "Bergen", "Stavanger"), row("q2", "Ravenna", "Modena", "Cuzco")]
    text = shown(tmp_path, write_rows(tmp_path / "q.jsonl", rows))
    assert "tool_wrong_far (q2)" in text
    assert "Cuzco" in text


def test_counts_are_of_rows_and_of_distinct_prompts(tmp_path: Path, towns: Path):
    text = shown(tmp_path, towns)
    assert "3 questions, 17 rows: 3 tool_right, 3 tool_wrong, 2 tool_wrong_far" in text
    assert "17 distinct prompts" in text, "14 with a tool, 3 memories that no_tool reads again"
    assert f"at most {17 * 128} new ones" in text
    assert "estimated at 4 characters a token" in text


def test_markup_in_a_question_is_shown_as_it_is(tmp_path: Path):
    asked = "Is [bold]this[/bold] [red]red[/nothing] :smile:?"
    path = write_rows(tmp_path / "q.jsonl", [row("q1", "Bergen", "Stavanger", question=asked)])
    assert asked in shown(tmp_path, path)


def test_a_prompt_cannot_steer_the_terminal(tmp_path: Path, towns: Path):
    config, text = mock_config(tmp_path, towns), io.StringIO()
    config["formulation"]["answer_line"] = "Where \x1b[2J\x9b1mis it?"
    dry_run(arm_of(config), Console(file=text, width=80))
    assert r"Where \x1b[2J\x9b1mis it?" in text.getvalue()
    assert "\x1b" not in text.getvalue()


def test_nothing_is_written(tmp_path: Path, towns: Path):
    for frame in options("frame"):
        shown(tmp_path, towns, f"frame={frame}")
    assert {path.name for path in tmp_path.iterdir()} == {"benchmark"}


@pytest.mark.slow
def test_a_dry_run_of_the_embedded_model_neither_converts_nor_writes(
    entry: Entry, tmp_path: Path, smollm2: Path
):
    """``smollm2`` is here for its skip: where the package is absent there is nothing to convert."""
    for config in ((), ("--config-name=calls", "tool_agent=llm"), ("--config-name=taubench",)):
        ended = entry(*config, "dry_run=true", "tracker=none")
        assert ended.code == 0, ended.err
        assert "converting" not in ended.out + ended.err
        assert not list(tmp_path.iterdir())
