"""Bytes to text: by a byte order mark, as UTF-8, as the user says, or by a guess that is shown."""

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.errors import UserError
from harness.terminal import printable
from memtoc.benchmark.files.raw import Reading

# UTF-32 first: its mark begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32", "UTF-32"),
    (codecs.BOM_UTF32_BE, "utf-32", "UTF-32"),
    (codecs.BOM_UTF8, "utf-8-sig", "UTF-8"),
    (codecs.BOM_UTF16_LE, "utf-16", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16", "UTF-16"),
)
# Codecs that are guessed, with a malus: a rarer one must fit clearly better. What the programs of
# these names write that know no UTF-8: Windows, old Macs, Windows in Central Europe, DOS.
_GUESSED = {
    "cp1252": ("Windows-1252", 0.0),
    "mac_roman": ("Mac Roman", 0.0),
    "cp1250": ("Windows-1250", 0.5),
    "cp850": ("DOS code page 850", 0.5),
}
_OF_OTHER_SCRIPTS = (
    "cp1251", "koi8_r", "cp866", "gb18030", "big5", "shift_jis", "euc_jp", "cp949", "cp1253",
    "cp1255", "cp1256",
)  # fmt: skip
_COMMON = set("äöüßéèñçáíóêå")
_WESTERN = _COMMON | set("àâîôûëïøæœúùãõ")
_CENTRAL = set("ąćęłńśźżčďěňřšťůžőű")
_OPENING, _CLOSING, _SIGNS = "“„«‹", "”»›", "–—…€£§°ªº²³½¼·\u00a0¿¡™®©×±"


@dataclass(frozen=True)
class Decoded:
    """A file's text without byte order mark, its encoding's name, and a note on a guess if any."""

    text: str
    encoding: str
    note: str = ""


def decode(data: bytes, path: Path, reading: Reading) -> Decoded:
    """Return the text of a file; raises UserError, naming the line, for bytes that do not fit."""
    key = reading.setting("encoding")
    if reading.encoding is not None:
        return _as_given(data, path, reading.encoding, key)
    for mark, codec, name in _MARKS:
        if data.startswith(mark):
            return Decoded(_strict(data, path, codec, name).lstrip("\ufeff"), name)
    if (wide := _without_mark(data)) is not None:
        name = f"UTF-16 ({'little' if wide.endswith('le') else 'big'}-endian)"
        text = _strict(data, path, wide, name)
        # Every second byte is NUL, which no other encoding has: the guess needs no sample.
        return Decoded(text, "UTF-16", f"no byte order mark: guessed to be {name}")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        if reading.ours:
            raise UserError(f"{path} is not a UTF-8 csv ({error}): save it as one") from error
    else:
        return Decoded(text, "UTF-8", _worn(text))
    _check_unmixed(data, path, key)
    return _guess(data, path, key)


def _as_given(data: bytes, path: Path, encoding: str, key: str) -> Decoded:
    text = _strict(data, path, encoding, encoding, f"set another {key}" if key else "")
    return Decoded(text.lstrip("\ufeff"), encoding)


def _strict(data: bytes, path: Path, codec: str, name: str, remedy: str = "") -> str:
    try:
        return data.decode(codec)
    except UnicodeDecodeError as error:
        line = _lines_before(data[: error.start]) + 1
        what = remedy or "save it as UTF-8"
        raise UserError(f"{path} line {line} is not {name} ({error.reason}): {what}") from error


def _without_mark(data: bytes) -> str | None:
    """Return the codec of UTF-16 without a byte order mark, seen by where the NUL bytes are."""
    start = data[:4096]
    # Latin letters and separators are half NUL bytes; a stray NUL in another file is not.
    even, odd = start[::2].count(0), start[1::2].count(0)
    if min(even, odd) == 0 and max(even, odd) * 3 > len(start) > 3:
        return "utf-16-le" if odd else "utf-16-be"
    return None


def _lines(data: bytes) -> list[bytes]:
    return re.split(rb"\r\n|\r|\n", data)


def _lines_before(data: bytes) -> int:
    return len(_lines(data)) - 1


def _check_unmixed(data: bytes, path: Path, key: str) -> None:
    """Raise UserError where some lines are UTF-8 and others are not."""
    utf8, other = 0, 0
    for number, line in enumerate(_lines(data), start=1):
        if not line.isascii():
            try:
                line.decode("utf-8")
                utf8 = utf8 or number
            except UnicodeDecodeError:
                other = other or number
    if utf8:
        raise UserError(
            f"{path} line {other} is not UTF-8, and line {utf8} is: two encodings in one file:"
            f" write line {other} anew and save all as UTF-8{_or_set(key)}"
        )


