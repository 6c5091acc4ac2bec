"""What a comparison finds: counts by kind, and every difference with what it comes from."""

import ast
import dataclasses
import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from factored.taubench.failures import is_failure

Kind = Literal["observations", "done", "hashes", "rewards"]
KINDS: tuple[Kind, ...] = ("observations", "done", "hashes", "rewards")
Cause = Literal["environment", "tool_failure", "cut_answer", "rewritten_answer", "other_reward"]
# What lies in the recording, so that the environment is not at fault.
EXPLAINED: Mapping[Cause, str] = {
    "tool_failure": "tool failures that were put into the recording",
    "cut_answer": "answers that the recording cuts short",
    "rewritten_answer": "answers with the same content, written down in another way",
    "other_reward": "rewards other than 0 and 1, of another grader",
}
MAX_LINES = 20
MAX_SHOWN = 160  # characters of a value in a line
MAX_STORED = 2_000  # characters of a value in a file
MAX_DEPTH = 64  # levels of an answer that are compared
NOTHING = "(nothing)"

_CUT = re.compile(
    r"(?:\s|\.{3}|…|[\[(<]*(?:truncated|cut off|omitted)[^\n]{0,40})+\Z", re.IGNORECASE
)


class Field(NamedTuple):
    """The first place where two values differ: its path, as in ``items[0].price``, and both."""

    path: str
    ours: Any
    recorded: Any


@dataclass(frozen=True)
class Difference:
    """Two values that differ; ``at`` holds record, task_id, trial and message where there are any.

    ``call`` and ``field`` say at which tool and which place of its answer, or of the data, the two
    part; ``first`` says in words what the difference comes from, where that is known.
    """

    where: str
    kind: Kind
    cause: Cause
    recorded: Any
    ours: Any
    call: str | None = None
    field: str | None = None
    first: str = ""
    at: Mapping[str, int | None] = dataclasses.field(default_factory=dict)

    def as_row(self) -> dict[str, Any]:
        """Return the difference as it stands in files; long texts from where they part."""
        recorded, ours, parted = _from_parting(self.recorded, self.ours)
        return {
            "where": self.where,
            **self.at,
            "kind": self.kind,
            "cause": self.cause,
            "call": self.call,
            "field": self.field,
            "first": self.first,
            "from_character": parted,
            "recorded": _stored(recorded),
            "ours": _stored(ours),
        }

    def line(self) -> str:
        """Return the difference on one line; two texts from shortly before they part."""
        recorded, ours, parted = _from_parting(self.recorded, self.ours)
        place = f" from character {parted}" if parted is not None else ""
        found = f"recorded {shown(ascii(recorded))}, ours {shown(ascii(ours))}"
        named = ", ".join(part for part in (self.call, self.field, self.first) if part)
        comes = f" ({shown(named)})" if named else ""
        return f"{self.where}: {self.kind}: differ{place}: {found}{comes}"


@dataclass
class Comparison:
    """Counts of equal and of all values by kind, and the differences."""

    equal: dict[Kind, int] = dataclasses.field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    total: dict[Kind, int] = dataclasses.field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    found: list[Difference] = dataclasses.field(default_factory=list)

    def check(self, difference: Difference) -> None:
        """Count one pair of values, kept if they differ; 1 and 1.0 do."""
        ours, recorded = difference.ours, difference.recorded
        if ours == recorded and type(ours) is type(recorded):
            self.total[difference.kind] += 1
            self.equal[difference.kind] += 1
        else:
            self.keep(difference)

    def keep(self, difference: Difference) -> None:
        """Count and keep a difference."""
        self.total[difference.kind] += 1
        self.found.append(difference)

    def add(self, other: "Comparison") -> None:
        """Add another comparison's counts and differences."""
        for kind in KINDS:
            self.equal[kind] += other.equal[kind]
            self.total[kind] += other.total[kind]
        self.found.extend(other.found)

    @property
    def differences(self) -> int:
        """How many values differ, for whatever reason."""
        return len(self.found)

    @property
    def faults(self) -> list[Difference]:
        """The differences that nothing in the recording explains."""
        return [one for one in self.found if one.cause == "environment"]

    @property
    def lines(self) -> list[str]:
        """The first MAX_LINES faults, to read."""
        return [one.line() for one in self.faults[:MAX_LINES]]

    def explained(self, kind: Kind | None = None) -> dict[Cause, int]:
        """Count the other differences by cause, of one kind or of all."""
        causes = Counter(one.cause for one in self.found if kind in (None, one.kind))
        return {cause: causes[cause] for cause in EXPLAINED if causes[cause]}

    def as_row(self) -> dict[str, dict[str, Any]]:
        """Return {"observations": {"equal": n, "total": n}, "done": ..., "hashes": ..., ...}.

        A kind also has ``explained``, numbers by cause, where the recording explains differences.
        """
        row: dict[str, dict[str, Any]] = {}
        for kind in KINDS:
            row[kind] = {"equal": self.equal[kind], "total": self.total[kind]}
            if explained := self.explained(kind):
                row[kind]["explained"] = explained
        return row


