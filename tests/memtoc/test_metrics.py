import random
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

from harness.stats import bootstrap_ratios, clopper_pearson, cluster_sums, percentile_interval
from memtoc.metrics import measure
from memtoc.scored import Score, ScoredRow
from memtoc.scoring import MATCHERS


def loop_bootstrap(
    above: list[float], below: list[float], seed: int, resamples: int
) -> list[float]:
    """The same draws as the vectorised one, counted cluster by cluster."""
    clusters = len(above)
    generator = np.random.default_rng(seed)
    ratios = []
    for start in range(0, resamples, 500):
        size = min(500, resamples - start)
        for times in generator.multinomial(clusters, [1 / clusters] * clusters, size=size):
            hits = sum(times[at] * above[at] for at in range(clusters))
            trials = sum(times[at] * below[at] for at in range(clusters))
            ratios.append(hits / trials if trials else float("nan"))
    return ratios


@pytest.mark.parametrize("clusters", [1, 2, 7, 40])
def test_the_bootstrap_agrees_with_a_plain_loop(clusters: int):
    draw = random.Random(clusters)
    below = [draw.choice([0, 1, 1, 3]) for _ in range(clusters)]
    above = [draw.randint(0, count) for count in below]
    drawn = bootstrap_ratios(
        np.array([above], float).T, np.array([below], float).T, seed=3, resamples=1200
    )
    expected = loop_bootstrap(above, below, seed=3, resamples=1200)
    np.testing.assert_allclose(drawn[:, 0], expected, equal_nan=True)
    low, high = percentile_interval(drawn)
    if not np.isnan(expected).all():
        np.testing.assert_allclose(
            [low[0], high[0]], np.nanpercentile(np.array(expected), [2.5, 97.5])
        )


def test_the_bootstrap_draws_whole_clusters():
    """Two clusters of ten alike rows each: a resample has share 0, 1/2 or 1, as 1:2:1."""
    drawn = bootstrap_ratios(np.array([[10.0], [0.0]]), np.array([[10.0], [10.0]]), 0, 4000)
    shares, counts = np.unique(drawn, return_counts=True)
    assert shares.tolist() == [0.0, 0.5, 1.0]
    np.testing.assert_allclose(counts / 4000, [0.25, 0.5, 0.25], atol=0.03)


def test_a_wide_sample_gives_the_interval_of_the_normal_law():
    ones = np.repeat([[1.0], [0.0]], 300, axis=0)
    low, high = percentile_interval(bootstrap_ratios(ones, np.ones((600, 1)), seed=0))
    half = 1.96 * (0.25 / 600) ** 0.5
    np.testing.assert_allclose([low[0], high[0]], [0.5 - half, 0.5 + half], atol=0.004)


def test_rates_of_one_bootstrap_are_drawn_together():
    above = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    drawn = bootstrap_ratios(above, np.ones((3, 2)), seed=1, resamples=200)
    np.testing.assert_allclose(drawn.sum(axis=1), 1.0)


def test_no_cluster_and_no_denominator_give_no_number():
    assert np.isnan(bootstrap_ratios(np.zeros((0, 2)), np.zeros((0, 2)), 0, 10)).all()
    drawn = bootstrap_ratios(np.zeros((3, 1)), np.zeros((3, 1)), 0, 10)
    low, high = percentile_interval(drawn)
    assert np.isnan([low[0], high[0]]).all()


def test_cluster_sums_add_the_rows_of_a_label():
    sums = cluster_sums(np.array([[1.0], [2.0], [4.0]]), ["b", "a", "b"])
    assert sums.tolist() == [[5.0], [2.0]]


@pytest.mark.parametrize(
    ("hits", "trials"), [(0, 1), (1, 1), (0, 30), (30, 30), (7, 30), (299, 600)]
)
def test_the_exact_interval_is_scipys(hits: int, trials: int):
    low, high = clopper_pearson(np.array([hits], float), np.array([trials], float))
    expected = binomtest(hits, trials).proportion_ci(0.95, method="exact")
    np.testing.assert_allclose([low[0], high[0]], [expected.low, expected.high], atol=1e-12)


def test_the_exact_interval_of_nothing_is_no_number():
    low, high = clopper_pearson(np.zeros(1), np.zeros(1))
    assert np.isnan([low[0], high[0]]).all()


