"""Verdicts of the reviewers, as an overlay on a benchmark that can be turned off again."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from harness.errors import UserError
from memtoc.benchmark.drafts import Verdict, natural_key
from memtoc.benchmark.sheets import read_csv, write_csv
from memtoc.construction.forms import EXCLUSIONS
from memtoc.construction.packets import Filled
from memtoc.questions import REVIEWS, Question

COLUMNS = ("id", "verdict", "near_repaired", "reason", "decided_by")


def verdicts(agreed: Filled, adjudicated: Filled) -> dict[str, Verdict]:
    """Return the overlay of a merged review and its adjudication, by id."""
    decided = {name: ("agreement", row) for name, row in agreed.items()}
    decided |= {name: ("adjudication", row) for name, row in adjudicated.items()}
    return {
        name: Verdict(row["verdict"], row["new_value"], row["reason"], by)
        for name, (by, row) in decided.items()
    }


def write_overlay(path: Path, overlay: Mapping[str, Verdict]) -> None:
    """Write a csv with one row a question, in natural order of the ids."""
    write_csv(
        path,
        COLUMNS,
        (
            {"id": name, **{column: getattr(verdict, column) for column in COLUMNS[1:]}}
            for name, verdict in sorted(overlay.items(), key=lambda item: natural_key(item[0]))
        ),
    )


def read_overlay(path: Path) -> dict[str, Verdict]:
    """Read the overlay; raises UserError naming the first row that cannot be applied."""
    overlay: dict[str, Verdict] = {}
    for number, row in read_csv(path, COLUMNS):
        where, verdict = f"{path} row {number}", row["verdict"]
        if verdict not in REVIEWS:
            raise UserError(f"{where}: unknown verdict '{verdict}': use {', '.join(REVIEWS)}")
        # A repair without a value and a value without a repair are both slips of the hand.
        if (verdict == "repair") != bool(row["near_repaired"].strip()):
            raise UserError(f"{where}: give 'near_repaired' exactly where verdict is repair")
        # Two annotators may have excluded for a reason each.
        if not set(row["reason"].split(" / ")) <= {*EXCLUSIONS, ""}:
            raise UserError(
                f"{where}: unknown reason '{row['reason']}': use {', '.join(EXCLUSIONS)}"
            )
        if row["id"] in overlay:
            raise UserError(f"{where}: id '{row['id']}' stands twice: remove one")
        overlay[row["id"]] = Verdict(*(row[column] for column in COLUMNS[1:]))
    return overlay


def reviewed(
    questions: Iterable[Question], overlay: Mapping[str, Verdict], apply_repairs: bool = True
) -> list[Question]:
    """Return the questions with their verdicts, repaired near values put in if ``apply_repairs``.

    A question that the overlay lacks counts as passed. Raises UserError for a verdict on a question
    that does not exist.
    """
    questions = list(questions)
    # A typo in an id would otherwise leave its question unreviewed without a word.
    unknown = set(overlay) - {question.id for question in questions}
    if unknown:
        raise UserError(
            f"the review knows a question '{min(unknown)}' that is not there: remove it"
        )
    return [
        _with_verdict(question, overlay[question.id], apply_repairs)
        if question.id in overlay
        else question
        for question in questions
    ]


def _with_verdict(question: Question, verdict: Verdict, apply_repairs: bool) -> Question:
    repaired = verdict.near_repaired if apply_repairs and verdict.verdict == "repair" else ""
    return replace(question, review=verdict.verdict, near=repaired or question.near)


def review_counts(questions: Iterable[Question]) -> dict[str, int]:
    """Return how many questions passed, were repaired and are excluded."""
    found = Counter(question.review for question in questions)
    return {verdict: found[verdict] for verdict in REVIEWS}
