"""What an entry point says of a job before it runs (a plan) and after it has (an outcome)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Status = Literal["done", "already done", "dry run", "failed"]


@dataclass(frozen=True)
class Plan:
    """A job's config in canonical form, checked as far as that goes without loading anything.

    Jobs of equal ``resident`` keep one model in memory. ``dropped`` says why a sweep leaves the
    job out (as a run of its own it is refused with the same words); empty for a job that runs.
    """

    config: Mapping[str, Any]
    resident: str
    notes: tuple[str, ...] = ()
    dropped: str = ""


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


Job = Callable[[dict[str, Any]], Outcome | None]
Planner = Callable[[dict[str, Any]], Plan]
