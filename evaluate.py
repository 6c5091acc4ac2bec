"""Runs one arm (or, with -m, a sweep of arms) and prints how the model behaved.

python evaluate.py
python evaluate.py formulation=paraA frame=passage limit=50
python evaluate.py benchmark=memtoc benchmark.path=questions.jsonl model=qwen
"""

from typing import Any

from harness.entry import start


def run(config: dict[str, Any]) -> None:
    """One arm from a resolved config: check it, evaluate it, show it."""
    from rich.console import Console

    from memtoc.arm import prepare
    from memtoc.dry_run import dry_run
    from memtoc.evaluation import evaluate
    from memtoc.settings import arm_settings, canonical
    from memtoc.tables import show

    config, notes = canonical(config)
    settings = arm_settings(config)
    console = Console()
    for note in notes:
        console.print(f"note: {note}", highlight=False)
    arm = prepare(settings, config)
    if settings.dry_run:
        dry_run(arm, console)
    else:
        show(evaluate(arm), settings.report, console)


if __name__ == "__main__":
    start("evaluate", run)
