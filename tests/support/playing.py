"""TauBench arms composed from conf/, and stand-ins for who plays in them."""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from factored import evaluation
from factored.agents import Form
from factored.arm import TauBenchArm, prepare
from factored.episode import Ended, Limits, Turn
from factored.metrics import TauBenchMetrics
from factored.planners import Decision
from factored.results import EpisodeInfo, EpisodeRow
from factored.settings import canonical, taubench_settings
from factored.taubench.tasks import Task
from harness.completions import Message
from harness.settings import resolve
from support.arms import ROOT

LIMITS = Limits(
    steps=30, planner_calls=60, seconds=60.0, punt_costs_step=True, upstream_strict=False
)


@cache
def _composed(name: str, overrides: tuple[str, ...]) -> str:
    from hydra import compose, initialize_config_dir

    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        return json.dumps(resolve(compose(name, list(overrides))))


def compose_taubench(*overrides: str, name: str = "taubench") -> dict[str, Any]:
    """The resolved config of ``python evaluate.py --config-name=NAME OVERRIDES``."""
    config: dict[str, Any] = json.loads(_composed(name, ("tracker=none", *overrides)))
    return config


def arm_of(config: Mapping[str, Any]) -> TauBenchArm:
    config, _ = canonical(config)
    return prepare(taubench_settings(config), config)


def form_of(name: str) -> Form:
    return taubench_settings(canonical(compose_taubench(f"agent={name}"))[0]).agent


class TauBenchResult(NamedTuple):
    """A finished arm's folder, its figures, and whether it ran just now."""

    folder: Path
    metrics: TauBenchMetrics
    fresh: bool


def evaluate(arm: TauBenchArm) -> TauBenchResult:
    done = evaluation.evaluate(arm)
    return TauBenchResult(done.run.folder, done.result.metrics, done.fresh)


def metrics_of(result: TauBenchResult) -> dict[str, Any]:
    """The content of the arm's metrics.json."""
    found: dict[str, Any] = json.loads((result.folder / "metrics.json").read_text())
    return found


def row_of(
    task_id: int = 0,
    trial: int = 0,
    reward: float | None = 1.0,
    ended: Ended = "user_stop",
    task: Task | None = None,
    turns: Sequence[Turn] = (),
) -> EpisodeRow:
    """An episode's row, of which a test looks at a few values."""
    info = EpisodeInfo(task or Task("", "", (), ()), "user", 0.0, None)
    return EpisodeRow(
        task_id, reward, info, (), trial, 0, ended, 1, None, None, None, tuple(turns), {}
    )


class Says:
    """A planner that says the given texts, and keeps what it was shown."""

    def __init__(self, *texts: str) -> None:
        self.texts = list(texts)
        self.shown: list[Sequence[Message]] = []

    def decide(self, messages: Sequence[Message]) -> Decision:
        self.shown.append(tuple(messages))
        return Decision(self.texts.pop(0) if len(self.texts) > 1 else self.texts[0])


class Writes:
    """A tool agent that writes the given texts, and keeps what it was asked."""

    def __init__(self, *texts: str) -> None:
        self.texts = list(texts)
        self.asked: list[tuple[str, Sequence[tuple[str, str]]]] = []

    def write(self, request: str, dialogue: Sequence[tuple[str, str]]) -> str:
        self.asked.append((request, list(dialogue)))
        return self.texts.pop(0) if len(self.texts) > 1 else self.texts[0]
