"""The stages of a build: each reads the file of the one before and leaves its own in one folder.

read -> screen -> distract -> author -> check -> review -> fold -> write. A person can stop after
any of them, edit its file by hand, and continue. Every stage returns the counts that build.py
prints.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from harness.errors import UserError
from harness.files import write_atomic, write_json
from memtoc.benchmark.drafts import Draft, SourceQuestion, Verdict, WrongValues, natural_key
from memtoc.benchmark.folds import assign_folds, crossings, imbalance, load_folds
from memtoc.benchmark.kinds import TEMPORAL
from memtoc.benchmark.sheets import write_csv
from memtoc.construction import tables
from memtoc.construction.aliases import alias_counts
from memtoc.construction.assembly import (
    assemble,
    counts_of,
    finished,
    fold_members,
    versions,
    write_benchmark,
)
from memtoc.construction.checks import Report, as_json, as_markdown, check, counted
from memtoc.construction.collecting import Collected, collect
from memtoc.construction.entities import entity_distractors, with_aliases
from memtoc.construction.forms import AUTHORING, REVIEW, authoring_rows, review_rows
from memtoc.construction.review import read_overlay, reviewed, verdicts, write_overlay
from memtoc.construction.screening import screen
from memtoc.construction.temporal import temporal_pair
from memtoc.construction.wikidata import Wikidata
from memtoc.questions import Benchmark, Question

# The branch of a wrong value that the source brought and the build kept.
_KEPT_SOURCE = "source"
# Kinds whose wrong values are never sought in Wikidata, and those that are no entities at all.
_UNSOUGHT = ("number", "work")
_NO_ENTITIES = (*TEMPORAL, *_UNSOUGHT)
# Works have other names; numbers and dates have other notations, which the scorer reads.
_NO_NAMES = (*TEMPORAL, "number")
# What every stage after authoring reads to put the questions together.
_READ = (tables.SOURCE, tables.SCREENED, tables.DISTRACTORS, tables.AUTHORED)


def source_questions(benchmark: Benchmark) -> list[SourceQuestion]:
    """Return a benchmark's questions as a source, with their values, folds and tools."""
    return [
        SourceQuestion(
            chain=question.chain,
            hop=hop,
            text=question.text,
            gold=question.gold,
            name=question.id,
            kind=question.kind,
            family=question.family,
            near=question.near,
            far=question.far,
            fold=question.fold,
            source=question.source,
            aliases=question.aliases,
            tool=question.tool,
        )
        for hop, question in _ranked(benchmark.questions)
    ]


def _ranked(questions: Iterable[Question]) -> Iterable[tuple[int, Question]]:
    """Yield each question with its place in its chain, independent of the order of the rows."""
    seen: Counter[str] = Counter()
    for question in sorted(questions, key=lambda question: natural_key(question.id)):
        yield seen[question.chain], question
        seen[question.chain] += 1


def source_verdicts(benchmark: Benchmark) -> dict[str, Verdict]:
    """Return the reviews of a benchmark's questions; a repaired near value stays so."""
    return {
        question.id: Verdict(
            question.review,
            question.near if question.review == "repair" else "",
            decided_by="source",
        )
        for question in benchmark.questions
    }


def read_stage(
    folder: Path,
    name: str,
    questions: Iterable[SourceQuestion],
    notes: Mapping[str, Any],
    review: Mapping[str, Verdict] | None = None,
) -> dict[str, Any]:
    """Write source.jsonl, and review.csv if the source brings verdicts of its own."""
    questions = list(questions)
    tables.keep_edits(folder, tables.SOURCE)
    wrote = [tables.SOURCE]
    if review is not None:
        tables.keep_edits(folder, tables.REVIEWED)
        write_overlay(folder / tables.REVIEWED, review)
        wrote.append(tables.REVIEWED)
    tables.write_source(folder, questions)
    facts = {"name": name, "questions": len(questions), "notes": dict(notes)}
    tables.record(folder, "read", facts, wrote=wrote)
    return {"questions": len(questions)}


