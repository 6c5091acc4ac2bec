"""The settings of a run of a tool agent on recorded calls, as frozen dataclasses."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from factored.settings import DomainSpec, Paths, Sources, ToolAgentSpec, check_count
from harness.errors import UserError
from harness.fingerprint import COSMETIC
from harness.settings import parse
from harness.tracking import TrackerSpec


@dataclass(frozen=True)
class CallsReport:
    """The shares of rows that may fail, or be empty, before the run itself fails."""

    max_error_rate: Annotated[float, Field(ge=0, le=1)]
    max_empty_rate: Annotated[float, Field(ge=0, le=1)] = 0.5


@dataclass(frozen=True)
class CallSettings:
    """One tool agent on one set of recorded calls.

    ``sample`` is the number of calls (None: all), ``trials`` the number of recorded dialogues of
    a task that calls are taken from.
    """

    task: Literal["calls"]
    domain: DomainSpec
    tool_agent: ToolAgentSpec
    sample: int | None
    trials: int
    seed: int
    taubench: Sources
    dry_run: Annotated[bool, COSMETIC]
    report: Annotated[CallsReport, COSMETIC]
    tracker: Annotated[TrackerSpec, COSMETIC]
    paths: Annotated[Paths, COSMETIC]


def call_settings(config: Mapping[str, Any]) -> CallSettings:
    """Return the settings of a resolved config.

    Raises UserError that names the key and a value that would do.
    """
    settings = parse(CallSettings, config)
    if settings.sample is not None and settings.sample < 1:
        raise UserError(f"sample={settings.sample}: give at least 1, or null for all calls")
    check_count("trials", settings.trials)
    return settings
