"""A file's bytes, bounded and unpacked, and what kind of table they are by their first ones."""

import gzip
import io
import re
import zipfile
import zlib
from pathlib import Path
from typing import Literal

from harness.errors import UserError

# Outside data: bounded before it is parsed, and again as it unpacks.
MOST_BYTES = 256 * 2**20
Kind = Literal["text", "xlsx", "parquet"]
# What stands at the start of files that are no table of ours, and what to do about each.
_OTHERS = {
    b"\xd0\xcf\x11\xe0": "an old or a locked workbook: save it as xlsx or csv",
    b"%PDF": "a PDF: give the table that it was made of",
    b"SQLite format 3\0": "an SQLite database: export the table as csv",
    b"version https://git-lfs": "a Git LFS pointer, not the file: run git lfs pull",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive: unpack it and give the file",
    b"BZh": "packed with bzip2: unpack it and give the file",
    b"\xfd7zXZ": "packed with xz: unpack it and give the file",
    b"\x28\xb5\x2f\xfd": "packed with zstd: unpack it and give the file",
    b"\x80\x04\x95": "a pickle, which is never read: save it as csv, JSON or parquet",
    b"\x80\x05\x95": "a pickle, which is never read: save it as csv, JSON or parquet",
    b"ARROW1": "a feather file: save it as parquet or csv",
    b"{\\rtf": "a text document: save it as csv",
}


def contents(path: Path) -> tuple[bytes, bool]:
    """Return a file's bytes, unpacked where it is a gzip file, and whether it was one.

    Raises UserError for a file that cannot be read, is too large, or is a damaged gzip file.
    """
    try:
        if path.stat().st_size > MOST_BYTES:
            raise UserError(f"{path} is larger than {_shown(MOST_BYTES)}: give a part of it")
        data = path.read_bytes()
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}: check the path") from error
    if not data.startswith(b"\x1f\x8b"):
        return data, False
    try:
        with gzip.open(io.BytesIO(data)) as packed:
            unpacked = packed.read(MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"{path} is a damaged gzip file ({error}): pack it again") from error
    if len(unpacked) > MOST_BYTES:
        raise UserError(f"{path} unpacks to more than {_shown(MOST_BYTES)}: give a part of it")
    if unpacked.startswith(b"\x1f\x8b"):
        raise UserError(f"{path} is packed by gzip twice: unpack it once")
    return unpacked, True


def kind_of(data: bytes, path: Path) -> Kind:
    """Return what the bytes are; raises UserError for what holds no table that is read here."""
    if data.startswith(b"PAR1"):
        return "parquet"
    if data.startswith(b"PK\x03\x04"):
        _check_workbook(data, path)
        return "xlsx"
    start = data[:64].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    for magic, words in _OTHERS.items():
        if data.startswith(magic) or start.startswith(magic):
            raise UserError(f"{path} is {words}")
    # No header of a csv starts like a tag.
    if re.match(rb"<[!?a-z]", start):
        raise UserError(f"{path} is a web page or XML: fetch the table itself, or save it as csv")
    return "text"


def _check_workbook(data: bytes, path: Path) -> None:
    """Raise UserError for a zip file that is no workbook, or unpacks to too much."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            # zipfile gives no more of a member than is declared here.
            size = sum(member.file_size for member in archive.infolist())
            names = set(archive.namelist())
            mimetype = archive.read("mimetype")[:80] if "mimetype" in names else b""
    except (zipfile.BadZipFile, OSError, RuntimeError, ValueError, zlib.error) as error:
        raise UserError(f"{path} is not an xlsx workbook ({error}): save it as one") from error
    if size > MOST_BYTES:
        raise UserError(f"{path} unpacks to more than {_shown(MOST_BYTES)}: give a part of it")
    if b"opendocument" in mimetype or "Index/Document.iwa" in names:
        raise UserError(f"{path} is a workbook of another program: save it as xlsx or csv")
    if not any(name.lower() == "xl/workbook.xml" for name in names):
        listed = ", ".join(sorted(names)[:3])
        raise UserError(f"{path} is a zip archive ({listed}): unpack it and give the file")


def _shown(size: int) -> str:
    return f"{size >> 20} MB" if size >> 20 else f"{size} bytes"