def screen_stage(folder: Path) -> dict[str, int]:
    """Write screened.csv; returns how many questions were kept, and dropped for which reason."""
    # Before the work, so that a hand-made file is refused at once and not after it.
    tables.keep_edits(folder, tables.SCREENED)
    drafts = screen(tables.read_source(folder))
    tables.write_screened(folder, drafts)
    counts = Counter(draft.dropped or "kept" for draft in drafts)
    ordered = {name: counts[name] for name in ("kept", *sorted(set(counts) - {"kept"}))}
    tables.record(folder, "screen", {"counts": ordered}, [tables.SOURCE], [tables.SCREENED])
    return ordered


@dataclass(frozen=True)
class DistractSettings:
    """How wrong values are drawn.

    ``last_year`` is the last year before the future. ``redraw_temporal`` draws dates, years and
    time zones from the seed even if the source brings wrong values of its own. ``aliases`` is for
    which golds Wikidata is asked for other names: those whose wrong values are ``sought`` there, or
    ``all`` but dates, time zones and numbers.
    """

    seed: int
    last_year: int
    redraw_temporal: bool = True
    aliases: Literal["sought", "all"] = "sought"


def distract_stage(
    folder: Path,
    settings: DistractSettings,
    wikidata: Wikidata | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, int]:
    """Write distractors.jsonl; returns counts by branch, and by reason where near is open.

    Without a Wikidata client, entities that the source brings no value for go to people.
    """
    tables.keep_edits(folder, tables.DISTRACTORS)
    sources = {question.id: question for question in tables.read_source(folder)}
    kept = [draft for draft in tables.read_screened(folder) if not draft.dropped]
    wrong = []
    for number, draft in enumerate(kept):
        if progress is not None:
            progress(number, len(kept))
        values = _wrong_values(draft, sources.get(draft.id), settings, wikidata)
        if wikidata is not None and _lacks_names(draft, values, settings):
            values = with_aliases(wikidata, draft, values)
        wrong.append(values)
    tables.write_distractors(folder, wrong)
    counts = Counter(values.unresolved or values.branch for values in wrong)
    counts["far"] = sum(values.far is not None for values in wrong)
    counts.update(alias_counts(wrong))
    facts = asdict(settings) | {"counts": dict(sorted(counts.items()))}
    reads = [tables.SOURCE, tables.SCREENED]
    tables.record(folder, "distract", facts, reads, [tables.DISTRACTORS])
    return dict(sorted(counts.items()))


def needs_wikidata(folder: Path, aliases: Literal["sought", "all"] = "sought") -> int:
    """Return how many kept questions Wikidata could give a near value for, or other names."""
    given = {question.id for question in tables.read_source(folder) if question.near is not None}
    drafts = [draft for draft in tables.read_screened(folder) if not draft.dropped]
    if aliases == "all":
        return sum(draft.kind not in _NO_NAMES for draft in drafts)
    return sum(draft.kind not in _NO_ENTITIES and draft.id not in given for draft in drafts)


def _lacks_names(draft: Draft, values: WrongValues, settings: DistractSettings) -> bool:
    wanted = settings.aliases == "all" and draft.kind not in _NO_NAMES
    return wanted and "aliases" not in values.provenance


def _wrong_values(
    draft: Draft,
    source: SourceQuestion | None,
    settings: DistractSettings,
    wikidata: Wikidata | None,
) -> WrongValues:
    # Temporal values are drawn anew even over given ones, unless asked not to: the seed then
    # decides all of them alike.
    given = source is not None and source.near is not None
    if draft.kind in TEMPORAL and not (given and not settings.redraw_temporal):
        pair = temporal_pair(draft.gold, draft.kind, settings.seed, draft.id, settings.last_year)
        if pair.near is None:
            # A gold after last_year may have no near value that is not in the future.
            return WrongValues(draft.id, None, pair.far, "authored", "no_date_left")
        return WrongValues(draft.id, pair.near, pair.far, "temporal",
                           alternatives=draft.other_golds)  # fmt: skip
    if source is not None and source.near is not None:
        return WrongValues(draft.id, source.near, source.far, _KEPT_SOURCE,
                           alternatives=draft.other_golds)  # fmt: skip
    if wikidata is None or draft.kind in _UNSOUGHT:
        reason = f"kind_{draft.kind}" if draft.kind in _UNSOUGHT else "no_wikidata"
        return WrongValues(draft.id, None, None, "authored", reason)
    values, kind = entity_distractors(wikidata, draft, settings.seed)
    # Golds that differ for one text are valid answers too, and are never offered as wrong ones.
    alternatives = dict.fromkeys((*values.alternatives, *draft.other_golds))
    return replace(values, kind=kind, alternatives=tuple(alternatives))


