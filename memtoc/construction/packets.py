"""Packets for two annotators: written blind, read back cell by cell, merged, adjudicated.

A ``Form`` says what an annotator sees and fills in; forms.py holds those of review and authoring.
Each packet goes out as xlsx and as csv; either comes back.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.errors import UserError, one_of
from harness.seeds import generator
from memtoc.benchmark.drafts import natural_key
from memtoc.benchmark.sheets import Row, read_sheet, write_csv, write_xlsx
from memtoc.questions import same_value

# Two, so that agreement can be measured; a third sees only what they differ on.
ANNOTATORS = ("1", "2")
# A returned packet is outside text, so its cells are bounded.
MOST_SIGNS = 2_000


@dataclass(frozen=True)
class Field:
    """A column to fill in: one of ``choices``, or free text if there are none."""

    name: str
    choices: tuple[str, ...] = ()
    required: bool = False


@dataclass(frozen=True)
class Form:
    """A kind of packet. ``shown`` starts with id and must come back unchanged.

    ``problem`` returns what is wrong with a filled row as a whole, empty if it is right;
    ``compared`` are the fields in which two annotators must agree.
    """

    name: str
    shown: tuple[str, ...]
    fields: tuple[Field, ...]
    compared: tuple[str, ...]
    problem: Callable[[Row], str]

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the header of a packet."""
        return (*self.shown, *(field.name for field in self.fields))

    @property
    def choices(self) -> dict[str, tuple[str, ...]]:
        """Return the drop-down lists by column."""
        return {field.name: field.choices for field in self.fields if field.choices}


Filled = Mapping[str, Row]


@dataclass(frozen=True)
class Merge:
    """Two packets laid side by side, by id.

    ``agreement`` is the raw share of equal choices and ``kappa`` Cohen's coefficient, for each
    field with choices; kappa is None if both annotators used one same choice throughout.
    """

    agreed: Filled
    disputed: Mapping[str, tuple[Row, Row]]
    agreement: Mapping[str, float]
    kappa: Mapping[str, float | None]


def write_packets(folder: Path, form: Form, rows: Sequence[Row], seed: int) -> list[Path]:
    """Write one packet an annotator, as xlsx and csv, and return their paths.

    Each is in an order of its own, drawn from the seed.
    """
    paths = []
    for annotator in ANNOTATORS:
        # Sorted before the draw: the bytes depend on the seed, not on the order of the rows.
        shuffled = sorted(rows, key=lambda row: natural_key(row["id"]))
        generator(seed, f"packet {form.name}", annotator).shuffle(shuffled)
        shown = [{name: row.get(name, "") for name in form.shown} for row in shuffled]
        paths += _write_both(folder / f"{form.name}_{annotator}", form, shown)
    return paths


def _write_both(stem: Path, form: Form, rows: Sequence[Row]) -> list[Path]:
    """Write a sheet as xlsx and csv; raises UserError if one of them has been filled in."""
    paths = [stem.with_name(f"{stem.name}{ending}") for ending in (".xlsx", ".csv")]
    for path in paths:
        if path.is_file() and any(
            row[field.name].strip()
            for _, row in read_sheet(path, form.columns)
            for field in form.fields
        ):
            raise UserError(
                f"{path} has been filled in: move it to {path.parent.parent / 'returned'} first"
            )
    write_xlsx(paths[0], form.columns, rows, form.choices)
    write_csv(paths[1], form.columns, rows)
    return paths


def read_packet(path: Path, form: Form, rows: Sequence[Row]) -> dict[str, Row]:
    """Return the filled fields of a returned packet (xlsx or csv), by id.

    Raises UserError, naming file and row, for an unknown, doubled or missing row, a shown text that
    was edited, and a cell that the form does not allow.
    """
    sent = {row["id"]: row for row in rows}
    filled: dict[str, Row] = {}
    for number, row in read_sheet(path, form.columns):
        where, name = f"{path} row {number}", row["id"].strip()
        if name not in sent:
            raise UserError(f"{where}: id '{name}' was not sent in this packet: remove it")
        if name in filled:
            raise UserError(f"{where}: id '{name}' stands twice: keep one of its rows")
        _check_unchanged(row, sent[name], form, where)
        filled[name] = _filled(row, form, where)
    missing = sorted(set(sent) - set(filled), key=natural_key)
    if missing:
        raise UserError(f"{path}: no row for '{missing[0]}' ({len(missing)} missing): add them")
    return filled


def _check_unchanged(row: Row, sent: Row, form: Form, where: str) -> None:
    for name in form.shown[1:]:
        # White space may change on the way through a spreadsheet; words may not.
        if row[name].split() != sent.get(name, "").split():
            raise UserError(
                f"{where}: '{name}' was edited ('{row[name][:60]}'): restore"
                f" '{sent.get(name, '')[:60]}'"
            )


