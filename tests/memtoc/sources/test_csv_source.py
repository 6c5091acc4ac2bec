"""benchmark=csv: a file of one's own, and every way in which a row of it can be wrong."""

from pathlib import Path

import pytest
from entries import Entry

from harness.errors import UserError
from memtoc.sources import csv_source

HEADER = "question,answer,near"


def benchmark(tmp_path: Path, *lines: str):
    path = tmp_path / "my.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return csv_source.load(path, "csv")


def test_three_columns_are_enough(tmp_path: Path):
    (first, second) = benchmark(
        tmp_path,
        HEADER,
        "In which city did Gustav Mahler die?,Vienna,Graz",
        "In which year was he born?,1860,1862",
    ).questions
    assert (first.text, first.gold) == ("In which city did Gustav Mahler die?", "Vienna")
    assert (first.near, first.far) == ("Graz", None)
    assert first.id != second.id
    assert (second.kind, second.family) == ("year", "free_form")
    assert {first.fold, second.fold} == {"A", "B"}
    assert first.tool.arguments


def test_all_columns_are_read(tmp_path: Path):
    (question,) = benchmark(
        tmp_path,
        "id,question,answer,near,far,aliases,kind,family,chain,fold",
        'm1,Who is the director of Alien?,"Scott, Ridley",James Cameron,Georges Melies,'
        "Ridley Scott|Sir Ridley Scott,person,creator_role,alien,B",
    ).questions
    assert question.id == "m1"
    assert question.gold == "Scott, Ridley"
    assert question.aliases == ("Ridley Scott", "Sir Ridley Scott")
    assert (question.kind, question.family, question.chain) == ("person", "creator_role", "alien")
    assert (question.fold, question.far) == ("B", "Georges Melies")


def test_the_questions_of_a_chain_share_a_fold_given_or_drawn(tmp_path: Path):
    lines = [f"Question number {n}?,answer {n},other {n},c{n // 2}," for n in range(8)]
    lines[3] += "B"
    questions = benchmark(tmp_path, f"{HEADER},chain,fold", *lines).questions
    folds: dict[str, set[str]] = {}
    for question in questions:
        folds.setdefault(question.chain, set()).add(question.fold)
    assert all(len(values) == 1 for values in folds.values())
    assert folds["c1"] == {"B"}
    assert {fold for values in folds.values() for fold in values} == {"A", "B"}


def test_a_file_of_a_spreadsheet_is_read(tmp_path: Path):
    path = tmp_path / "my.csv"
    path.write_bytes("\ufeffquestion,answer,near\r\nWo starb Gödel?,Princeton,Wien\r\n".encode())
    assert csv_source.load(path, "csv").questions[0].text == "Wo starb Gödel?"


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["question,answer", "q?,a"], "row 1: column 'near' is missing"),
        ([f"{HEADER},fra", "q?,a,b,c"], "row 1: unknown column 'fra': did you mean 'far'?"),
        ([HEADER], "holds no question"),
        ([HEADER, "q?,a"], "row 2: 2 cells under 3 columns"),
        ([HEADER, "q?,,b"], "row 2: 'answer' is empty"),
        ([HEADER, "q?,Vienna,vienna"], "row 2: near 'vienna' equals the answer"),
        ([f"{HEADER},kind", "q?,a,b,persn"], "row 2: unknown kind 'persn': did you mean 'person'"),
        ([f"{HEADER},family", "q?,a,b,x"], "row 2: unknown family 'x'"),
        ([f"{HEADER},fold", "q?,a,b,C"], "row 2: unknown fold 'C'"),
        ([f"{HEADER},id", "q?,a,b,10.1"], "row 2: id '10.1' must be a letter"),
        ([f"{HEADER},id", "q?,a,b,x", "r?,a,b,x"], "row 3: id 'x' stands already in"),
        (
            [f"{HEADER},chain,fold", "q?,a,b,c,A", "r?,a,b,c,B"],
            "row 3: fold B, but chain 'c' is in A above",
        ),
        (
            [HEADER, "q?,a,", "r?,a,b", "s?,a,a", ",a,b"],
            "row 2: 'near' is empty: fill it in or remove the row (wrong too: 2 more, rows 4, 5)",
        ),
    ],
)
def test_a_wrong_row_is_named(tmp_path: Path, lines: list[str], words: str):
    with pytest.raises(UserError) as caught:
        benchmark(tmp_path, *lines)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path):
    with pytest.raises(UserError, match="is not a file: set benchmark"):
        csv_source.load(tmp_path / "none.csv", "csv")


def test_one_command_runs_the_file(entry: Entry):
    Path("my.csv").write_text(f"{HEADER}\nWho wrote Emma?,Jane Austen,Anne Bronte\n")
    ended = entry("benchmark=csv", "benchmark.path=my.csv", "engine=mock", "tracker=none")
    assert ended.code == 0
    assert "5 rows: 5 ok; 1 questions without tool_wrong_far" in ended.out
