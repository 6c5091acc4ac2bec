"""Your own questions in one csv file, run as they are::

    question,answer,near,far,aliases
    In which city did Gustav Mahler die?,Vienna,Graz,Kyoto,Wien|Vienna (Austria)

``near`` is a wrong value that could be taken for the answer, ``far`` one that could not; aliases
are separated by ``|``. Further columns, each made up where it is absent or empty: id, kind,
family, chain (questions that belong together), fold.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from harness.errors import UserError, one_of
from memtoc.construction.families import asked_by
from memtoc.construction.folds import Member, assign_folds, origin_of
from memtoc.construction.kinds import kind_of
from memtoc.construction.sheets import read_csv
from memtoc.questions import FAMILIES, FOLDS, KINDS, Benchmark, Question, check_questions
from memtoc.sources.schemas import call_for

REQUIRED = ("question", "answer", "near")
OPTIONAL = ("far", "aliases", "id", "kind", "family", "chain", "fold")
SOURCE = "human"
LISTED_ROWS = 8


def load(path: Path, name: str) -> Benchmark:
    """All rows, in the file's order.

    Raises UserError for the first row that is wrong, with the numbers of the others.
    """
    if not path.is_file():
        raise UserError(f"{path} is not a file: set benchmark.path to a csv of questions")
    rows = list(read_csv(path, REQUIRED))
    if not rows:
        raise UserError(f"{path} holds no question: give at least one row")
    for column in rows[0][1]:
        if column not in (*REQUIRED, *OPTIONAL):
            hint = one_of((*REQUIRED, *OPTIONAL), column)
            raise UserError(f"{path} row 1: unknown column '{column}': {hint}")
    wheres = [f"{path} row {number}" for number, _ in rows]
    questions = _folded(_questions(rows, path), wheres)
    check_questions(questions, wheres)
    return Benchmark(name, questions, {"rows": len(rows)})


def _questions(rows: list[tuple[int, dict[str, str]]], path: Path) -> list[Question]:
    questions, wrong = [], {}
    for number, cells in rows:
        where = f"{path} row {number}"
        try:
            question = _question(cells, number, where)
            check_questions([replace(question, fold=question.fold or FOLDS[0])], [where])
            questions.append(question)
        except UserError as error:
            wrong[number] = str(error)
    if wrong:
        first, *others = wrong
        listed = ", ".join(str(number) for number in others[:LISTED_ROWS])
        more = "" if len(others) <= LISTED_ROWS else ", ..."
        rest = f" (wrong too: {len(others)} more, rows {listed}{more})" if others else ""
        raise UserError(wrong[first] + rest)
    return questions


def _question(cells: Mapping[str, str], number: int, where: str) -> Question:
    row = {column: cell.strip() for column, cell in cells.items()}
    for column in REQUIRED:
        if not row[column]:
            raise UserError(f"{where}: '{column}' is empty: fill it in or remove the row")
    text, gold = " ".join(row["question"].split()), row["answer"]
    family = row.get("family") or asked_by(text).family
    kind = row.get("kind") or kind_of(gold)
    return Question(
        id=row.get("id") or f"row{number}",
        text=text,
        gold=gold,
        near=row["near"],
        far=row.get("far") or None,
        kind=kind,
        family=family,
        chain=row.get("chain") or f"row{number}",
        fold=row.get("fold", ""),
        tool=call_for(text, *_known(family, kind)),
        source=SOURCE,
        aliases=tuple(a.strip() for a in row.get("aliases", "").split("|") if a.strip()),
    )


def _known(family: str, kind: str) -> tuple[str, str]:
    """A tool exists for these; a wrong name is told by the check that follows."""
    return (family if family in FAMILIES else "free_form", kind if kind in KINDS else "work")


def _folded(questions: Sequence[Question], wheres: Sequence[str]) -> tuple[Question, ...]:
    """Rows without a fold get one, whole chains at a time and evenly; given ones are kept."""
    given: dict[str, str] = {}
    for question, where in zip(questions, wheres, strict=True):
        if question.fold and given.setdefault(question.chain, question.fold) != question.fold:
            raise UserError(
                f"{where}: fold {question.fold}, but chain '{question.chain}' is in"
                f" {given[question.chain]} above: a chain is in one fold"
            )
    open_rows = [
        Member(q.id, q.chain, q.kind, q.family, origin_of(q.source))
        for q in questions
        if q.chain not in given
    ]
    drawn = assign_folds(open_rows, seed=0) if open_rows else {}
    return tuple(replace(q, fold=given.get(q.chain) or drawn[q.id]) for q in questions)
