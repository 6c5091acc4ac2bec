"""TauBench arms composed from conf/, and stand-ins for who plays in them."""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from factored.agents import Form
from factored.arm import TauBenchArm, prepare
from factored.episode import Limits
from factored.planners import Decision
from factored.settings import canonical, taubench_settings
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
