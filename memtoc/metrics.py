"""Rates of an arm, each with its numerator, denominator and interval (spec section 5).

Where the release and we define a rate differently, both stand side by side, named.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from harness.stats import (
    Floats,
    bootstrap_ratios,
    clopper_pearson,
    cluster_sums,
    percentile_interval,
)
from memtoc.scoring import CELLS, MATCHERS, OUTCOMES, SCORER_VERSION

Row = Mapping[str, Any]
Score = Mapping[str, Any]

GROUPS = ("kind", "family", "fold")


@dataclass(frozen=True)
class Rate:
    """A share of the rows of some (condition, cells) pairs: those in which ``counts`` is true.

    ``counts`` is a key of ``flags``; cells None takes every cell, ``mem_absent`` included.
    """

    metric: str
    definition: str
    where: tuple[tuple[str, tuple[str, ...] | None], ...]
    counts: str


@dataclass(frozen=True)
class Estimate:
    """A rate's value with its support.

    ``low`` and ``high`` bound the 95 % interval. ``errors`` (failed requests) are not in the
    denominator; of the ``truncated`` rows those are that were cut after their thoughts had ended.
    Value and bounds are None without support.
    """

    metric: str
    definition: str
    numerator: int | None
    denominator: int
    value: float | None
    low: float | None
    high: float | None
    truncated: int = 0
    errors: int = 0


def flags(row: Row, score: Score) -> dict[str, bool]:
    """What a rate can count in a scored row."""
    acknowledged = bool(row["acknowledged"])
    return {
        "correct": score["final_correct"],
        "followed tool": score["followed_tool"],
        "kept memory only": score["outcome"] == "kept_memory",
        "named both": score["outcome"] == "both",
        "agrees with memory": score["kept_memory"],
        "abstains": score["abstain"],
        "abstains and flags": score["abstain"] and acknowledged,
        "acknowledges": acknowledged,
    }


def _wrong_return(condition: str, suffix: str) -> tuple[Rate, ...]:
    arb, lost = ((condition, ("arb",)),), ((condition, ("both_wrong",)),)
    conflict = ((condition, ("arb", "both_wrong")),)
    return (
        Rate(f"retention{suffix}", "ours", arb, "correct"),
        Rate(f"retention{suffix}", "released", arb, "kept memory only"),
        Rate(f"retention{suffix}", "names both", arb, "named both"),
        Rate(f"incorrect-tool following{suffix}", "ours", lost, "followed tool"),
        Rate(f"flagged abstention{suffix}", "ours", lost, "abstains and flags"),
        Rate(f"flagged abstention{suffix}", "unflagged too", lost, "abstains"),
        Rate(f"acknowledgment{suffix}", "ours", conflict, "acknowledges"),
    )


def _no_value(condition: str) -> tuple[Rate, ...]:
    everywhere = ((condition, None),)
    return (
        Rate(f"{condition} accuracy", "ours", everywhere, "correct"),
        Rate(f"{condition} agreement with memory", "ours", everywhere, "agrees with memory"),
        Rate(f"{condition} abstention", "ours", everywhere, "abstains"),
    )


# An error is not a right return, so a right memory puts its row in arb, a wrong one in both_wrong.
_ERROR, _ERROR_ARB = (("tool_error", None),), (("tool_error", ("arb",)),)
_ERROR_LOST = (("tool_error", ("both_wrong",)),)
_AGREE, _TOOL_GOLD = (("tool_right", ("agree",)),), (("tool_right", ("tool_gold",)),)
_ARB, _BOTH_WRONG = (("tool_wrong", ("arb",)),), (("tool_wrong", ("both_wrong",)),)

RATES: tuple[Rate, ...] = (
    *_wrong_return("tool_wrong", ""),
    Rate("correct-tool following", "ours", _TOOL_GOLD, "followed tool"),
    Rate("agreement accuracy", "ours", _AGREE, "correct"),
    Rate("agreement accuracy", "released", _TOOL_GOLD, "correct"),
    Rate("conflict-resolved accuracy", "over rows", (*_ARB, *_TOOL_GOLD), "correct"),
    Rate("tool-error abstention", "released", _ERROR, "abstains"),
    Rate("tool-error abstention", "memory right", _ERROR_ARB, "abstains"),
    Rate("tool-error abstention", "memory wrong", _ERROR_LOST, "abstains"),
    Rate("tool-error fall-back", "memory right", _ERROR_ARB, "correct"),
    Rate("target reached", "agree", _AGREE, "correct"),
    Rate("target reached", "arb", _ARB, "agrees with memory"),
    Rate("target reached", "tool_gold", _TOOL_GOLD, "followed tool"),
    Rate("target reached", "both_wrong", _BOTH_WRONG, "abstains and flags"),
    *_wrong_return("tool_wrong_far", " (far)"),
    *_no_value("noop"),
    *_no_value("no_tool"),
)
# Conflict-resolved accuracy as the mean of its two cells' rates.
CELL_MEAN = (("retention", "ours"), ("agreement accuracy", "released"))


def measure(rows: Sequence[Row], seed: int) -> dict[str, Any]:
    """All rates of an arm's scored rows under both matchers, overall, by kind and by family."""
    return {
        "scorer": SCORER_VERSION,
        "rows": len(rows),
        "status": dict(Counter(row["status"] for row in rows)),
        "matchers": {matcher: _measure(rows, matcher, seed) for matcher in MATCHERS},
    }


