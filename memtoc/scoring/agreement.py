"""How far the scorer agrees with decisions made elsewhere on the same outputs.

One row of the file::

    {"model": "...", "formulation": "ref", "id": "0.0", "condition": "tool_wrong",
     "question": "...", "gold": "...", "tool_value": "..." or null,
     "closed_book_span": "...", "final_span": "...",
     "published": {"memory_correct": true, "followed_tool": true, "kept_memory": false,
                   "final_correct": false, "outcome": "followed_tool", "neither": null,
                   "abstain": false},
     "read": {the same without "outcome" and "neither"}}

``published`` are the decisions of the published scorer, ``read`` what blind readers gave.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.errors import UserError, one_of
from harness.json_files import read_jsonl
from memtoc.scoring.match import MATCHERS
from memtoc.scoring.memory import score_memory
from memtoc.scoring.outcome import OUTCOMES, decide

# The published decisions had a judge pass in their layer; the readings are two models', not
# people's. Neither is ground truth: docs/scoring.md lists what is left between them and ours.
JUDGES = ("published", "read")
FIELDS = ("followed_tool", "kept_memory", "final_correct", "memory_correct", "abstain", "outcome")
TEXTS = ("condition", "question", "gold", "closed_book_span", "final_span")


@dataclass(frozen=True)
class Comparison:
    """One field of one row: our decision, the other one, and the rule behind ours."""

    matcher: str
    judge: str
    field: str
    row: Mapping[str, Any]
    ours: bool | str | None
    theirs: bool | str | None
    why: str

    @property
    def agrees(self) -> bool:
        """Return whether both decisions are equal; null (no memory) equals null alone."""
        return self.ours == self.theirs


def load(path: Path) -> list[dict[str, Any]]:
    """Load the rows of a JSONL file of scored outputs.

    Raises UserError naming file, row and field of the first row that cannot be scored.
    """
    rows = []
    for number, row in read_jsonl(path):
        where = f"{path} row {number}"
        for name in TEXTS:
            if not isinstance(row.get(name), str):
                raise UserError(f"{where}: field '{name}' must be a text: add it")
        if not isinstance(row.get("tool_value"), str | None):
            raise UserError(f"{where}: field 'tool_value' must be a text or null")
        for judge in JUDGES:
            # A row without one of the judges is compared with the other alone.
            _check_decisions(row.get(judge, {}), f"{where}: field '{judge}")
        rows.append(row)
    if not rows:
        raise UserError(f"{path} holds no row: give a file of scored outputs")
    return rows


def _check_decisions(given: Any, where: str) -> None:
    if not isinstance(given, dict):
        raise UserError(f"{where}' must be an object of decisions")
    for field, decision in _decisions(given).items():
        if field == "outcome" and decision not in OUTCOMES:
            raise UserError(f"{where}.outcome' is {decision}: {one_of(OUTCOMES, str(decision))}")
        if field != "outcome" and not isinstance(decision, bool | None):
            raise UserError(f"{where}.{field}' must be true, false or null")


def compare(rows: Iterable[Mapping[str, Any]]) -> Iterator[Comparison]:
    """Yield a comparison for every field that a judge decided, under both matchers."""
    for row in rows:
        for matcher in MATCHERS:
            ours, why = _score(matcher, row)
            for judge in JUDGES:
                for field, theirs in _decisions(row.get(judge, {})).items():
                    yield Comparison(matcher, judge, field, row, ours[field], theirs, why[field])


def _score(
    matcher: str, row: Mapping[str, Any]
) -> tuple[dict[str, bool | str | None], dict[str, str]]:
    memory = score_memory(matcher, row["closed_book_span"], row["question"], row["gold"])
    decision = decide(
        matcher, row["final_span"], row["question"], row["gold"], memory, row.get("tool_value")
    )
    ours: dict[str, bool | str | None] = {
        field: getattr(decision, field) for field in FIELDS if field != "memory_correct"
    }
    why = {**decision.why, "memory_correct": memory.why}
    return ours | {"memory_correct": memory.correct}, why


def _decisions(given: Mapping[str, Any]) -> dict[str, bool | str | None]:
    """Return the fields that a judge decided; the release writes abstain and other as "neither"."""
    decided = {field: given[field] for field in FIELDS if field in given}
    if decided.get("outcome") == "neither":
        decided["outcome"] = given.get("neither")
    return decided


Counts = dict[str, dict[str, dict[str, dict[str, int]]]]


def counts(comparisons: Iterable[Comparison]) -> Counts:
    """Return {matcher: {judge: {field: {"agree": n, "total": n}}}}."""
    table: Counts = {}
    for item in comparisons:
        judged = table.setdefault(item.matcher, {}).setdefault(item.judge, {})
        cell = judged.setdefault(item.field, {"agree": 0, "total": 0})
        cell["agree"] += item.agrees
        cell["total"] += 1
    return table


def report(comparisons: list[Comparison]) -> Iterator[str]:
    """Yield the tables and the disagreements, line by line."""
    for matcher in MATCHERS:
        for judge in JUDGES:
            chosen = [c for c in comparisons if (c.matcher, c.judge) == (matcher, judge)]
            if not chosen:
                continue
            yield f"{matcher} against {judge}"
            yield from _table(chosen)
            yield ""
            yield from _disagreements(chosen)
            yield ""


def _table(chosen: list[Comparison]) -> Iterator[str]:
    fields = [field for field in FIELDS if any(c.field == field for c in chosen)]
    yield "  " + " ".join(f"{name:>17}" for name in ("", *fields))
    yield _line("all", chosen, fields)
    # The answer without a tool is the memory read again: it says nothing about conflicts.
    yield _line("all but no_tool", [c for c in chosen if c.row["condition"] != "no_tool"], fields)
    conditions = sorted({c.row["condition"] for c in chosen}, key=lambda c: (c == "no_tool", c))
    for condition in conditions:
        yield _line(condition, [c for c in chosen if c.row["condition"] == condition], fields)
    for outcome in sorted({_outcome(c) for c in chosen}):
        yield _line(f"= {outcome}", [c for c in chosen if _outcome(c) == outcome], fields)


def _outcome(item: Comparison) -> str:
    """Return the published outcome of the row, by which the table is split."""
    given = _decisions(item.row.get("published", {}))
    return str(given.get("outcome") or "not published")


def _line(name: str, chosen: list[Comparison], fields: list[str]) -> str:
    agree = Counter(c.field for c in chosen if c.agrees)
    total = Counter(c.field for c in chosen)
    cells = [
        f"{agree[f]}/{total[f]} {100 * agree[f] / total[f]:5.1f}" if total[f] else "-"
        for f in fields
    ]
    return "  " + " ".join(f"{cell:>17}" for cell in (name, *cells))


def _disagreements(chosen: list[Comparison]) -> Iterator[str]:
    for c in chosen:
        if not c.agrees:
            row = c.row
            yield (
                f"  {c.field}: ours {c.ours} ({c.why}), theirs {c.theirs}"
                f" | {row.get('model')} {row.get('formulation')} {row.get('id')}"
                f" {row['condition']} | Q {row['question']!r} | gold {row['gold']!r}"
                f" | tool {row.get('tool_value')!r} | memory {row['closed_book_span'][:200]!r}"
                f" | answer {row['final_span'][:200]!r}"
            )
