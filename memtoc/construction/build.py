"""A build from end to end: its stages in order, and what each reports in the terminal."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from rich.console import Console

from harness.errors import UserError
from harness.outcomes import Command, Outcome, Plan
from harness.progress import bar
from harness.terminal import console as terminal
from harness.terminal import say
from memtoc.construction import stages, tables
from memtoc.construction.assembly import MANIFEST, QUESTIONS
from memtoc.construction.checks import counted
from memtoc.construction.collecting import Collected
from memtoc.construction.reading import read_source
from memtoc.construction.review import read_overlay
from memtoc.construction.settings import (
    STAGES,
    BuildSettings,
    FileFolds,
    FromWikidata,
    build_settings,
)
from memtoc.construction.wikidata import Wikidata

# In the terminal; checks.md names all.
SHOWN_VIOLATIONS = 20
# What a stage cannot start without, and the stage that leaves it.
NEEDS = {
    "distract": (tables.SCREENED, "screen"),
    "author": (tables.DISTRACTORS, "distract"),
    "check": (tables.DISTRACTORS, "distract"),
    "review": (tables.DISTRACTORS, "distract"),
    "fold": (tables.DISTRACTORS, "distract"),
    "write": (tables.FOLDS_FILE, "fold"),
}


@dataclass(frozen=True)
class Build:
    """A build under way, with its settings and the console that it writes to."""

    settings: BuildSettings
    console: Console

    @property
    def out(self) -> Path:
        """Return the benchmark's folder."""
        return Path(self.settings.out)

    @property
    def work(self) -> Path:
        """Return the folder of the files between the stages, inside the benchmark's."""
        return self.out / "work"

    def say(self, stage: str, text: str) -> None:
        """Print a line under a stage's name."""
        say(self.console, f"{stage:<9} {text}")


def build(settings: BuildSettings, console: Console) -> Outcome:
    """Run the chosen stages in their order, and stop early where people owe values.

    Raises UserError for anything a user can mend.
    """
    job = Build(settings, console)
    for stage in (name for name in STAGES if name in settings.stages):
        if stage in NEEDS:
            name, by = NEEDS[stage]
            if not (job.work / name).is_file():
                raise UserError(f"{job.work / name} is not there: add {by} to stages")
        owed = RUN[stage](job)
        if owed:
            job.say("", f"waiting for {owed} in {job.work}; then run the same command again")
            break
    # A file edited by hand makes later stages stale; nothing reruns them unasked.
    for stage in tables.outdated(job.work):
        job.say("note", f"what {stage} read has changed since it ran: run it again")
    return Outcome("done", name=settings.benchmark.name, folder=settings.out)


def _screen(job: Build) -> str:
    spec = job.settings.benchmark
    source = read_source(spec, Path(job.settings.paths.cache) / "sources")
    for remark in source.remarks:
        job.say("note", remark)
    # Reading is no stage of its own for the user: each screening starts from the source as it is.
    stages.read_stage(job.work, spec.name, source.questions, source.notes, source.review)
    counts = stages.screen_stage(job.work)
    kept = counts.pop("kept")
    dropped = f"; dropped: {_listed(counts)}" if counts else ""
    job.say("screen", f"{kept} of {len(source.questions)} questions kept{dropped}")
    return ""


def _distract(job: Build) -> str:
    wanted = job.settings
    aliases = _aliases(wanted)
    settings = stages.DistractSettings(
        wanted.seed, wanted.last_year, wanted.redraw_temporal, aliases
    )
    with _wikidata(job) as client, bar("wrong values") as progress:
        counts = stages.distract_stage(job.work, settings, client, progress)
        asked = f"; {client.requests} requests to Wikidata" if client else ""
    far, found = counts.pop("far"), counts.pop("aliases", 0)
    left_out = counts.pop("aliases_left_out", 0)
    names = f"; other names of golds: {found}" if found or left_out else ""
    names += f" ({left_out} too near to a wrong value, left out)" if left_out else ""
    job.say("distract", f"near: {_listed(counts)}; far: {far}{names}{asked}")
    return ""


def _aliases(settings: BuildSettings) -> Literal["sought", "all"]:
    chosen = settings.distractors
    return chosen.aliases if isinstance(chosen, FromWikidata) else "sought"


@contextmanager
def _wikidata(job: Build) -> Iterator[Wikidata | None]:
    """Open a client if one is wanted and any question needs it."""
    chosen = job.settings.distractors
    # A build of dates and time zones alone needs no network, and so no user agent.
    if not isinstance(chosen, FromWikidata) or not stages.needs_wikidata(job.work, chosen.aliases):
        yield None
        return
    with Wikidata(chosen) as client:
        yield client


