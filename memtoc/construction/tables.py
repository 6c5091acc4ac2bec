"""The files between the stages, which a person may open, edit by hand and pass on.

``source.jsonl`` holds what was read, ``screened.csv`` what was kept and dropped,
``distractors.jsonl`` the wrong values, ``authored.csv`` those that people gave, ``review.csv``
their verdicts, ``folds.csv`` the folds, ``stages.json`` the settings that each stage ran with.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from harness.errors import UserError, one_of
from harness.files import write_json, write_jsonl
from harness.hashing import digest_of_file
from harness.json_files import read_json, read_jsonl
from harness.settings import UNKNOWN, strict_adapter
from memtoc.benchmark.drafts import Draft, SourceQuestion, WrongValues, natural_key
from memtoc.benchmark.sheets import Row, read_csv, write_csv
from memtoc.questions import FAMILIES, KINDS

SOURCE, SCREENED, DISTRACTORS = "source.jsonl", "screened.csv", "distractors.jsonl"
AUTHORED, REVIEWED, FOLDS_FILE, STAGES = "authored.csv", "review.csv", "folds.csv", "stages.json"
# Between several values of one cell; golds hold commas of their own.
_SEPARATOR = " | "
# What pydantic finds wrong with a field of a row, in our words.
_NEEDED = {
    "missing": "is missing",
    "unexpected_keyword_argument": "is not one of its fields",
    "string_type": "must be a text",
    "int_type": "must be a number",
    "tuple_type": "must be a list of texts",
    "dict_type": "must be an object",
    "mapping_type": "must be an object",
}
_DRAFT_COLUMNS = tuple("question" if f.name == "text" else f.name for f in fields(Draft))

Shape = TypeVar("Shape", SourceQuestion, WrongValues)
Named = TypeVar("Named", SourceQuestion, Draft, WrongValues)


def write_source(folder: Path, questions: Iterable[SourceQuestion]) -> None:
    """Write source.jsonl, in natural order of the ids."""
    ordered = sorted(questions, key=lambda question: natural_key(question.id))
    write_jsonl(folder / SOURCE, ({"id": q.id} | asdict(q) for q in ordered))


def read_source(folder: Path) -> list[SourceQuestion]:
    """Read source.jsonl; raises UserError, naming file and row, for a row that does not fit."""
    path = folder / SOURCE
    # The id is written for the reader of the file; it is made of the other fields.
    names = {field.name for field in fields(SourceQuestion)}
    rows = (
        (number, {name: value for name, value in row.items() if name in names})
        for number, row in read_jsonl(path)
    )
    found = _by_id(path, ((n, _fitted(SourceQuestion, row, f"{path} row {n}")) for n, row in rows))
    if not found:
        raise UserError(f"{path} holds no question: check benchmark.path")
    return list(found.values())


def _fitted(shape: type[Shape], row: Mapping[str, Any], where: str) -> Shape:
    """Return a row as a ``shape``; raises UserError naming its first field that does not fit."""
    try:
        return strict_adapter(shape).validate_json(json.dumps(row))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        reason = _NEEDED.get(first["type"], first["msg"])
        if shape is WrongValues and first["type"] not in ("missing", *UNKNOWN):
            raise UserError(f"{where}: field '{field}' {reason}: mend it") from error
        what = "a source question" if shape is SourceQuestion else "a row of wrong values"
        raise UserError(f"{where}: not {what} ({field} {reason}): mend the row") from error


def _by_id(path: Path, rows: Iterable[tuple[int, Named]]) -> dict[str, Named]:
    """Return the rows by id, in their order; raises UserError for an id that stands twice."""
    found: dict[str, Named] = {}
    for number, row in rows:
        if row.id in found:
            raise UserError(f"{path} row {number}: id '{row.id}' stands twice: remove one")
        found[row.id] = row
    return found


def write_screened(folder: Path, drafts: Iterable[Draft]) -> None:
    """Write screened.csv: kept and dropped questions with reasons and marks."""
    write_csv(folder / SCREENED, _DRAFT_COLUMNS, (_draft_row(draft) for draft in drafts))


def _draft_row(draft: Draft) -> Row:
    row: dict[str, Any] = asdict(draft)
    row["question"] = row.pop("text")
    return {name: _cell(value) for name, value in row.items()}


def _cell(value: Any) -> str:
    # Any text in the cell of a mark counts as yes when it is read back; to clear it, empty it.
    if isinstance(value, bool):
        return "yes" if value else ""
    return _SEPARATOR.join(value) if isinstance(value, tuple) else str(value)


def read_screened(folder: Path) -> list[Draft]:
    """Read screened.csv in natural order of the ids.

    A person may have edited it: raises UserError, naming file and row, for a cell that does not
    fit.
    """
    path = folder / SCREENED
    rows = read_csv(path, _DRAFT_COLUMNS)
    found = _by_id(path, ((number, _draft(row, f"{path} row {number}")) for number, row in rows))
    return sorted(found.values(), key=lambda draft: natural_key(draft.id))


def _draft(row: Row, where: str) -> Draft:
    for name, valid in (("kind", KINDS), ("family", FAMILIES)):
        if row[name] not in valid:
            raise UserError(f"{where}: unknown {name} '{row[name]}': {one_of(valid, row[name])}")
    # A dropped row may lack a gold: no_gold is one of the reasons.
    for name in ("id", "question", "chain", *(() if row["dropped"] else ("gold",))):
        if not row[name].strip():
            raise UserError(f"{where}: '{name}' is empty: fill it in or give a reason to drop it")
    try:
        hop, echo = int(row["hop"]), float(row["echo"] or 0)
    except ValueError as error:
        raise UserError(f"{where}: hop and echo must be numbers ({error}): mend them") from error
    return Draft(
        id=row["id"],
        chain=row["chain"],
        hop=hop,
        domain=row["domain"],
        text=row["question"],
        gold=row["gold"],
        kind=row["kind"],
        family=row["family"],
        dropped=row["dropped"],
        gold_in_question=bool(row["gold_in_question"]),
        echo=echo,
        ordinal_in_both=bool(row["ordinal_in_both"]),
        duplicate_group=row["duplicate_group"],
        linked_group=row["linked_group"],
        other_golds=_several(row["other_golds"]),
        occurrences=_several(row["occurrences"]),
    )


def _several(cell: str) -> tuple[str, ...]:
    return tuple(part for part in cell.split(_SEPARATOR) if part)


def write_distractors(folder: Path, wrong: Iterable[WrongValues]) -> None:
    """Write distractors.jsonl, in natural order of the ids."""
    ordered = sorted(wrong, key=lambda values: natural_key(values.id))
    write_jsonl(folder / DISTRACTORS, (asdict(values) for values in ordered))


def read_distractors(folder: Path) -> dict[str, WrongValues]:
    """Read distractors.jsonl by id; raises UserError, naming file and row, if one misfits."""
    path = folder / DISTRACTORS
    rows = read_jsonl(path)
    return _by_id(path, ((n, _fitted(WrongValues, row, f"{path} row {n}")) for n, row in rows))


def write_authored(folder: Path, rows: Mapping[str, Row]) -> None:
    """Write authored.csv: id, near, far."""
    ordered = sorted(rows, key=natural_key)
    write_csv(folder / AUTHORED, ("id", "near", "far"), ({"id": i, **rows[i]} for i in ordered))


def read_authored(folder: Path) -> dict[str, tuple[str, str | None]]:
    """Return id -> (near, far) of authored.csv; empty if there is no such file."""
    path = folder / AUTHORED
    if not path.is_file():
        return {}
    authored: dict[str, tuple[str, str | None]] = {}
    for number, row in read_csv(path, ("id", "near", "far")):
        if not row["near"].strip() or row["id"] in authored:
            raise UserError(f"{path} row {number}: give each id once, with a near value")
        authored[row["id"]] = (row["near"], row["far"].strip() or None)
    return authored


def record(
    folder: Path,
    stage: str,
    facts: Mapping[str, Any],
    reads: Sequence[str] = (),
    wrote: Sequence[str] = (),
) -> None:
    """Keep a stage's settings and counts, and the digests of what it read and wrote."""
    kept = dict(facts) | {"read": digests(folder, reads), "wrote": digests(folder, wrote)}
    write_json(folder / STAGES, recorded(folder) | {stage: kept})


