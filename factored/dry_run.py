"""What a TauBench arm would do, without loading weights: its prompts and its size."""

from rich.console import Console

from factored.arm import TauBenchArm
from factored.requests import render_request
from factored.taubench.simulator import ModelUserSpec
from factored.taubench.tasks import Action
from factored.tool_agents import ModelToolAgentSpec, tool_agent_messages


def dry_run(arm: TauBenchArm, console: Console) -> None:
    """Prints each role's first prompt, and how many episodes there are."""
    settings = arm.settings
    _say(console, f"arm {arm.name}")
    _show(console, "planner", settings.agent.system(arm.loaded.policy, arm.loaded.schemas))
    if isinstance(settings.tool_agent, ModelToolAgentSpec):
        example = render_request(_example(arm))
        prompt, _ = tool_agent_messages(settings.tool_agent, arm.loaded.schemas, example, [])
        _show(console, "tool agent", "\n\n".join(message.content for message in prompt))
    if isinstance(settings.user, ModelUserSpec):
        task = next(iter(arm.tasks.values()))
        _show(console, "user", settings.user.instruction.replace("{task}", task.instruction))
    console.rule(style="dim")
    tasks, trials, steps = len(arm.tasks), settings.trials, settings.limits.steps
    _say(console, f"{tasks} tasks x {trials} trials, at most {steps} steps each")


def _example(arm: TauBenchArm) -> Action:
    """A call of the tasks' ground truth, or of a tool without parameters."""
    actions = [action for task in arm.tasks.values() for action in task.actions]
    return actions[0] if actions else Action(arm.loaded.domain.tools[0].name, {})


def _show(console: Console, title: str, text: str) -> None:
    console.rule(title, style="dim")
    _say(console, text)


def _say(console: Console, text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)
