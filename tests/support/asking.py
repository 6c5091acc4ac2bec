"""Asking a fake server through the engine, as `conf/engine/openai.yaml` sets it up."""

import json
from typing import Any

import yaml

from harness.completions import Completion, Decoding, Message, Request
from harness.engines import OpenAiSpec
from harness.engines.openai import OpenAiEngine
from harness.models import ModelSpec
from harness.settings import parse
from support.arms import ROOT

MODEL = ModelSpec("small", "chat", "keep", False)
GREEDY = Decoding("greedy", 0.0, 8)
TOOL = json.dumps({"type": "function", "function": {"name": "find", "parameters": {}}})


def spec(url: str, **changed: Any) -> OpenAiSpec:
    """The settings of conf/engine/openai.yaml for a server, without pauses."""
    content = yaml.safe_load((ROOT / "conf/engine/openai.yaml").read_text(encoding="utf-8"))
    given = {"base_url": url, "server": url, "pause_s": 0.0, "retries": 2, "timeout_s": 20.0}
    return parse(OpenAiSpec, {**content, **given, **changed})


def ask(text: str, decoding: Decoding = GREEDY, **more: Any) -> Request:
    return Request((Message("user", text),), decoding, **more)


def completions(engine: OpenAiEngine, *requests: Request) -> list[Completion]:
    found: dict[int, Completion] = {}
    try:
        for group in engine.run(requests, range(len(requests))):
            found |= group
    finally:
        engine.close()
    return [found[index] for index in range(len(requests))]
