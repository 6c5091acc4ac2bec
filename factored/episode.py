"""The one loop that every agent kind goes through: plan, read, write the call, run or punt.

                 user's words, or a tool's answer, or the reason of a punt
             +-------------------------------------------------------------+
             v                                                             |
dialogue -> planner -> message to the user -----------------------> user --+
             |                                                             |
             +-> request -> tool agent -> JSON call -> checked -> tool ----+
                                                         |                 |
                                                         +-> punt ---------+
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from time import monotonic
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field

from factored.agents import Ask, Form, Reading, Say, WrittenCall, read_calls
from factored.call_checks import CallChecker, Punt, read_json_call
from factored.planners import Decision, Planner, ScriptOverError
from factored.roles import ContextExceededError, InfrastructureError, InterruptedEpisodeError
from factored.taubench.environment import Environment, Reward, Step, score
from factored.taubench.tasks import RESPOND, Action, Task
from factored.taubench.tools import EpisodeCrashError
from factored.tool_agents import Line, ToolAgent
from harness.completions import Message, ToolCall
from harness.errors import UserError
from harness.tool_calls import can_be_told

Ended = Literal[
    "user_stop",  # the user is done
    "agent_stop",  # a terminating tool ran
    "max_steps",  # reward 0, as in tau-bench
    "max_punts",  # the bound where punts cost no step; reward 0
    "context",  # the dialogue outgrew the planner; reward 0
    "crash",  # upstream-strict: what tau-bench dies of; reward 0
    "script_over",  # the script's last decision is taken; scored as it stands
    "infrastructure",  # an engine, server or user simulator failed; no reward
    "timeout",  # no reward: how far an episode gets in a time is the machine's doing
]
Given = TypeVar("Given")
INVALID: frozenset[Ended] = frozenset({"infrastructure", "timeout"})


@dataclass(frozen=True)
class Limits:
    """Bounds of an episode: the agent's actions, the planner's calls in all, seconds.

    With ``punt_costs_step`` a punt counts as an action. With ``upstream_strict`` nothing is
    punted, as in tau-bench: a call that is not JSON ends the episode with reward 0, and any other
    is run as it is.
    """

    steps: int
    planner_calls: int
    seconds: Annotated[float, Field(gt=0)]
    punt_costs_step: bool
    upstream_strict: bool


@dataclass(frozen=True)
class Turn:
    """One decision of the planner and what became of it.

    ``request`` and ``call`` are the texts on the way to an action; a turn without ``action`` is a
    punt. ``intended`` is the script's action, ``source`` who gave the observation: ``user``, a
    tool's name, or ``punt``. ``calls`` are all that stood beside the text; the first is run.
    """

    text: str
    request: str | None = None
    call: str | None = None
    action: Action | None = None
    punt: Punt | None = None
    intended: Action | None = None
    observation: str = ""
    source: str = ""
    calls: tuple[ToolCall, ...] = ()

    def as_row(self) -> dict[str, Any]:
        """Return the turn as it stands in files; ``calls`` only where there are any."""
        return {
            "text": self.text,
            "request": self.request,
            "call": self.call,
            "action": self.action.as_row() if self.action else None,
            "punt": self.punt.as_row() if self.punt else None,
            "intended": self.intended.as_row() if self.intended else None,
            "observation": self.observation,
            "source": self.source,
            **({"calls": [asdict(call) for call in self.calls]} if self.calls else {}),
        }


@dataclass(frozen=True)
class Agent:
    """An agent kind and who plays it.

    ``system`` is the planner's prompt; ``tool_agent`` is None for the kinds that write calls
    themselves.
    """

    form: Form
    planner: Planner
    tool_agent: ToolAgent | None
    checker: CallChecker
    system: str


@dataclass
class Episode:
    """A dialogue from its opening line to its end.

    ``steps`` counts actions, and punts that cost one. ``reward`` is None where the dialogue was
    not scored; in a ``valid`` episode that counts as 0.
    """

    task: Task
    opening: str = ""
    turns: list[Turn] = field(default_factory=list)
    steps: int = 0
    ended: Ended | None = None
    reward: Reward | None = None
    final_hash: str | None = None
    error: str | None = None

    @property
    def valid(self) -> bool:
        """Whether it has a reward; infrastructure trouble is no failure of the agent."""
        return self.ended not in INVALID


def run_episode(
    environment: Environment,
    task: Task,
    agent: Agent,
    limits: Limits,
    stopping: threading.Event | None = None,
) -> Episode:
    """Run one task to its end and return the dialogue.

    An engine, server or user simulator that fails ends the episode as ``infrastructure``. Raises
    InterruptedEpisodeError when ``stopping`` is set, UserError for a setting with which every
    episode would fail.
    """
    episode = Episode(task)
    try:
        _converse(episode, environment, agent, limits, stopping or threading.Event())
    except (InterruptedEpisodeError, KeyboardInterrupt):
        raise
    except ContextExceededError as error:
        episode.ended, episode.error = "context", str(error)
    except ScriptOverError:
        episode.ended = "script_over"
        episode.reward = score(environment.loaded, task, environment.db, environment.log)
    except InfrastructureError as error:
        episode.ended, episode.error = "infrastructure", str(error)
    episode.final_hash = environment.db.data_hash()
    return episode


def _converse(
    episode: Episode,
    environment: Environment,
    agent: Agent,
    limits: Limits,
    stopping: threading.Event,
) -> None:
    deadline = monotonic() + limits.seconds
    episode.opening = _of_user(lambda: environment.reset(episode.task))
    messages = [Message("system", agent.system), Message("user", episode.opening)]
    while episode.ended is None:
        if stopping.is_set():
            raise InterruptedEpisodeError
        episode.ended = _limit(episode, limits, deadline)
        if episode.ended is not None:
            return
        decision = agent.planner.decide(messages)
        turn = _act(episode, environment, agent, decision, limits.upstream_strict)
        episode.turns.append(turn)
        episode.steps += turn.punt is None or limits.punt_costs_step
        messages += render_turn(agent.form, turn)


def _limit(episode: Episode, limits: Limits, deadline: float) -> Ended | None:
    if episode.steps >= limits.steps:
        return "max_steps"
    if len(episode.turns) >= limits.planner_calls:
        return "max_punts"
    return "timeout" if monotonic() > deadline else None


def render_turn(form: Form, turn: Turn) -> tuple[Message, Message]:
    """Return a turn as the planner reads it: what it wrote, and what came of it.

    A call beside the text comes back as a call and a tool's answer. A call that servers would
    refuse in a dialogue (arguments that are no JSON object, an odd name) is put into words.
    """
    observation = turn.observation
    if turn.source != "user":
        observation = form.answer(turn.source, observation)
    if not turn.calls:
        return Message("assistant", turn.text), Message("user", observation)
    call = turn.calls[0]
    if can_be_told(call):
        return Message("assistant", turn.text, call), Message("tool", turn.observation)
    words = f"{turn.text}\n{call.name}({call.arguments})".strip()
    return Message("assistant", words), Message("user", observation)


def _act(
    episode: Episode, environment: Environment, agent: Agent, decision: Decision, strict: bool
) -> Turn:
    """Turn the planner's text into an action and run it, or punt."""
    calls = decision.calls
    reading = read_calls(calls) if calls else agent.form.read(decision.text)
    request = reading.request if isinstance(reading, Ask) else None
    if isinstance(reading, Ask):
        reading = _written(agent, reading.request, dialogue_lines(episode))
    call = reading.text if isinstance(reading, WrittenCall) else None
    outcome = _outcome(agent, reading, strict)
    turn = Turn(decision.text, request, call, intended=decision.intended, calls=calls)
    if isinstance(outcome, Action):
        return _step(episode, environment, turn, outcome, strict)
    if strict:
        episode.ended, episode.error = "crash", outcome.reason
    observation = f"Error: {outcome.reason}"
    return replace(turn, punt=outcome, observation=observation, source="punt")


