"""A scripted engine: replies by rule, for tests and for measuring what the harness itself costs."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal

from harness.completions import Completion, Request, failed
from harness.engines.base import EngineSpec
from harness.errors import UserError
from harness.models import Checkpoint, ModelSpec

GROUP = 256  # completions that are stored together


@dataclass(frozen=True)
class Rule:
    """A line of the script: prompts that contain a text get a reply, or an error."""

    contains: str
    reply: str | None = None
    error: str | None = None

    def __post_init__(self) -> None:
        if (self.reply is None) == (self.error is None):
            raise UserError("a rule gives either a reply or an error")


@dataclass(frozen=True)
class MockSpec(EngineSpec):
    """The first rule whose text a prompt contains answers it, else the default reply.

    A schema, an adapter or a tool choice changes nothing: the script says what is written.
    """

    kind: Literal["mock"]
    reply: str
    rules: tuple[Rule, ...]

    supports_adapters: ClassVar[bool] = True
    supports_tool_choice: ClassVar[bool] = True
    speaks_for_model: ClassVar[bool] = False

    def identity(self) -> dict[str, Any]:
        """Return the script."""
        return asdict(self)

    def version(self) -> str:
        """Return 1: the script is the whole engine."""
        return "1"

    def open(self, model: ModelSpec, checkpoint: Checkpoint | None) -> "MockEngine":  # noqa: ARG002
        """Return the engine; it needs neither model nor weights."""
        return MockEngine(self)


class MockEngine:
    """Answers from the script."""

    def __init__(self, spec: MockSpec) -> None:
        """Keep the script."""
        self.spec = spec

    def run(
        self, requests: Sequence[Request], missing: Collection[int]
    ) -> Iterator[Mapping[int, Completion]]:
        """Yield replies in groups of the given order."""
        order = sorted(missing)
        for start in range(0, len(order), GROUP):
            yield {index: self._reply(requests[index]) for index in order[start : start + GROUP]}

    def _reply(self, request: Request) -> Completion:
        prompt = "\n".join(message.content for message in request.messages)
        for rule in self.spec.rules:
            if rule.contains in prompt:
                if rule.error is not None:
                    return failed(rule.error)
                return _completion(prompt, rule.reply or "")
        return _completion(prompt, self.spec.reply)

    def close(self) -> None:
        """Do nothing: there is no memory to give back."""


def _completion(prompt: str, reply: str) -> Completion:
    return Completion(reply, "stop", len(prompt.split()), len(reply.split()))
