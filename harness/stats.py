"""Intervals for rates: the cluster bootstrap, and the exact binomial interval."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

RESAMPLES = 10_000
CHUNK = 500  # resamples at a time: bounds memory at CHUNK x clusters


def bootstrap_ratios(
    numerators: Floats, denominators: Floats, seed: int, resamples: int = RESAMPLES
) -> Floats:
    """Return ratios (resamples x rates) under resampling of whole clusters with replacement.

    ``numerators`` and ``denominators`` are sums per cluster (clusters x rates). All rates share one
    set of resamples, so that a function of several rates can be computed row by row. A resample
    with denominator 0 gives nan. Efron and Tibshirani, An Introduction to the Bootstrap (1993).
    """
    clusters, rates = numerators.shape
    drawn = np.full((resamples, rates), np.nan)
    if clusters == 0:
        return drawn
    random = np.random.default_rng(seed)
    even = np.full(clusters, 1.0 / clusters)
    for start in range(0, resamples, CHUNK):
        chunk = drawn[start : start + CHUNK]
        # Drawing n clusters with replacement is drawing their multiplicities; a product with the
        # sums then needs no copy of the rows.
        weights = random.multinomial(clusters, even, size=len(chunk)).astype(np.float64)
        below = weights @ denominators
        np.divide(weights @ numerators, below, out=chunk, where=below > 0)
    return drawn


def percentile_interval(drawn: Floats) -> tuple[Floats, Floats]:
    """Return the 2.5th and 97.5th percentile of each column; nan for a column of nan alone."""
    low = np.full(drawn.shape[1], np.nan)
    high = low.copy()
    seen = ~np.isnan(drawn).all(axis=0)
    if seen.any():
        low[seen], high[seen] = np.nanpercentile(drawn[:, seen], [2.5, 97.5], axis=0)
    return low, high


def cluster_sums(values: Floats, clusters: Sequence[str]) -> Floats:
    """Return sums (clusters x rates) of ``values`` (rows x rates) by cluster label.

    Clusters come in the order of their first row.
    """
    index = {name: at for at, name in enumerate(dict.fromkeys(clusters))}
    sums = np.zeros((len(index), values.shape[1]))
    np.add.at(sums, [index[name] for name in clusters], values)
    return sums


def clopper_pearson(hits: Floats, trials: Floats) -> tuple[Floats, Floats]:
    """Return exact two-sided 95 % intervals (low, high) of binomial shares; nan without trials.

    Clopper and Pearson (1934), by quantiles of the beta distribution.
    """
    from scipy.stats import beta

    # The beta quantile is nan for no hit and for nothing but hits; the bounds are 0 and 1 there.
    low = np.where(hits == 0, 0.0, beta.ppf(0.025, hits, trials - hits + 1))
    high = np.where(hits == trials, 1.0, beta.ppf(0.975, hits + 1, trials - hits))
    none = trials == 0
    return np.where(none, np.nan, low), np.where(none, np.nan, high)
