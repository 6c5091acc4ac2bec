"""Your own factual questions: a csv of question and answer, and what else you know.

::

    question,answer,near,far,aliases
    In which city did Gustav Mahler die?,Vienna,Graz,Kyoto,Wien|Vienna (Austria)

``near`` is a wrong value that could be taken for the answer, ``far`` one that could not; aliases
are separated by ``|``. Tabs and line breaks inside a cell count as a space. A build finds the wrong
values that are not given; an arm that is run on the file as it is needs a near value in each row.
Further columns, each made up where it is absent or empty: id, kind, family, chain (questions that
belong together), fold, domain.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness.errors import UserError, one_of
from harness.hashing import digest_of
from harness.terminal import printable
from memtoc.benchmark.drafts import SourceQuestion, normalised
from memtoc.benchmark.families import asked_by
from memtoc.benchmark.files.quotes import places
from memtoc.benchmark.files.raw import Reading, Row, Wanted, folded
from memtoc.benchmark.files.reading import read_table
from memtoc.benchmark.files.table import Table
from memtoc.benchmark.folds import Member, assign_folds, origin_of
from memtoc.benchmark.kinds import kind_of
from memtoc.questions import (
    FAMILIES,
    FOLDS,
    KINDS,
    LINE_BREAKS,
    QUESTION_ID,
    Benchmark,
    Question,
    check_questions,
    check_wrong_values,
    one_line,
)
from memtoc.sources.schemas import call_for

REQUIRED = ("question", "answer")
OPTIONAL = ("near", "far", "aliases", "id", "kind", "family", "chain", "fold", "domain")
# What others call these columns. `correct` and the like are what people write, not a standard.
OTHER_NAMES = {
    "question": ("query", "prompt", "question_text", "q"),
    "answer": (
        "gold", "target", "gold_answer", "correct", "correct_answer", "right_answer", "solution",
        "ground_truth", "truth", "a",
    ),
    "near": (
        "distractor", "wrong", "wrong_answer", "near_wrong", "near_value", "incorrect",
        "incorrect_answer", "false_answer", "foil",
    ),
    "far": ("far_wrong", "far_value", "far_distractor"),
    "aliases": ("alias", "alternatives", "other_answers", "synonyms"),
}  # fmt: skip
COLUMNS = Wanted(
    {folded(name): name for name in (*REQUIRED, *OPTIONAL)}
    | {folded(other): name for name, others in OTHER_NAMES.items() for other in others},
    frozenset({"aliases"}),
)
AS_FOUND = Reading(key="benchmark.")
CHAIN = re.compile(r"[A-Za-z0-9_-]{1,48}")
SOURCE = "human"
LISTED_ROWS, LISTED_LETTERS = 8, 24


@dataclass(frozen=True)
class Gathered:
    """A file's questions with their places, as far as a build needs them.

    ``notes`` are for a manifest, ``remarks`` for the person who gave the file.
    """

    questions: tuple[SourceQuestion, ...]
    wheres: tuple[str, ...]
    notes: Mapping[str, Any]
    remarks: tuple[str, ...]


def read(path: Path, reading: Reading = AS_FOUND) -> list[SourceQuestion]:
    """Return the questions of ``gather``."""
    return list(gather(path, reading).questions)


def gather(path: Path, reading: Reading = AS_FOUND, filled: Sequence[str] = REQUIRED) -> Gathered:
    """Return all rows, in the file's order, with the wrong values that they have.

    A row without an id gets one made of its chain and a digest of question and answer, which
    neither the order of the rows nor a new row changes. Raises UserError for the first wrong row,
    with the numbers of the others, and for one without a cell of ``filled``.
    """
    if not path.is_file():
        raise UserError(f"{path} is not a file: set benchmark.path to a csv of questions")
    table = read_table(path, COLUMNS, reading)
    # A header alone is a file that somebody began.
    if not table.body:
        raise UserError(f"{path} holds no question: give a header and at least one row")
    _check_header(table.columns, filled, table.where(None))
    questions = _checked(table, filled)
    said = [*table.notes, *_broken(table)]
    read_rows = len(questions) + sum(map(len, table.left_out.values()))
    notes = {
        "rows": len(questions),
        "rows_read": read_rows,
        "left_out": {reason: len(rows) for reason, rows in table.left_out.items()},
        "file": dict(table.raw.facts),
        "remarks": said,
    }
    remarks = (table.summary(len(questions)), *(f"{path.name}: {note}" for note in said))
    wheres = tuple(table.where(row) for row, _ in questions)
    return Gathered(tuple(_ranked([q for _, q in questions])), wheres, notes, remarks)


def load(path: Path, name: str, reading: Reading = AS_FOUND) -> Benchmark:
    """Return the rows as a benchmark, in the file's order; each needs a near value.

    Rows without a fold get one. Raises UserError as ``gather`` does.
    """
    found = gather(path, reading, (*REQUIRED, "near"))
    questions = _folded([_question(source) for source in found.questions], found.wheres)
    check_questions(questions, found.wheres)
    return Benchmark(name, questions, found.notes, found.remarks)


def _broken(table: Table) -> list[str]:
    """Return a note on cells that hold a line break, none where there are no such."""
    broken = [
        row.number
        for row in table.body
        for cell in row.cells
        if any(sign in cell.strip() for sign in "\r\n")
    ]
    holds = "cell holds" if len(broken) == 1 else "cells hold"
    at = places(broken, table.raw.unit)
    return [f"{len(broken)} {holds} a line break ({at}): read as a space"] if broken else []


def _check_header(header: Sequence[str], filled: Sequence[str], where: str) -> None:
    if {"tool", "review"} <= set(header):
        raise UserError(f"{where}: these are rows of a benchmark folder: use benchmark=folder")
    for column in filled:
        if column not in header:
            there = printable(", ".join(name[:LISTED_LETTERS] for name in header))
            made = ", or let python build.py benchmark=csv make it" if column == "near" else ""
            mend = f"add it{made}"
            if len(header) == 1 and re.search(r"question.*[,;\t|]", header[0], re.IGNORECASE):
                mend = "take off quotes round whole rows, or set benchmark.delimiter"
            raise UserError(f"{where}: column '{column}' is missing: the header is {there}: {mend}")
    for column in header:
        if column not in (*REQUIRED, *OPTIONAL):
            hint = one_of((*REQUIRED, *OPTIONAL), column)
            raise UserError(f"{where}: unknown column '{column}': {hint}")


def _checked(table: Table, filled: Sequence[str]) -> list[tuple[Row, SourceQuestion]]:
    questions: list[tuple[Row, SourceQuestion]] = []
    first: dict[str, int] = {}
    wrong: dict[int, str] = {}
    for row, cells in table.rows:
        where = table.where(row)
        try:
            question = _source_question(cells, filled, where)
            if question.id in first:
                raise UserError(
                    f"{where}: id '{question.id}' stands already in {table.raw.unit}"
                    f" {first[question.id]}: remove the repeated row or give each an id of its own"
                )
            first[question.id] = row.number
            questions.append((row, question))
        except UserError as error:
            # All rows are read before the first is named: one round of mending, not one a row.
            wrong[row.number] = str(error)
    if wrong:
        raise UserError(_first_of(wrong, table.raw.unit))
    return questions


def _first_of(wrong: Mapping[int, str], unit: str) -> str:
    first, *others = wrong
    listed = ", ".join(str(number) for number in others[:LISTED_ROWS])
    more = "" if len(others) <= LISTED_ROWS else ", ..."
    rest = f" (wrong too: {len(others)} more, {unit}s {listed}{more})" if others else ""
    return wrong[first] + rest


def _source_question(cells: Mapping[str, str], filled: Sequence[str], where: str) -> SourceQuestion:
    row = dict.fromkeys(OPTIONAL, "")
    row |= {name: _shown(cell, name, where) for name, cell in cells.items()}
    for column in filled:
        if not row[column]:
            raise UserError(f"{where}: '{column}' is empty: fill it in or remove the row")
    _check_names(row, where)
    aliases = tuple(alias.strip() for alias in row["aliases"].split("|") if alias.strip())
    near, far = row["near"] or None, row["far"] or None
    check_wrong_values(near, far, row["answer"], aliases, where, "answer")
    text = " ".join(row["question"].split())
    # Question and answer, since two rows may ask the same with answers that differ.
    own = digest_of([normalised(text), row["answer"]])[:10]
    chain = row["chain"] or own
    return SourceQuestion(
        chain=chain,
        hop=0,
        text=text,
        gold=row["answer"],
        domain=row["domain"],
        name=row["id"] or (f"q{chain}-{own}" if row["chain"] else f"q{own}"),
        kind=row["kind"],
        family=row["family"],
        near=near,
        far=far,
        fold=row["fold"],
        source=SOURCE,
        aliases=aliases,
    )


def _shown(cell: str, column: str, where: str) -> str:
    cell = cell.strip(f" {LINE_BREAKS}")
    return one_line(cell, f"'{column}'", where) if cell else ""


def _check_names(row: Mapping[str, str], where: str) -> None:
    if row["id"] and not QUESTION_ID.fullmatch(row["id"]):
        raise UserError(f"{where}: id '{row['id']}' must be a letter, then letters, digits, - _")
    if row["chain"] and not CHAIN.fullmatch(row["chain"]):
        raise UserError(f"{where}: chain '{row['chain']}' must be letters, digits, - or _")
    for name, valid in (("kind", KINDS), ("family", FAMILIES), ("fold", FOLDS)):
        if row[name] and row[name] not in valid:
            raise UserError(f"{where}: unknown {name} '{row[name]}': {one_of(valid, row[name])}")


def _ranked(questions: Sequence[SourceQuestion]) -> list[SourceQuestion]:
    """Return each question with its place in its chain, independent of the order of the rows."""
    seen: Counter[str] = Counter()
    hops: dict[str, int] = {}
    for name, chain in sorted((question.id, question.chain) for question in questions):
        hops[name] = seen[chain]
        seen[chain] += 1
    return [replace(question, hop=hops[question.id]) for question in questions]


def _question(source: SourceQuestion) -> Question:
    family = source.family or asked_by(source.text).family
    kind = source.kind or kind_of(source.gold)
    return Question(
        id=source.id,
        text=source.text,
        gold=source.gold,
        near=source.near or "",
        far=source.far,
        kind=kind,
        family=family,
        chain=source.chain,
        fold=source.fold,
        tool=call_for(source.text, family, kind),
        source=source.source,
        aliases=source.aliases,
    )


def _folded(questions: Sequence[Question], wheres: Sequence[str]) -> tuple[Question, ...]:
    """Give rows without a fold one, whole chains at a time and evenly; given folds are kept."""
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
    # Without a build there is no seed of a build; 0, so that the same file gives the same folds.
    drawn = assign_folds(open_rows, seed=0) if open_rows else {}
    return tuple(replace(q, fold=given.get(q.chain) or drawn[q.id]) for q in questions)
