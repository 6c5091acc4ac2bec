"""Runs one arm (or, with -m, a sweep of arms) and prints how the model behaved.

python evaluate.py
python evaluate.py formulation=paraA frame=passage limit=50
python evaluate.py -m model=qwen,gemma formulation=ref,paraA
python evaluate.py --config-name=merge shards=4
python evaluate.py --config-name=taubench agent=factored
"""

from importlib import import_module
from types import ModuleType
from typing import Any

from harness.entry import start
from harness.outcomes import Outcome, Plan

CONFIGS = {name: name for name in ("evaluate", "merge", "taubench", "calls")}


def jobs_of(task: str) -> ModuleType:
    """The module that plans and runs a task; the other one is not imported."""
    return import_module("factored.jobs" if task in ("taubench", "calls") else "memtoc.jobs")


def plan(config: dict[str, Any]) -> Plan:
    """A resolved config in canonical form, checked; its ``task`` says whose it is."""
    planned: Plan = jobs_of(config["task"]).plan(config)
    return planned


def run(config: dict[str, Any]) -> Outcome:
    """One arm from a resolved config: check it, evaluate it, say how it went."""
    outcome: Outcome = jobs_of(config["task"]).run(plan(config))
    return outcome


if __name__ == "__main__":
    start(CONFIGS, run, plan)
