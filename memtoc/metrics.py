"""The rates of an arm's scored rows, each with its numerator, denominator and interval."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from harness.stats import (
    Floats,
    bootstrap_ratios,
    clopper_pearson,
    cluster_sums,
    percentile_interval,
)
from memtoc.rates import CELL_MEAN, RATES, MatcherMetrics, Metrics, Rate, flags
from memtoc.scored import ScoredRow
from memtoc.scoring import CELLS, DEFAULT_RULES, MATCHERS, OUTCOMES, ScoringRules, scorer_name


def measure(rows: Sequence[ScoredRow], seed: int, rules: ScoringRules = DEFAULT_RULES) -> Metrics:
    """Return all rates of scored rows under both matchers: overall, by kind, family and fold.

    ``rules`` are those that the rows were scored by.
    """
    status: dict[str, int] = dict(Counter(row.status for row in rows))
    matchers = {matcher: _measure(rows, matcher, seed) for matcher in MATCHERS}
    return Metrics(scorer_name(rules), len(rows), status, matchers)


def _measure(rows: Sequence[ScoredRow], matcher: str, seed: int) -> MatcherMetrics:
    eligible, hits, unscored = _tally(rows, matcher)
    status = np.array([row.status for row in rows])
    truncated = (status == "truncated").astype(float) @ (eligible + unscored)
    failed = (status == "error").astype(float) @ unscored
    clusters = [row.id for row in rows]
    drawn = bootstrap_ratios(cluster_sums(hits, clusters), cluster_sums(eligible, clusters), seed)
    rates = [
        replace(rate, truncated=int(truncated[at]), errors=int(failed[at]))
        for at, rate in enumerate(_rates(eligible, hits, percentile_interval(drawn)))
    ]
    return MatcherMetrics(
        cells=_table(rows, matcher, "cell", CELLS),
        outcomes=_table(rows, matcher, "outcome", OUTCOMES),
        rates=(*rates, _cell_mean(rates, drawn)),
        by_kind=_by_group([row.kind for row in rows], eligible, hits),
        by_family=_by_group([row.family for row in rows], eligible, hits),
        by_fold=_by_group([row.fold for row in rows], eligible, hits),
        ambiguous=dict(Counter(r.condition for r in rows if r.scores[matcher].ambiguous)),
        partial=dict(Counter(r.condition for r in rows if r.scores[matcher].partial)),
    )


def _tally(rows: Sequence[ScoredRow], matcher: str) -> tuple[Floats, Floats, Floats]:
    """Return who is in each rate's denominator, in its numerator, and who would be without answer.

    Each is an array of rows x rates.
    """
    eligible, hits, unscored = np.zeros((3, len(rows), len(RATES)))
    for number, row in enumerate(rows):
        score = row.scores[matcher]
        concerned = _concerned(row.condition, score.cell)
        if score.outcome is None:
            unscored[number, concerned] = 1
            continue
        counted = flags(row, score)
        eligible[number, concerned] = 1
        hits[number, concerned] = [counted[RATES[at].counts] for at in concerned]
    return eligible, hits, unscored


@cache
def _concerned(condition: str, cell: str | None) -> list[int]:
    """Return the indices of the rates whose denominator holds rows of a condition and cell."""
    return [
        at
        for at, rate in enumerate(RATES)
        for wanted, cells in rate.where
        if wanted == condition and (cells is None or cell in cells)
    ]


def _rates(eligible: Floats, hits: Floats, bounds: tuple[Floats, Floats]) -> list[Rate]:
    above, below = hits.sum(axis=0), eligible.sum(axis=0)
    return [
        Rate(
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


def _cell_mean(rates: Sequence[Rate], drawn: Floats) -> Rate:
    names = [(rate.metric, rate.definition) for rate in rates]
    at = [names.index(name) for name in CELL_MEAN]
    parts = [rates[index] for index in at]
    values = [part.value for part in parts if part.value is not None]
    low, high = percentile_interval(drawn[:, at].mean(axis=1, keepdims=True))
    return Rate(
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


def _by_group(labels: Sequence[str], eligible: Floats, hits: Floats) -> dict[str, tuple[Rate, ...]]:
    """Return the rates of each group, with exact binomial intervals.

    A kind or family has too few questions to resample.
    """
    groups: dict[str, tuple[Rate, ...]] = {}
    for group in sorted(set(labels)):
        chosen = np.array(labels) == group
        bounds = clopper_pearson(hits[chosen].sum(axis=0), eligible[chosen].sum(axis=0))
        rates = _rates(eligible[chosen], hits[chosen], bounds)
        groups[group] = tuple(rate for rate in rates if rate.denominator)
    return groups


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _table(
    rows: Sequence[ScoredRow], matcher: str, field: str, names: Iterable[str]
) -> dict[str, dict[str, int]]:
    """Count a score's field by condition; "none" is a row without one (an error)."""
    counted: dict[str, Counter[str]] = {}
    for row in rows:
        value = getattr(row.scores[matcher], field)
        counted.setdefault(row.condition, Counter())[value or "none"] += 1
    return {
        condition: {name: counts[name] for name in (*names, "none") if counts[name]}
        for condition, counts in counted.items()
    }