def _author(job: Build) -> str:
    collected = stages.author_stage(job.work, job.settings.seed)
    _notes(job, collected)
    job.say("author", _packet_line(collected, "without a near value, sent to people"))
    if collected.waiting and not job.settings.strict:
        job.say("", f"left out until {collected.waiting} come back (strict=false)")
        return ""
    return collected.waiting


def _check(job: Build) -> str:
    strict = job.settings.strict
    report = stages.check_stage(job.work, job.settings.last_year, strict)
    found = report.violations
    note = "; strict=false: told, not stopped" if found else ""
    job.say("check", f"{report.checked} questions, {counted(len(found), 'violation')}{note}")
    for violation in found[:SHOWN_VIOLATIONS]:
        what = f"{violation.id} {violation.field} '{violation.value}'"
        job.say("", f"{what}: {violation.rule} ({violation.detail})")
    if len(found) > SHOWN_VIOLATIONS:
        job.say("", f"{len(found) - SHOWN_VIOLATIONS} more in {job.work / 'checks.md'}")
    return ""


def _review(job: Build) -> str:
    collected = stages.review_stage(job.work, job.settings.seed)
    _notes(job, collected)
    job.say("review", _packet_line(collected, "wrong values sent to two reviewers"))
    overlay = job.work / tables.REVIEWED
    if collected.waiting:
        held = (
            f"the {len(read_overlay(overlay))} verdicts in {overlay} hold"
            if overlay.is_file()
            else "all count as passed"
        )
        job.say("", f"{held} until {collected.waiting} come back to {job.work}")
    return ""


def _notes(job: Build, collected: Collected) -> None:
    for note in collected.notes:
        job.say("note", note)


def _packet_line(collected: Collected, what: str) -> str:
    line = f"{collected.sent} {what}"
    for field, share in collected.agreement.items():
        kappa = collected.kappa[field]
        shown = "undefined" if kappa is None else f"{kappa:.3f}"
        line += f"; {field}: agreement {share:.3f}, kappa {shown}"
    decided = len(collected.decided)
    return f"{line}; {decided} decided" if decided else line


def _fold(job: Build) -> str:
    chosen = job.settings.folds
    assignment = Path(chosen.path) if isinstance(chosen, FileFolds) else chosen.name
    facts = stages.fold_stage(job.work, job.settings.seed, assignment)
    job.say(
        "fold",
        f"{_listed(facts['sizes'])}; imbalance {facts['imbalance']:g};"
        f" no chain in both, {counted(facts['groups_crossing'], 'group')} in both",
    )
    return ""


def _write(job: Build) -> str:
    wanted = job.settings
    # Either may keep repairs off: the build's own setting, or that of a source that brings some.
    repairs = wanted.apply_repairs and getattr(wanted.benchmark, "apply_repairs", True)
    benchmark = stages.write_stage(job.work, job.out, wanted.last_year, wanted.strict, repairs)
    counts: Mapping[str, Any] = benchmark.notes["counts"]
    job.say(
        "write",
        f"{counts['questions']} questions: {counts['pass']} pass, {counts['repair']} repair,"
        f" {counts['exclude']} exclude; {counts['analysis_set']} in the analysis set;"
        f" {counts['far']} far ({counts['far_in_analysis_set']} in the analysis set);"
        f" {counts['open']} open",
    )
    for name in ("kind", "family", "source", "schema_source", "fold"):
        job.say("", f"{name}: {_listed(counts[name])}")
    violations = benchmark.notes["violations"]
    if violations:
        job.say("", f"violations among what will be scored: {_listed(violations)}")
    job.say("", f"{QUESTIONS} and {MANIFEST} in {job.out}")
    job.say("", f"python evaluate.py benchmark=folder benchmark.path={job.out}")
    return ""


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items()) or "none"


RUN: Mapping[str, Callable[[Build], str]] = {
    "screen": _screen,
    "distract": _distract,
    "author": _author,
    "check": _check,
    "review": _review,
    "fold": _fold,
    "write": _write,
}


def plan_build(config: dict[str, Any]) -> Plan[BuildSettings]:
    """Return the plan of a build; two builds in one process share nothing."""
    return Plan(config, build_settings(config))


BUILD = Command(BuildSettings, plan_build, lambda plan: build(plan.settings, terminal()))
