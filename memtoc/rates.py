"""The rates of an arm: what each counts, in which condition and cell, by both definitions.

Where the release and we define a rate differently, both stand side by side, named. `memtoc.metrics`
computes them; what metrics.json holds is declared here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from memtoc.scored import Score, ScoredRow


@dataclass(frozen=True)
class RateDefinition:
    """A share of the rows of some (condition, cells) pairs: those in which ``counts`` is true.

    ``counts`` is a key of ``flags``; cells None takes every cell, ``mem_absent`` included.
    """

    metric: str
    definition: str
    where: tuple[tuple[str, tuple[str, ...] | None], ...]
    counts: str


@dataclass(frozen=True)
class Rate:
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


@dataclass(frozen=True)
class MatcherMetrics:
    """What one matcher makes of an arm: counts by condition, rates, rates by group of questions.

    ``ambiguous`` are rows that its rules could not settle, ``partial`` those that give two values;
    both are empty in files of older scorers.
    """

    cells: Mapping[str, Mapping[str, int]]
    outcomes: Mapping[str, Mapping[str, int]]
    rates: tuple[Rate, ...]
    by_kind: Mapping[str, tuple[Rate, ...]]
    by_family: Mapping[str, tuple[Rate, ...]]
    by_fold: Mapping[str, tuple[Rate, ...]]
    ambiguous: Mapping[str, int] = field(default_factory=dict)
    partial: Mapping[str, int] = field(default_factory=dict)

    def rate(self, metric: str, definition: str) -> Rate:
        """Return the rate of a name and definition, which `RATES` holds."""
        return next(r for r in self.rates if (r.metric, r.definition) == (metric, definition))


@dataclass(frozen=True)
class Metrics:
    """The content of metrics.json: who scored, how many rows of which status, both matchers."""

    scorer: str
    rows: int
    status: Mapping[str, int]
    matchers: Mapping[str, MatcherMetrics]


def flags(row: ScoredRow, score: Score) -> dict[str, bool]:
    """Return what a rate can count in a scored row that has an outcome."""
    acknowledged = bool(row.acknowledged)
    return {
        "correct": bool(score.final_correct),
        "followed tool": bool(score.followed_tool),
        "kept memory only": score.outcome == "kept_memory",
        "named both": score.outcome == "both",
        "agrees with memory": bool(score.kept_memory),
        "abstains": bool(score.abstain),
        "abstains and flags": bool(score.abstain) and acknowledged,
        "acknowledges": acknowledged,
    }


def _wrong_return(condition: str, suffix: str) -> tuple[RateDefinition, ...]:
    arb, lost = ((condition, ("arb",)),), ((condition, ("both_wrong",)),)
    conflict = ((condition, ("arb", "both_wrong")),)
    return (
        RateDefinition(f"retention{suffix}", "ours", arb, "correct"),
        RateDefinition(f"retention{suffix}", "released", arb, "kept memory only"),
        RateDefinition(f"retention{suffix}", "names both", arb, "named both"),
        RateDefinition(f"incorrect-tool following{suffix}", "ours", lost, "followed tool"),
        RateDefinition(f"flagged abstention{suffix}", "ours", lost, "abstains and flags"),
        RateDefinition(f"flagged abstention{suffix}", "unflagged too", lost, "abstains"),
        RateDefinition(f"acknowledgment{suffix}", "ours", conflict, "acknowledges"),
    )


def _no_value(condition: str) -> tuple[RateDefinition, ...]:
    everywhere = ((condition, None),)
    return (
        RateDefinition(f"{condition} accuracy", "ours", everywhere, "correct"),
        RateDefinition(
            f"{condition} agreement with memory", "ours", everywhere, "agrees with memory"
        ),
        RateDefinition(f"{condition} abstention", "ours", everywhere, "abstains"),
    )


# An error is not a right return, so a right memory puts its row in arb, a wrong one in both_wrong.
_ERROR, _ERROR_ARB = (("tool_error", None),), (("tool_error", ("arb",)),)
_ERROR_LOST = (("tool_error", ("both_wrong",)),)
_AGREE, _TOOL_GOLD = (("tool_right", ("agree",)),), (("tool_right", ("tool_gold",)),)
_ARB, _BOTH_WRONG = (("tool_wrong", ("arb",)),), (("tool_wrong", ("both_wrong",)),)

RATES: tuple[RateDefinition, ...] = (
    *_wrong_return("tool_wrong", ""),
    RateDefinition("correct-tool following", "ours", _TOOL_GOLD, "followed tool"),
    RateDefinition("agreement accuracy", "ours", _AGREE, "correct"),
    RateDefinition("agreement accuracy", "released", _TOOL_GOLD, "correct"),
    RateDefinition("conflict-resolved accuracy", "over rows", (*_ARB, *_TOOL_GOLD), "correct"),
    RateDefinition("tool-error abstention", "released", _ERROR, "abstains"),
    RateDefinition("tool-error abstention", "memory right", _ERROR_ARB, "abstains"),
    RateDefinition("tool-error abstention", "memory wrong", _ERROR_LOST, "abstains"),
    RateDefinition("tool-error fall-back", "memory right", _ERROR_ARB, "correct"),
    RateDefinition("target reached", "agree", _AGREE, "correct"),
    RateDefinition("target reached", "arb", _ARB, "agrees with memory"),
    RateDefinition("target reached", "tool_gold", _TOOL_GOLD, "followed tool"),
    RateDefinition("target reached", "both_wrong", _BOTH_WRONG, "abstains and flags"),
    *_wrong_return("tool_wrong_far", " (far)"),
    *_no_value("noop"),
    *_no_value("no_tool"),
)
# Conflict-resolved accuracy as the mean of its two cells' rates.
CELL_MEAN = (("retention", "ours"), ("agreement accuracy", "released"))
