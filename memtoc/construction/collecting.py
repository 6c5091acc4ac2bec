"""Send packets to two people, read them back, merge them, and adjudicate differences."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.errors import UserError
from memtoc.benchmark.sheets import Row, sheet_notes
from memtoc.construction.packets import (
    ANNOTATORS,
    Form,
    Merge,
    adjudication_form,
    merge,
    read_adjudication,
    read_packet,
    write_adjudication,
    write_packets,
)

PACKETS, RETURNED = "packets", "returned"


@dataclass(frozen=True)
class Collected:
    """The state of a pair of packets; ``waiting`` names what is owed, empty once all is done.

    ``notes`` say what was unusual in the files that came back.
    """

    sent: int
    waiting: str
    agreed: Mapping[str, Row]
    adjudicated: Mapping[str, Row]
    agreement: Mapping[str, float]
    kappa: Mapping[str, float | None]
    notes: tuple[str, ...] = ()

    @property
    def decided(self) -> dict[str, Row]:
        """Return all decisions, by id."""
        return {**self.agreed, **self.adjudicated}


def collect(folder: Path, form: Form, rows: Sequence[Row], seed: int) -> Collected:
    """Write packets to folder/packets and read what came back under their names in returned/.

    Rows on which two people differ go out as an adjudication sheet and come back the same way.
    Raises UserError for a packet that cannot be taken, see ``read_packet``.
    """
    if not rows:
        return Collected(0, "", {}, {}, {}, {})
    write_packets(folder / PACKETS, form, rows, seed)
    # Sheets come back in a folder of their own, since those in packets/ are written anew on each
    # run.
    paths = [_returned(folder, f"{form.name}_{who}") for who in ANNOTATORS]
    missing = [who for who, path in zip(ANNOTATORS, paths, strict=True) if path is None]
    if missing:
        names = ", ".join(f"{RETURNED}/{form.name}_{who}" for who in missing)
        return Collected(len(rows), f"{names} (xlsx or csv)", {}, {}, {}, {})
    back = [path for path in paths if path is not None]
    first, second = (read_packet(path, form, rows) for path in back)
    merged = merge(form, first, second)
    adjudicated, waiting = _adjudicated(folder, form, rows, merged)
    third = _returned(folder, adjudication_form(form).name) if merged.disputed else None
    sheets = [(path, form) for path in back] + [(third, adjudication_form(form))] * bool(third)
    notes = tuple(note for path, of in sheets if path for note in sheet_notes(path, of.columns))
    return Collected(
        len(rows), waiting, merged.agreed, adjudicated, merged.agreement, merged.kappa, notes
    )


def _adjudicated(
    folder: Path, form: Form, rows: Sequence[Row], merged: Merge
) -> tuple[dict[str, Row], str]:
    # Two people who agree throughout need no third.
    if not merged.disputed:
        return {}, ""
    write_adjudication(folder / PACKETS, form, rows, merged)
    name = adjudication_form(form).name
    path = _returned(folder, name)
    if path is None:
        return {}, f"{RETURNED}/{name} (xlsx or csv), {len(merged.disputed)} rows"
    return read_adjudication(path, form, rows, merged), ""


def _returned(folder: Path, name: str) -> Path | None:
    found = [folder / RETURNED / f"{name}{ending}" for ending in (".xlsx", ".csv")]
    there = [path for path in found if path.is_file()]
    # Which of the two was edited last cannot be told.
    if len(there) > 1:
        raise UserError(f"{there[0]} came back twice, as xlsx and csv: keep one of them")
    return there[0] if there else None
