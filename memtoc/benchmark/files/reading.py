"""The one reader of people's files: what a file holds decides how it is read, not its name."""

from dataclasses import replace
from pathlib import Path

from memtoc.benchmark.files import delimited, objects, workbooks
from memtoc.benchmark.files.contents import contents, kind_of
from memtoc.benchmark.files.encodings import decode
from memtoc.benchmark.files.raw import Raw, Reading, Wanted
from memtoc.benchmark.files.table import Table, table_of


def read_table(path: Path, wanted: Wanted, reading: Reading) -> Table:
    """Return the table of a csv, JSON, xlsx or parquet file, gzipped or not.

    Raises UserError, naming the file and where there is one the line, for anything else and for
    what is larger than the bounds in raw.py and contents.py.
    """
    data, packed = contents(path)
    raw = _raw(data, path, wanted, reading)
    if packed:
        raw = replace(raw, notes=("unpacked by gzip", *raw.notes))
    return table_of(raw, path, wanted)


def _raw(data: bytes, path: Path, wanted: Wanted, reading: Reading) -> Raw:
    kind = kind_of(data, path)
    if kind == "xlsx":
        return workbooks.parse_xlsx(data, path, wanted)
    if kind == "parquet":
        return workbooks.parse_parquet(data, path, wanted)
    found = decode(data, path, reading)
    if found.text.lstrip()[:1] in ("[", "{"):
        raw = objects.parse(found.text, path, wanted)
    else:
        raw = delimited.parse(found.text, path, wanted, reading)
    said = found.note or (f"read as {found.encoding}" if found.encoding != "UTF-8" else "")
    notes = (said, *raw.notes) if said else raw.notes
    return replace(raw, notes=notes, facts={**raw.facts, "encoding": found.encoding})
