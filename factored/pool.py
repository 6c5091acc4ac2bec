"""The episodes of an arm, several at a time; each is stored as it ends."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from factored.arm import TauBenchArm, recorded_run
from factored.calls import CallChecker
from factored.episode import INVALID, Agent, run_episode
from factored.planners import ModelPlanner, Planner, ScriptPlanner, ScriptSpec
from factored.results import episode_row, is_whole, key_of
from factored.roles import Retries, Role, Usage, audit_template
from factored.taubench.environment import Environment
from factored.taubench.simulator import HumanUser, SimulatedUserSpec, simulated
from factored.taubench.users import RecordedUser, ScriptedUser, User
from factored.tool_agents import ModelToolAgent, ModelToolAgentSpec, Oracle, ToolAgent
from harness.engines.base import AsksServer
from harness.folders import RunFolder
from harness.progress import PassProgress
from harness.served_tools import audit_served_tools
from harness.shared_backend import SharedBackend

Key = tuple[int, int, int]  # task, trial, seed


@dataclass(frozen=True)
class Stage:
    """What all episodes of a run share: the arm, its models in memory, the sign to stop."""

    arm: TauBenchArm
    shared: Mapping[str, SharedBackend]
    checker: CallChecker
    system: str
    stopping: threading.Event

    def stop(self) -> None:
        """Ends the dialogues at their next turn, and what servers are being asked at once."""
        self.stopping.set()
        for backend in self.shared.values():
            backend.stop()


def run_episodes(arm: TauBenchArm, folder: RunFolder) -> list[dict[str, Any]]:
    """All rows of the arm in canonical order; those that lie in the folder are not run again.

    Episodes with infrastructure trouble are stored as such, and run again by the next command.
    """
    done = finished(folder)
    todo = [key for key in keys(arm) if key not in done]
    if todo:
        for role, backend in arm.backends.items():
            audit_template(backend, tools=role == "planner" and bool(arm.tools))
    keeping = threading.Lock()
    with PassProgress("episodes", len(keys(arm))) as progress, _stage(arm) as stage:
        progress.cached_rows(len(keys(arm)) - len(todo))
        if todo and arm.tools:
            _audit_served(stage)

        def play_and_keep(key: Key) -> None:
            row = play(stage, key)
            with keeping:
                folder.append([row])
                done[key] = row
                progress.generated(1, row["ended"] in INVALID, _tokens(row))

        _run_all(play_and_keep, todo, arm.settings.pool.workers, stage.stop)
    rows = [done[key] for key in keys(arm)]
    folder.write_generations(rows)
    return rows


def _audit_served(stage: Stage) -> None:
    """Where a server plays the planner: is its model shown the tools?"""
    planner = stage.arm.settings.played.get("planner")
    if planner and isinstance(planner.engine, AsksServer):
        complete = stage.shared["planner"].complete
        audit_served_tools(complete, planner.model.name, planner.decoding)


def keys(arm: TauBenchArm) -> list[Key]:
    """Every episode of the arm, trial by trial."""
    seed = arm.settings.seed
    return [(task, trial, seed) for trial in range(arm.settings.trials) for task in arm.tasks]


def finished(folder: RunFolder) -> dict[Key, dict[str, Any]]:
    """The episodes in the folder that have a reward; a row that is not whole is none."""
    rows = [row for row in folder.generations() if is_whole(row)]
    return {key_of(row): row for row in rows if row["ended"] not in INVALID}


@contextmanager
def _stage(arm: TauBenchArm) -> Iterator[Stage]:
    settings = arm.settings
    stopping = threading.Event()
    with ExitStack() as stack:
        cache = Path(settings.paths.cache) / "generations.sqlite"
        opened: dict[int, SharedBackend] = {}
        for backend in arm.backends.values():
            if id(backend) not in opened:
                shared = SharedBackend(backend, cache, settings.pool.workers)
                opened[id(backend)] = stack.enter_context(shared)
        yield Stage(
            arm=arm,
            shared={role: opened[id(backend)] for role, backend in arm.backends.items()},
            checker=CallChecker(arm.loaded.schemas),
            system=settings.agent.system(arm.loaded.policy, arm.loaded.schemas),
            stopping=stopping,
        )


def _run_all(
    work: Callable[[Key], None], todo: Sequence[Key], workers: int, stop: Callable[[], None]
) -> None:
    """Works through the keys. What is raised here or by one of them stops the others."""
    with ThreadPoolExecutor(workers) as pool:
        waiting = [pool.submit(work, key) for key in todo]
        try:
            for future in as_completed(waiting):
                future.result()
        except BaseException:
            stop()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def play(stage: Stage, key: Key) -> dict[str, Any]:
    """Run one episode; give its row."""
    arm, (task_id, trial, _) = stage.arm, key
    usage = {role: Usage() for role in stage.shared}
    agent = _agent(stage, key, usage)
    environment = Environment(arm.loaded, _user(stage, key, usage))
    task = arm.tasks[task_id]
    episode = run_episode(environment, task, agent, arm.settings.limits, stage.stopping)
    recorded = recorded_run(arm, task_id, trial) if "recorded" in arm.scripts else None
    return episode_row(episode, key, stage.system, usage, recorded)


def _agent(stage: Stage, key: Key, usage: Mapping[str, Usage]) -> Agent:
    form = stage.arm.settings.agent
    planner, tool_agent = _planner(stage, key, usage), _tool_agent(stage, key, usage)
    return Agent(form, planner, tool_agent, stage.checker, stage.system)


def _planner(stage: Stage, key: Key, usage: Mapping[str, Usage]) -> Planner:
    spec = stage.arm.settings.planner
    if isinstance(spec, ScriptSpec):
        script = stage.arm.script(spec.kind, key[0], key[1])
        return ScriptPlanner(stage.arm.settings.agent, script.actions)
    return ModelPlanner(_role("planner", stage, key, usage), stage.arm.tools)


def _tool_agent(stage: Stage, key: Key, usage: Mapping[str, Usage]) -> ToolAgent | None:
    spec = stage.arm.settings.tool_agent
    if isinstance(spec, ModelToolAgentSpec):
        role = _role("tool_agent", stage, key, usage)
        return ModelToolAgent(spec, role, stage.arm.loaded.schemas, stage.arm.call_schema)
    return None if spec is None else Oracle()


def _user(stage: Stage, key: Key, usage: Mapping[str, Usage]) -> User:
    spec = stage.arm.settings.user
    if isinstance(spec, ScriptSpec):
        lines = stage.arm.script(spec.kind, key[0], key[1]).user_lines
        return RecordedUser(lines) if spec.kind == "recorded" else ScriptedUser(lines)
    if isinstance(spec, SimulatedUserSpec):
        return simulated(_role("user", stage, key, usage), spec)
    return HumanUser()


def _role(name: str, stage: Stage, key: Key, usage: Mapping[str, Usage]) -> Role:
    pool = stage.arm.settings.pool
    return Role(
        name=name,
        played=stage.arm.settings.played[name],
        backend=stage.shared[name],
        retries=Retries(pool.retries, pool.pause_s, stage.stopping),
        seed=stage.arm.settings.seed,
        key=f"{key[0]}/{key[1]}",
        usage=usage[name],
    )


def _tokens(row: Mapping[str, Any]) -> int:
    return sum(int(counts["completion_tokens"]) for counts in row["usage"].values())