def author_stage(folder: Path, seed: int) -> Collected:
    """Send packets for what no generator found; write authored.csv with what is decided."""
    rows = authoring_rows(tables.read_screened(folder), tables.read_distractors(folder))
    collected = collect(folder, AUTHORING, rows, seed)
    wrote = [tables.AUTHORED] if collected.decided else []
    if collected.decided:
        tables.keep_edits(folder, tables.AUTHORED)
        tables.write_authored(folder, collected.decided)
    facts = {"sent": collected.sent, "decided": len(collected.decided), "seed": seed}
    tables.record(folder, "author", facts, [tables.SCREENED, tables.DISTRACTORS], wrote)
    return collected


def questions_so_far(folder: Path, apply_repairs: bool = True) -> list[Question]:
    """Return the kept questions with all that is decided by now; near is empty if it is open.

    A verdict on a question that was dropped since is passed over.
    """
    drafts = tables.read_screened(folder)
    questions = assemble(
        drafts,
        {question.id: question for question in tables.read_source(folder)},
        tables.read_distractors(folder),
        tables.read_authored(folder),
    )
    overlay = folder / tables.REVIEWED
    verdict = read_overlay(overlay) if overlay.is_file() else {}
    dropped = {draft.id for draft in drafts if draft.dropped}
    held = {name: given for name, given in verdict.items() if name not in dropped}
    return reviewed(questions, held, apply_repairs)


def check_stage(folder: Path, last_year: int | None, strict: bool = True) -> Report:
    """Write checks.md and checks.json; raises UserError on a violation if ``strict``."""
    report = check(questions_so_far(folder), tables.read_distractors(folder), last_year)
    write_atomic(folder / "checks.md", as_markdown(report))
    write_json(folder / "checks.json", as_json(report))
    facts = {"last_year": last_year, "violations": report.counts}
    tables.record(folder, "check", facts, _READ)
    if strict and report.violations:
        raise _stopped(report, "the wrong values", folder)
    return report


def review_stage(folder: Path, seed: int) -> Collected:
    """Send packets to two reviewers; write review.csv once both are back and adjudicated.

    Until then a review.csv that the source brought, or that was written by hand, is kept.
    """
    drafts, wrong = tables.read_screened(folder), tables.read_distractors(folder)
    # Reviewers judge the values as generated or authored, not what an earlier review put in.
    near = {question.id: question.near for question in questions_so_far(folder, False)}
    current = {name: replace(values, near=near.get(name) or None) for name, values in wrong.items()}
    collected = collect(folder, REVIEW, review_rows(drafts, current), seed)
    # Half a review would count the other half as passed.
    merged = bool(collected.decided) and not collected.waiting
    if merged:
        tables.keep_edits(folder, tables.REVIEWED)
        overlay = verdicts(collected.agreed, collected.adjudicated)
        write_overlay(folder / tables.REVIEWED, overlay)
    facts = {"sent": collected.sent, "decided": len(collected.decided), "seed": seed}
    agreement = {"agreement": dict(collected.agreement), "kappa": dict(collected.kappa)}
    wrote = [tables.REVIEWED] if merged else []
    tables.record(folder, "review", facts | agreement, _READ, wrote)
    return collected


