"""The environment: an agent's actions in, observations out, and the reward at the end."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from factored.taubench.state import Record, Rows, State
from factored.taubench.tasks import RESPOND, Action, Task
from factored.taubench.tools import Domain, EpisodeCrashError
from factored.taubench.users import STOP, User


@dataclass(frozen=True)
class LoadedDomain:
    """A domain with its data: what all episodes share, and never change.

    ``tasks`` by split; ``schemas`` in OpenAI's function format, as the agent sees them.
    """

    domain: Domain
    snapshot: Mapping[str, Rows]
    tasks: Mapping[str, tuple[Task, ...]]
    schemas: Sequence[Record]
    policy: str
    _ground_truth: dict[str, str] = field(default_factory=dict)

    def fresh_state(self) -> State:
        """Return the untouched databases; nothing is copied until a write."""
        return State(self.snapshot)

    def run(self, db: State, action: Action) -> str:
        """Run a tool call on a state and return the observation.

        Raises EpisodeCrashError where the tool gives no answer.
        """
        tool = self.domain.tool(action.name)
        if tool is None:
            return f"Unknown action {action.name}"
        return tool.call(db, action.kwargs, self.domain.name)

    def ground_truth_hash(self, task: Task) -> str:
        """Return the hash of the data after the task's own actions.

        Goes on after an action that is answered with an error. Worked out once for each list of
        actions.
        """
        key = json.dumps([action.as_row() for action in task.actions])
        if key not in self._ground_truth:
            db = self.fresh_state()
            for action in task.actions:
                if action.name not in (*self.domain.terminating, RESPOND):
                    self.run(db, action)
            self._ground_truth[key] = db.data_hash()
        return self._ground_truth[key]


@dataclass(frozen=True)
class Reward:
    """1.0 if the end state is the task's and every output was said, else 0.0.

    ``info`` as tau-bench stores it: {r_actions, gt_data_hash}, or {r_outputs, outputs} for a task
    with outputs. ``r_actions`` and ``gt_data_hash`` are here in either case.
    """

    reward: float
    r_actions: float
    gt_data_hash: str
    info: Mapping[str, Any]
    actions: tuple[Action, ...]

    def as_row(self) -> dict[str, Any]:
        """Return ``reward_info`` as it stands in tau-bench's result files."""
        return {
            "reward": self.reward,
            "info": dict(self.info),
            "actions": [action.as_row() for action in self.actions],
        }


def score(loaded: LoadedDomain, task: Task, db: State, log: Sequence[Action]) -> Reward:
    """Return the reward of an episode that ended with this state after the actions ``log``."""
    truth = loaded.ground_truth_hash(task)
    r_actions = float(db.data_hash() == truth)
    info: dict[str, Any] = {"r_actions": r_actions, "gt_data_hash": truth}
    r_outputs = 1.0
    if task.outputs:
        # A message without text crashed its step; it said nothing.
        contents = [action.kwargs.get("content") for action in log if action.name == RESPOND]
        said = [text.lower().replace(",", "") for text in contents if isinstance(text, str)]
        outputs = {text: any(text.lower() in line for line in said) for text in task.outputs}
        r_outputs = float(all(outputs.values()))
        info = {"r_outputs": r_outputs, "outputs": outputs}
    actions = tuple(action for action in task.actions if action.name != RESPOND)
    return Reward(r_actions * r_outputs, r_actions, truth, info, actions)


@dataclass(frozen=True)
class Step:
    """What an action led to; ``source`` is the tool's name or ``user``."""

    observation: str
    done: bool
    source: str
    reward: Reward | None = None


class Environment:
    """One dialogue at a time; ``reset`` begins one, ``step`` takes one action of the agent.

    ``log`` holds the agent's actions of this dialogue, and stays as it is when it is scored.
    """

    def __init__(self, loaded: LoadedDomain, user: User) -> None:
        self.loaded = loaded
        self.user = user
        self.log: list[Action] = []
        self.db = loaded.fresh_state()
        self._task: Task | None = None

    def reset(self, task: Task) -> str:
        """Begin a dialogue on untouched data with an empty log; return the opening line."""
        self.db = self.loaded.fresh_state()
        self.log = []
        self._task = task
        return self.user.reset(task.instruction)

    def step(self, action: Action) -> Step:
        """Take one action. When the dialogue ends, the step carries the reward.

        Raises EpisodeCrashError where the original environment dies: a message without text, a
        tool without an answer.
        """
        assert self._task is not None, "reset comes first"
        self.log.append(action)
        if action.name == RESPOND:
            content = action.kwargs.get("content")
            if not isinstance(content, str):
                raise EpisodeCrashError("a message to the user needs its text in 'content'")
            observation, source = self.user.step(content), "user"
            done = STOP in observation
        else:
            observation, source = self.loaded.run(self.db, action), action.name
            done = action.name in self.loaded.domain.terminating
        reward = score(self.loaded, self._task, self.db, self.log) if done else None
        return Step(observation, done, source, reward)