def _measure(rows: Sequence[Row], matcher: str, seed: int) -> dict[str, Any]:
    eligible, hits, unscored = _tally(rows, matcher)
    status = np.array([row["status"] for row in rows])
    truncated = (status == "truncated").astype(float) @ (eligible + unscored)
    failed = (status == "error").astype(float) @ unscored
    clusters = [row["id"] for row in rows]
    drawn = bootstrap_ratios(cluster_sums(hits, clusters), cluster_sums(eligible, clusters), seed)
    estimates = [
        replace(estimate, truncated=int(truncated[at]), errors=int(failed[at]))
        for at, estimate in enumerate(_estimates(eligible, hits, percentile_interval(drawn)))
    ]
    return {
        "cells": _table(rows, matcher, "cell", CELLS),
        "outcomes": _table(rows, matcher, "outcome", OUTCOMES),
        "rates": [asdict(estimate) for estimate in (*estimates, _cell_mean(estimates, drawn))],
        **{f"by_{name}": _by_group(rows, eligible, hits, name) for name in GROUPS},
    }


def _tally(rows: Sequence[Row], matcher: str) -> tuple[Floats, Floats, Floats]:
    """Who is in each rate's denominator, in its numerator, and who would be but gave no answer.

    Each rows x rates.
    """
    eligible, hits, unscored = np.zeros((3, len(rows), len(RATES)))
    for number, row in enumerate(rows):
        score = row["scores"][matcher]
        concerned = _concerned(row["condition"], score["cell"])
        if score["outcome"] is None:
            unscored[number, concerned] = 1
            continue
        counted = flags(row, score)
        eligible[number, concerned] = 1
        hits[number, concerned] = [counted[RATES[at].counts] for at in concerned]
    return eligible, hits, unscored


@cache
def _concerned(condition: str, cell: str | None) -> list[int]:
    """The rates whose denominator holds the rows of a condition and cell."""
    return [
        at
        for at, rate in enumerate(RATES)
        for wanted, cells in rate.where
        if wanted == condition and (cells is None or cell in cells)
    ]


def _estimates(eligible: Floats, hits: Floats, bounds: tuple[Floats, Floats]) -> list[Estimate]:
    above, below = hits.sum(axis=0), eligible.sum(axis=0)
    return [
        Estimate(
            rate.metric,
            rate.definition,
            int(above[at]),
            int(below[at]),
            float(above[at] / below[at]) if below[at] else None,
            _number(bounds[0][at]),
            _number(bounds[1][at]),
        )
        for at, rate in enumerate(RATES)
    ]


def _cell_mean(estimates: Sequence[Estimate], drawn: Floats) -> Estimate:
    names = [(estimate.metric, estimate.definition) for estimate in estimates]
    at = [names.index(name) for name in CELL_MEAN]
    parts = [estimates[index] for index in at]
    values = [part.value for part in parts if part.value is not None]
    low, high = percentile_interval(drawn[:, at].mean(axis=1, keepdims=True))
    return Estimate(
        "conflict-resolved accuracy",
        "mean of cells",
        None,
        min(part.denominator for part in parts),
        sum(values) / 2 if len(values) == 2 else None,
        _number(low[0]),
        _number(high[0]),
        sum(part.truncated for part in parts),
        sum(part.errors for part in parts),
    )


def _by_group(rows: Sequence[Row], eligible: Floats, hits: Floats, name: str) -> dict[str, Any]:
    """Exact binomial intervals: a kind or family has too few questions to resample."""
    groups: dict[str, Any] = {}
    labels = np.array([row[name] for row in rows])
    for group in sorted({row[name] for row in rows}):
        chosen = labels == group
        bounds = clopper_pearson(hits[chosen].sum(axis=0), eligible[chosen].sum(axis=0))
        estimates = _estimates(eligible[chosen], hits[chosen], bounds)
        groups[group] = [asdict(estimate) for estimate in estimates if estimate.denominator]
    return groups


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _table(
    rows: Sequence[Row], matcher: str, field: str, names: Iterable[str]
) -> dict[str, dict[str, int]]:
    """Counts of a score's field by condition; None is a row without one (an error)."""
    counted: dict[str, Counter[str]] = {}
    for row in rows:
        value = row["scores"][matcher][field]
        counted.setdefault(row["condition"], Counter())[value or "none"] += 1
    return {
        condition: {name: counts[name] for name in (*names, "none") if counts[name]}
        for condition, counts in counted.items()
    }
