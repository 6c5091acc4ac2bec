"""tau2-bench's tasks as tasks of tau-bench: what the user wants, ground truth, what has to be said.

One row of tau2's ``tasks.json``, shortened::

    {"id": "7", "initial_state": null,
     "user_scenario": {"persona": null, "instructions": {
         "known_info": "You are Mia Li.", "reason_for_call": "You want to ...",
         "unknown_info": "...", "task_instructions": "...", "domain": "airline"}},
     "evaluation_criteria": {"actions": [{"name": "...", "arguments": {...}}],
         "communicate_info": ["1628"], "nl_assertions": ["Agent should ..."]}}

The reward stays tau-bench's: final state and outputs. What tau2 checks beyond that is counted in
``not_graded``; a task that cannot be scored that way keeps its place, with the reason.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from factored.taubench.state import Record
from factored.taubench.tasks import Action, MalformedActionError, Task, Tau2
from factored.taubench.tools import Domain
from harness.errors import UserError

# tau-bench's id of each task, by place in tau2's file. tau2 left out retail 95 and renumbered the
# airline's; matched by user, text and ground truth.
TAU_BENCH_IDS: Mapping[str, Sequence[int]] = json.loads(
    Path(__file__).with_name("tau2_ids.json").read_text(encoding="utf-8")
)
TEXTS = ("known_info", "reason_for_call", "unknown_info", "task_instructions")
READS = ("get_", "find_", "list_", "search_")  # how tau2 names tools that change nothing
Tables = Mapping[str, Mapping[str, Record]]


def tau2_tasks(rows: Any, domain: Domain, tables: Tables, where: str) -> list[Task]:
    """Return the tasks of a ``tasks.json`` in its order; ``tables`` tell whom a task is about.

    Raises UserError that names the row.
    """
    if not isinstance(rows, list):
        raise UserError(f"{where}: must be a list of tasks")
    try:
        numbered = [row["id"] for row in rows] == [str(place) for place in range(len(rows))]
    except (KeyError, TypeError) as error:
        raise UserError(f"{where}: a task has no 'id' ({error!r})") from error
    known = TAU_BENCH_IDS.get(domain.name, ())
    ids = known if numbered and len(known) == len(rows) else [None] * len(rows)
    tasks = []
    for row, tau_bench_id in zip(rows, ids, strict=True):
        try:
            tasks.append(_task(row, tau_bench_id, domain, tables))
        except (KeyError, TypeError, AttributeError, MalformedActionError) as error:
            raise UserError(f"{where} task {row['id']}: is not tau2's ({error!r})") from error
    return tasks


def _task(row: Record, tau_bench_id: int | None, domain: Domain, tables: Tables) -> Task:
    criteria = row.get("evaluation_criteria") or {}
    basis = criteria.get("reward_basis") or ["DB", "COMMUNICATE"]
    outputs = tuple(criteria.get("communicate_info") or ())
    if not all(isinstance(output, str) for output in outputs):
        raise TypeError("communicate_info must be texts")
    lost = Counter(
        {key: len(criteria.get(key) or ()) for key in ("nl_assertions", "env_assertions")}
    )
    if "COMMUNICATE" not in basis:
        lost["communicate_info"] = len(outputs)
        outputs = ()
    actions, problem = [], _problem(row, basis)
    for given in criteria.get("actions") or ():
        action = Action(given["name"], given["arguments"])
        if domain.tool(action.name) is None and action.name.startswith(READS):
            lost[f"calls of {action.name}"] += 1
            continue
        actions.append(action)
        problem = problem or _unfit(action, given, domain)
    text = instruction(row["user_scenario"])
    return Task(
        user_id=user_of(text, actions, tables),
        instruction=text,
        actions=tuple(actions),
        outputs=outputs,
        tau2=Tau2(str(row["id"]), tau_bench_id, {k: n for k, n in lost.items() if n}, problem),
    )


def _problem(row: Record, basis: Sequence[str]) -> str | None:
    """Return why a task as a whole cannot be scored by its final state, or None."""
    if row.get("initial_state"):
        return "begins from another state"
    if not row.get("evaluation_criteria"):
        return "has no evaluation criteria"
    return None if "DB" in basis else "is not graded by its final state"


def _unfit(action: Action, given: Record, domain: Domain) -> str | None:
    """Return why the environment here cannot take a ground-truth action, or None."""
    tool = domain.tool(action.name)
    if given.get("requestor", "assistant") != "assistant":
        return f"its user calls {action.name}"
    if tool is None:
        return f"calls {action.name}, which is no tool here"
    wrong = sorted(set(action.kwargs).symmetric_difference(tool.parameters))
    return f"calls {action.name} with other arguments ({', '.join(wrong)})" if wrong else None


def instruction(scenario: Record) -> str:
    """Return what the user wants in the words of the scenario, which speaks to the user.

    Leaves out parts without a letter or digit.
    """
    given = scenario["instructions"]
    parts = [given] if isinstance(given, str) else [given.get(name) for name in TEXTS]
    texts = [part.strip() for part in (scenario.get("persona"), *parts) if part]
    return "\n".join(text for text in texts if any(letter.isalnum() for letter in text))


def user_of(text: str, actions: Sequence[Action], tables: Tables) -> str:
    """Return the id of the user that a text and the ground truth are about, or "".

    The first of these that names exactly one user decides: an id in the text; a name with its zip
    code or e-mail; the owner of what the actions are about; a name alone.
    """
    users = tables["users"]
    for found in (
        [word for word in re.findall(r"\w+", text) if word in users],
        [user for user in _named(text, users) if _certain(text, users[user])],
        list(_owners(actions, tables)),
        _named(text, users),
    ):
        if len(set(found)) == 1:
            return found[0]
    return ""


def _named(text: str, users: Mapping[str, Record]) -> list[str]:
    found = []
    for user, record in users.items():
        name = record.get("name") or {}
        if f"{name.get('first_name')} {name.get('last_name')}".lower() in text.lower():
            found.append(user)
    return found


def _certain(text: str, user: Record) -> bool:
    marks = [user.get("email"), (user.get("address") or {}).get("zip")]
    return any(mark and mark.lower() in text.lower() for mark in marks)


def _owners(actions: Sequence[Action], tables: Tables) -> Iterator[str]:
    for action in actions:
        for value in action.kwargs.values():
            if isinstance(value, str):
                found = [records[value] for records in tables.values() if value in records]
                owners = [value, *(str(record.get("user_id")) for record in found)]
                yield from (owner for owner in owners if owner in tables["users"])


def notes(tasks: Sequence[Task], file: str) -> list[str]:
    """Return what of the tasks has no place here, in lines for the user."""
    lost: Counter[str] = Counter()
    for task in tasks:
        if task.tau2:
            lost.update(task.tau2.not_graded)
    lines = [f"{file}: {count} {what} are not part of the reward" for what, count in lost.items()]
    lines += [
        f"{file}: task {place} is left out of runs: {task.tau2.unscorable}"
        for place, task in enumerate(tasks)
        if task.tau2 and task.tau2.unscorable
    ]
    nameless = [str(place) for place, task in enumerate(tasks) if not task.user_id]
    return [*lines, f"{file}: no user found for tasks {', '.join(nameless)}"] if nameless else lines
