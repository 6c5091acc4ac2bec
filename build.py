"""Builds a benchmark folder: MemToC's from a source of questions, TauBench's from its publisher's.

python build.py
python build.py benchmark=csv benchmark.path=my.csv benchmark.name=mine
python build.py benchmark=toolhop benchmark.path=ToolHop.json 'stages=[screen]'
python build.py --config-name=taubench source=tau-bench
"""

from typing import Any

from harness.entry import start
from harness.outcomes import Outcome, Plan

CONFIGS = {"build": "build", "taubench": "taubench_data"}


def plan(config: dict[str, Any]) -> Plan:
    """A resolved config, checked; nothing stays in memory between two builds."""
    from factored.taubench.importing import import_settings
    from memtoc.construction.settings import build_settings

    settings = import_settings if config["task"] == "import" else build_settings
    settings(config)
    return Plan(config, "")


def run(config: dict[str, Any]) -> Outcome:
    """One build from a resolved config."""
    from factored.taubench.importing import bring_in, import_settings
    from harness.terminal import console
    from memtoc.construction.build import build
    from memtoc.construction.settings import build_settings

    if config["task"] == "import":
        return bring_in(import_settings(config), console())
    return build(build_settings(config), console())


if __name__ == "__main__":
    start(CONFIGS, run, plan)