def keep_edits(folder: Path, name: str) -> None:
    """Raise UserError if a file that a stage is about to write was changed by hand."""
    found = digests(folder, [name]).get(name)
    # Any stage may have written it last: review.csv comes with the source or from the review stage.
    known = {facts.get("wrote", {}).get(name) for facts in recorded(folder).values()}
    if found is not None and found not in known:
        raise UserError(
            f"{folder / name} was changed by hand: leave the stage that writes it out of stages to"
            " go on from it, or delete the file to have it made anew"
        )


def digests(folder: Path, names: Sequence[str]) -> dict[str, str]:
    """Return the sha256 of each file that exists, by name."""
    return {name: digest_of_file(folder / name) for name in names if (folder / name).is_file()}


def outdated(folder: Path) -> list[str]:
    """Return the stages whose input changed, by hand or by a stage, after they ran."""
    return [
        stage
        for stage, facts in recorded(folder).items()
        # Digests rather than times: a file touched or copied unchanged makes nothing stale.
        if facts.get("read", {}) != digests(folder, list(facts.get("read", {})))
    ]


def recorded(folder: Path) -> dict[str, Any]:
    """Return stage -> what ``record`` kept; empty before the first stage."""
    path = folder / STAGES
    if not path.exists():
        return {}
    loaded = read_json(path, broken="delete it and run all stages")
    if not isinstance(loaded, dict):
        raise UserError(f"{path} is damaged: delete it and run all stages")
    return loaded