def scored(name: str, condition: str, cell: str | None, **flags: Any) -> ScoredRow:
    score = {
        "cell": cell, "memory_correct": None, "followed_tool": False, "kept_memory": False,
        "final_correct": False, "abstain": False, "outcome": "other",
    }  # fmt: skip
    status = flags.pop("status", "ok")
    acknowledged = flags.pop("acknowledged", False)
    return ScoredRow(
        id=name, condition=condition, kind="place", family="free_form", fold="A", chain=name,
        question="", gold="", tool_value=None, span=None, span_rule=None, memory_span=None,
        memory_status="ok", acknowledged_rule=None, status=status, acknowledged=acknowledged,
        scores={matcher: Score(**{**score, **flags}) for matcher in MATCHERS},
    )  # fmt: skip


def rates(rows: list[ScoredRow], seed: int = 0) -> dict[tuple[str, str], dict[str, Any]]:
    found = measure(rows, seed).matchers["boundary"].rates
    return {(item.metric, item.definition): asdict(item) for item in found}


def test_an_interval_of_a_rate_is_the_bootstrap_over_questions():
    draw = random.Random(5)
    rows = [
        scored(f"q{at}", "tool_wrong", "arb", final_correct=draw.random() < 0.6) for at in range(50)
    ]
    correct = [float(row.scores["boundary"].final_correct) for row in rows]
    expected = loop_bootstrap(correct, [1.0] * 50, seed=9, resamples=10_000)
    found = rates(rows, seed=9)["retention", "ours"]
    low, high = np.percentile(expected, [2.5, 97.5])
    assert (found["low"], found["high"]) == (pytest.approx(low), pytest.approx(high))


def test_the_mean_of_cells_is_bootstrapped_as_one_quantity():
    rows = [scored(f"a{at}", "tool_wrong", "arb", final_correct=at < 6) for at in range(10)]
    rows += [scored(f"g{at}", "tool_right", "tool_gold", final_correct=at < 2) for at in range(5)]
    found = rates(rows)
    mean = found["conflict-resolved accuracy", "mean of cells"]
    assert mean["value"] == pytest.approx((0.6 + 0.4) / 2)
    assert found["conflict-resolved accuracy", "over rows"]["value"] == pytest.approx(8 / 15)
    assert found["agreement accuracy", "released"]["low"] < mean["low"] < mean["value"]
    assert mean["value"] < mean["high"] < found["agreement accuracy", "released"]["high"]


def test_the_mean_of_cells_needs_both():
    rows = [scored("a", "tool_wrong", "arb", final_correct=True)]
    found = rates(rows)["conflict-resolved accuracy", "mean of cells"]
    assert (found["value"], found["low"], found["denominator"]) == (None, None, 0)


def test_rows_of_one_question_are_resampled_together():
    """Two conditions of each question in one rate: the interval is that of 20 units, not 40."""
    alone = [scored(f"q{at}", "tool_wrong", "arb", acknowledged=at < 10) for at in range(20)]
    twins = [
        scored(f"q{at % 20}", "tool_wrong", "arb", acknowledged=at % 20 < 10) for at in range(40)
    ]
    one, two = (rates(rows)["acknowledgment", "ours"] for rows in (alone, twins))
    assert two["denominator"] == 2 * one["denominator"]
    assert (one["low"], one["high"]) == (two["low"], two["high"])


def test_rates_do_not_depend_on_the_order_of_rows_but_for_the_draws():
    rows = [
        scored(f"q{at}", condition, cell, followed_tool=at % 2 == 0, outcome="followed_tool")
        for at in range(12)
        for condition, cell in (("tool_wrong", "both_wrong"), ("tool_right", "tool_gold"))
    ]
    counts = ("numerator", "denominator", "value", "truncated", "errors")
    one, two = rates(rows), rates(rows[::-1])
    assert [[one[n][c] for c in counts] for n in one] == [[two[n][c] for c in counts] for n in one]


def test_absent_memories_and_unknown_cells_stay_out_of_the_rates_by_cell():
    rows = [scored("q1", "tool_wrong", "mem_absent"), scored("q2", "tool_wrong", None)]
    found = rates(rows)
    assert all(item["denominator"] == 0 for item in found.values())


def test_unscored_rows_are_counted_by_what_befell_them():
    rows = [
        scored("q1", "tool_wrong", "arb", status="error", outcome=None),
        scored("q2", "tool_wrong", "arb", status="truncated", outcome=None),
        scored("q3", "tool_wrong", "arb", status="truncated", final_correct=True),
        scored("q4", "tool_wrong", "arb"),
    ]
    found = rates(rows)["retention", "ours"]
    assert (found["numerator"], found["denominator"]) == (1, 2)
    assert (found["truncated"], found["errors"]) == (2, 1)


def test_an_arm_without_rows_has_empty_rates():
    found = measure([], 0)
    assert found.rows == 0
    assert all(item.value is None for item in found.matchers["boundary"].rates)
