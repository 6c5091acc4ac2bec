"""Put drafts, wrong values, verdicts and folds together into a benchmark folder."""

import platform
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from harness.errors import UserError
from harness.files import write_json, write_jsonl
from memtoc.benchmark.drafts import Draft, SourceQuestion, WrongValues
from memtoc.benchmark.folds import Member, origin_of
from memtoc.construction.review import review_counts
from memtoc.questions import FOLDS, Benchmark, Question, check_questions, to_row
from memtoc.sources.schemas import call_for, check_call

QUESTIONS, MANIFEST = "questions.jsonl", "manifest.json"
# What the bytes of a build depend on: similarities, folds, schema checks and workbooks.
_LIBRARIES = ("rapidfuzz", "numpy", "scipy", "jsonschema", "openpyxl")


def assemble(
    drafts: Iterable[Draft],
    sources: Mapping[str, SourceQuestion],
    wrong: Mapping[str, WrongValues],
    authored: Mapping[str, tuple[str, str | None]],
) -> list[Question]:
    """Return the kept drafts as questions, all in fold A; near is empty if there is none yet.

    A question keeps its source's own tool; without one it gets the tool of its family and kind.
    Raises UserError for a draft that the distract stage has not seen.
    """
    questions = []
    for draft in drafts:
        if draft.dropped:
            continue
        if draft.id not in wrong:
            raise UserError(
                f"question '{draft.id}' has no row in distractors.jsonl: run the distract stage"
            )
        source = sources.get(draft.id)
        questions.append(_question(draft, source, wrong[draft.id], authored.get(draft.id)))
    return questions


def _question(
    draft: Draft,
    source: SourceQuestion | None,
    values: WrongValues,
    authored: tuple[str, str | None] | None,
) -> Question:
    near, far, branch = values.near, values.far, values.branch
    if authored is not None:
        near, far, branch = authored[0], authored[1] or far, "authored"
    # A kept value keeps the source's own word for its origin (wikidata, human ...), since folds are
    # balanced on who made the wrong value.
    if branch == "source" and source is not None:
        branch = source.source or branch
    # By its text a person or a work is other_string; its item on Wikidata tells them apart.
    kind = values.kind or draft.kind
    aliases = (*(source.aliases if source else ()), *values.gold_aliases)
    tool = source.tool if source is not None else None
    return Question(
        id=draft.id,
        text=draft.text,
        gold=draft.gold,
        near=near or "",
        far=far,
        kind=kind,
        family=draft.family,
        chain=draft.chain,
        # A question must have a fold to be valid; the fold stage draws the real one.
        fold=FOLDS[0],
        tool=tool or call_for(draft.text, draft.family, kind),
        source=branch,
        aliases=tuple(dict.fromkeys(aliases)),
    )


def fold_members(drafts: Iterable[Draft], questions: Sequence[Question]) -> list[Member]:
    """Return what the folds are balanced on, for each question that has a near value.

    Near-duplicate and linked groups bind their questions as chains do.
    """
    by_id = {question.id: question for question in questions}
    return [
        Member(
            id=draft.id,
            chain=draft.chain,
            kind=by_id[draft.id].kind,
            family=draft.family,
            origin=origin_of(by_id[draft.id].source),
            groups=tuple(
                f"{name} {group}"
                for name, group in (
                    ("duplicate", draft.duplicate_group),
                    ("linked", draft.linked_group),
                )
                if group
            ),
        )
        for draft in drafts
        # A question that waits for people is in no benchmark yet, and in no fold.
        if draft.id in by_id and by_id[draft.id].near.strip()
    ]


def finished(
    questions: Iterable[Question], folds: Mapping[str, str]
) -> tuple[list[Question], list[str]]:
    """Return the questions with a near value, each in its fold, and the ids of the others.

    Raises UserError for a question or a stored call that a loader would refuse.
    """
    questions = list(questions)
    done = [replace(q, fold=folds[q.id]) for q in questions if q.near.strip()]
    wheres = [f"question '{question.id}'" for question in done]
    check_questions(done, wheres)
    for question, where in zip(done, wheres, strict=True):
        check_call(question.tool, where)
    return done, [question.id for question in questions if not question.near.strip()]


def counts_of(questions: Sequence[Question]) -> dict[str, Any]:
    """Return the sizes, verdicts, far values and mixes that report and manifest state."""
    analysis = [question for question in questions if question.review != "exclude"]
    return {
        "questions": len(questions),
        **review_counts(questions),
        "analysis_set": len(analysis),
        "far": sum(question.far is not None for question in questions),
        "far_in_analysis_set": sum(question.far is not None for question in analysis),
        "chains": len({question.chain for question in questions}),
        "kind": _mix(question.kind for question in questions),
        "family": _mix(question.family for question in questions),
        "source": _mix(question.source for question in questions),
        "fold": dict(sorted(Counter(question.fold for question in questions).items())),
        "schema_source": _mix(question.tool.source for question in questions),
    }


def _mix(values: Iterable[str]) -> dict[str, int]:
    """Return counts, commonest first, ties by name."""
    return dict(sorted(Counter(values).items(), key=lambda item: (-item[1], item[0])))


def versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries that a build's bytes depend on."""
    major, minor, _ = platform.python_version_tuple()
    return {"python": f"{major}.{minor}"} | {name: version(name) for name in _LIBRARIES}


def write_benchmark(out: Path, benchmark: Benchmark) -> None:
    """Write questions.jsonl and manifest.json; equal benchmarks give equal bytes."""
    write_jsonl(out / QUESTIONS, (to_row(question) for question in benchmark.questions))
    write_json(
        out / MANIFEST,
        {"name": benchmark.name, "digest": benchmark.digest, **benchmark.notes},
    )
