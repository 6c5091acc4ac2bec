"""The settings of an arm, as frozen dataclasses: one for each config group."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

from pydantic import Field

from harness.completions import Decoding
from harness.engines import AnyEngine
from harness.errors import UserError, one_of
from harness.fingerprint import COSMETIC
from harness.hashing import digest_of
from harness.models import ModelSpec
from harness.settings import need_parts, parse
from harness.tracking import TrackerSpec
from harness.validators import Filled, Name
from memtoc.scoring import DEFAULT_RULES, ScoringRules
from memtoc.sources import BenchmarkSpec

CONDITIONS = ("tool_right", "tool_wrong", "tool_wrong_far", "tool_error", "noop", "no_tool")
# The release lists one condition twice under two names; the prompts are byte-identical.
ALIASES = {"no_conflict": "tool_right"}
# What a release's own prompts have settled.
VERBATIM = ("layout", "clauses", "payload")
MOST_SHARDS = 9999

Section = Literal["note", "schema", "question", "return", "mitigation", "answer_line"]
Presents = Literal["tool", "passage"]
Heading = Literal["question", "schema", "return", "passage"]


@dataclass(frozen=True)
class Formulation:
    """One wording of every instruction; keys of ``closed_book`` are elicitations."""

    name: Name
    closed_book: Mapping[str, str]
    note: Mapping[Presents, str]
    no_recall: Mapping[Presents, str]
    judgement: Mapping[Presents, str]
    heading: Mapping[Heading, str]
    answer_line: str


@dataclass(frozen=True)
class Frame:
    """How the outside value is presented.

    ``value`` and ``noop`` are a text or a JSON object in whose strings {value} and {question} are
    replaced; ``has_error`` says whether this frame can show an error payload.
    """

    name: Name
    presents: Presents
    shows_schema: bool
    value: str | Mapping[str, Any]
    noop: str | Mapping[str, Any] | None
    has_error: bool


@dataclass(frozen=True)
class Mitigation:
    """What is done about the conflict: an instruction before the answer line, an adapter, both.

    ``adapter`` is the folder of a LoRA adapter that memory and answers are given with; its digest,
    and not where it lies, is part of the arm's identity.
    """

    name: Name
    instruction: str | None
    adapter: Annotated[Filled | None, COSMETIC] = None


@dataclass(frozen=True)
class Payload:
    """The structured error that ``tool_error`` returns."""

    name: Name
    error: Mapping[str, Any]


@dataclass(frozen=True)
class Elicitation:
    """How the memory is asked for: ``forced`` commits to a guess, ``open`` may say UNKNOWN."""

    name: Name


@dataclass(frozen=True)
class Layout:
    """The order of the prompt's sections."""

    name: Name
    sections: tuple[Section, ...]


@dataclass(frozen=True)
class Clauses:
    """Sentences of the note that are switches: the tool is not callable again; use judgement."""

    no_recall: bool
    judgement: bool


@dataclass(frozen=True)
class Report:
    """What a table shows: which matcher decides, and how much support a rate needs.

    An arm with more failed rows than ``max_error_rate``, or more empty ones than
    ``max_empty_rate`` (shares of its rows), fails.
    """

    matcher: Literal["boundary", "containment"]
    min_support: Annotated[int, Field(ge=0)]
    max_error_rate: Annotated[float, Field(ge=0, le=1)]
    # With a default, so that the configs of arms from before the key can still be read.
    max_empty_rate: Annotated[float, Field(ge=0, le=1)] = 0.5


@dataclass(frozen=True)
class Paths:
    """Folders of the runs, the memories and everything that can be made again."""

    runs: str
    memories: str
    cache: str


@dataclass(frozen=True)
class Shard:
    """The ``part``-th of ``parts`` of the questions, counted from 1, by a hash of their ids."""

    part: int
    parts: int

    def holds(self, question_id: str) -> bool:
        """Return whether a question is in it; each id is in exactly one part."""
        return int(digest_of(question_id)[:16], 16) % self.parts == self.part - 1

    def __str__(self) -> str:
        """Return it as the config writes it, e.g. 1/4."""
        return f"{self.part}/{self.parts}"


@dataclass(frozen=True)
class ArmSettings:
    """One arm: everything that gives its result a meaning, and how it is shown.

    Layout and clauses are None if the benchmark brings its own prompts, the payload if no condition
    shows it.
    """

    task: Literal["evaluate"]
    model: ModelSpec
    engine: AnyEngine
    benchmark: BenchmarkSpec
    formulation: Formulation
    frame: Frame
    layout: Layout | None
    clauses: Clauses | None
    mitigation: Mitigation
    payload: Payload | None
    elicitation: Elicitation
    decoding: Decoding
    conditions: tuple[str, ...]
    limit: int | None
    ids: tuple[str, ...] | None
    shard: Shard | None
    seed: Annotated[int, Field(ge=0)]
    dry_run: Annotated[bool, COSMETIC]
    report: Annotated[Report, COSMETIC]
    tracker: Annotated[TrackerSpec, COSMETIC]
    paths: Annotated[Paths, COSMETIC]
    # Cosmetic, since the scorer is a layer over an arm. Arms of before have no such section.
    scoring: Annotated[ScoringRules, COSMETIC] = DEFAULT_RULES


