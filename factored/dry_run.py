"""What a TauBench arm would do, without loading weights: its prompts and its size."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from factored.arm import TauBenchArm
from factored.requests import render_request
from factored.taubench.simulator import PLACEHOLDERS, SimulatedUserSpec
from factored.taubench.tasks import Action, Task
from factored.tool_agents import ModelToolAgentSpec, constraint_in_words, tool_agent_messages
from harness.templates import fill
from harness.terminal import say


def dry_run(arm: TauBenchArm, console: Console) -> None:
    """Print each role's first prompt, and how many episodes there are."""
    settings = arm.settings
    say(console, f"arm {arm.run.name}")
    _show(console, "planner", settings.agent.system(arm.loaded.policy, arm.loaded.schemas))
    if arm.tools:
        _show(console, "tools, beside the planner's messages", "\n".join(arm.tools))
    if isinstance(settings.tool_agent, ModelToolAgentSpec):
        actions = [action for task in arm.tasks.values() for action in task.actions]
        example = actions[0] if actions else Action(arm.loaded.domain.tools[0].name, {})
        request = render_request(example)
        show_tool_agent(console, settings.tool_agent, arm.loaded.schemas, request)
    if isinstance(settings.user, SimulatedUserSpec):
        _show_user(console, settings.user, next(iter(arm.tasks.values())))
    console.rule(style="dim")
    tasks, trials, steps = len(arm.tasks), settings.trials, settings.limits.steps
    say(console, f"{tasks} tasks x {trials} trials, at most {steps} steps each")


def show_tool_agent(
    console: Console, spec: ModelToolAgentSpec, schemas: Sequence[Mapping[str, Any]], request: str
) -> None:
    """Print the prompt of a request without its dialogue, and what the reply is held to."""
    prompt, _ = tool_agent_messages(spec, schemas, request, [])
    _show(console, "tool agent", "\n\n".join(message.content for message in prompt))
    say(console, constraint_in_words(spec, len(schemas)))


def _show_user(console: Console, spec: SimulatedUserSpec, task: Task) -> None:
    """Print the simulator's prompt and its judge's, with the task alone filled in."""
    for key in PLACEHOLDERS:
        if hasattr(spec, key):
            title = "user" if key == "instruction" else f"user, {key}"
            _show(console, title, fill(getattr(spec, key), task=task.instruction))


def _show(console: Console, title: str, text: str) -> None:
    console.rule(title, style="dim")
    say(console, text)
