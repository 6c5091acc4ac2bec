"""Eight questions and a model's every reply to them, so that each rate can be counted by hand."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from support.arms import mock_config, row, scripted, write_rows

GOLD = ["", "Ravenna", "Utrecht", "Bergen", "Toledo", "Padua", "Ghent", "Leipzig", "Porto"]
NEAR = ["", "Modena", "Haarlem", "Stavanger", "Segovia", "Verona", "Bruges", "Dresden", "Braga"]
FAR = ["", "Cuzco", "Kyoto", None, "Lhasa", "Nara", "Quito", "Petra", "Jaffa"]

UNKNOWN = "FINAL: UNKNOWN"
FLAGGED = "The tool says Verona, but I remember Trieste; the two disagree.\nFINAL: UNKNOWN"
DOWN = RuntimeError("server down")

# The memory: right for q1, q2, q3 and q7, wrong for q4 and q5, absent for q6, failed for q8.
REPLIES: Mapping[str, list[str | Exception]] = {
    "memory": ["Ravenna", "Utrecht", "Bergen", "Murcia", "Trieste", UNKNOWN, "Leipzig", DOWN],
    "tool_right": ["Ravenna", "Nowhere", "Bergen", "Toledo", "Trieste", "Ghent", "Leipzig",
                   "Porto"],
    "tool_wrong": ["Ravenna", "Haarlem", "Bergen or Stavanger", "Segovia", FLAGGED, "Bruges", DOWN,
                   "Braga"],
    "tool_wrong_far": ["Ravenna", "Kyoto", "", "Lhasa", "Trieste", "Quito", "Leipzig", "Jaffa"],
    "tool_error": [UNKNOWN, "Utrecht", UNKNOWN, UNKNOWN, "Trieste", UNKNOWN, "Leipzig", UNKNOWN],
    "noop": ["Ravenna", UNKNOWN, "Bergen", "Murcia", "<think> Let me", UNKNOWN, "Leipzig", DOWN],
}  # fmt: skip

# Under noop q5 is cut while the model still thinks, which is no answer, and q8 fails.
# (metric, definition): rows that count, rows that could, and requests that failed.
# retention: arb is q1, q2, q3 (q7 failed); q3 names both values, which only `ours` accepts.
# both_wrong is q4 and q5; tool_gold is q4 and q5 with the right return.
BY_HAND = {
    ("retention", "ours"): (2, 3, 1),
    ("retention", "released"): (1, 3, 1),
    ("retention", "names both"): (1, 3, 1),
    ("incorrect-tool following", "ours"): (1, 2, 0),
    ("incorrect-tool following", "released"): (1, 2, 0),
    ("flagged abstention", "ours"): (1, 2, 0),
    ("flagged abstention", "released"): (1, 2, 0),
    ("flagged abstention", "unflagged too"): (1, 2, 0),
    ("acknowledgment", "ours"): (1, 5, 1),
    ("acknowledgment", "released"): (1, 5, 1),
    ("correct-tool following", "ours"): (1, 2, 0),
    ("agreement accuracy", "ours"): (3, 4, 0),
    ("agreement accuracy", "released"): (1, 2, 0),
    ("conflict-resolved accuracy", "over rows"): (3, 5, 1),
    ("tool-error abstention", "released"): (5, 8, 0),
    ("tool-error abstention", "memory right"): (2, 4, 0),
    ("tool-error abstention", "memory wrong"): (1, 2, 0),
    ("tool-error fall-back", "memory right"): (2, 4, 0),
    ("target reached", "agree"): (3, 4, 0),
    ("target reached", "arb"): (2, 3, 1),
    ("target reached", "tool_gold"): (1, 2, 0),
    ("target reached", "both_wrong"): (1, 2, 0),
    ("retention (far)", "ours"): (2, 3, 0),
    ("retention (far)", "released"): (2, 3, 0),
    ("retention (far)", "names both"): (0, 3, 0),
    ("incorrect-tool following (far)", "ours"): (1, 2, 0),
    ("incorrect-tool following (far)", "released"): (1, 2, 0),
    ("flagged abstention (far)", "ours"): (0, 2, 0),
    ("flagged abstention (far)", "released"): (0, 2, 0),
    ("flagged abstention (far)", "unflagged too"): (0, 2, 0),
    ("acknowledgment (far)", "ours"): (0, 5, 0),
    ("acknowledgment (far)", "released"): (0, 5, 0),
    ("noop accuracy", "ours"): (3, 6, 1),
    ("noop agreement with memory", "ours"): (4, 6, 1),
    ("noop abstention", "ours"): (2, 6, 1),
    ("no_tool accuracy", "ours"): (4, 7, 1),
    ("no_tool agreement with memory", "ours"): (6, 7, 1),
    ("no_tool abstention", "ours"): (1, 7, 1),
}

CELLS_BY_HAND = {
    "tool_right": {"agree": 4, "tool_gold": 2, "mem_absent": 1, "none": 1},
    "tool_wrong": {"arb": 4, "both_wrong": 2, "mem_absent": 1, "none": 1},
    "tool_wrong_far": {"arb": 3, "both_wrong": 2, "mem_absent": 1, "none": 1},
    "tool_error": {"arb": 4, "both_wrong": 2, "mem_absent": 1, "none": 1},
    "noop": {"arb": 4, "both_wrong": 2, "mem_absent": 1, "none": 1},
    "no_tool": {"none": 8},
}


def questions(root: Path) -> Path:
    rows = [
        row(f"q{at}", GOLD[at], NEAR[at], FAR[at], fold="A" if at < 5 else "B")
        for at in range(1, 9)
    ]
    return write_rows(root / "questions.jsonl", rows)


def replies() -> dict[tuple[str, str], str | Exception]:
    found: dict[tuple[str, str], str | Exception] = {}
    for condition, texts in REPLIES.items():
        for at, text in enumerate(texts, start=1):
            if condition == "tool_wrong_far" and FAR[at] is None:
                continue
            plain = isinstance(text, str) and "FINAL" not in text and "<" not in text
            found[f"q{at}", condition] = f"FINAL: {text}" if plain else text
    return found


def config(root: Path, *overrides: str) -> dict[str, Any]:
    """The arm with every reply scripted; a good part of its requests fail."""
    path = questions(root)
    plain = mock_config(root, path, "report.max_error_rate=0.2", *overrides)
    return scripted(plain, replies())
