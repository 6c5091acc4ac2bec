"""Score replies: extraction, matching, abstention, outcome, cell; rules are in docs/scoring.md."""

from memtoc.scoring.abstain import Abstention, abstains
from memtoc.scoring.acknowledge import Acknowledgment, acknowledges
from memtoc.scoring.extract import Span, extract
from memtoc.scoring.match import MATCHERS, Match, match
from memtoc.scoring.memory import CELLS, Memory, cell, score_memory
from memtoc.scoring.outcome import OUTCOMES, Decision, decide
from memtoc.scoring.rules import DEFAULT_RULES, ScoringRules

SCORER_VERSION = "3"

__all__ = [
    "CELLS",
    "DEFAULT_RULES",
    "MATCHERS",
    "OUTCOMES",
    "SCORER_VERSION",
    "Abstention",
    "Acknowledgment",
    "Decision",
    "Match",
    "Memory",
    "ScoringRules",
    "Span",
    "abstains",
    "acknowledges",
    "cell",
    "decide",
    "extract",
    "match",
    "score_memory",
    "scorer_name",
]


def scorer_name(rules: ScoringRules = DEFAULT_RULES) -> str:
    """Return what tells two readings of an arm apart: the version, and rules set otherwise.

    "3", or "3 surname=false".
    """
    return f"{SCORER_VERSION} {rules.changes()}".strip()
