"""From a config to a finished folder, for every kind of run.

A kind of run is a settings class, a ``work`` function and a ``load`` function. `execute` opens and
locks the folder, reads it where it is finished, else does the work, and writes FAILED with the
reason or the manifest and DONE; the tracker stands around it.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, TypeVar

from harness.environment import environment
from harness.errors import RunFailedError, UserError
from harness.fingerprint import fingerprint
from harness.folders import RunFolder, open_folder, place_of
from harness.generation import Backend
from harness.json_files import json_if_readable
from harness.manifest import COUNTED, FORMAT, NAME, ModelFacts, file_facts
from harness.outcomes import Outcome, Status
from harness.tracking import NoTracker, TrackedRun, TrackerLog, WandbTracker, tracked

Result = TypeVar("Result")

UNTRACKED = NoTracker("none", "none")


@dataclass(frozen=True)
class Run:
    """What is known of a run before it starts, whatever its kind.

    ``slug`` names it for people, ``root`` holds its folder. The identity is ``config`` (in
    canonical form) without its ``cosmetic`` keys, and the ``digests`` of what the config names.
    ``backends`` are the models that take part, by role; ``adapters`` the digests of those that
    requests name, by role. ``product`` is the line of research, as trackers call their projects;
    ``sweep`` names the sweep that the run belongs to, if any.
    """

    kind: str
    slug: str
    root: Path
    config: Mapping[str, Any]
    cosmetic: Collection[str]
    digests: Mapping[str, str | None]
    seed: int
    backends: Mapping[str, Backend] = field(default_factory=dict)
    adapters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    tracker: NoTracker | WandbTracker = UNTRACKED
    product: str = ""
    sweep: str = ""

    @cached_property
    def fingerprint(self) -> str:
        """Return the identity of the run."""
        return fingerprint(self.config, self.cosmetic, self.digests)

    @property
    def name(self) -> str:
        """Return the slug with the identity's hash; without it where a dry run lacks weights."""
        unknown = any(
            backend.spec.reads_weights and backend.checkpoint is None for backend in self._distinct
        )
        return self.slug if unknown else f"{self.slug}-{self.fingerprint[:8]}"

    @property
    def folder(self) -> Path:
        """Return where the run's folder is, or will be."""
        return place_of(self.root, self.slug, self.fingerprint)

    @property
    def loads(self) -> int:
        """Return how many models its backends have loaded so far."""
        return sum(backend.loads for backend in self._distinct)

    @property
    def computed(self) -> Counter[str]:
        """Return what its engines have counted of their own work so far, e.g. decode steps."""
        return sum((backend.counters() for backend in self._distinct), Counter[str]())

    @property
    def _distinct(self) -> list[Backend]:
        """Its backends, once each: roles of one model on one engine share one."""
        return list({id(backend): backend for backend in self.backends.values()}.values())


@dataclass(frozen=True)
class Produced:
    """What a work function returns: its counts (all of `COUNTED` except the loads) and facts.

    ``about`` are the manifest's facts that only this kind of run has; ``notes`` are lines for the
    user on what the replies were like, which the manifest keeps under ``about``.
    """

    counts: Mapping[str, Any]
    about: Mapping[str, Any] = field(default_factory=dict)
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Executed(Generic[Result]):
    """A finished run: the result read from its folder, and how many models this call loaded.

    ``fresh`` is False for a folder that was finished before; ``notes`` are those of its manifest.
    """

    run: Run
    result: Result
    fresh: bool
    loads: int
    notes: tuple[str, ...] = ()

    def outcome(
        self,
        figures: Mapping[str, str],
        show: Callable[[], None] | None,
        legend: Mapping[str, str],
    ) -> Outcome:
        """Return the run's line for a sweep's table, and what its columns count.

        ``show`` prints the run's details.
        """
        status: Status = "done" if self.fresh else "already done"
        folder = str(self.run.folder)
        return Outcome(
            status,
            0,
            self.run.folder.name,
            folder,
            figures,
            self.loads,
            show=show,
            notes=self.notes,
            legend=legend,
        )


def execute(
    run: Run,
    work: Callable[[RunFolder], Produced],
    load: Callable[[Path], Result],
    show: Callable[[Result], TrackerLog],
) -> Executed[Result]:
    """Open the run's folder, do the work unless it is finished, and return the result.

    ``work`` writes the files, ``load`` reads and checks them, ``show`` makes what a tracker gets.
    Raises UserError for a mistake that a user can mend, RunFailedError if too many rows failed; the
    folder then holds the reason in FAILED, and the next run continues it.
    """
    before = run.loads
    described = TrackedRun(
        run.fingerprint[:16],
        run.name,
        run.kind,
        {**run.config, "digests": dict(run.digests)},
        run.folder,
        run.root,
        run.sweep,
        run.product,
    )
    with tracked(run.tracker, described) as log:
        with open_folder(run.root, run.slug, run.fingerprint, run.config, run.cosmetic) as folder:
            fresh = not folder.done
            if fresh:
                _complete(run, folder, work)
        result = load(folder.path)
        if not isinstance(run.tracker, NoTracker):
            log(show(result))
    return Executed(run, result, fresh, run.loads - before, _notes(run.folder))


def _notes(folder: Path) -> tuple[str, ...]:
    manifest = json_if_readable(folder / NAME)
    about = manifest.get("about") if isinstance(manifest, dict) else None
    notes = about.get("notes") if isinstance(about, dict) else None
    return tuple(map(str, notes)) if isinstance(notes, list) else ()


def _complete(run: Run, folder: RunFolder, work: Callable[[RunFolder], Produced]) -> None:
    before, computed = run.loads, run.computed
    told = {role: backend.told() for role, backend in run.backends.items()}
    try:
        produced = work(folder)
    except Exception as error:
        with suppress(UserError):  # a full disk takes no reason either
            folder.fail(_reason(error))
        raise
    counts = {**produced.counts, "engine_loads": run.loads - before}
    if work_of_engines := run.computed - computed:
        counts["computed"] = dict(work_of_engines)
    assert set(COUNTED) <= set(counts), f"{run.kind} does not count all of {COUNTED}"
    files = {name: asdict(facts) for name, facts in file_facts(folder.path).items()}
    notes = {"notes": list(produced.notes)} if produced.notes else {}
    about = {**produced.about, **notes}
    folder.finish({**_facts(run, told), "counts": counts, "files": files, "about": about})


def _reason(error: Exception) -> str:
    known = isinstance(error, UserError | RunFailedError)
    return str(error) if known else f"{type(error).__name__}: {error}"


def _facts(run: Run, told: Mapping[str, Mapping[str, Counter[str]]]) -> dict[str, Any]:
    """Return the manifest's facts that are the same whatever the work function does.

    ``told`` is what the servers of each role had told before the run.
    """
    return {
        "format": FORMAT,
        "kind": run.kind,
        "seed": run.seed,
        "digests": dict(run.digests),
        "models": {role: asdict(_model(run, role)) for role in run.backends},
        "engines": {role: backend.facts(told[role]) for role, backend in run.backends.items()},
        **environment(),
    }


def _model(run: Run, role: str) -> ModelFacts:
    backend = run.backends[role]
    revision = backend.checkpoint.revision if backend.checkpoint else None
    adapters = run.adapters.get(role, ())
    return ModelFacts(backend.model.name, backend.weights, revision, adapters)
