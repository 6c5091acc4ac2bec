"""Works on arms that are finished.

python analyze.py --config-name=rescore arm=runs/ARM
python analyze.py --config-name=packet arm=runs/ARM
"""

from typing import Any

from harness.entry import start
from harness.outcomes import Command, Config, Configs


def rescore() -> Command[Any]:
    """Return the command that scores a finished arm again."""
    from memtoc.rescoring import RESCORE

    return RESCORE


def packet() -> Command[Any]:
    """Return the command that writes what no rule settles for annotators."""
    from memtoc.packet import PACKET

    return PACKET


CONFIGS: Configs = {"rescore": Config("rescore", rescore), "packet": Config("packet", packet)}

if __name__ == "__main__":
    start(CONFIGS)
