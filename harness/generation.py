"""From requests to completions: each distinct request once, from the cache or from the engine.

`Backend` is a model on an engine; `generate` runs a list of requests through it.
"""

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

from harness.cache import GenerationCache, cache_key
from harness.completions import Completion, Request
from harness.engines.base import Engine, EngineSpec, counters_of, told_by
from harness.errors import UserError
from harness.hashing import digest_of
from harness.models import Checkpoint, ModelSpec, locate, locate_if_here

OnGroup = Callable[[Mapping[str, Completion]], None]


@dataclass
class Backend:
    """A model on an engine, loaded at the first request that the cache lacks.

    The LoRA adapters that requests name go over the same loaded weights, so that the arms of one
    base, with and without adapters, share a backend. ``loads`` counts how often it was loaded.
    """

    spec: EngineSpec
    model: ModelSpec
    checkpoint: Checkpoint | None
    loads: int = field(default=0, compare=False)
    _told: dict[str, Counter[str]] = field(default_factory=dict, repr=False, compare=False)
    _counted: Counter[str] = field(default_factory=Counter, repr=False, compare=False)
    _engine: Engine | None = field(default=None, repr=False, compare=False)
    _opening: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    @property
    def weights(self) -> str:
        """Return the digest of the weights, or of the served name on an engine that reads none."""
        if self.checkpoint:
            return self.checkpoint.digest
        return digest_of(self.spec.served_name(self.model))

    def semantics(self) -> dict[str, Any]:
        """Return the part of the cache key that tells this engine's rows from another's."""
        return {
            **self.spec.identity(),
            "version": self.spec.version(),
            "rendering": [
                self.model.kind,
                self.model.system_role,
                dict(self.model.template),
            ],
        }

    def keys(self, requests: Sequence[Request]) -> list[str]:
        """Return the cache keys of requests.

        The version of the library that masks tokens is part of the key of requests with a schema,
        so that upgrading it leaves all other rows valid. Raises UserError for a request that the
        engine cannot serve: one with an adapter or a tool choice that it does not support.
        """
        plain = masked = self.semantics()
        if self.spec.supports_schema:
            masked = {**plain, "grammar": self.spec.grammar_version()}
        for request in requests:
            self._check(request)
        return [
            cache_key(request, self.weights, plain if request.schema is None else masked)
            for request in requests
        ]

    def _check(self, request: Request) -> None:
        name, adapter = self.spec.name, request.adapter
        if adapter is not None and not self.spec.supports_adapters:
            raise UserError(f"engine={name} answers with no LoRA adapter: use engine=hf")
        if request.tool_choice != "auto" and not self.spec.supports_tool_choice:
            raise UserError(f"engine={name} forces and forbids no tool calls: use engine=openai")
        if adapter is None or adapter.base is None or self.checkpoint is None:
            return
        if adapter.base != self.checkpoint.digest:
            raise UserError(
                f"adapter {adapter.folder} was trained on other weights"
                f" ({adapter.base[:8]}) than model '{self.model.name}' has"
                f" ({self.checkpoint.digest[:8]}): choose its own model"
            )

    def engine(self) -> Engine:
        """Return the loaded engine; loads it at the first call."""
        with self._opening:
            if self._engine is None:
                self._engine = self.spec.open(self.model, self.checkpoint)
                self.loads += 1
            return self._engine

    def close(self) -> None:
        """Release the memory; a later request loads again."""
        with self._opening:
            if self._engine is not None:
                self._engine.close()
                self._told = self.told()
                self._counted += counters_of(self._engine)
                self._engine = None

    def told(self) -> dict[str, Counter[str]]:
        """Return what a server has told since the backend was made, see `told_by`."""
        now = told_by(self._engine)
        return {
            name: self._told.get(name, Counter()) + now.get(name, Counter())
            for name in {**self._told, **now}
        }

    def facts(self, before: Mapping[str, Counter[str]]) -> dict[str, Any]:
        """Return what a manifest says of the engine, with what its server told since ``before``.

        ``before`` is what `told` returned when the run began.
        """
        told = {name: counts - before.get(name, Counter()) for name, counts in self.told().items()}
        servers = {name: dict(counts) for name, counts in told.items() if counts}
        return {**self.spec.identity(), "version": self.spec.version(), **servers}

    def counters(self) -> Counter[str]:
        """Return what the engine counted since the backend was made, e.g. prefilled tokens."""
        return self._counted + counters_of(self._engine)


