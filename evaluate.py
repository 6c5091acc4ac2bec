"""Runs one arm (or, with -m, a sweep of arms) and prints how the model behaved.

python evaluate.py
python evaluate.py formulation=paraA frame=passage limit=50
python evaluate.py -m model=qwen,gemma formulation=ref,paraA
python evaluate.py --config-name=merge shards=4
python evaluate.py --config-name=taubench agent=factored
"""

from typing import Any

from harness.entry import start
from harness.outcomes import Command, Config, Configs


def evaluate() -> Command[Any]:
    """Return the command of a MemToC arm."""
    from memtoc.evaluation import EVALUATE

    return EVALUATE


def merge() -> Command[Any]:
    """Return the command that joins the shards of an arm."""
    from memtoc.merging import MERGE

    return MERGE


def taubench() -> Command[Any]:
    """Return the command of a TauBench arm."""
    from factored.evaluation import TAUBENCH

    return TAUBENCH


def calls() -> Command[Any]:
    """Return the command of a tool agent on recorded calls."""
    from factored.calls.run import CALLS

    return CALLS


CONFIGS: Configs = {
    "evaluate": Config("evaluate", evaluate),
    "merge": Config("merge", merge),
    "taubench": Config("taubench", taubench),
    "calls": Config("calls", calls),
}

if __name__ == "__main__":
    start(CONFIGS)
