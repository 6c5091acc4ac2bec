"""The released benchmark's questions, as a mapping of one JSON object a row::

{"id": "13.0", "chain": 13, "hop": 0, "question": "Rejuvelac is ... by which practitioner?",
 "gold": "Ann Wigmore", "kind": "person", "family": "free_form", "near": "Sylvia Nasar",
 "near_repaired": "Adelle Davis", "far": "Adelheid Amalie Gallitzin", "review": "repair",
 "fold": "B", "source": "wikidata_or_deterministic_generator", "method": "wikidata_person",
 "wikidata": {"occ": ["Q36180"], "sex": "Q6581072", "country": "Q30", "birth": 1909}}
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.errors import UserError, one_of
from harness.json_files import read_jsonl
from memtoc.benchmark.drafts import Verdict, natural_key, normalised
from memtoc.questions import (
    FAMILIES,
    KINDS,
    REVIEWS,
    Benchmark,
    Question,
    ToolCall,
    check_questions,
    question_from_row,
)
from memtoc.sources.schemas import call_for, check_call
from memtoc.sources.toolhop import tools_of

NAME = "memtoc"
_CHAIN_AND_HOP = re.compile(r"(\d+)\.(\d+)")
# Passes the row's check; the real tool is chosen once kind and family are known to be valid.
_PLACEHOLDER: dict[str, Any] = {"schema": {"name": "none", "parameters": {}}, "arguments": {}}


def load(
    path: Path,
    apply_repairs: bool = True,
    drop_excluded: bool = True,
    toolhop: Path | None = None,
) -> Benchmark:
    """Load the mapping at ``path``; the questions come ordered by chain and hop.

    ``apply_repairs`` puts near_repaired in the place of near, ``drop_excluded`` leaves out the rows
    whose review says exclude; both are counted in the benchmark's notes. ``toolhop`` is the file
    that the questions came from: its tools are joined by the question's text. Raises UserError,
    naming file, row and field, for a row of another shape.
    """
    rows = [
        (f"{path} row {number}", row) for number, row in read_jsonl(path, "check benchmark.path")
    ]
    if not rows:
        raise UserError(f"{path} holds no question: check benchmark.path")
    tools = tools_of(toolhop) if toolhop is not None else {}
    read = [_question(row, where, apply_repairs, tools) for where, row in rows]
    check_questions(read, [where for where, _ in rows])
    for (where, _), question in zip(rows, read, strict=True):
        check_call(question.tool, where)
    read.sort(key=lambda question: natural_key(question.id))
    kept = [q for q in read if not (drop_excluded and q.review == "exclude")]
    if not kept:
        raise UserError(f"{path}: every row is excluded: set drop_excluded to false")
    repaired = sum(row.get("near_repaired") is not None for _, row in rows)
    notes = _notes(read, kept) | {"repairs_applied": repaired if apply_repairs else 0}
    return Benchmark(NAME, tuple(kept), notes)


def verdicts(path: Path) -> dict[str, Verdict]:
    """Return the published review by question id: an overlay on the unrepaired values."""
    found = {}
    for number, row in read_jsonl(path, "check benchmark.path"):
        where = f"{path} row {number}"
        _check_source_fields(row, where)
        repaired = row.get("near_repaired") or ""
        found[_id(row, where)] = Verdict(row["review"], repaired, decided_by="published")
    return found


def _question(
    row: Mapping[str, Any], where: str, apply_repairs: bool, tools: Mapping[str, ToolCall]
) -> Question:
    _check_source_fields(row, where)
    near = row["near_repaired"] if apply_repairs and row.get("near_repaired") else row.get("near")
    checked = question_from_row(
        {**row, "id": _id(row, where), "chain": str(row["chain"]), "near": near}
        | {"tool": _PLACEHOLDER},
        where,
    )
    joined = tools.get(normalised(checked.text))
    return replace(checked, tool=joined or call_for(checked.text, checked.family, checked.kind))


def _check_source_fields(row: Mapping[str, Any], where: str) -> None:
    """Check the mapping's own fields, and the names that a tool is chosen by."""
    for name, wanted in (("chain", (int, str)), ("hop", (int,)), ("review", (str,))):
        value = row.get(name)
        if not isinstance(value, wanted) or isinstance(value, bool):
            kinds = " or ".join(kind.__name__ for kind in wanted)
            raise UserError(f"{where}: field '{name}' must be {kinds}, not {value!r}: mend the row")
    for name, valid in (("kind", KINDS), ("family", FAMILIES), ("review", REVIEWS)):
        given = row.get(name)
        if given not in valid:
            raise UserError(f"{where}: unknown {name} {given!r}: {one_of(valid, str(given))}")
    _check_repair(row, where)


def _check_repair(row: Mapping[str, Any], where: str) -> None:
    repaired, review = row.get("near_repaired"), row["review"]
    if repaired is not None and not (isinstance(repaired, str) and repaired.strip()):
        raise UserError(f"{where}: field 'near_repaired' must be a text or null, not {repaired!r}")
    if (repaired is not None) != (review == "repair"):
        raise UserError(
            f"{where}: field 'near_repaired' is {repaired!r} but review is '{review}':"
            " give a repaired value exactly where review is repair"
        )


def _id(row: Mapping[str, Any], where: str) -> str:
    """Return ``10.1`` as ``q10-1``: a dot would make it a float on the command line."""
    given = row.get("id")
    found = _CHAIN_AND_HOP.fullmatch(given) if isinstance(given, str) else None
    if found is None:
        raise UserError(f"{where}: field 'id' must be CHAIN.HOP such as '10.1', not {given!r}")
    if (found[1], found[2]) != (str(row["chain"]), str(row["hop"])):
        raise UserError(
            f"{where}: id '{given}' does not agree with chain {row['chain']!r} and hop"
            f" {row['hop']!r}: mend the one that is wrong"
        )
    return f"q{found[1]}-{found[2]}"


def _notes(read: Sequence[Question], kept: Sequence[Question]) -> dict[str, Any]:
    reviews = Counter(question.review for question in read)
    return {
        "read": len(read),
        **{review: reviews[review] for review in REVIEWS},
        "kept": len(kept),
        "dropped": len(read) - len(kept),
        "far": sum(question.far is not None for question in read),
        "kept_far": sum(question.far is not None for question in kept),
        "schema_source": dict(Counter(question.tool.source for question in kept)),
    }