def _guess(data: bytes, path: Path, key: str) -> Decoded:
    texts = {}
    for codec in _GUESSED:
        try:
            texts[codec] = data.decode(codec)
        except UnicodeDecodeError:
            continue
    if not texts or _no_latin(data):
        raise UserError(f"{path} is not UTF-8{_likely(data, key)}")
    # The library for this, charset-normalizer, goes by languages, which a few names in an English
    # file do not show: it took "Kurt Gödel" of a Mac for Windows ("Kurt Gšdel"), "café" for
    # Windows-1250. Where a capital or a sign stands inside a word says more.
    codec = max(texts, key=lambda name: _fit(texts[name]) - _GUESSED[name][1])
    name, text = _GUESSED[codec][0], texts[codec]
    line, word = next(_changed(text))
    note = f"not UTF-8: read as {name}, e.g. '{printable(word)}' (line {line})"
    other = "cp1252" if codec != "cp1252" else "mac_roman"
    remedy = f"set {key}, as in {key}={other}" if key else "save it as UTF-8"
    return Decoded(text, name, f"{note}; if that is wrong, {remedy}")


def _no_latin(data: bytes) -> bool:
    """Return whether most letters beyond ASCII stand in long runs, as in Cyrillic or Chinese."""
    runs = re.findall(rb"[\x80-\xff]+", data)
    long = sum(len(run) for run in runs if len(run) > 3)
    return long * 2 > sum(len(run) for run in runs)


def _likely(data: bytes, key: str) -> str:
    """Return how the bytes read in the encodings that fit, for a person to see which is right."""
    from charset_normalizer import from_bytes

    # Among all that it knows the library took Chinese for Korean and Russian for Thai; among these
    # the right one was within the first three of each of eleven short files.
    found = from_bytes(data[:100_000], cp_isolation=list(_OF_OTHER_SCRIPTS))
    read = [
        f"{match.encoding}: '{printable(next(_changed(str(match)), (0, ''))[1])[:16]}'"
        for match in list(found)[:3]
    ]
    if not read or not key:
        return ": save it as UTF-8" + _or_set(key)
    return (
        f"; its bytes read as {', '.join(read)}: save it as UTF-8, or set {key} to the one that"
        f" is right, as in {key}={found[0].encoding}"
    )


def _or_set(key: str) -> str:
    return f", or set {key}" if key else ""


def _changed(text: str) -> Iterator[tuple[int, str]]:
    """Yield line number and word of each word with a letter beyond ASCII."""
    for number, line in enumerate(re.split(r"\r\n|\r|\n", text), start=1):
        if line.isascii():
            continue
        for word in re.findall(r"[^\s,;|\t\"]*[^\x00-\x7f][^\s,;|\t\"]*", line):
            yield number, word


def _worn(text: str) -> str:
    """Return a note on a word that went through a wrong encoding before it was saved, if any."""
    for line, word in _changed(text) if "\u00c2" in text or "\u00c3" in text else ():
        try:
            meant = word.encode("cp1252").decode("utf-8")
        except UnicodeError:
            continue
        return (
            f"'{printable(word)}' (line {line}) seems to have been '{printable(meant)}' before the"
            " file was saved in two encodings: read as it is"
        )
    if "\ufffd" in text:
        line, word = next((line, word) for line, word in _changed(text) if "\ufffd" in word)
        return f"'{word}' (line {line}) lost a letter before the file was saved: read as it is"
    return ""


def _fit(text: str) -> float:
    """Return how well the signs beyond ASCII fit where they stand, of which more is better."""
    return sum(
        _fit_of(text[at - 1 : at], text[at], text[at + 1 : at + 2])
        for at in (found.start() for found in re.finditer(r"[^\x00-\x7f]", text[:200_000]))
    )


def _fit_of(before: str, sign: str, after: str) -> float:
    if sign.isalpha() and sign not in "ªº":
        return _fit_of_letter(before, sign)
    inside = before.isalpha() and after.isalpha()
    if sign in "’‘":
        # Of a Mac's "García" Windows makes "Garc’a"; an apostrophe has s or a capital behind it.
        return 0.9 if not inside or after in "sStTdD" or after.isupper() else -0.5
    if inside:
        return -2.0
    if sign in _OPENING or sign in _CLOSING:
        wrong = before.isalnum() if sign in _OPENING else after.isalnum()
        return -1.0 if wrong else 0.9
    return 0.5 if sign in _SIGNS else -1.0


def _fit_of_letter(before: str, sign: str) -> float:
    # A capital within a word, as in "MŸller", is no letter of it.
    if sign.isupper() and before.islower():
        return -2.0
    lower = sign.lower()
    known = 1.0 if lower in _COMMON else 0.8 if lower in _WESTERN else 0.0
    return known or (0.7 if lower in _CENTRAL else 0.1)
