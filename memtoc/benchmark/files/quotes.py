"""Quotes that do not do what their writer meant: left open, misplaced, typographic, over a row."""

import re
from collections.abc import Sequence
from pathlib import Path

from harness.errors import UserError
from memtoc.benchmark.files.raw import MOST_CHARACTERS, Row

_BREAK = re.compile(r"\r\n|\r|\n")
_OPENING, _CLOSING = "“„«‟”", "”“»"
_BEHIND_A_SPACE = re.compile(r" +\".*\"\s*", re.DOTALL)
LISTED = 5  # places in one note


def fault(lines: Sequence[str], sign: str, error: str, first: int) -> str:
    """Return the words for the csv module's error in a row, with the line where its quote opens.

    ``lines`` are the row's up to the one with the error, the first of them the file's line
    ``first``.
    """
    opened, closed = _open_quote("".join(lines), sign)
    last = first + len(lines) - 1
    if opened is None:
        words = f"a cell is longer than {MOST_CHARACTERS:,} characters: shorten it"
        return f"line {last}: {words}" if "limit" in error else f"line {last}: {error}: mend it"
    at = first + opened
    if "limit" in error:
        words = f"runs over {MOST_CHARACTERS:,} characters: close it"
        return f"line {at}: the quote that opens here {words}"
    if closed is None:
        return (
            f"line {at}: the quote that opens here is never closed: close it, or double it"
            ' ("") inside of a quoted cell'
        )
    words = f"line {at}: the quote that opens here closes in the midst of a cell"
    if first + closed != at:
        return f"{words} (line {first + closed}): close or remove it in its own line"
    if '\\"' in lines[closed]:
        return f'{words}: a quote in the text is written "" and not \\"'
    return f'{words}: double a quote that is part of the text ("")'


def _open_quote(text: str, sign: str) -> tuple[int | None, int | None]:
    """Return the line in which the last quote of a row opens, and that in which it closes wrongly.

    Lines count from 0. The csv module says neither; as in its strict mode a quote opens at the
    start of a cell alone, and behind a closing one only a separator or the row's end may stand.
    """
    opened, line, state = 0, 0, "start"
    # A line break of two signs is one.
    for char in _BREAK.sub("\n", text):
        if state == "closing" and char == '"':
            state = "quoted"  # a doubled quote
        elif state == "closing" and char not in (sign, "\n"):
            return opened, line
        elif state == "quoted":
            state = "closing" if char == '"' else "quoted"
        elif char == '"' and state == "start":
            opened, state = line, "quoted"
        else:
            state = "start" if char in (sign, "\n") else "plain"
        line += char == "\n"
    return (opened, None) if state == "quoted" else (None, None)


def check_swallowed(rows: Sequence[Row], width: int, sign: str, path: Path) -> None:
    """Raise UserError for a quoted cell over several lines of which each looks like a whole row.

    A stray quote makes one question of two: ``"A?,b,c`` in one line and ``D?",e,f`` in the next.
    """
    # In a file of "a,b" the comma of "Vienna, Austria" is no separator.
    spaced = any(cell[:1] == " " for row in rows for cell in row.cells[1:])
    separator = re.compile(re.escape(sign) + ("" if spaced or sign == "\t" else r"(?! )"))
    for row in rows[1:]:
        for place, cell in enumerate(row.cells):
            first, *others = _BREAK.split(cell)
            if not others or width < 2:
                continue
            after = len(row.cells) - place - 1
            counts = [place + 1 + len(separator.findall(first))]
            counts += [1 + len(separator.findall(part)) for part in others if part.strip()]
            counts[-1] += after
            if all(count == width for count in counts):
                opened = row.line + sum(len(_BREAK.findall(c)) for c in row.cells[:place])
                raise UserError(
                    f"{path} line {opened}: the quote that opens here swallows the next"
                    f" row{'s' * (len(others) > 1)} (it closes in line {opened + len(others)}):"
                    " remove or close it; if the text is meant so, write it in one line"
                )


def straightened(text: str, sign: str) -> str | None:
    """Return a text with straight quotes for the typographic or single ones round its cells.

    None where its cells stand in none: they do if the header or each further line does.
    """
    lines = [line.strip().strip(f" {sign}") for line in _BREAK.split(text)]
    header, *body = [line for line in lines if line] or [""]
    if not header or '"' in "".join([header, *body[:1]]):
        return None
    # A header in single quotes: 'question','answer'.
    single = header[0] == header[-1] == "'" and len(header) > 1
    opening, closing = ("'", "'") if single else (_OPENING, _CLOSING)
    wrapped = [line[0] in opening and line[-1] in closing for line in (header, *body)]
    if not wrapped[0] and not (body and all(wrapped[1:])):
        return None
    end = re.escape(sign)
    opened = re.sub(
        rf"(^|(?<=[\r\n])|{end}) ?[{opening}]", r'\1"', text.replace('"', '""'), flags=re.MULTILINE
    )
    return re.sub(rf"[{closing}](?= ?(?:{end}|[\r\n]|\Z))", '"', opened)


def odd_cells(rows: Sequence[Row]) -> list[str]:
    """Return notes on quotes that are kept as text: without a partner, and behind a space."""
    cells = [(row.number, cell) for row in rows[1:] for cell in row.cells if '"' in cell]
    alone = [number for number, cell in cells if cell.count('"') % 2]
    behind = [number for number, cell in cells if _BEHIND_A_SPACE.fullmatch(cell)]
    notes = []
    if alone:
        holds = "cell holds" if len(alone) == 1 else "cells hold"
        notes.append(
            f"{len(alone)} {holds} a quote without a partner ({places(alone)}): kept as text"
        )
    if behind:
        starts = "cell starts" if len(behind) == 1 else "cells start"
        notes.append(
            f"{len(behind)} {starts} with a space and a quote ({places(behind)}): the quotes are"
            " kept as text; without the space they are not"
        )
    return notes


def places(numbers: Sequence[int], unit: str = "row") -> str:
    """Return "row 3" or "rows 3, 4, ...", each number once."""
    once = list(dict.fromkeys(numbers))
    listed = ", ".join(str(number) for number in once[:LISTED])
    return f"{unit}{'s' * (len(once) > 1)} {listed}{', ...' if len(once) > LISTED else ''}"
