"""The settings of a TauBench arm, as frozen dataclasses: one for each config group."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from factored.agents import AgentSpec
from factored.episode import Limits
from factored.planners import ModelPlannerSpec, ScriptSpec
from factored.roles import RoleSettings
from factored.taubench.simulator import (
    PLACEHOLDERS,
    HumanSpec,
    LlmUserSpec,
    ReactUserSpec,
    ReflectionUserSpec,
    SimulatedUserSpec,
    VerifyUserSpec,
)
from factored.tool_agents import ModelToolAgentSpec, OracleSpec, canonical_tool_agent
from harness.errors import UserError
from harness.fingerprint import COSMETIC
from harness.settings import need_parts, parse
from harness.tracking import TrackerSpec
from harness.validators import Filled, Name

PlannerSpec = Annotated[ModelPlannerSpec | ScriptSpec, Field(discriminator="kind")]
ToolAgentSpec = Annotated[ModelToolAgentSpec | OracleSpec, Field(discriminator="kind")]
UserSpec = Annotated[
    LlmUserSpec | ReactUserSpec | VerifyUserSpec | ReflectionUserSpec | ScriptSpec | HumanSpec,
    Field(discriminator="kind"),
]


MOST = 10_000  # bound of the trials of a task, and of the episodes at a time


@dataclass(frozen=True)
class DomainSpec:
    """A domain and its tasks: the ids ``tasks`` (null: all of the split) without ``exclude``.

    ``embedded`` domains come with this package. ``faulty`` are tasks with known mistakes, by
    split: they are run, and left out of a second column. With ``province`` users' addresses have
    the key that recordings from before 2025-01-16 hold.
    """

    name: Name
    split: str
    embedded: bool
    province: bool
    tasks: tuple[int, ...] | None
    exclude: tuple[int, ...]
    faulty: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class Sources:
    """The folder of the data (null: TAUBENCH_PATH), and a result file whose run is replayed."""

    # The data's own digest, and the recording's, are part of the run's identity.
    path: Annotated[Filled | None, COSMETIC]
    recording: Annotated[Filled | None, COSMETIC]


@dataclass(frozen=True)
class Pool:
    """Episodes at a time; how often a failed model call is made again, after how many seconds."""

    workers: int
    retries: Annotated[int, Field(ge=0)]
    pause_s: Annotated[float, Field(ge=0)]


@dataclass(frozen=True)
class Report:
    """The share of episodes that may meet infrastructure trouble before the arm fails.

    It fails, too, if more than ``max_empty_rate`` of the replies of a role have no text.
    """

    max_error_rate: Annotated[float, Field(ge=0, le=1)]
    show: bool
    max_empty_rate: Annotated[float, Field(ge=0, le=1)] = 0.5


@dataclass(frozen=True)
class Paths:
    """Folders of the runs, and of what can be made again (the cache)."""

    runs: str
    cache: str


@dataclass(frozen=True)
class TauBenchSettings:
    """One arm: everything that gives its result a meaning, and how it is shown."""

    task: Literal["taubench"]
    domain: DomainSpec
    agent: AgentSpec
    planner: PlannerSpec
    tool_agent: ToolAgentSpec | None
    user: UserSpec
    trials: int
    limits: Limits
    seed: int
    taubench: Sources
    dry_run: Annotated[bool, COSMETIC]
    pool: Annotated[Pool, COSMETIC]
    report: Annotated[Report, COSMETIC]
    tracker: Annotated[TrackerSpec, COSMETIC]
    paths: Annotated[Paths, COSMETIC]

    @property
    def model_roles(self) -> dict[str, RoleSettings]:
        """The roles that a model plays: ``planner``, ``tool_agent``, ``user``."""
        roles = {"planner": self.planner, "tool_agent": self.tool_agent, "user": self.user}
        return {name: role for name, role in roles.items() if isinstance(role, RoleSettings)}

    @property
    def scripts(self) -> set[str]:
        """Where planner and user take a script from: scripted, recorded, both or neither."""
        return {role.kind for role in (self.planner, self.user) if isinstance(role, ScriptSpec)}


def taubench_settings(config: Mapping[str, Any]) -> TauBenchSettings:
    """Return the settings of a resolved config.

    Raises UserError that names the key and a value that would do.
    """
    settings = parse(TauBenchSettings, config)
    check_count("trials", settings.trials)
    check_count("pool.workers", settings.pool.workers)
    if settings.limits.steps < 1 or settings.limits.planner_calls < settings.limits.steps:
        raise UserError("limits: steps must be at least 1, planner_calls no fewer than steps")
    if "recorded" in settings.scripts and settings.taubench.recording is None:
        raise UserError("taubench.recording has no value: name the result file that is replayed")
    if settings.user.kind == "human" and settings.pool.workers > 1:
        raise UserError("user=human: one dialogue at a time: set pool.workers=1")
    if isinstance(settings.user, SimulatedUserSpec):
        _check_simulator(settings.user)
    return settings


def check_count(key: str, value: int) -> None:
    """Raise UserError for a number of trials or workers below 1 or above MOST."""
    if not 1 <= value <= MOST:
        raise UserError(f"{key}={value}: give at least 1, and at most {MOST:,}")


def _check_simulator(user: SimulatedUserSpec) -> None:
    drafts = getattr(user, "drafts", 1)
    if drafts < 1:
        raise UserError(f"user.drafts={drafts}: give at least 1")
    for key, names in PLACEHOLDERS.items():
        wording = getattr(user, key, None)
        lacking = [name for name in names if wording is not None and f"{{{name}}}" not in wording]
        if lacking:
            raise UserError(f"user.{key}: has no {{{lacking[0]}}}: the model would not see it")


def canonical(config: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return a config in its one spelling, so that equal arms are equal, and notes for the user.

    Sorts ids of tasks, each once; leaves out the tool agent of agents other than the factored one,
    and a recording that nobody replays. The notes say what was left out. Raises UserError where a
    part that is read here is missing.
    """
    roles = dict.fromkeys(("planner", "user"), ("kind",))
    need_parts(config, {"domain": (), "agent": ("kind", "name"), **roles, "taubench": ()})
    if "tool_agent" not in config:
        raise UserError("tool_agent has no value: set it, as in tool_agent=llm")
    domain, sources = dict(config["domain"]), dict(config["taubench"])
    for key in ("tasks", "exclude"):
        ids = domain.get(key)
        if isinstance(ids, list) and all(isinstance(task, int) for task in ids):
            domain[key] = sorted(set(ids))
    tool_agent, notes = canonical_tool_agent(config["tool_agent"])
    replayed = any(config[role]["kind"] == "recorded" for role in roles)
    if sources.get("recording") is not None and not replayed:
        notes = [*notes, "taubench.recording is not used: neither planner nor user is recorded"]
        sources["recording"] = None
    if config["agent"]["kind"] != "factored" and tool_agent is not None:
        notes = [*notes, f"agent {config['agent']['name']} writes its own calls: no tool agent"]
        tool_agent = None
    parts = {"domain": domain, "tool_agent": tool_agent, "taubench": sources}
    return {**config, **parts}, notes
