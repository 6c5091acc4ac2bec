"""Your own factual questions: a csv of question and answer, and what else you know.

::

    question,answer,chain,kind,near,far,aliases
    Who is the director of Alien?,Ridley Scott,alien,person,,,Sir Ridley Scott
    In which year was Ridley Scott born?,1937,alien,,,,

``chain`` ties questions together that must stay in one fold; ``near`` and ``far`` are kept where
they are given; ``aliases`` are separated by ``|``.
"""

import re
from collections import Counter
from pathlib import Path

from harness.errors import UserError, one_of
from memtoc.construction.drafts import SourceQuestion
from memtoc.construction.sheets import read_csv
from memtoc.questions import KINDS

_CHAIN = re.compile(r"[A-Za-z0-9_-]{1,48}")
COLUMNS = ("question", "answer")


def read(path: Path) -> list[SourceQuestion]:
    """The rows as questions; a row without a chain is a chain of its own, named by its row.

    Raises UserError, naming file, row and column, for an empty question or answer, a chain name
    that cannot be part of an id, or a kind that does not exist.
    """
    hops: Counter[str] = Counter()
    questions = []
    for number, row in read_csv(path, COLUMNS):
        question = _question(row, number, hops, f"{path} row {number}")
        questions.append(question)
    if not questions:
        raise UserError(f"{path} holds no question: give at least one row")
    return questions


def _question(row: dict[str, str], number: int, hops: Counter[str], where: str) -> SourceQuestion:
    for name in COLUMNS:
        if not row[name].strip():
            raise UserError(f"{where}: '{name}' is empty: fill it in or remove the row")
    chain, kind = row.get("chain", "").strip() or f"row{number}", row.get("kind", "").strip()
    if not _CHAIN.fullmatch(chain):
        raise UserError(f"{where}: chain '{chain}' must be letters, digits, - or _")
    if kind and kind not in KINDS:
        raise UserError(f"{where}: unknown kind '{kind}': {one_of(KINDS, kind)}")
    hops[chain] += 1
    return SourceQuestion(
        chain=chain,
        hop=hops[chain] - 1,
        text=row["question"].strip(),
        gold=row["answer"].strip(),
        domain=row.get("domain", "").strip(),
        kind=kind,
        near=row.get("near", "").strip() or None,
        far=row.get("far", "").strip() or None,
        source="human",
        aliases=tuple(a.strip() for a in row.get("aliases", "").split("|") if a.strip()),
    )
