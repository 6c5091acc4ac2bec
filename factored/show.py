"""One dialogue in the terminal: what was said, what was asked for, what was punted."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from factored.agreement import actions_end_on_agreement
from factored.taubench.loading import DOMAINS
from factored.taubench.recordings import recorded_steps
from factored.taubench.tasks import RESPOND
from harness.terminal import printable

MAX_SHOWN = 600  # characters of an observation
WRITES = frozenset().union(*(domain.writes for domain in DOMAINS.values()))
MAX_NAME = 60  # characters of who speaks


def show_dialogue(row: Mapping[str, Any], console: Console) -> None:
    """Print a row of a result file: its turns, or its messages where tau-bench wrote it.

    ``row`` may be anybody's file: whatever it lacks raises KeyError, TypeError or AttributeError.
    """
    ended = f", {row['ended']}" if "ended" in row else ""
    title = (
        f"task {row.get('task_id')}, trial {row.get('trial')}: reward {row.get('reward')}{ended}"
    )
    console.rule(Text(_safe(title)), style="dim")
    if "turns" in row:
        said = [message["content"] for message in row["traj"] if message["role"] == "user"]
        _line(console, "user", str(said[0]) if said else "")
        for turn in row["turns"]:
            _turn(console, turn)
    else:
        for message in row["traj"]:
            _message(console, message)
    steps = recorded_steps(row["traj"])
    taken = [(step.action, step.answer or "") for step in steps if step.action]
    if actions_end_on_agreement(taken, WRITES):
        text = "the user agreed to a change and ended the dialogue before it could be made"
        _line(console, "ENDED ON AGREEMENT", text, "bold red")
    if row.get("error"):
        _line(console, "error", str(row["error"]), "bold red")


def _turn(console: Console, turn: Mapping[str, Any]) -> None:
    action = turn["action"]
    if turn["punt"]:
        _line(console, "planner", turn["text"])
        if turn["call"] is not None:
            _line(console, "tool agent" if turn["request"] else "call", turn["call"])
        _line(console, "PUNT", f"{turn['punt']['error']}: {turn['punt']['reason']}", "bold red")
    elif action["name"] == RESPOND:
        _line(console, "agent", str(action["kwargs"].get("content")), "cyan")
        _line(console, "user", turn["observation"])
    else:
        if turn["request"]:
            _line(console, "planner", turn["request"], "magenta")
        fields = ", ".join(f"{name}={value!r}" for name, value in action["kwargs"].items())
        _line(console, "call", f"{action['name']}({fields})", "green")
        _line(console, action["name"], turn["observation"], "dim")


def _message(console: Console, message: Mapping[str, Any]) -> None:
    if message.get("role") == "system":
        return
    for call in message.get("tool_calls") or ():
        function = call.get("function") or {}
        _line(console, "call", f"{function.get('name')} {function.get('arguments')}", "green")
    if message.get("content"):
        role = str(message.get("name") or message.get("role"))
        _line(console, role, str(message["content"]), "cyan" if role == "assistant" else "")


def _line(console: Console, who: str, text: str, style: str = "") -> None:
    shown = text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}... ({len(text)} characters)"
    line = Table.grid(padding=(0, 2, 0, 0))
    line.add_column(justify="right", min_width=12, overflow="fold")
    line.add_column(overflow="fold")
    line.add_row(Text(_safe(who[:MAX_NAME]), style="bold"), Text(_safe(shown), style=style))
    console.print(line)


def _safe(text: str) -> str:
    """Return a file's text without what steers a terminal.

    Put into a rich ``Text``, whose markup is shown as it is.
    """
    return printable(text, keep="\n")
