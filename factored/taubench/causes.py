"""Trace a hash or a reward that differs to the call and the field it comes from."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from factored.taubench.differences import NOTHING, first_difference
from factored.taubench.environment import LoadedDomain
from factored.taubench.state import State
from factored.taubench.tasks import RESPOND, Action
from factored.taubench.tools import EpisodeCrashError

MAX_VARIANTS = 40  # other lists of actions that are tried for a hash


@dataclass(frozen=True)
class Trace:
    """The call and the field that a difference comes from, and what is known of it in words."""

    call: str | None
    field: str | None
    words: str


def trace_hash(loaded: LoadedDomain, actions: Sequence[Action], recorded: str) -> Trace | None:
    """Return what the recorded hash of a state belongs to, or None.

    Tries the actions one fewer, ended earlier, and with each number in another of its spellings
    (100, 100.0, "100"), which the hash tells apart: at most MAX_VARIANTS in all.
    """
    calls = [one for one in actions if loaded.domain.tool(one.name)]
    if not calls:
        return Trace(None, None, "it differs before any call: the recording is of other data")
    for number, (variant, trace) in enumerate(_variants(loaded, calls)):
        if number == MAX_VARIANTS:
            return None
        if _state_after(loaded, variant).data_hash() == recorded:
            return trace
    return None


def _variants(
    loaded: LoadedDomain, calls: Sequence[Action]
) -> Iterator[tuple[Sequence[Action], Trace]]:
    for place, call in enumerate(calls):
        if call.name in loaded.domain.writes:
            rest = [*calls[:place], *calls[place + 1 :]]
            yield rest, Trace(call.name, None, f"the recorded state lacks call {place + 1}")
            yield calls[:place], Trace(call.name, None, f"it ends before call {place + 1}")
    for place, call in enumerate(calls):
        for path, kwargs, given, other in _respelt(call.kwargs):
            changed = [*calls[:place], Action(call.name, kwargs), *calls[place + 1 :]]
            words = f"in call {place + 1} the recorded state has {other!r} for {given!r}"
            yield changed, Trace(call.name, path, words)


def _respelt(value: Any, path: str = "") -> Iterator[tuple[str, Any, Any, Any]]:
    """Yield copies of a value with one number in another spelling: path, copy, before, after."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            for at, copy, given, other in _respelt(inner, f"{path}.{key}" if path else key):
                yield at, {**value, key: copy}, given, other
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            for at, copy, given, other in _respelt(inner, f"{path}[{index}]"):
                yield at, [*value[:index], copy, *value[index + 1 :]], given, other
    else:
        for other in _spellings(value):
            yield path, other, value, other


def _spellings(value: Any) -> Iterator[Any]:
    if isinstance(value, bool):
        return
    if isinstance(value, int | float):
        other = float(value) if isinstance(value, int) else int(value)
        if other == value:
            yield other
        yield str(value)
    elif isinstance(value, str) and value.isascii() and value.isdigit():
        yield int(value)


def trace_state(
    loaded: LoadedDomain, ours: State, wanted: Sequence[Action], log: Sequence[Action]
) -> Trace | None:
    """Return the first field in which a dialogue's state is not the one that its task asks for.

    The call is the task's own that writes the field, or else the dialogue's. None if there is none.
    """
    truth = _state_after(loaded, [one for one in wanted if _runs(loaded, one)])
    for table, rows in ours.tables.items():
        other = truth.tables[table]
        for key in sorted(rows.changed | other.changed):
            mine, theirs = rows.get(key, NOTHING), other.get(key, NOTHING)
            if found := first_difference(mine, theirs):
                field = f"{table}.{key}.{found.path}".rstrip(".")
                words = f"ours ends with {found.ours!r}, the task's actions with {found.recorded!r}"
                return Trace(_writer(loaded, table, key, theirs, wanted, log), field, words)
    return None


def _runs(loaded: LoadedDomain, action: Action) -> bool:
    return action.name != RESPOND and action.name not in loaded.domain.terminating


def _writer(
    loaded: LoadedDomain,
    table: str,
    key: str,
    final: Any,
    wanted: Sequence[Action],
    log: Sequence[Action],
) -> str | None:
    """Return the last of the task's calls that writes this record, else of the dialogue's."""
    untouched = loaded.fresh_state()[table].get(key, NOTHING)
    actions = wanted if final != untouched else log
    db, writer = loaded.fresh_state(), None
    for action in actions:
        if not loaded.domain.tool(action.name):
            continue
        before = str(db[table].get(key, NOTHING))
        _run(loaded, db, action)
        writer = action.name if str(db[table].get(key, NOTHING)) != before else writer
    return writer


def _state_after(loaded: LoadedDomain, actions: Sequence[Action]) -> State:
    db = loaded.fresh_state()
    for action in actions:
        _run(loaded, db, action)
    return db


def _run(loaded: LoadedDomain, db: State, action: Action) -> None:
    with suppress(EpisodeCrashError):  # which changes nothing
        loaded.run(db, action)
