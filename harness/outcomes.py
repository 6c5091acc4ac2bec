"""What a command is, and what it gives: a plan before a job runs, an outcome after."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

Status = Literal["done", "already done", "nothing to do", "dry run", "failed"]
Settings = TypeVar("Settings")


@dataclass(frozen=True)
class Plan(Generic[Settings]):
    """A job's config in canonical form and the settings parsed from it, made before it loads.

    Jobs of equal ``loaded`` share one model in memory. ``notes`` are printed before the job runs.
    ``dropped`` is the reason for which a sweep leaves the job out, and with which a single run is
    refused; it is empty for a job that runs. ``sweep`` names the sweep that the job belongs to, if
    any.
    """

    config: Mapping[str, Any]
    settings: Settings
    loaded: str = ""
    notes: tuple[str, ...] = ()
    dropped: str = ""
    sweep: str = ""


@dataclass(frozen=True)
class Outcome:
    """How a job ended, in plain values, since it may come back from another process.

    ``code`` is the exit code of a single run, ``figures`` are the main metrics as they are printed,
    ``loads`` counts the models that the job loaded. ``show`` prints the details of a single run; a
    sweep prints one table instead, and below it the ``legend``: what each column counts.
    ``notes`` are lines on what the replies were like.
    """

    status: Status
    code: int = 0
    name: str = ""
    folder: str = ""
    figures: Mapping[str, str] = field(default_factory=dict)
    loads: int = 0
    error: str = ""
    show: Callable[[], None] | None = None
    notes: tuple[str, ...] = ()
    legend: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Command(Generic[Settings]):
    """A kind of job: the class of its settings, and its two functions.

    ``plan`` turns a resolved config into a plan, with every check that needs no model; it raises
    UserError. ``run`` does the job.
    """

    settings: type[Settings]
    plan: Callable[[dict[str, Any]], Plan[Settings]]
    run: Callable[[Plan[Settings]], Outcome]


@dataclass(frozen=True)
class Config:
    """A config that ``--config-name`` may name: its file under conf/, and its command.

    The command comes from a function that imports its package, so that ``--help`` starts without.
    """

    file: str
    command: Callable[[], Command[Any]]


Configs = Mapping[str, Config]
