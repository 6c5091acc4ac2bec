"""The embedded domain and an episode of it; the published data where it is at hand."""

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.playing import LIMITS, form_of

from factored.call_checks import CallChecker
from factored.episode import Agent, Episode, Limits, run_episode
from factored.taubench.environment import Environment, LoadedDomain
from factored.taubench.loading import EMBEDDED, load_domain
from factored.taubench.tasks import Task
from factored.taubench.users import ScriptedUser, User
from factored.tool_agents import Oracle, ToolAgent

BESIDE = Path(__file__).resolve().parents[3] / "shared" / "data" / "tau_bench"
DATA = Path(os.environ.get("TAUBENCH_PATH", BESIDE))


@pytest.fixture(scope="session")
def data() -> Path:
    if not (DATA / "retail" / "orders.json").is_file():
        pytest.skip("the published TauBench data is not here: set TAUBENCH_PATH")
    return DATA


@pytest.fixture(scope="session")
def bikes() -> LoadedDomain:
    return load_domain("bikes", EMBEDDED)


Run = Callable[..., Episode]


@pytest.fixture
def run_bikes(bikes: LoadedDomain) -> Run:
    """One episode of the embedded domain with stand-ins for planner, tool agent and user."""

    def run(
        planner: Any,
        agent: str = "factored",
        tool_agent: ToolAgent | None = None,
        user: User | None = None,
        task: Task | None = None,
        stopping: threading.Event | None = None,
        **limits: Any,
    ) -> Episode:
        form = form_of(agent)
        played = Agent(
            form=form,
            planner=planner,
            tool_agent=tool_agent or Oracle(),
            checker=CallChecker(bikes.schemas),
            system=form.system(bikes.policy, bikes.schemas),
        )
        environment = Environment(bikes, user or ScriptedUser(["Hello."] * 100))
        chosen = task or bikes.tasks["test"][4]
        return run_episode(
            environment, chosen, played, Limits(**{**vars(LIMITS), **limits}), stopping
        )

    return run


@pytest.fixture
def outside(tmp_path: Path) -> list[str]:
    """Overrides that keep everything a run writes in a folder of the test's own."""
    return [f"paths.runs={tmp_path / 'runs'}", f"paths.cache={tmp_path / 'cache'}"]
