"""Runs one arm (or, with -m, a sweep of arms) and prints how the model behaved.

python evaluate.py
python evaluate.py formulation=paraA frame=passage limit=50
python evaluate.py -m model=qwen,gemma formulation=ref,paraA
python evaluate.py --config-name=merge shards=4
python evaluate.py --config-name=taubench agent=factored
"""

from typing import Any

from harness.entry import start
from harness.outcomes import Outcome, Plan


def plan(config: dict[str, Any]) -> Plan:
    """A resolved config in canonical form, checked; its ``task`` says whose it is."""
    if config["task"] in ("taubench", "calls"):
        from factored import jobs as taubench

        return taubench.plan(config)
    from memtoc import jobs

    return jobs.plan_merge(config) if config["task"] == "merge" else jobs.plan(config)


def run(config: dict[str, Any]) -> Outcome:
    """One arm from a resolved config: check it, evaluate it, say how it went."""
    planned = plan(config)
    if config["task"] in ("taubench", "calls"):
        from factored import jobs as taubench

        return taubench.run(planned)
    from memtoc import jobs

    return jobs.run_merge(planned) if config["task"] == "merge" else jobs.run_arm(planned)


if __name__ == "__main__":
    start("evaluate", run, plan)
