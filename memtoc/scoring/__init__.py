"""Score replies: extraction, matching, abstention, outcome, cell; rules are in docs/scoring.md."""

from memtoc.scoring.abstain import Abstention, abstains
from memtoc.scoring.acknowledge import Acknowledgment, acknowledges
from memtoc.scoring.extract import Span, extract
from memtoc.scoring.match import MATCHERS, Match, match
from memtoc.scoring.memory import CELLS, Memory, cell, score_memory
from memtoc.scoring.outcome import OUTCOMES, Decision, decide

SCORER_VERSION = "2"

__all__ = [
    "CELLS",
    "MATCHERS",
    "OUTCOMES",
    "SCORER_VERSION",
    "Abstention",
    "Acknowledgment",
    "Decision",
    "Match",
    "Memory",
    "Span",
    "abstains",
    "acknowledges",
    "cell",
    "decide",
    "extract",
    "match",
    "score_memory",
]
