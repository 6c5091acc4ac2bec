"""A table whose header is understood: known columns, filled rows, and what was left out."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import dropwhile, pairwise
from pathlib import Path

from harness.errors import UserError
from memtoc.benchmark.files.delimited import SEPARATORS
from memtoc.benchmark.files.quotes import places
from memtoc.benchmark.files.raw import MOST_COLUMNS, TITLES, Raw, Row, Wanted, header_at, shown

EMPTY, AGAIN, TITLE, RULE = "empty", "the header again", "above the header", "a rule of dashes"
# Of a markdown table.
_RULE = re.compile(r":?-{2,}:?|={2,}")
# What people call a column that counts the rows; it is left out only where it does.
_COUNTERS = ("index", "idx", "#", "no", "no.", "nr", "nr.", "n", "row")
_TYPOGRAPHIC = set("“”„«»")


@dataclass(frozen=True)
class Table:
    """Rows under a header that is understood.

    ``columns`` are the known names where one is known, ``kept`` the places of their cells in a
    row. ``left_out`` holds the numbers of the rows that are no rows of the table, by reason.
    """

    path: Path
    columns: tuple[str, ...]
    kept: tuple[int, ...]
    raw: Raw
    header: Row | None
    body: tuple[Row, ...]
    left_out: Mapping[str, Sequence[int]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def where(self, row: Row | None) -> str:
        """Return the file and place of a row, as in "my.csv row 5 (line 7)"; None is the header."""
        if row is None:
            # The keys of objects stand in no row of their own.
            number = self.header.number if self.header else 1
            return f"{self.path} row {number}" if number else str(self.path)
        line = f" (line {row.line})" if row.line not in (0, row.number) else ""
        return f"{self.path} {self.raw.unit} {row.number}{line}"

    @property
    def rows(self) -> Iterator[tuple[Row, dict[str, str]]]:
        """Yield each row with its cells by column; raises UserError for one of another width."""
        width = len(self.header.cells) if self.header else 0
        for row in self.body:
            cells = self._fitted(row, width)
            yield (
                row,
                {name: cells[place] for name, place in zip(self.columns, self.kept, strict=True)},
            )

    def _fitted(self, row: Row, width: int) -> Sequence[str]:
        cells = row.cells
        if len(cells) > width and not any(cell.strip() for cell in cells[width:]):
            return cells[:width]
        if len(cells) < width and not self.raw.ragged:
            return [*cells, *[""] * (width - len(cells))]
        if len(cells) != width:
            raise UserError(
                f"{self.where(row)}: {len(cells)} cells under {width} columns: {_mend(row, width)}"
            )
        return cells

    def summary(self, used: int) -> str:
        """Return how many rows were read, used and left out, for the person who gave the file."""
        read = len(self.body) + sum(map(len, self.left_out.values()))
        out = "".join(
            f", {len(numbers)} {reason} ({places(numbers, self.raw.unit)})"
            for reason, numbers in self.left_out.items()
        )
        return f"{self.path.name}: {read} row{'s' * (read != 1)} read, {used} used{out}"


def _mend(row: Row, width: int) -> str:
    if any("\n" in cell or "\r" in cell for cell in row.cells):
        return "a quote in it runs over a line break: mend its quotes"
    if len(row.cells) > width:
        if _TYPOGRAPHIC & set("".join(row.cells)):
            return 'typographic quotes hold no cell together: write straight ones (")'
        return 'put quotes (") round a cell that holds the separator'
    for word, sign in SEPARATORS.items():
        if len(row.cells) == 1 and width > 1 and row.cells[0].count(sign) == width - 1:
            return f"it has a {word} where the header has another separator: use one"
    return "mend the row: an empty cell needs its separator too"


def table_of(raw: Raw, path: Path, wanted: Wanted) -> Table:
    """Return a file's rows under its header, the first row that is not empty.

    Columns without a name are left out where they are empty or count the rows. Raises UserError
    for a column without a name that holds text, and for two that mean the same.
    """
    start = header_at([row.cells for row in raw.rows[:TITLES]], wanted)
    # Of more blank rows than a header is looked for in, the first filled one ends them.
    rows = dropwhile(lambda row: not _filled(row), raw.rows[start:])
    header = next(rows, None)
    if header is None:
        return Table(path, (), (), raw, None, ())
    if len(header.cells) > MOST_COLUMNS:
        raise UserError(f"{path} has {len(header.cells)} columns: give those that are needed")
    titles = [row.number for row in raw.rows[:start] if _filled(row)]
    left_out: dict[str, list[int]] = {TITLE: titles} if titles else {}
    body: list[Row] = []
    for row in rows:
        if not _filled(row):
            left_out.setdefault(EMPTY, []).append(row.number)
        elif row.cells == header.cells:
            left_out.setdefault(AGAIN, []).append(row.number)
        elif not body and all(_RULE.fullmatch(cell.strip() or "--") for cell in row.cells):
            left_out.setdefault(RULE, []).append(row.number)
        elif not set("".join(row.cells)) - {"\0", " "}:
            raise UserError(f"{path} row {row.number} holds NUL bytes: write the file anew")
        else:
            body.append(row)
    names, kept, notes = _columns(header, body, path, wanted)
    notes = [*raw.notes, *notes]
    return Table(path, names, kept, raw, header, tuple(body), left_out, tuple(notes))


def _filled(row: Row) -> bool:
    return any(cell.strip() for cell in row.cells)


def _columns(
    header: Row, body: Sequence[Row], path: Path, wanted: Wanted
) -> tuple[tuple[str, ...], tuple[int, ...], list[str]]:
    kept, blank, notes = [], [], []
    for place, cell in enumerate(header.cells):
        cells = [(row.number, row.cells[place].strip()) for row in body if place < len(row.cells)]
        name = shown(cell)
        known, unnamed = wanted.column(cell), not name or name.startswith(("Unnamed:", "__index_"))
        text = next(((number, text) for number, text in cells if text), None)
        if known or not (unnamed or name.casefold() in _COUNTERS):
            kept.append(place)
        elif text is None and unnamed:
            blank.append(place + 1)
        elif _counts([text for _, text in cells]):
            what = f"'{name}'" if name else "has no name and"
            notes.append(f"column {place + 1} {what} counts the rows: left out")
        elif unnamed and text:
            raise UserError(
                f"{path} row {header.number}: column {place + 1} has no name, but row {text[0]}"
                f" holds '{text[1][:40]}' in it: name the column or empty it"
            )
        else:
            kept.append(place)
    if blank:
        what = "1 column" if len(blank) == 1 else f"{len(blank)} columns"
        verb = "is" if len(blank) == 1 else "are"
        listed = ", ".join(map(str, blank))
        notes.append(f"{what} without name or text ({listed}) {verb} left out")
    names = [wanted.column(header.cells[place]) or shown(header.cells[place]) for place in kept]
    _check_once(names, [shown(header.cells[place]) for place in kept], path, header)
    renamed = [
        f"{shown(header.cells[place])} is taken as {name}"
        for name, place in zip(names, kept, strict=True)
        if shown(header.cells[place]).casefold() != name
    ]
    return tuple(names), tuple(kept), [*notes, *_joined(renamed)]


def _joined(renamed: Sequence[str]) -> list[str]:
    """Return one note: "gold is taken as answer, wrong as near"."""
    first, *others = renamed or [""]
    return (
        [", ".join([first, *(text.replace(" is taken", "", 1) for text in others)])]
        if first
        else []
    )


def _counts(texts: Sequence[str]) -> bool:
    """Return whether a column holds whole numbers that go up, as an index of pandas does."""
    if not texts or not all(text.isascii() and text.isdigit() and len(text) < 12 for text in texts):
        return False
    numbers = [int(text) for text in texts]
    return all(one < other for one, other in pairwise(numbers))


def _check_once(names: Sequence[str], spelled: Sequence[str], path: Path, header: Row) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if not twice:
        return
    said = [text for name, text in zip(names, spelled, strict=True) if name == twice[0]]
    where = f"{path} row {header.number}" if header.number else str(path)
    other = next((text for text in said if text.casefold() != twice[0]), None)
    if other is None:
        raise UserError(f"{where}: column '{twice[0]}' stands twice: rename or remove one")
    raise UserError(
        f"{where}: column '{other}' stands for {twice[0]}, which is there too: rename or remove one"
    )
