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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from harness.errors import UserError, one_of
from harness.hashing import digest_of
from memtoc.benchmark.drafts import SourceQuestion, normalised
from memtoc.benchmark.families import asked_by
from memtoc.benchmark.folds import Member, assign_folds, origin_of
from memtoc.benchmark.kinds import kind_of
from memtoc.benchmark.sheets import read_csv
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
CHAIN = re.compile(r"[A-Za-z0-9_-]{1,48}")
SOURCE = "human"
LISTED_ROWS, LISTED_LETTERS = 8, 24


def read(path: Path) -> list[SourceQuestion]:
    """Return all rows, in the file's order, with the wrong values that they have.

    A row without an id gets one made of its chain and a digest of question and answer, which
    neither the order of the rows nor a new row changes. Raises UserError for the first wrong row,
    with the numbers of the others.
    """
    return [question for _, question in _rows(path, REQUIRED)]


def load(path: Path, name: str) -> Benchmark:
    """Return the rows as a benchmark, in the file's order; each needs a near value.

    Rows without a fold get one. Raises UserError as ``read`` does.
    """
    rows = _rows(path, (*REQUIRED, "near"))
    wheres = [f"{path} row {number}" for number, _ in rows]
    questions = _folded([_question(source) for _, source in rows], wheres)
    check_questions(questions, wheres)
    return Benchmark(name, questions, {"rows": len(rows)})


def _rows(path: Path, filled: Sequence[str]) -> list[tuple[int, SourceQuestion]]:
    if not path.is_file():
        raise UserError(f"{path} is not a file: set benchmark.path to a csv of questions")
    rows = list(read_csv(path, ()))
    if not rows:
        raise UserError(f"{path} holds no question: give a header and at least one row")
    _check_header(tuple(rows[0][1]), filled, f"{path} row 1")
    return _ranked(_checked(rows, filled, path))


def _check_header(header: Sequence[str], filled: Sequence[str], where: str) -> None:
    for column in filled:
        if column not in header:
            there = ", ".join(name[:LISTED_LETTERS] for name in header)
            made = ", or let python build.py benchmark=csv make it" if column == "near" else ""
            raise UserError(
                f"{where}: column '{column}' is missing: the header is {there}: add it{made}"
            )
    for column in header:
        if column not in (*REQUIRED, *OPTIONAL):
            hint = one_of((*REQUIRED, *OPTIONAL), column)
            raise UserError(f"{where}: unknown column '{column}': {hint}")


def _checked(
    rows: Iterable[tuple[int, dict[str, str]]], filled: Sequence[str], path: Path
) -> list[tuple[int, SourceQuestion]]:
    questions: list[tuple[int, SourceQuestion]] = []
    first: dict[str, int] = {}
    wrong: dict[int, str] = {}
    for number, cells in rows:
        where = f"{path} row {number}"
        try:
            question = _source_question(cells, filled, where)
            if question.id in first:
                raise UserError(
                    f"{where}: id '{question.id}' stands already in row {first[question.id]}:"
                    " remove the repeated row or give each an id of its own"
                )
            first[question.id] = number
            questions.append((number, question))
        except UserError as error:
            # All rows are read before the first is named: one round of mending, not one a row.
            wrong[number] = str(error)
    if wrong:
        raise UserError(_first_of(wrong))
    return questions


def _first_of(wrong: Mapping[int, str]) -> str:
    first, *others = wrong
    listed = ", ".join(str(number) for number in others[:LISTED_ROWS])
    more = "" if len(others) <= LISTED_ROWS else ", ..."
    rest = f" (wrong too: {len(others)} more, rows {listed}{more})" if others else ""
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


def _ranked(rows: Sequence[tuple[int, SourceQuestion]]) -> list[tuple[int, SourceQuestion]]:
    """Return each question with its place in its chain, independent of the order of the rows."""
    seen: Counter[str] = Counter()
    hops: dict[str, int] = {}
    for name, chain in sorted((question.id, question.chain) for _, question in rows):
        hops[name] = seen[chain]
        seen[chain] += 1
    return [(number, replace(question, hop=hops[question.id])) for number, question in rows]


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
