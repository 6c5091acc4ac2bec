"""A question with its verified answer, its wrong values and the tool that could answer it.

One row of a benchmark's ``questions.jsonl``::

    {"id": "q10-1", "question": "Who directed Alien?", "gold": "Ridley Scott",
     "near": "James Cameron", "far": "Georges Melies", "kind": "person",
     "family": "creator_role", "chain": "10", "fold": "A", "review": "pass",
     "source": "starter", "aliases": ["Sir Ridley Scott"],
     "tool": {"schema": {"name": "film_credits", "description": "...", "parameters": {...}},
              "arguments": {"title": "Alien", "role": "director"}, "source": "starter"}}
"""

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from harness.errors import UserError, one_of
from harness.hashing import digest_of
from harness.json_files import deeper_than, read_jsonl
from memtoc.scoring.match import match
from memtoc.scoring.rules import ScoringRules

KINDS = (
    "person", "date", "place", "year", "organization", "timezone", "other_string", "work", "number",
)  # fmt: skip
FAMILIES = ("genealogy", "free_form", "birth_death_date", "creator_role", "birth_death_place")
FOLDS = ("A", "B")
REVIEWS = ("pass", "repair", "exclude")

LINE_BREAKS = "\t\n\r"
MAX_LEVELS = 200  # of nesting in a field; Python's own recursion ends at 1000

# A dot would turn 10.1 into a float on the command line, a comma would split a list there.
MAX_CHARACTERS = 10_000  # of one text of a row
QUESTION_ID = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
REQUIRED = ("id", "question", "gold", "near", "kind", "family", "chain", "fold", "tool")


@dataclass(frozen=True)
class ToolCall:
    """A tool's JSON schema ({name, description, parameters}) and the call that gives the gold.

    ``source`` says where the schema comes from: the source benchmark itself, or made by us.
    """

    schema: Mapping[str, Any]
    arguments: Mapping[str, Any]
    source: str

    @property
    def name(self) -> str:
        """Return the function name that the schema declares."""
        return str(self.schema["name"])


@dataclass(frozen=True)
class Question:
    """A factual question; see the module's example row. ``far`` is None if none is known.

    ``prompts`` are those that a release brings, used word for word: formulation -> ``memory`` or a
    condition -> text; empty if an arm makes the prompts itself.
    """

    id: str
    text: str
    gold: str
    near: str
    far: str | None
    kind: str
    family: str
    chain: str
    fold: str
    tool: ToolCall
    review: str = "pass"
    source: str = ""
    aliases: tuple[str, ...] = ()
    prompts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Benchmark:
    """Questions in canonical order, and what their manifest records.

    ``digest`` identifies every field of every question; it is part of an arm's fingerprint.
    ``remarks`` are lines for the person who runs it, on how the file was read.
    """

    name: str
    questions: tuple[Question, ...]
    notes: Mapping[str, Any] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    @cached_property
    def digest(self) -> str:
        """Return the sha256 over all questions, independent of where the file lies."""
        return digest_of([to_row(question) for question in self.questions])


def to_row(question: Question) -> dict[str, Any]:
    """Return the JSON object of a question, as in the module's example; a release's prompts too."""
    row = asdict(question)
    row["question"] = row.pop("text")
    if not question.prompts:
        del row["prompts"]
    return row


def same_value(first: str, second: str) -> bool:
    """Return whether two values are one but for case, accents, punctuation and white space."""
    return _folded(first) == _folded(second)


def _folded(value: str) -> str:
    decomposed = unicodedata.normalize("NFKD", value).casefold()
    kept = "".join(c for c in decomposed if not unicodedata.combining(c))
    return " ".join(re.sub(r"[\W_]+", " ", kept).split()) or value


def question_from_row(row: Mapping[str, Any], where: str) -> Question:
    """Return a row as a question.

    Raises UserError for a field that is missing or does not fit; ``where`` (file and row) opens it.
    """
    for name in REQUIRED:
        if name not in row or row[name] in (None, ""):
            raise UserError(f"{where}: field '{name}' is missing: add it or remove the row")
    for name in ("id", "kind", "family", "chain", "fold"):
        _text(row, name, where)
    for name in ("question", "gold", "near"):
        _visible(row, name, where)
    for name, value in row.items():
        _check_content(name, value, where)
    return Question(
        id=row["id"],
        text=row["question"],
        gold=row["gold"],
        near=row["near"],
        far=_visible(row, "far", where) if row.get("far") is not None else None,
        kind=row["kind"],
        family=row["family"],
        chain=row["chain"],
        fold=row["fold"],
        tool=_tool_from_row(row["tool"], where),
        review=row.get("review", "pass"),
        source=_text(row, "source", where) if row.get("source") else "",
        aliases=_aliases(row, where),
    )


def _text(row: Mapping[str, Any], name: str, where: str) -> str:
    value = row[name]
    if not isinstance(value, str) or not value.strip():
        raise UserError(f"{where}: field '{name}' must be a non-empty text, not {value!r}")
    if len(value) > MAX_CHARACTERS:
        raise UserError(f"{where}: field '{name}' is over {MAX_CHARACTERS} characters: shorten it")
    return value


def _visible(row: Mapping[str, Any], name: str, where: str) -> str:
    """Return a text of one line that a person and a model see."""
    value = _text(row, name, where)
    check_visible(value, f"field '{name}'", where)
    return value