def _filled(row: Row, form: Form, where: str) -> dict[str, str]:
    filled = {field.name: row[field.name].strip() for field in form.fields}
    for field in form.fields:
        value = filled[field.name]
        if field.choices and value:
            # "Not self contained", typed by hand, is the choice not_self_contained.
            filled[field.name] = value = value.lower().replace(" ", "_")
            if value not in field.choices:
                raise UserError(
                    f"{where}: unknown {field.name} '{value[:60]}': {one_of(field.choices, value)}"
                )
        if field.required and not value:
            raise UserError(f"{where}: '{field.name}' is empty: fill it in")
        if len(value) > MOST_SIGNS:
            raise UserError(f"{where}: '{field.name}' is longer than {MOST_SIGNS} signs: cut it")
    if problem := form.problem({**row, **filled}):
        raise UserError(f"{where}: {problem}")
    return filled


def merge(form: Form, first: Filled, second: Filled) -> Merge:
    """Lay two packets side by side; both must hold the same ids, as ``read_packet`` ensures."""
    assert set(first) == set(second)
    ids = sorted(first, key=natural_key)
    # Remarks may differ; only the compared fields decide.
    same = {name for name in ids if _agree(form, first[name], second[name])}
    chosen = {
        field.name: [(first[i][field.name], second[i][field.name]) for i in ids]
        for field in form.fields
        if field.choices and field.name in form.compared
    }
    return Merge(
        agreed={name: _joined(form, first[name], second[name]) for name in ids if name in same},
        disputed={name: (first[name], second[name]) for name in ids if name not in same},
        agreement={
            name: sum(one == other for one, other in pairs) / len(pairs) if pairs else 0.0
            for name, pairs in chosen.items()
        },
        kappa={name: cohens_kappa(pairs) for name, pairs in chosen.items()},
    )


def _agree(form: Form, one: Row, other: Row) -> bool:
    return all(
        one[name] == other[name]
        # A capital or an accent is no disagreement about a value.
        or (bool(one[name] and other[name]) and same_value(one[name], other[name]))
        for name in form.compared
    )


def _joined(form: Form, one: Row, other: Row) -> dict[str, str]:
    """Return what both filled in; where remarks differ, both of them."""
    return {
        field.name: " / ".join(dict.fromkeys(v for v in (one[field.name], other[field.name]) if v))
        if field.name not in form.compared
        else one[field.name]
        for field in form.fields
    }


def cohens_kappa(pairs: Sequence[tuple[str, str]]) -> float | None:
    """Return (p_o - p_e) / (1 - p_e), with p_e from each rater's own margins (Cohen 1960).

    None if there are no pairs, and if chance agreement is 1.
    """
    if not pairs:
        return None
    first, second = (Counter(labels) for labels in zip(*pairs, strict=True))
    # In whole numbers, so that a chance agreement of exactly 1 is seen as such.
    total, chance = len(pairs) ** 2, sum(first[label] * second[label] for label in first)
    if chance == total:
        return None
    return (len(pairs) * sum(one == other for one, other in pairs) - chance) / (total - chance)


def adjudication_form(form: Form) -> Form:
    """Return the form for disputed rows: it shows what each annotator filled in."""
    seen = tuple(f"{field.name}_{who}" for who in ANNOTATORS for field in form.fields)
    # The same fields and rules as in the packet, so that a decision is checked like a filling.
    return Form(f"{form.name}_adjudication", (*form.shown, *seen), form.fields, form.compared,
                form.problem)  # fmt: skip


def adjudication_rows(form: Form, rows: Sequence[Row], merged: Merge) -> list[Row]:
    """Return the disputed rows with both fillings."""
    return [
        {
            **row,
            **{
                f"{field.name}_{who}": filled[field.name]
                for who, filled in zip(ANNOTATORS, merged.disputed[row["id"]], strict=True)
                for field in form.fields
            },
        }
        for row in sorted(rows, key=lambda row: natural_key(row["id"]))
        if row["id"] in merged.disputed
    ]


def write_adjudication(folder: Path, form: Form, rows: Sequence[Row], merged: Merge) -> Path:
    """Write the adjudication sheet as xlsx and csv, and return the path of the xlsx."""
    sheet, disputed = adjudication_form(form), adjudication_rows(form, rows, merged)
    return _write_both(folder / sheet.name, sheet, disputed)[0]


def read_adjudication(path: Path, form: Form, rows: Sequence[Row], merged: Merge) -> dict[str, Row]:
    """Return the decision on every disputed row, by id; raises as ``read_packet``."""
    return read_packet(path, adjudication_form(form), adjudication_rows(form, rows, merged))