def _written(agent: Agent, request: str, dialogue: Sequence[Line]) -> WrittenCall | Punt:
    assert agent.tool_agent is not None, "a request in words needs a tool agent"
    text = agent.tool_agent.write(request, dialogue)
    return WrittenCall(text) if isinstance(text, str) else text


def _outcome(agent: Agent, reading: Reading, strict: bool) -> Action | Punt:
    if isinstance(reading, Say):
        return Action(RESPOND, {"content": reading.text})
    if not isinstance(reading, WrittenCall):
        assert isinstance(reading, Punt)
        return reading
    if not strict:
        return agent.checker.read(reading.text)
    action = read_json_call(reading.text)
    said = agent.form.unreadable(reading.text) if isinstance(action, Punt) else None
    return Action(RESPOND, {"content": said.text}) if said else action


def _step(
    episode: Episode, environment: Environment, turn: Turn, action: Action, strict: bool
) -> Turn:
    step, problem = _try_step(environment, action)
    if step is None:
        if strict:
            episode.ended, episode.error = "crash", problem
        return replace(turn, action=action, observation=f"Error: {problem}", source=action.name)
    if step.done:
        episode.ended = "user_stop" if step.source == "user" else "agent_stop"
        episode.reward = step.reward
    return replace(turn, action=action, observation=step.observation, source=step.source)


def _try_step(environment: Environment, action: Action) -> tuple[Step | None, str]:
    """Return the step, or None and why the environment has no answer."""
    try:
        if action.name == RESPOND:
            return _of_user(lambda: environment.step(action)), ""
        return environment.step(action), ""
    except EpisodeCrashError as error:
        return None, str(error)


def _of_user(ask: Callable[[], Given]) -> Given:
    """Return what the user simulator gives; raise its failures as InfrastructureError.

    A UserError stays one: it names a setting with which every episode would fail.
    """
    try:
        return ask()
    except (EpisodeCrashError, InfrastructureError, InterruptedEpisodeError, UserError):
        raise
    except Exception as error:
        raise InfrastructureError(f"user: {type(error).__name__}: {error}") from error


def dialogue_lines(episode: Episode) -> list[Line]:
    """Return the dialogue so far as a tool agent reads it: (who spoke, what)."""
    lines: list[Line] = [("User", episode.opening)]
    for turn in episode.turns:
        lines.append(("Assistant", turn.request or turn.text))
        speaker = {"user": "User", "punt": "Error"}.get(turn.source, f"Tool {turn.source}")
        lines.append((speaker, turn.observation))
    return lines
