"""What an engine is: its settings with what it can do, and what a loaded one is asked."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from harness.completions import ChoiceScore, Completion, Request
from harness.models import Checkpoint, ModelSpec
from harness.validators import Name


class Engine(Protocol):
    """A loaded engine: turns requests into completions, in groups that are stored as they come."""

    def run(
        self, requests: Sequence[Request], missing: Collection[int]
    ) -> Iterator[Mapping[int, Completion]]:
        """Yield completions of the ``missing`` indices into ``requests``, a finished group at once.

        ``requests`` is the whole list of distinct requests of a pass, so that an engine which
        batches can plan from it: a continued run then computes the same batches as a whole one.
        """
        ...

    def close(self) -> None:
        """Give the memory back."""
        ...


class Scores(Protocol):
    """A loaded engine whose settings say ``scores``: it gives probabilities of given texts."""

    def score(
        self,
        requests: Sequence[Request],
        choices: Sequence[Sequence[str]],
        missing: Collection[int],
    ) -> Iterator[Mapping[int, tuple[ChoiceScore, ...]]]:
        """Yield, for each missing index, the log-probabilities of its choices after its prompt.

        ``choices[i]`` are the continuations of ``requests[i]``; one `ChoiceScore` for each.
        """
        ...


@dataclass(frozen=True)
class EngineSpec(ABC):
    """An engine's settings, as its file in conf/engine gives them, and what the engine can do.

    The class attributes are the capabilities: it ``reads_weights`` of a checkpoint itself,
    ``asks_server`` (several calls of its ``run`` may go on at once, and it repeats failed requests
    by itself), ``supports_schema`` (it masks the tokens that a request's schema forbids),
    ``supports_adapters`` (a request may name a LoRA adapter), ``supports_tool_choice`` (a request
    may force or forbid a call), ``scores`` (it has `Scores.score`), ``speaks_for_model`` (its texts
    are those of the model that is asked; runs of an engine that makes them up are not named after
    one).
    """

    name: Name

    reads_weights: ClassVar[bool] = False
    asks_server: ClassVar[bool] = False
    supports_schema: ClassVar[bool] = False
    supports_adapters: ClassVar[bool] = False
    supports_tool_choice: ClassVar[bool] = False
    scores: ClassVar[bool] = False
    speaks_for_model: ClassVar[bool] = True

    def speaker(self, model: ModelSpec) -> str:
        """Return whose replies the engine gives, as the folders of its runs are called."""
        return model.name if self.speaks_for_model else self.name

    @abstractmethod
    def identity(self) -> dict[str, Any]:
        """Return what of the engine decides the text: kind, precision. Loads nothing."""

    @abstractmethod
    def version(self) -> str:
        """Return the version of what computes the text; it is part of the cache key."""

    @abstractmethod
    def open(self, model: ModelSpec, checkpoint: Checkpoint | None) -> Engine:
        """Load the engine.

        Imports heavy libraries here, so that ``--help`` and dry runs start without them.
        """

    def grammar_version(self) -> str:
        """Return the version of the library that masks tokens; part of such requests' cache key."""
        raise NotImplementedError(f"engine {self.name} masks no tokens")

    def served_name(self, model: ModelSpec) -> str:
        """Return what identifies a model on an engine that reads no weights: its name."""
        return model.name

    @property
    def lanes(self) -> int:
        """Return how many calls of ``run`` may go on at once."""
        return 1


def told_by(engine: Engine | None) -> dict[str, Counter[str]]:
    """Return what a server told with its answers, counted; empty for an engine that asks none.

    ``reported`` counts the models that answered, ``finish_reasons`` the spellings of why replies
    ended.
    """
    names = ("reported", "finish_reasons")
    return {name: Counter(getattr(engine, name)) for name in names if hasattr(engine, name)}


def counters_of(engine: Engine | None) -> Counter[str]:
    """Return what a loaded engine counted of its own work, e.g. prefilled tokens and steps."""
    counted = getattr(engine, "counters", None)
    return Counter(counted) if counted else Counter()
