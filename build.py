"""Builds a benchmark folder: MemToC's from a source of questions, TauBench's from its publisher's.

python build.py
python build.py benchmark=csv benchmark.path=my.csv benchmark.name=mine
python build.py benchmark=toolhop benchmark.path=ToolHop.json 'stages=[screen]'
python build.py --config-name=taubench source=tau-bench
"""

from typing import Any

from harness.entry import start
from harness.outcomes import Command, Config, Configs


def build() -> Command[Any]:
    """Return the command that builds a MemToC benchmark."""
    from memtoc.construction.build import BUILD

    return BUILD


def taubench() -> Command[Any]:
    """Return the command that brings in TauBench's data."""
    from factored.taubench.importing import IMPORT

    return IMPORT


CONFIGS: Configs = {
    "build": Config("build", build),
    "taubench": Config("taubench_data", taubench),
}

if __name__ == "__main__":
    start(CONFIGS)
