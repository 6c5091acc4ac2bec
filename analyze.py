"""Works on arms that are finished.

python analyze.py --config-name=rescore arm=runs/ARM
"""

from pathlib import Path
from typing import Any

from harness.entry import start
from harness.outcomes import Outcome

CONFIGS = {"rescore": "rescore"}


def run(config: dict[str, Any]) -> Outcome:
    """Scores the arm named in a resolved config again."""
    from harness.terminal import console
    from memtoc.rescoring import rescore
    from memtoc.tables import show_rates

    found = rescore(Path(str(config["arm"])))

    def show() -> None:
        screen = console()
        show_rates(found.metrics, found.settings.report, screen)
        for matcher, rows in found.changed.items():
            screen.print(f"{matcher}: {rows} outcomes differ from scorer {found.old_scorer}")
        screen.print(f"rows: {found.episodes}", soft_wrap=True)

    return Outcome("done", name=found.episodes.parent.name, folder=config["arm"], show=show)


if __name__ == "__main__":
    start(CONFIGS, run)