def arm_settings(config: Mapping[str, Any]) -> ArmSettings:
    """Validate a resolved config; each UserError names the key and a value that would do."""
    arm = parse(ArmSettings, {**config, "shard": _shard(config["shard"])})
    for name in arm.conditions:
        if name not in CONDITIONS:
            raise UserError(f"conditions: unknown condition '{name}': {one_of(CONDITIONS, name)}")
    if not arm.conditions:
        raise UserError(f"conditions is empty: name some of {', '.join(CONDITIONS)}")
    if arm.limit is not None and arm.limit < 1:
        raise UserError(f"limit={arm.limit}: give at least 1, or null for all questions")
    for name in ("runs", "memories", "cache"):
        if not getattr(arm.paths, name).strip():
            raise UserError(f"paths.{name} is empty: name a folder")
    if arm.ids is not None and not arm.ids:
        raise UserError("ids is empty: name some questions, or null for all")
    for name in ("layout", "clauses"):
        if getattr(arm, name) is None and arm.benchmark.source != "released":
            raise UserError(f"{name} has no value: a prompt needs it, leave it as it was")
    if arm.layout and sorted(arm.layout.sections) != sorted(get_args(Section)):
        raise UserError(f"layout.sections: name each of {', '.join(get_args(Section))} once")
    _check_wording(arm.formulation)
    if arm.elicitation.name not in arm.formulation.closed_book:
        raise UserError(
            f"elicitation '{arm.elicitation.name}' has no wording in formulation "
            f"'{arm.formulation.name}': {one_of(arm.formulation.closed_book, arm.elicitation.name)}"
        )
    return arm


def _check_wording(wording: Formulation) -> None:
    """Check that every frame finds its sentences: formulations differ in wording alone."""
    presents, headings = get_args(Presents), get_args(Heading)
    for name, keys in (
        ("note", presents),
        ("no_recall", presents),
        ("judgement", presents),
        ("heading", headings),
    ):
        absent = [key for key in keys if not getattr(wording, name).get(key)]
        if absent:
            raise UserError(f"formulation.{name}.{absent[0]} has no wording: write one")


def _plain_shard(given: Any) -> str | None:
    """Return the shard without leading zeros; None for one part of one."""
    shard = _shard(given)
    return None if shard in (None, {"part": 1, "parts": 1}) else "{part}/{parts}".format(**shard)


def _shard(given: Any) -> dict[str, int] | None:
    if given is None:
        return None
    found = re.fullmatch(r"([0-9]{1,4})/([0-9]{1,4})", str(given))
    if not found or not 1 <= int(found[1]) <= int(found[2]) <= MOST_SHARDS:
        raise UserError(f"shard={given}: write the part and the number of parts, as in shard=1/4")
    return {"part": int(found[1]), "parts": int(found[2])}


def canonical(config: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the one spelling of a config in which equal arms are equal, and notes on what is gone.

    Conditions come in canonical order, once each, without those that the frame cannot show. A
    payload that no condition shows becomes null, and so does what a release's own prompts leave no
    room for. Raises UserError for a setting that has no value.
    """
    need_parts(config, {"benchmark": ("source",), "frame": ("name",)})
    for name in ("conditions", "payload", "ids", "shard"):
        if name not in config:
            raise UserError(f"{name} has no value: set it, as in {name}=...")
    given = [ALIASES.get(name, name) for name in _texts(config["conditions"], "conditions")]
    impossible = _impossible(config["frame"])
    known = [name for name in CONDITIONS if name in given and name not in impossible]
    unknown = [name for name in given if name not in CONDITIONS]
    left_out = [name for name in CONDITIONS if name in given and name in impossible]
    notes = (
        [f"frame {config['frame']['name']} has no {', '.join(left_out)}: left out"]
        if left_out
        else []
    )
    ids, payload = config["ids"], config["payload"] if "tool_error" in known else None
    if payload is None and "tool_error" in known:
        raise UserError("payload has no value: tool_error shows it, as in payload=timeout")
    verbatim = dict.fromkeys(VERBATIM) if config["benchmark"]["source"] == "released" else {}
    return {
        **config,
        "payload": payload,
        **verbatim,
        "conditions": known + unknown,
        "ids": None if ids is None else sorted(set(_texts(ids, "ids"))),
        "shard": _plain_shard(config["shard"]),
    }, notes


def _texts(value: Any, key: str) -> list[str]:
    if not isinstance(value, list):
        example = "a,b" if value is None else value
        raise UserError(f"{key}={value} is not a list: write '{key}=[{example}]'")
    return [str(item) for item in value]


def _impossible(frame: Any) -> set[str]:
    """Return the conditions that a frame cannot show; ``arm_settings`` refuses other shapes."""
    if not isinstance(frame, Mapping):
        return set()
    names = set() if frame.get("has_error") else {"tool_error"}
    return names | (set() if frame.get("noop") is not None else {"noop"})
