"""The publisher's episode files, whose prompts are used verbatim.

``benchmark/{reference,paraphrase_a,paraphrase_b}.json``, one file a formulation::

    {"summary": {"episodes": 2875},
     "episodes": [{"episode_id": "13_0_tool_wrong", "instance_id": 13, "hop_idx": 0,
                   "condition": "tool_wrong", "tau": "near", "family": "free_form",
                   "question": "...", "gold_answer": "Ann Wigmore",
                   "tool_output": "Sylvia Nasar", "tool_correct": false,
                   "tool_schema": {"name": "...", "description": "...", "parameters": {...}},
                   "prompts": {"closed_book": "...", "with_tool": "..."},
                   "distractor": "Sylvia Nasar", "provenance": {...}}]}
"""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness.errors import UserError, one_of
from harness.hashing import digest_of_file
from harness.json_files import read_json
from memtoc.benchmark.drafts import natural_key
from memtoc.benchmark.folds import Member, assign_folds, origin_of
from memtoc.benchmark.kinds import kind_of
from memtoc.questions import (
    FAMILIES,
    FOLDS,
    LINE_BREAKS,
    Benchmark,
    Question,
    check_questions,
    check_visible,
    one_line,
)
from memtoc.sources.schemas import call_for
from memtoc.sources.toolhop import tool_call

NAME = "released"

FILES = {
    "ref": "reference.json",
    "paraA": "paraphrase_a.json",
    "paraB": "paraphrase_b.json",
}
# no_conflict is the release's byte-identical twin of tool_right.
CONDITIONS = ("tool_right", "tool_wrong", "tool_wrong_far", "tool_error", "no_conflict", "noop")
_TEXTS = ("condition", "family", "question", "gold_answer")
_PROMPTS = ("closed_book", "with_tool")
# What the release holds fixed across formulations; only the wording around it may differ.
_FIXED = ("question", "gold", "family", "tool_output", "tool_correct", "tool_schema")


@dataclass(frozen=True)
class ReleasedEpisode:
    """One episode of one formulation.

    ``question_id`` is of the form q10-1. ``tool_output`` is the payload as the publisher stored it
    (a text or JSON), ``distractor`` and ``tau`` likewise.
    """

    episode_id: str
    question_id: str
    formulation: str
    condition: str
    family: str
    question: str
    gold: str
    tool_output: Any
    tool_correct: bool | None
    tool_schema: Mapping[str, Any]
    closed_book: str
    with_tool: str
    distractor: Any
    tau: Any
    provenance: Mapping[str, Any]


@dataclass(frozen=True)
class Release:
    """All episodes in file order, by formulation, and what was counted and digested."""

    episodes: tuple[ReleasedEpisode, ...]
    notes: Mapping[str, Any]


def load(folder: Path, formulations: Sequence[str] = tuple(FILES)) -> Release:
    """Load the episode files of the given formulations.

    ``notes`` counts the episodes, and those that some formulation lacks. Raises UserError, naming
    file, episode and field, for another shape, and for a question whose text, gold, schema or
    payload differs between formulations.
    """
    episodes: list[ReleasedEpisode] = []
    digests: dict[str, str] = {}
    for formulation in formulations:
        if formulation not in FILES:
            raise UserError(f"unknown formulation '{formulation}': {one_of(FILES, formulation)}")
        path = folder / FILES[formulation]
        episodes += _read(path, formulation)
        digests[FILES[formulation]] = digest_of_file(path)
    notes = {
        "episodes": dict(Counter(episode.formulation for episode in episodes)),
        "conditions": dict(sorted(Counter(episode.condition for episode in episodes).items())),
        "questions": len({episode.question_id for episode in episodes}),
        "not_in_all_formulations": _unmatched(episodes, len(formulations)),
        "sha256": digests,
    }
    return Release(tuple(episodes), notes)