def fold_stage(
    folder: Path, seed: int, assignment: Literal["seeded", "published"] | Path = "seeded"
) -> dict[str, Any]:
    """Write folds.csv; returns the sizes, the imbalance and how many groups cross.

    ``published`` takes the source's own folds, a path a csv of id and fold. Raises UserError for a
    chain in both folds, and for a group in both if the folds are seeded; in given folds such groups
    are counted.
    """
    tables.keep_edits(folder, tables.FOLDS_FILE)
    drafts = [draft for draft in tables.read_screened(folder) if not draft.dropped]
    members = fold_members(drafts, questions_so_far(folder))
    ids = [member.id for member in members]
    if assignment == "seeded":
        folds = assign_folds(members, seed)
    elif assignment == "published":
        folds = _own_folds(folder, ids)
    else:
        folds = load_folds(assignment, ids)
    crossing = crossings(members, folds)
    # The released folds keep chains whole, but 15 of our near-duplicate and linked groups stand in
    # both: in given folds a group is counted, not refused.
    split = [n for n in crossing if assignment == "seeded" or n.startswith("chain ")]
    if split:
        raise UserError(f"{split[0]} stands in both folds: mend the folds given")
    rows = [{"id": name, "fold": folds[name]} for name in ids]
    write_csv(folder / tables.FOLDS_FILE, ("id", "fold"), rows)
    facts = {
        "seed": seed,
        "assignment": assignment if isinstance(assignment, str) else "file",
        "sizes": dict(sorted(Counter(folds.values()).items())),
        "imbalance": imbalance(members, folds),
        "groups_crossing": len(crossing),
    }
    tables.record(folder, "fold", facts, _READ, [tables.FOLDS_FILE])
    return facts


def _own_folds(folder: Path, ids: Sequence[str]) -> dict[str, str]:
    own = {question.id: question.fold for question in tables.read_source(folder)}
    missing = [name for name in ids if not own.get(name)]
    if missing:
        raise UserError(
            f"the source gives no fold for '{missing[0]}' ({len(missing)} missing):"
            " use folds=seeded, or folds=file with a csv of id and fold"
        )
    return {name: own[name] for name in ids}


def write_stage(
    folder: Path,
    out: Path,
    last_year: int | None,
    strict: bool = True,
    apply_repairs: bool = True,
) -> Benchmark:
    """Write questions.jsonl and manifest.json to ``out``, the same bytes every time.

    Checks once more what will be scored, repaired values among it, and raises UserError on a
    violation if ``strict``. A question without a near value is left out and counted as open.
    """
    questions = questions_so_far(folder, apply_repairs)
    with_near = [question.id for question in questions if question.near.strip()]
    done, still_open = finished(questions, load_folds(folder / tables.FOLDS_FILE, with_near))
    if not done:
        raise UserError(f"no question has a near value yet: return the packets in {folder}")
    # Excluded questions are never scored, so their values may break rules.
    scored = [question for question in done if question.review != "exclude"]
    report = check(scored, tables.read_distractors(folder), last_year)
    if strict and report.violations:
        raise _stopped(report, "the finished benchmark", folder)
    stages, ids = tables.recorded(folder), {question.id for question in done}
    written = [draft for draft in tables.read_screened(folder) if draft.id in ids]
    notes = {
        "counts": counts_of(done) | {"open": len(still_open)},
        "repairs_applied": apply_repairs,
        "violations": report.counts,
        "stages": stages,
        "inputs": tables.digests(folder, [*_READ, tables.REVIEWED, tables.FOLDS_FILE]),
        "outdated_stages": tables.outdated(folder),
        # The source's topics, and the clusters that a bootstrap may draw instead of questions.
        "domains": _labelled(written, lambda draft: draft.domain),
        "linked_groups": _labelled(written, lambda draft: draft.linked_group),
        "duplicate_groups": _labelled(written, lambda draft: draft.duplicate_group),
        "versions": versions(),
    }
    benchmark = Benchmark(stages.get("read", {}).get("name", out.name), tuple(done), notes)
    write_benchmark(out, benchmark)
    return benchmark


def _labelled(drafts: Iterable[Draft], label: Callable[[Draft], str]) -> dict[str, list[str]]:
    """Return label -> ids of the questions that bear it."""
    found: dict[str, list[str]] = {}
    for draft in drafts:
        if label(draft):
            found.setdefault(label(draft), []).append(draft.id)
    return found


def _stopped(report: Report, of: str, folder: Path) -> UserError:
    first, found = report.violations[0], counted(len(report.violations), "violation")
    return UserError(
        f"{found} in {of}, first: question '{first.id}',"
        f" {first.field} '{first.value[:60]}', {first.rule} ({first.detail}): see"
        f" {folder / 'checks.md'}, mend the value, or set strict=false"
    )
