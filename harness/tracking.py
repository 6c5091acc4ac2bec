"""Where a run's settings and figures are also shown; the files on disk stay the truth.

One W&B run for each arm, offline unless the config says online: nothing leaves the machine, no
login is asked for. ``wandb sync`` sends offline runs later.
"""

import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from harness.errors import UserError
from harness.files import locked, write_json
from harness.json_files import json_if_readable
from harness.validators import Filled, Name

MOST_SAMPLES = 200  # W&B's tables are slow beyond
# Of the variables that W&B reads, these say who we are and where it is; all others say what a run
# is, and may be left over from another library (the Trainer of transformers sets some).
KEPT = ("WANDB_API_KEY", "WANDB_BASE_URL", "WANDB_IDENTITY_TOKEN_FILE", "WANDB_CREDENTIALS_FILE")


@dataclass(frozen=True)
class NoTracker:
    """Nothing but the run folder."""

    name: Name
    kind: Literal["none"]


@dataclass(frozen=True)
class WandbTracker:
    """W&B. ``group`` is the sweep's name where there is a sweep and nothing else is given."""

    name: Name
    kind: Literal["wandb"]
    mode: Literal["offline", "online"]
    # What W&B takes; None is the product that the run belongs to.
    project: Annotated[Filled, Field(max_length=128, pattern=r"^[^/\\#?%:]+$")] | None
    entity: Filled | None
    group: Filled | None
    tags: tuple[Filled, ...]


TrackerSpec = Annotated[NoTracker | WandbTracker, Field(discriminator="kind")]


@dataclass(frozen=True)
class TrackedRun:
    """What is known of a run before it starts; ``id`` is the same for the same run again.

    ``folder`` is where its own files will be, ``root`` where the tracker puts its own; ``sweep``
    groups the runs of a sweep where the config names no group, ``product`` is the project where it
    names none.
    """

    id: str
    name: str
    job_type: str
    config: Mapping[str, Any]
    folder: Path
    root: Path
    sweep: str = ""
    product: str = ""


@dataclass(frozen=True)
class TrackerLog:
    """What a finished run shows: scalars, a sample of its rows, and the files of its artifact."""

    scalars: Mapping[str, float]
    sample: Sequence[Mapping[str, Any]]
    files: Sequence[Path]


Log = Callable[[TrackerLog], None]


@contextmanager
def tracked(spec: NoTracker | WandbTracker, run: TrackedRun) -> Iterator[Log]:
    """Open the run with the tracker and close it whatever happens inside.

    A run that was finished and shown before is not shown again. A second process that wants the
    same run waits here, and then finds it shown.
    """
    # Asked before the lock too: a finished run may lie on a disk that cannot be written.
    if isinstance(spec, NoTracker) or _was_shown(spec, run):
        yield _ignore
        return
    if (run.folder / "DONE").exists() and not os.access(run.root, os.W_OK):
        _note(f"{run.root} cannot be written: the finished run is not shown to {spec.name}")
        yield _ignore
        return
    with locked(run.root / "wandb" / f".{run.id}.lock"):
        if _was_shown(spec, run):
            yield _ignore
        else:
            with _shown_by_wandb(spec, run) as log:
                yield log


@contextmanager
def _shown_by_wandb(spec: WandbTracker, run: TrackedRun) -> Iterator[Log]:
    with _environment(run.root):
        shown = _open(spec, run)
        try:
            yield lambda figures: _log(shown, run, figures)
        except BaseException as error:
            shown.finish(exit_code=130 if isinstance(error, KeyboardInterrupt) else 1)
            raise
        shown.finish(exit_code=0)
        _remember(spec, run)


def _ignore(_: TrackerLog) -> None:
    pass


def _marker(run: TrackedRun) -> Path:
    return run.folder / "tracked.json"


def _was_shown(spec: WandbTracker, run: TrackedRun) -> bool:
    if not (run.folder / "DONE").exists():
        return False
    return bool(json_if_readable(_marker(run)) == _address(spec))


def _remember(spec: WandbTracker, run: TrackedRun) -> None:
    if (run.folder / "DONE").exists():
        write_json(_marker(run), _address(spec))


def _address(spec: WandbTracker) -> dict[str, Any]:
    return {key: asdict(spec)[key] for key in ("kind", "mode", "project", "entity")}


@contextmanager
def _environment(root: Path) -> Iterator[None]:
    """W&B's variables without leftovers, and its files under ``root``; put back afterwards.

    An agent of a W&B sweep names the run through them: then they stay.
    """
    before = {name: value for name, value in os.environ.items() if name.startswith("WANDB_")}
    if not _of_an_agent():
        for name in before:
            if name not in KEPT:
                del os.environ[name]
    for name in ("CACHE", "DATA"):
        os.environ[f"WANDB_{name}_DIR"] = str((root / "wandb" / name.lower()).resolve())
    try:
        yield
    finally:
        for name in [name for name in os.environ if name.startswith("WANDB_")]:
            del os.environ[name]
        os.environ.update(before)


def _of_an_agent() -> bool:
    return "WANDB_SWEEP_ID" in os.environ


def _open(spec: WandbTracker, run: TrackedRun) -> Any:
    import wandb

    if spec.mode == "online" and not (os.environ.get("WANDB_API_KEY") or wandb.api.api_key):
        raise UserError(
            "tracker.mode=online needs a key of W&B: run wandb login once, or leave it offline"
        )
    try:
        return _init(spec, run, spec.mode)
    except (wandb.errors.Error, OSError) as error:
        if spec.mode == "offline":
            raise UserError(f"W&B does not start ({error}): set tracker=none") from error
        reason = str(error).splitlines()[0]
        _note(f"W&B cannot be reached ({reason}): written offline")
        return _init(spec, run, "offline")


def _init(spec: WandbTracker, run: TrackedRun, mode: Literal["offline", "online"]) -> Any:
    import wandb

    settings = wandb.Settings(
        root_dir=str(run.root.resolve()),
        silent=True,
        console="off",
        disable_code=True,
        reinit="finish_previous",
    )
    named: dict[str, Any] = {}
    if not _of_an_agent():
        named = {"project": spec.project or run.product, "entity": spec.entity, "id": run.id}
        named["resume"] = "allow" if mode == "online" else None
    return wandb.init(
        mode=mode,
        name=run.name,
        group=spec.group or run.sweep or None,
        job_type=run.job_type,
        tags=spec.tags,
        config=dict(run.config),
        settings=settings,
        **named,
    )


def _note(line: str) -> None:
    print(f"note: {line}", file=sys.stderr)  # noqa: T201


def _log(shown: Any, run: TrackedRun, figures: TrackerLog) -> None:
    """A trouble of W&B's is a note: the run's own files are complete by now."""
    import wandb

    try:
        _show(shown, run, figures)
    except (wandb.errors.Error, OSError, ValueError) as error:
        _note(f"W&B does not take the results ({error}): they are in {run.folder}")


def _show(shown: Any, run: TrackedRun, figures: TrackerLog) -> None:
    import wandb

    shown.log(dict(figures.scalars))
    artifact = wandb.Artifact(re.sub(r"[^\w.-]", "_", run.name)[:120], type=run.job_type)
    for path in figures.files:
        artifact.add_file(str(path))
    rows = list(figures.sample)[:MOST_SAMPLES]
    if rows:  # inside the artifact: a table that is logged becomes an artifact of its own
        columns = list(rows[0])
        data = [[row.get(column) for column in columns] for row in rows]
        artifact.add(wandb.Table(columns=columns, data=data), "sample")
    shown.log_artifact(artifact)
