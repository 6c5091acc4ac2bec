"""Engines: what turns requests into completions. One a file, each with its settings."""

from typing import Annotated

from pydantic import Field

from harness.engines.base import Engine, EngineSpec
from harness.engines.hf import HfSpec
from harness.engines.mock import MockSpec
from harness.engines.openai import OpenAiSpec
from harness.engines.replay import ReplaySpec

AnyEngine = Annotated[HfSpec | MockSpec | OpenAiSpec | ReplaySpec, Field(discriminator="kind")]

__all__ = ["AnyEngine", "Engine", "EngineSpec", "HfSpec", "MockSpec", "OpenAiSpec", "ReplaySpec"]
