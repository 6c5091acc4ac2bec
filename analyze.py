"""Works on arms that are finished.

python analyze.py --config-name=rescore arm=runs/ARM
"""

from typing import Any

from harness.entry import start
from harness.outcomes import Command, Config, Configs


def rescore() -> Command[Any]:
    """Return the command that scores a finished arm again."""
    from memtoc.rescoring import RESCORE

    return RESCORE


CONFIGS: Configs = {"rescore": Config("rescore", rescore)}

if __name__ == "__main__":
    start(CONFIGS)
