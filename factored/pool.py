"""The episodes of an arm, several at a time; each is stored as it ends."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass

from factored.arm import TauBenchArm
from factored.results import EpisodeRow, Key
from factored.roles import WITHOUT_CALLS, audit_template
from factored.runner import Runner, open_runner, play
from harness.folders import RunFolder
from harness.progress import PassProgress
from harness.rows import whole_rows
from harness.served_tools import audit_served_tools


@dataclass(frozen=True)
class RunEpisodes:
    """All rows of an arm, trial by trial; ``kept`` of them lay in its folder already."""

    rows: list[EpisodeRow]
    kept: int


def run_episodes(arm: TauBenchArm, folder: RunFolder) -> RunEpisodes:
    """Run the arm's episodes that are not in the folder yet; return all of them.

    Appends each row to generations.jsonl as its episode ends, and writes the file in canonical
    order at the end. Episodes with infrastructure trouble are stored as such, and run again by
    the next command. Raises UserError for a model that cannot play its role.
    """
    done = finished(folder)
    todo = [key for key in keys(arm) if key not in done]
    if todo:
        for role, backend in arm.backends.items():
            audit_template(backend, tools=role == "planner" and bool(arm.tools))
    keeping = threading.Lock()
    with PassProgress("episodes", len(keys(arm))) as progress, open_runner(arm) as runner:
        progress.cached_rows(len(keys(arm)) - len(todo))
        if todo and arm.tools:
            _audit_served(runner)

        def play_and_keep(key: Key) -> None:
            row = play(runner, key)
            tokens = sum(counts.completion_tokens for counts in row.usage.values())
            with keeping:
                folder.append([row.as_row()])
                done[key] = row
                progress.generated(1, not row.valid, tokens)

        _run_all(play_and_keep, todo, arm.settings.pool.workers, runner.stop)
    rows = [done[key] for key in keys(arm)]
    folder.write_generations([row.as_row() for row in rows])
    return RunEpisodes(rows, len(rows) - len(todo))


def _audit_served(runner: Runner) -> None:
    """Raise UserError where a server plays the planner and does not show its model the tools."""
    planner = runner.arm.settings.model_roles.get("planner")
    if planner and planner.engine.asks_server:
        complete = runner.shared["planner"].complete
        audit_served_tools(complete, planner.model.name, planner.decoding, WITHOUT_CALLS)


def keys(arm: TauBenchArm) -> list[Key]:
    """Return the key of every episode of the arm, trial by trial."""
    seed = arm.settings.seed
    return [(task, trial, seed) for trial in range(arm.settings.trials) for task in arm.tasks]


def finished(folder: RunFolder) -> dict[Key, EpisodeRow]:
    """Return the folder's episodes that have a reward; damaged rows are passed over."""
    rows = whole_rows(folder.path / "generations.jsonl", EpisodeRow)
    return {row.key: row for row in rows if row.valid}


def _run_all(
    work: Callable[[Key], None], todo: Sequence[Key], workers: int, stop: Callable[[], None]
) -> None:
    """Work through the keys. What is raised here or by one of them stops the others."""
    with ThreadPoolExecutor(workers) as pool:
        waiting = [pool.submit(work, key) for key in todo]
        try:
            for future in as_completed(waiting):
                future.result()
        # Ctrl-C too: the pool would otherwise wait for every dialogue that is still queued.
        except BaseException:
            stop()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
