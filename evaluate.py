"""Runs one arm (or, with -m, a sweep of arms) and prints how the model behaved.

python evaluate.py
python evaluate.py formulation=paraA frame=passage limit=50
python evaluate.py -m model=qwen,gemma formulation=ref,paraA
python evaluate.py --config-name=taubench agent=factored
"""

from typing import Any

from harness.entry import start
from harness.outcomes import Outcome, Plan


def plan(config: dict[str, Any]) -> Plan:
    """The canonical config, held against the rules between groups."""
    if config["task"] == "taubench":
        from factored import jobs

        return jobs.plan(config)
    from memtoc import rules

    return rules.plan(config)


def run(config: dict[str, Any]) -> Outcome:
    """One arm from a resolved config: check it, evaluate it, say how it went."""
    if config["task"] == "taubench":
        from factored import jobs

        return jobs.run_arm(plan(config))
    from memtoc.jobs import run_arm

    return run_arm(plan(config))


if __name__ == "__main__":
    start("evaluate", run, plan)
