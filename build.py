"""Builds a benchmark folder from a source of questions, stage by stage.

python build.py
python build.py benchmark=csv benchmark.path=my.csv benchmark.name=mine
python build.py benchmark=toolhop benchmark.path=ToolHop.json 'stages=[screen]'
"""

from typing import Any

from harness.entry import start
from harness.outcomes import Outcome, Plan


def plan(config: dict[str, Any]) -> Plan:
    """A resolved config, checked; nothing stays in memory between two builds."""
    from memtoc.construction.settings import build_settings

    build_settings(config)
    return Plan(config, "")


def run(config: dict[str, Any]) -> Outcome:
    """One build from a resolved config."""
    from harness.terminal import console
    from memtoc.construction.build import build
    from memtoc.construction.settings import build_settings

    return build(build_settings(config), console())


if __name__ == "__main__":
    start("build", run, plan)
