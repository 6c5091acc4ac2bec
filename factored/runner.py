"""One episode of an arm: who plays in it is built here, then the loop runs."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from factored.arm import TauBenchArm
from factored.call_checks import CallChecker
from factored.episode import Agent, run_episode
from factored.planners import ModelPlanner, Planner, ScriptPlanner, ScriptSpec
from factored.results import EpisodeRow, Key, RecordedRun, episode_row
from factored.roles import Retries, Role, Usage
from factored.taubench.environment import Environment, score
from factored.taubench.simulator import HumanUser, SimulatedUserSpec, simulated
from factored.taubench.users import RecordedUser, ScriptedUser, User
from factored.tool_agents import ModelToolAgent, ModelToolAgentSpec, Oracle, ToolAgent
from harness.shared_backend import SharedBackend


@dataclass(frozen=True)
class Runner:
    """What all episodes of a run share.

    ``shared`` holds the open backend of each role that a model plays, ``system`` is the planner's
    prompt, ``stopping`` the sign for all dialogues to end.
    """

    arm: TauBenchArm
    shared: Mapping[str, SharedBackend]
    checker: CallChecker
    system: str
    stopping: threading.Event

    def stop(self) -> None:
        """End the dialogues at their next turn, and the requests to servers at once."""
        self.stopping.set()
        for backend in self.shared.values():
            backend.stop()


@contextmanager
def open_runner(arm: TauBenchArm) -> Iterator[Runner]:
    """Open the arm's backends and yield the runner; close them at the end.

    Roles of one model on one engine share a backend, so that the model is loaded once.
    """
    settings = arm.settings
    with ExitStack() as stack:
        cache = Path(settings.paths.cache) / "generations.sqlite"
        opened: dict[int, SharedBackend] = {}
        for backend in arm.backends.values():
            if id(backend) not in opened:
                shared = SharedBackend(backend, cache, settings.pool.workers)
                opened[id(backend)] = stack.enter_context(shared)
        yield Runner(
            arm=arm,
            shared={role: opened[id(backend)] for role, backend in arm.backends.items()},
            checker=CallChecker(arm.loaded.schemas),
            system=settings.agent.system(arm.loaded.policy, arm.loaded.schemas),
            stopping=threading.Event(),
        )


def play(runner: Runner, key: Key) -> EpisodeRow:
    """Run one episode and return its row.

    Raises InterruptedEpisodeError once the runner is stopped.
    """
    arm, (task_id, trial, _) = runner.arm, key
    usage = {role: Usage() for role in runner.shared}
    agent = Agent(
        form=arm.settings.agent,
        planner=_planner(runner, key, usage),
        tool_agent=_tool_agent(runner, key, usage),
        checker=runner.checker,
        system=runner.system,
    )
    environment = Environment(arm.loaded, _user(runner, key, usage))
    task = arm.tasks[task_id]
    episode = run_episode(environment, task, agent, arm.settings.limits, runner.stopping)
    recorded = recorded_run(arm, task_id, trial) if "recorded" in arm.scripts else None
    return episode_row(episode, key, runner.system, usage, recorded)


def _planner(runner: Runner, key: Key, usage: Mapping[str, Usage]) -> Planner:
    spec = runner.arm.settings.planner
    if isinstance(spec, ScriptSpec):
        script = runner.arm.script(spec.kind, key[0], key[1])
        return ScriptPlanner(runner.arm.settings.agent, script.actions)
    return ModelPlanner(_role("planner", runner, key, usage), runner.arm.tools)


def _tool_agent(runner: Runner, key: Key, usage: Mapping[str, Usage]) -> ToolAgent | None:
    spec = runner.arm.settings.tool_agent
    if isinstance(spec, ModelToolAgentSpec):
        role = _role("tool_agent", runner, key, usage)
        return ModelToolAgent(spec, role, runner.arm.loaded.schemas, runner.arm.call_schema)
    return None if spec is None else Oracle()


def _user(runner: Runner, key: Key, usage: Mapping[str, Usage]) -> User:
    spec = runner.arm.settings.user
    if isinstance(spec, ScriptSpec):
        lines = runner.arm.script(spec.kind, key[0], key[1]).user_lines
        return RecordedUser(lines) if spec.kind == "recorded" else ScriptedUser(lines)
    if isinstance(spec, SimulatedUserSpec):
        return simulated(_role("user", runner, key, usage), spec)
    return HumanUser()


def _role(name: str, runner: Runner, key: Key, usage: Mapping[str, Usage]) -> Role:
    pool = runner.arm.settings.pool
    return Role(
        name=name,
        settings=runner.arm.settings.model_roles[name],
        backend=runner.shared[name],
        retries=Retries(pool.retries, pool.pause_s, runner.stopping),
        seed=runner.arm.settings.seed,
        key=f"{key[0]}/{key[1]}",
        usage=usage[name],
    )


def recorded_run(arm: TauBenchArm, task_id: int, trial: int) -> RecordedRun:
    """Run a recorded dialogue's calls on fresh data and return what the recording gave.

    Raises UserError where the arm's recording does not hold the dialogue.
    """
    loaded, task = arm.loaded, arm.tasks[task_id]
    script = arm.script("recorded", task_id, trial)
    db = loaded.fresh_state()
    for action in script.actions:
        if loaded.domain.tool(action.name):
            loaded.run(db, action)
    untouched = loaded.fresh_state()
    return RecordedRun(
        reward=script.reward,
        final_hash=db.data_hash(),
        no_call_reward=score(loaded, task, untouched, script.actions).reward,
        needs_write=loaded.ground_truth_hash(task) != untouched.data_hash(),
    )
