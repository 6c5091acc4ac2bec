"""Two audits by people, from the same packets: a generator's values, and the response targets."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from memtoc.construction import tables
from memtoc.construction.collecting import Collected, collect
from memtoc.construction.forms import AUDIT, TARGET, Audit, audit, audit_rows, target_rows
from memtoc.questions import Question


@dataclass(frozen=True)
class AuditSettings:
    """``branch`` is the generator (temporal, wikidata, ...), ``size`` the rows of the sample.

    ``target`` is the highest share of rejected values that is acceptable.
    """

    branch: str
    size: int
    target: float
    seed: int
    confidence: float = 0.95


def audit_stage(folder: Path, settings: AuditSettings) -> tuple[Collected, Audit | None]:
    """Sends a blind sample of one generator's values; the audit once both packets are decided."""
    rows = audit_rows(
        tables.read_screened(folder),
        tables.read_distractors(folder),
        settings.branch,
        settings.size,
        settings.seed,
    )
    form = replace(AUDIT, name=f"audit_{settings.branch}")
    collected = collect(folder, form, rows, settings.seed)
    if collected.waiting:
        return collected, None
    return collected, audit(collected.decided, settings.target, settings.confidence)


def target_stage(
    folder: Path, questions: Iterable[Question], seed: int
) -> tuple[Collected, dict[str, dict[str, int]]]:
    """Sends the cells of the given questions; what people want in each cell, once decided.

    The second value maps a cell to how often each response was chosen, ``must_flag`` among them.
    """
    collected = collect(folder, TARGET, target_rows(questions), seed)
    wanted: dict[str, Counter[str]] = {}
    for name, row in collected.decided.items():
        counts = wanted.setdefault(name.rsplit("-", 1)[1], Counter())
        counts[row["response"]] += 1
        counts["must_flag"] += row["must_flag"] == "yes"
    return collected, {cell: dict(sorted(wanted[cell].items())) for cell in sorted(wanted)}