def benchmark(release: Release) -> Benchmark:
    """Return the release's questions with its prompts, by formulation and condition, word for word.

    A question that lacks a near value, or a prompt for its memory in one of the formulations, is
    left out and counted. The files hold neither kind nor fold: the kind is read off the gold, the
    folds are drawn. Raises UserError for a question with two closed-book prompts.
    """
    by_id: dict[str, list[ReleasedEpisode]] = defaultdict(list)
    for episode in release.episodes:
        by_id[episode.question_id].append(episode)
    formulations = {episode.formulation for episode in release.episodes}
    asked = [_asked(by_id[name]) for name in sorted(by_id, key=natural_key)]
    whole = [q for q in asked if q is not None and set(q.prompts) == formulations]
    if not whole:
        raise UserError("no question has a tool_wrong episode in all formulations: check the files")
    members = [Member(q.id, q.chain, q.kind, q.family, origin_of(q.source)) for q in whole]
    # The files hold no folds; 0, so that the same release gives the same ones.
    folds = assign_folds(members, seed=0)
    questions = tuple(replace(question, fold=folds[question.id]) for question in whole)
    check_questions(questions, [f"question '{question.id}'" for question in questions])
    notes = {**release.notes, "kept": len(questions), "left_out": len(by_id) - len(questions)}
    return Benchmark(NAME, questions, notes)


def _asked(episodes: Sequence[ReleasedEpisode]) -> Question | None:
    """Return the question of some episodes; None if none of them returns a near value."""
    first, near = episodes[0], _wrong_value(episodes, "tool_wrong")
    if near is None:
        return None
    kind = kind_of(first.gold)
    tool, _ = tool_call(first.tool_schema, first.question, NAME)
    return Question(
        id=first.question_id,
        text=first.question,
        gold=first.gold,
        near=near,
        far=_wrong_value(episodes, "tool_wrong_far"),
        kind=kind,
        family=first.family,
        chain=first.question_id[1:].rsplit("-", 1)[0],
        fold=FOLDS[0],
        tool=tool or call_for(first.question, first.family, kind),
        source=NAME,
        prompts=_prompts(episodes),
    )


def _wrong_value(episodes: Sequence[ReleasedEpisode], condition: str) -> str | None:
    """Return what the tool says under a condition: the distractor, else a return that is a text."""
    given = [v for e in episodes if e.condition == condition for v in (e.distractor, e.tool_output)]
    found = next((value for value in given if isinstance(value, str) and value.strip()), None)
    where = f"question '{episodes[0].question_id}' under {condition}"
    return None if found is None else one_line(found, "the wrong value", where)


def _prompts(episodes: Sequence[ReleasedEpisode]) -> dict[str, dict[str, str]]:
    prompts: dict[str, dict[str, str]] = {}
    for episode in episodes:
        own = prompts.setdefault(episode.formulation, {"memory": episode.closed_book})
        if own["memory"] != episode.closed_book:
            raise UserError(
                f"{FILES[episode.formulation]} episode '{episode.episode_id}': field"
                " 'prompts.closed_book' differs from the question's other episodes"
            )
        # The twin stands in only where the condition itself is missing.
        if episode.condition == "no_conflict":
            own.setdefault("tool_right", episode.with_tool)
        else:
            own[episode.condition] = episode.with_tool
    return prompts


def _read(path: Path, formulation: str) -> list[ReleasedEpisode]:
    loaded = read_json(path, missing="check benchmark.path", broken="download it again")
    rows = loaded.get("episodes") if isinstance(loaded, dict) else None
    if not isinstance(rows, list) or not rows:
        raise UserError(
            f"{path}: 'episodes' must be a list with at least one: check benchmark.path"
        )
    if not isinstance(loaded.get("summary", {}), dict):
        raise UserError(f"{path}: 'summary' must be an object: download it again")
    episodes = [_episode(row, number, formulation, path) for number, row in enumerate(rows)]
    twice = [name for name, n in Counter(e.episode_id for e in episodes).items() if n > 1]
    if twice:
        raise UserError(f"{path}: episode_id '{twice[0]}' stands twice: remove one")
    return episodes


