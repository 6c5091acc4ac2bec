"""The four packets: review of wrong values, their authoring, generator audit, response targets."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from harness.errors import UserError
from harness.seeds import generator
from memtoc.benchmark.drafts import Draft, WrongValues, natural_key
from memtoc.benchmark.sheets import Row
from memtoc.construction.packets import Field, Filled, Form
from memtoc.questions import REVIEWS, Question, same_value

EXCLUSIONS = ("not_self_contained", "leaks_its_answer", "gold_wrong", "type", "implausible")
RESPONSES = ("follow", "own_knowledge", "both", "abstain")


def _review_problem(row: Row) -> str:
    verdict, new = row["verdict"], row["new_value"]
    if verdict == "repair" and not new:
        return "verdict is repair but 'new_value' is empty: give a new wrong value"
    if verdict != "repair" and new:
        return f"'new_value' is given but verdict is {verdict}: use repair or empty it"
    if verdict == "exclude" and not row["reason"]:
        return f"verdict is exclude but 'reason' is empty: give one of {', '.join(EXCLUSIONS)}"
    if new and same_value(new, row["gold"]):
        return f"'new_value' equals the gold '{row['gold']}': give a wrong value"
    if new and same_value(new, row["near"]):
        return "'new_value' equals the value to be repaired: give another one"
    return ""


def _authoring_problem(row: Row) -> str:
    for name in ("near", "far"):
        if row[name] and same_value(row[name], row["gold"]):
            return f"'{name}' equals the gold '{row['gold']}': give a wrong value"
    if row["far"] and same_value(row["near"], row["far"]):
        return "'far' equals 'near': give another value or leave it empty"
    return ""


def _audit_problem(row: Row) -> str:
    if row["verdict"] == "reject" and not row["reason"]:
        return f"verdict is reject but 'reason' is empty: give one of {', '.join(EXCLUSIONS)}"
    return ""


REVIEW = Form(
    "review",
    ("id", "question", "gold", "near"),
    (
        Field("verdict", REVIEWS, required=True),
        Field("new_value"),
        Field("reason", EXCLUSIONS),
        Field("comment"),
    ),
    compared=("verdict", "new_value"),
    problem=_review_problem,
)
AUTHORING = Form(
    "authoring",
    ("id", "question", "gold", "kind", "suggestion"),
    (Field("near", required=True), Field("far"), Field("comment")),
    compared=("near", "far"),
    problem=_authoring_problem,
)
AUDIT = Form(
    "audit",
    ("id", "question", "gold", "near"),
    (
        Field("verdict", ("accept", "reject"), required=True),
        Field("reason", EXCLUSIONS),
        Field("comment"),
    ),
    compared=("verdict",),
    problem=_audit_problem,
)
TARGET = Form(
    "target",
    ("id", "question", "gold", "memory", "tool_return"),
    (
        Field("response", RESPONSES, required=True),
        Field("must_flag", ("yes", "no"), required=True),
        Field("comment"),
    ),
    compared=("response", "must_flag"),
)


def review_rows(drafts: Iterable[Draft], wrong: Mapping[str, WrongValues]) -> list[Row]:
    """What a reviewer, or the auditor of a generator, sees: no source, branch, chain or fold."""
    return [
        {"id": d.id, "question": d.text, "gold": d.gold, "near": wrong[d.id].near or ""}
        for d in drafts
        if not d.dropped and d.id in wrong and wrong[d.id].near
    ]


def authoring_rows(drafts: Iterable[Draft], wrong: Mapping[str, WrongValues]) -> list[Row]:
    """The questions that no generator found a near value for, with a suggestion where one is."""
    return [
        {
            "id": draft.id,
            "question": draft.text,
            "gold": draft.gold,
            "kind": draft.kind,
            "suggestion": str(wrong[draft.id].provenance.get("suggested", {}).get("label") or ""),
        }
        for draft in drafts
        if not draft.dropped and draft.id in wrong and wrong[draft.id].near is None
    ]


def audit_rows(
    drafts: Iterable[Draft], wrong: Mapping[str, WrongValues], branch: str, size: int, seed: int
) -> list[Row]:
    """A seeded sample of what one generator (``branch``) made; raises where there is too little."""
    made = [d for d in drafts if d.id in wrong and wrong[d.id].branch == branch]
    rows = sorted(review_rows(made, wrong), key=lambda row: natural_key(row["id"]))
    if len(rows) < size:
        raise UserError(
            f"the audit needs {size} values of branch '{branch}' but there are {len(rows)}:"
            " lower audit.size"
        )
    return generator(seed, "audit", branch).sample(rows, size)


def target_rows(questions: Iterable[Question]) -> list[Row]:
    """The four cells of each question, for people to say what a model should do there.

    both_wrong puts the far value in the tool, and is left out where there is none.
    """
    rows: list[Row] = []
    for question in questions:
        cells = {
            "agree": (question.gold, question.gold),
            "arb": (question.gold, question.near),
            "tool_gold": (question.near, question.gold),
            "both_wrong": (question.near, question.far),
        }
        rows += [
            {
                "id": f"{question.id}-{cell}",
                "question": question.text,
                "gold": question.gold,
                "memory": memory,
                "tool_return": tool_return,
            }
            for cell, (memory, tool_return) in cells.items()
            if tool_return is not None
        ]
    return rows


@dataclass(frozen=True)
class Audit:
    """Share of a generator's values that were rejected; the interval is Clopper-Pearson's.

    ``passed`` says that even the upper end of the interval lies at or under the target.
    """

    rejected: int
    sampled: int
    low: float
    high: float
    target: float

    @property
    def rate(self) -> float:
        """Rejected / sampled."""
        return self.rejected / self.sampled

    @property
    def passed(self) -> bool:
        """Whether the target is met with the interval's confidence."""
        return self.high <= self.target


def audit(decided: Filled, target: float, confidence: float = 0.95) -> Audit:
    """Rejection rate of the decided rows with its exact two-sided interval."""
    from scipy.stats import binomtest

    if not decided:
        raise UserError("the audit holds no decided row: return the packets first")
    rejected = sum(row["verdict"] == "reject" for row in decided.values())
    interval = binomtest(rejected, len(decided)).proportion_ci(confidence, method="exact")
    return Audit(rejected, len(decided), float(interval.low), float(interval.high), target)
