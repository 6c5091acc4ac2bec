"""What a command is, what it says of a job before it runs (a plan) and after (an outcome)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

Status = Literal["done", "already done", "dry run", "failed"]
Settings = TypeVar("Settings")


@dataclass(frozen=True)
class Plan(Generic[Settings]):
    """A job's config in canonical form with the settings parsed from it; nothing is loaded yet.

    Jobs of equal ``loaded`` keep one model in memory. ``notes`` are told before the job runs.
    ``dropped`` says why a sweep leaves the job out (as a run of its own it is refused with the same
    words); empty for a job that runs. ``sweep`` names the sweep that the job belongs to, if any.
    """

    config: Mapping[str, Any]
    settings: Settings
    loaded: str = ""
    notes: tuple[str, ...] = ()
    dropped: str = ""
    sweep: str = ""


@dataclass(frozen=True)
class Outcome:
    """How a job ended; it travels back from another process, so it holds plain values only.

    ``code`` is the exit code that a run of its own ends with, ``figures`` are the main metrics
    as they are printed, ``loads`` counts the models that the job loaded. ``show`` prints the
    details of a run of its own; a sweep prints one table instead.
    """

    status: Status
    code: int = 0
    name: str = ""
    folder: str = ""
    figures: Mapping[str, str] = field(default_factory=dict)
    loads: int = 0
    error: str = ""
    show: Callable[[], None] | None = None


@dataclass(frozen=True)
class Command(Generic[Settings]):
    """A kind of job: the class of its settings, from a resolved config to a plan, and its run.

    ``plan`` checks everything that can be checked without loading anything, and raises UserError.
    """

    settings: type[Settings]
    plan: Callable[[dict[str, Any]], Plan[Settings]]
    run: Callable[[Plan[Settings]], Outcome]


@dataclass(frozen=True)
class Config:
    """A config that ``--config-name`` may name: its file under conf/, and its command.

    The command comes from a function, which imports its package: ``--help`` needs none of them.
    """

    file: str
    command: Callable[[], Command[Any]]


Configs = Mapping[str, Config]
