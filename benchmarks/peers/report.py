"""Timings of several peers as a table, ratios and shares of equal texts."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from statistics import median

from benchmarks.peers.worker import Timing

OURS = "ours"
Timings = Mapping[str, Sequence[Timing]]


def report(timings: Timings, settings: Mapping[str, str]) -> str:
    """The report as Markdown; ``settings`` are what the table says of a peer beside its times."""
    sections = (_table(timings, settings), _ratios(timings), _agreement(timings))
    return "\n\n".join(section for section in sections if section)


def seconds(runs: Sequence[Timing]) -> float:
    """Median seconds of a peer's runs, loading left out."""
    return median(run.seconds for run in runs)


def equal_share(first: Sequence[str], second: Sequence[str]) -> float:
    """The share of prompts that both lists answer with the same text; white space at ends aside."""
    pairs = list(zip(first, second, strict=True))
    return sum(one.strip() == other.strip() for one, other in pairs) / len(pairs)


def _table(timings: Timings, settings: Mapping[str, str]) -> str:
    rows = ["| peer | median s | runs, s | loading, s | versions |", "|---|---|---|---|---|"]
    for name, runs in timings.items():
        title = f"{name} ({settings[name]})" if name in settings else name
        each = ", ".join(f"{run.seconds:.1f}" for run in runs)
        load = median(run.load_s for run in runs)
        versions = ", ".join(f"{package} {at}" for package, at in runs[0].versions.items())
        rows.append(f"| {title} | {seconds(runs):.1f} | {each} | {load:.1f} | {versions} |")
    return "\n".join(rows)


def _ratios(timings: Timings) -> str:
    if OURS not in timings:
        return ""
    ours = seconds(timings[OURS])
    return "\n".join(
        f"ours / {name}: {ours / seconds(runs):.2f}"
        for name, runs in timings.items()
        if name != OURS
    )


def _agreement(timings: Timings) -> str:
    return "\n".join(
        f"equal texts, {one} and {other}:"
        f" {equal_share(timings[one][0].texts, timings[other][0].texts):.0%}"
        for one, other in combinations(timings, 2)
    )