def _episode(row: Any, number: int, formulation: str, path: Path) -> ReleasedEpisode:
    if not isinstance(row, dict):
        raise UserError(f"{path} episode {number}: an object is needed, not {type(row).__name__}")
    where = f"{path} episode {row.get('episode_id', number)!r:.80}"
    name = _name(row, "episode_id", where)
    text = {field: _text(row.get(field), field, where) for field in _TEXTS}
    text = {field: one_line(value, f"field '{field}'", where) for field, value in text.items()}
    for field, valid in (("condition", CONDITIONS), ("family", FAMILIES)):
        if text[field] not in valid:
            hint = one_of(valid, text[field])
            raise UserError(f"{where}: field '{field}' is unknown ('{text[field]:.80}'): {hint}")
    prompts = _object(row, "prompts", where)
    prompt = {field: _text(prompts.get(field), f"prompts.{field}", where) for field in _PROMPTS}
    for field, value in prompt.items():
        check_visible(value, f"field 'prompts.{field}'", where, allowed=LINE_BREAKS)
    if "tool_output" not in row:
        raise UserError(f"{where}: field 'tool_output' is missing: download the file again")
    if row.get("tool_correct") not in (True, False, None):
        raise UserError(f"{where}: field 'tool_correct' must be true, false or null")
    return ReleasedEpisode(
        episode_id=name,
        question_id=f"q{_name(row, 'instance_id', where)}-{_name(row, 'hop_idx', where)}",
        formulation=formulation,
        condition=text["condition"],
        family=text["family"],
        question=text["question"],
        gold=text["gold_answer"],
        tool_output=row["tool_output"],
        tool_correct=row.get("tool_correct"),
        tool_schema=_schema(row, where),
        closed_book=prompt["closed_book"],
        with_tool=prompt["with_tool"],
        distractor=row.get("distractor"),
        tau=row.get("tau"),
        provenance=_object(row, "provenance", where) if row.get("provenance") else {},
    )


def _name(row: Mapping[str, Any], field: str, where: str) -> str:
    """Return a number or a short text, in a form that an id may have."""
    value = row.get(field)
    if isinstance(value, bool) or not isinstance(value, str | int) or not str(value).strip():
        raise UserError(f"{where}: field '{field}' must be a number or a text, not {value!r:.80}")
    # Ids of questions go on the command line, ids of episodes only into messages.
    return re.sub(r"[^A-Za-z0-9_-]", "_", str(value)) if field != "episode_id" else str(value)


def _text(value: Any, field: str, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise UserError(f"{where}: field '{field}' must be a non-empty text, not {value!r:.80}")
    return value


def _object(row: Mapping[str, Any], field: str, where: str) -> dict[str, Any]:
    value = row.get(field)
    if not isinstance(value, dict):
        raise UserError(f"{where}: field '{field}' must be an object, not {value!r:.80}")
    return value


def _schema(row: Mapping[str, Any], where: str) -> dict[str, Any]:
    schema = _object(row, "tool_schema", where)
    if not isinstance(schema.get("name"), str) or not isinstance(schema.get("parameters"), dict):
        raise UserError(f"{where}: field 'tool_schema' must hold a name and parameters")
    return schema


def _unmatched(episodes: Sequence[ReleasedEpisode], formulations: int) -> int:
    """Count the (question, condition) pairs that some formulation lacks; others must agree."""
    first: dict[tuple[str, str], ReleasedEpisode] = {}
    found: Counter[tuple[str, str]] = Counter()
    for episode in episodes:
        key = (episode.question_id, episode.condition)
        known = first.setdefault(key, episode)
        found[key] += 1
        for field in _FIXED:
            if getattr(known, field) != getattr(episode, field):
                raise UserError(
                    f"{FILES[episode.formulation]} episode '{episode.episode_id}': field '{field}'"
                    f" differs from {FILES[known.formulation]}: download the files again"
                )
    return sum(count < formulations for count in found.values())