def first_difference(ours: Any, recorded: Any, path: str = "", depth: int = 0) -> Field | None:
    """Return the first place where two JSON values differ, keys' order included; None if none."""
    if type(ours) is not type(recorded) or depth == MAX_DEPTH:
        return Field(path, ours, recorded)
    found, whole = None, Field(path, ours, recorded)
    if isinstance(ours, dict):
        for key in dict.fromkeys((*recorded, *ours)):
            values = ours.get(key, NOTHING), recorded.get(key, NOTHING)
            inner = f"{path}.{key}" if path else str(key)
            found = found or first_difference(*values, inner, depth + 1)
        ours, recorded = list(ours), list(recorded)
        whole = Field(f"{path} (order of keys)".strip(), ours, recorded)
    elif isinstance(ours, list):
        for index, values in enumerate(zip(ours, recorded, strict=False)):
            found = found or first_difference(*values, f"{path}[{index}]", depth + 1)
        ours, recorded = len(ours), len(recorded)
        whole = Field(f"{path} (number of entries)".strip(), ours, recorded)
    return found or (None if ours == recorded else whole)


def answer_field(ours: str | None, recorded: str | None) -> str | None:
    """Return the path at which two answers part, where both are JSON objects or lists."""
    values = [_content(text) for text in (ours, recorded)]
    if not all(isinstance(value, dict | list) for value in values):
        return None
    found = first_difference(*values)
    return found.path if found else None


def answer_cause(ours: str | None, recorded: str | None) -> Cause:
    """Return what the difference between a tool's answer and the recorded one comes from."""
    if ours is None or recorded is None:
        return "environment"
    if is_failure(recorded) and not _is_record(ours, recorded):
        return "tool_failure"
    content = _content(ours)
    known = isinstance(content, dict | list)
    if ours.strip() == recorded.strip() or (known and _same(content, _content(recorded))):
        return "rewritten_answer"
    begun = _CUT.sub("", recorded)
    marked = begun != recorded or (known and _content(recorded) is None)
    return "cut_answer" if begun and marked and ours.startswith(begun) else "environment"


def _content(text: str | None) -> Any:
    """Return what a text holds as JSON, or as a Python literal that a recorder wrote; else None."""
    for read in (json.loads, ast.literal_eval):
        try:
            return read(text or "")
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            continue
    return None


def _same(ours: Any, recorded: Any) -> bool:
    return first_difference(ours, recorded) is None


def _is_record(ours: str, recorded: str) -> bool:
    """Return whether the recorded answer is a list or has our record's keys, whatever it says."""
    mine, theirs = _content(ours), _content(recorded)
    if isinstance(mine, dict) and isinstance(theirs, dict):
        return 2 * len({*mine} & {*theirs}) > len(mine)
    return isinstance(theirs, list)


def _from_parting(recorded: Any, ours: Any) -> tuple[Any, Any, int | None]:
    """Return two texts from shortly before they part, and where they do; other values as given."""
    if not (isinstance(ours, str) and isinstance(recorded, str)):
        return recorded, ours, None
    pairs = enumerate(zip(ours, recorded, strict=False))
    parted = next((i for i, (a, b) in pairs if a != b), min(len(ours), len(recorded)))
    start = max(0, parted - MAX_SHOWN // 4)
    return recorded[start:], ours[start:], parted


def _stored(value: Any) -> Any:
    if value is None or isinstance(value, bool | int):
        return value
    return shown(value if isinstance(value, str) else ascii(value), MAX_STORED)


def shown(text: str, length: int = MAX_SHOWN) -> str:
    """Return a text cut at a number of characters."""
    return text if len(text) <= length else f"{text[:length]}..."
