"""A call in plain English, and back: a deterministic pair.

    Call the tool book_room with guests set to 2, name set to "Ann ""A"" Lee" and days set to a
    list of 2 items ("Monday"; "Tuesday").

``parse_request`` reads the text alone: no schema, no dialogue. Every value is written so that its
type can be read off: texts stand in quotes (a quote inside is doubled), whole numbers have no point
(1), others have (1.0), and lists and records say what they are. The text holds no JSON object or
list of its own.
"""

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from factored.taubench.tasks import MAX_DEPTH, Action

WORDS: Mapping[str, Any] = {"true": True, "false": False, "nothing": None}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_QUOTED = re.compile(r'"((?:[^"]|"")*)"')
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")
_WORD = re.compile(r"true|false|nothing")
_LIST = re.compile(r"a list of (\d+) items? \(")
START = "Call the tool "


class RequestError(ValueError):
    """A text that is not a request of this form; says where reading stopped."""


def render_request(action: Action) -> str:
    """Return the call in English. Raises RequestError for a number that is not finite."""
    pairs = _render_pairs(action.kwargs)
    return f"{START}{_render_name(action.name)}{f' with {pairs}' if pairs else ''}."


def parse_request(text: str) -> Action:
    """Return the call that ``render_request`` wrote as this text.

    Raises RequestError, with the place, for any other text.
    """
    reader = _Reader(text.strip())
    reader.expect(START)
    name = reader.name()
    arguments = reader.fields() if reader.take(" with ") else {}
    reader.expect(".")
    reader.end()
    return Action(name, arguments)


def _render_name(name: str) -> str:
    return name if _NAME.fullmatch(name) else _quoted(name)


def _quoted(text: str) -> str:
    doubled = text.replace('"', '""')
    return f'"{doubled}"'


def _render_pairs(fields: Mapping[str, Any]) -> str:
    pairs = [f"{_render_name(key)} set to {_render(value)}" for key, value in fields.items()]
    return " and ".join(part for part in (", ".join(pairs[:-1]), *pairs[-1:]) if part)


def _render(value: Any) -> str:
    if isinstance(value, str):
        return _quoted(value)
    if value is None or isinstance(value, bool):
        return next(word for word, meant in WORDS.items() if meant is value)
    if isinstance(value, dict):
        return f"a record ({_render_pairs(value)})" if value else "an empty record"
    if isinstance(value, list):
        items = "; ".join(_render(item) for item in value)
        plural = "" if len(value) == 1 else "s"
        return f"a list of {len(value)} item{plural} ({items})" if value else "an empty list"
    if not math.isfinite(value):
        raise RequestError(f"{value} cannot be said")
    return repr(value)


class _Reader:
    """Reads a text from left to right; ``at`` is where it stands."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.depth = 0

    def take(self, phrase: str) -> bool:
        """Go past a phrase if it stands here; return whether it did."""
        found = self.text.startswith(phrase, self.at)
        self.at += len(phrase) * found
        return found

    def expect(self, phrase: str) -> None:
        """Go past a phrase; raises RequestError where it does not stand here."""
        if not self.take(phrase):
            raise self.error(f"'{phrase}'")

    def end(self) -> None:
        """Raise RequestError where anything follows."""
        if self.at != len(self.text):
            raise self.error("the end")

    def error(self, wanted: str) -> RequestError:
        """Return an error that says what was wanted, and what stands here."""
        here = self.text[self.at : self.at + 30]
        return RequestError(f"character {self.at}: expected {wanted}, found {here!r}")

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Go past a pattern if it stands here; return the match."""
        found = pattern.match(self.text, self.at)
        self.at = found.end() if found else self.at
        return found

    def name(self) -> str:
        """Read a name, bare or in quotes."""
        if bare := self.match(_NAME):
            return bare[0]
        if quoted := self.match(_QUOTED):
            return quoted[1].replace('""', '"')
        raise self.error("a name")

    def fields(self) -> dict[str, Any]:
        """Read names set to values, as far as they go; a name may stand once."""
        fields: dict[str, Any] = {}
        while True:
            key = self.name()
            if key in fields:
                raise RequestError(f"{key!r} is set twice")
            self.expect(" set to ")
            fields[key] = self.value()
            if not (self.take(", ") or self.take(" and ")):
                return fields

    def value(self) -> Any:
        """Read a value of any type."""
        if quoted := self.match(_QUOTED):
            return quoted[1].replace('""', '"')
        if number := self.match(_NUMBER):
            digits = number[0]
            return int(digits) if re.fullmatch(r"-?\d+", digits) else float(digits)
        if word := self.match(_WORD):
            return WORDS[word[0]]
        if self.take("an empty list"):
            return []
        if self.take("an empty record"):
            return {}
        return self._nested()

    def _nested(self) -> Any:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.error(f"no more than {MAX_DEPTH} levels")
        value: Any
        if opening := self.match(_LIST):
            value = list(self._items())
            if len(value) != int(opening[1]):
                raise RequestError(f"a list of {opening[1]} items holds {len(value)}")
        elif self.take("a record ("):
            value = self.fields()
        else:
            raise self.error("a value")
        self.expect(")")
        self.depth -= 1
        return value

    def _items(self) -> Iterator[Any]:
        yield self.value()
        while self.take("; "):
            yield self.value()
