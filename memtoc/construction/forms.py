"""The two packets of a build: authoring of wrong values, and their review."""

from collections.abc import Iterable, Mapping

from memtoc.benchmark.drafts import Draft, WrongValues
from memtoc.benchmark.sheets import Row
from memtoc.construction.packets import Field, Form
from memtoc.questions import REVIEWS, same_value

EXCLUSIONS = ("not_self_contained", "leaks_its_answer", "gold_wrong", "type", "implausible")


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


# Blind: neither source nor branch, chain or fold is shown, and the order is each reviewer's own.
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
# The kind tells the author what sort of value fits; a suggestion is a find from another country.
AUTHORING = Form(
    "authoring",
    ("id", "question", "gold", "kind", "suggestion"),
    (Field("near", required=True), Field("far"), Field("comment")),
    compared=("near", "far"),
    problem=_authoring_problem,
)


def review_rows(drafts: Iterable[Draft], wrong: Mapping[str, WrongValues]) -> list[Row]:
    """Return what a reviewer sees: id, question, gold and near, without their origin."""
    return [
        {"id": d.id, "question": d.text, "gold": d.gold, "near": wrong[d.id].near or ""}
        for d in drafts
        if not d.dropped and d.id in wrong and wrong[d.id].near
    ]


def authoring_rows(drafts: Iterable[Draft], wrong: Mapping[str, WrongValues]) -> list[Row]:
    """Return the questions that still lack a near value, with a suggestion if there is one."""
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
