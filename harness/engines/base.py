"""What every engine is asked."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Protocol, runtime_checkable

from harness.completions import Completion, Request
from harness.models import Checkpoint, ModelSpec


class Engine(Protocol):
    """Turns requests into completions, in groups that are stored as they come."""

    def run(
        self, requests: Sequence[Request], missing: Collection[int]
    ) -> Iterator[Mapping[int, Completion]]:
        """Completions of the ``missing`` indices into ``requests``, a finished group at a time.

        ``requests`` is the whole list of distinct requests of a pass, so that an engine which
        batches can plan from it: a continued run then computes the same batches as a whole one.
        """
        ...

    def close(self) -> None:
        """Gives memory back."""
        ...


class Opens(Protocol):
    """An engine's settings, as its file in conf/engine gives them."""

    @property
    def name(self) -> str:
        """The name of the file."""
        ...

    reads_weights: ClassVar[bool]

    def identity(self) -> dict[str, Any]:
        """What of the engine decides the text: kind, precision; nothing is loaded."""
        ...

    def version(self) -> str:
        """The version of the library that computes the text; part of the cache key."""
        ...

    def open(self, model: ModelSpec, checkpoint: Checkpoint | None) -> Engine:
        """Loads; heavy libraries are imported here and not before."""
        ...


@runtime_checkable
class HoldsToSchemas(Protocol):
    """Settings of an engine that masks what a request's schema does not allow by itself."""

    def grammar_version(self) -> str:
        """The version of the library that does so; part of the cache key of such requests."""
        ...


@runtime_checkable
class AsksServer(Protocol):
    """Settings of an engine that asks a server: several calls of its ``run`` may go on at once.

    It makes failed requests again by itself.
    """

    @property
    def concurrency(self) -> int:
        """Requests that are on their way at once."""
        ...

    def served_name(self, model: ModelSpec) -> str:
        """What the server calls a model."""
        ...


@runtime_checkable
class Reports(Protocol):
    """An engine that is told which model answers: how many answers came from which."""

    reported: Counter[str]