_LOADED: list[Backend] = []  # at most one: a sweep loads each model once, one after another


def loaded(spec: EngineSpec, model: ModelSpec, checkpoint: Checkpoint | None) -> Backend:
    """Return the backend that is in memory if it is this one; else close it and make this one."""
    wanted = Backend(spec, model, checkpoint)
    if _LOADED and _LOADED[0] == wanted:
        return _LOADED[0]
    release()
    _LOADED.append(wanted)
    return wanted


def release() -> None:
    """Release the memory of the loaded model, if there is one."""
    while _LOADED:
        _LOADED.pop().close()


def checkpoint_of(
    spec: EngineSpec, model: ModelSpec, cache: Path, dry_run: bool
) -> Checkpoint | None:
    """Return the checkpoint whose weights an engine reads; None for an engine that reads none.

    A dry run fetches nothing: there it is None also for a model that is not here. Raises UserError
    for a model that cannot be used.
    """
    if not spec.reads_weights:
        return None
    return locate_if_here(model, cache) if dry_run else locate(model, cache)


class Progress(Protocol):
    """Takes the counts of a pass as it goes on."""

    def cached_rows(self, rows: int) -> None:
        """Count rows that need no generation."""
        ...

    def generated(self, rows: int, failed: int, tokens: int) -> None:
        """Count rows that an engine has just given, the failed ones, and the tokens it wrote."""
        ...


@dataclass(frozen=True)
class PassCounts:
    """What a pass cost: rows asked for, distinct requests, and how those were answered.

    Tokens are summed over the answers that tell them, and None where none does; ``without_usage``
    counts the answers that leave out one of the two.
    """

    rows: int
    distinct: int
    cached: int
    generated: int
    failed: int
    prompt_tokens: int | None
    completion_tokens: int | None
    without_usage: int = 0

    def as_row(self) -> dict[str, Any]:
        """Return the counts as a manifest holds them, ``without_usage`` only where it is not 0."""
        row = asdict(self)
        return row if self.without_usage else {name: row[name] for name in list(row)[:-1]}


def generate(
    requests: Sequence[Request],
    backend: Backend,
    cache: GenerationCache,
    progress: Progress,
    on_group: OnGroup,
    before: Callable[[], None] = lambda: None,
) -> tuple[dict[str, Completion], PassCounts]:
    """Return completions by request digest, and what they cost.

    Reads the cache first, runs the engine on what it lacks, and stores each group as it arrives.
    ``on_group`` gets every group once the cache has it, the cached ones first. ``before`` runs
    once, ahead of the first generation; if the cache holds everything it does not run. A failed
    request is in the result with its error and stays out of the cache.
    """
    distinct = list({request.digest: request for request in requests}.values())
    fan_out = Counter(request.digest for request in requests)
    keys = backend.keys(distinct)
    stored = cache.get(keys)
    known = {
        request.digest: stored[key]
        for request, key in zip(distinct, keys, strict=True)
        if key in stored
    }
    progress.cached_rows(sum(fan_out[digest] for digest in known))
    on_group(known)
    found = dict(known)
    missing = {index for index, request in enumerate(distinct) if request.digest not in known}
    if missing:
        before()
    for group in backend.engine().run(distinct, missing) if missing else ():
        cache.put((keys[index], completion) for index, completion in group.items())
        arrived = {distinct[index].digest: completion for index, completion in group.items()}
        found |= arrived
        on_group(arrived)
        progress.generated(
            sum(fan_out[digest] for digest in arrived),
            sum(fan_out[digest] for digest, reply in arrived.items() if reply.finish == "error"),
            sum(reply.completion_tokens or 0 for reply in arrived.values()),
        )
    return found, _count(requests, known, found)


def _count(
    requests: Sequence[Request],
    known: Mapping[str, Completion],
    found: Mapping[str, Completion],
) -> PassCounts:
    made = [reply for digest, reply in found.items() if digest not in known]
    prompt, completion = [r.prompt_tokens for r in made], [r.completion_tokens for r in made]
    return PassCounts(
        rows=len(requests),
        distinct=len(found),
        cached=len(known),
        generated=sum(reply.finish != "error" for reply in made),
        failed=sum(reply.finish == "error" for reply in made),
        prompt_tokens=_sum(prompt),
        completion_tokens=_sum(completion),
        without_usage=sum(None in counts for counts in zip(prompt, completion, strict=True)),
    )


def _sum(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known or not counts else None