def check_visible(value: str, what: str, where: str, allowed: str = "") -> None:
    """Raise UserError for a control character outside of ``allowed``, and for invisible text.

    ``what`` names the text, as in "field 'gold'".
    """
    kinds = {unicodedata.category(character) for character in value if character not in allowed}
    if "Cc" in kinds:
        raise UserError(f"{where}: {what} holds a control character: mend {value[:40]!r}")
    if all(kind[0] in "CZ" for kind in kinds):
        raise UserError(f"{where}: {what} shows nothing: {value[:40]!r} is invisible")


def one_line(value: str, what: str, where: str) -> str:
    """Return the text with each tab or line break as a space, as a person and a model see it.

    For files of other shapes than ours. Raises UserError as ``check_visible`` does.
    """
    check_visible(value, what, where, allowed=LINE_BREAKS)
    folded = re.sub(rf" *[{LINE_BREAKS}][ {LINE_BREAKS}]*", " ", value)
    return value if folded == value else folded.strip()


def _aliases(row: Mapping[str, Any], where: str) -> tuple[str, ...]:
    values = row.get("aliases", [])
    if not isinstance(values, list | tuple) or not all(isinstance(v, str) and v for v in values):
        raise UserError(f"{where}: field 'aliases' must be a list of texts, not {values!r}")
    for value in values:
        check_visible(value, "field 'aliases'", where)
    return tuple(values)


def _check_content(name: str, value: Any, where: str) -> None:
    """Refuse what cannot be written or walked through later on."""
    if deeper_than(value, MAX_LEVELS - 1):
        raise UserError(
            f"{where}: field '{name}' is nested too deeply: at most {MAX_LEVELS} levels"
        )
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise UserError(
            f"{where}: field '{name}' holds half a character (a lone surrogate): mend the text"
        ) from error


def _tool_from_row(tool: Any, where: str) -> ToolCall:
    schema = tool.get("schema") if isinstance(tool, dict) else None
    if not (
        isinstance(schema, dict)
        and isinstance(schema.get("name"), str)
        and isinstance(schema.get("parameters"), dict)
        and isinstance(tool.get("arguments"), dict)
    ):
        raise UserError(
            f"{where}: field 'tool' must hold schema {{name, description, parameters}}"
            " and arguments {...}"
        )
    return ToolCall(schema, tool["arguments"], str(tool.get("source", "")))


def check_questions(questions: Sequence[Question], wheres: Iterable[str]) -> None:
    """Raise UserError for the first row that no arm could be run on honestly.

    Checked: id form and uniqueness, known kind, family, fold and review, wrong values that differ
    from the gold and from each other, and that there is any row at all.
    """
    seen: dict[str, str] = {}
    for question, where in zip(questions, wheres, strict=True):
        _check_names(question, where)
        if question.id in seen:
            raise UserError(f"{where}: id '{question.id}' stands already in {seen[question.id]}")
        seen[question.id] = where
        check_wrong_values(question.near, question.far, question.gold, question.aliases, where)


def _check_names(question: Question, where: str) -> None:
    if not QUESTION_ID.fullmatch(question.id):
        raise UserError(f"{where}: id {question.id!r} must be a letter, then letters, digits, - _")
    for name, valid in (("kind", KINDS), ("family", FAMILIES), ("fold", FOLDS)):
        given = getattr(question, name)
        if given not in valid:
            raise UserError(f"{where}: unknown {name} {given!r}: {one_of(valid, given)}")
    if question.review not in REVIEWS:
        raise UserError(f"{where}: unknown review {question.review!r}: use {', '.join(REVIEWS)}")


# A wrong value that is a bare surname is told from the gold by the other candidates of its row.
_FULL_NAMES = ScoringRules(surname=False)


def check_wrong_values(
    near: str | None,
    far: str | None,
    gold: str,
    aliases: Sequence[str],
    where: str,
    called: str = "gold",
) -> None:
    """Raise UserError for a wrong value that the scorer would take for the gold, or two alike.

    None is a value that is not there; ``called`` is the file's word for the gold.
    """
    given = [(name, value) for name, value in (("near", near), ("far", far)) if value is not None]
    for name, wrong in given:
        for right in (gold, *aliases):
            what = f"the {called}" if right == gold else f"the alias {right!r}"
            if same_value(wrong, right):
                raise UserError(f"{where}: {name} {wrong!r} equals {what}: give a wrong value")
            # Without the question: with it a benchmark took seconds to load, for the names of
            # countries are looked up in every language where it asks for one.
            if match("boundary", wrong, right, rules=_FULL_NAMES).matched:
                raise UserError(
                    f"{where}: {name} {wrong!r} is scored as {what}:"
                    " give a value that is no form of it"
                )
    if near is not None and far is not None and same_value(far, near):
        raise UserError(f"{where}: far {far!r} equals the near: give another value")


def load_rows(path: Path) -> tuple[Question, ...]:
    """Load a ``questions.jsonl`` of our own shape; raises UserError for the first wrong row."""
    rows = list(read_jsonl(path, missing="check benchmark.path"))
    if not rows:
        raise UserError(f"{path} holds no question: check benchmark.path")
    wheres = [f"{path} row {number}" for number, _ in rows]
    questions = tuple(
        question_from_row(row, where) for (_, row), where in zip(rows, wheres, strict=True)
    )
    check_questions(questions, wheres)
    return questions
