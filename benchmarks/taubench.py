"""How fast and how lean the TauBench environment is, beside the plain way of doing the same.

    python -m benchmarks.taubench --data DIR

Replays the recorded airline dialogues (ground-truth hashing included), times a reset with one
reading tool against a deep copy of the data, a hash after one write against a hash of everything,
and watches the peak of the memory over 10,000 episodes. Medians; one core.
"""

import argparse
import resource
import time
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from statistics import median

from factored.taubench.environment import Environment, LoadedDomain
from factored.taubench.loading import data_folder, load_domain
from factored.taubench.recordings import read_recordings
from factored.taubench.replay import Comparison, compare_recording
from factored.taubench.state import Rows, State
from factored.taubench.tasks import Action, Task
from factored.taubench.users import ScriptedUser

TRANSFER = Action("transfer_to_human_agents", {"summary": "done"})


def seconds(action: Callable[[], object], repeats: int) -> float:
    """Median seconds of an action."""
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        action()
        times.append(time.perf_counter() - started)
    return median(times)


def replay(data: Path) -> Comparison:
    """What the replay command does: read data and recordings, run and score them."""
    load_domain.cache_clear()
    loaded = load_domain("airline", data, True)
    recordings, _ = read_recordings(data / "trajectories" / "gpt-4o-airline.json")
    comparison = Comparison()
    for recording in recordings:
        comparison.add(compare_recording(loaded, recording))
    return comparison


def measure_replay(data: Path) -> None:
    """Seconds for the 200 recorded dialogues."""
    comparison = replay(data)
    assert comparison.differences == 0
    print(f"replay of 200 airline dialogues     {seconds(lambda: replay(data), 3):8.2f} s")


def measure_reset(loaded: LoadedDomain) -> None:
    """A reset and one reading tool; a deep copy of the same data."""
    tables = {name: rows.records for name, rows in loaded.snapshot.items()}
    environment = Environment(loaded, ScriptedUser(["Hi."]))
    task = loaded.tasks["test"][0]
    read = Action("get_user_details", {"user_id": task.user_id})

    def reset_and_read() -> None:
        environment.reset(task)
        environment.step(read)

    ours, plain = seconds(reset_and_read, 10_000), seconds(lambda: deepcopy(tables), 5)
    name = loaded.domain.name
    print(f"{name:7} reset and one reading tool  {ours * 1e6:8.1f} us")
    print(f"{name:7} deep copy of the data       {plain * 1e6:8.0f} us   x{plain / ours:,.0f}")


def measure_hash(loaded: LoadedDomain) -> None:
    """The hash after the writes of a task; the same with every record rendered anew."""
    task = max(loaded.tasks["test"], key=lambda task: len(task.actions))
    db = loaded.fresh_state()
    for action in task.actions:
        loaded.run(db, action)
    tables = {name: dict(db[name]) for name in loaded.domain.tables}

    def full() -> str:
        return State({name: Rows(records) for name, records in tables.items()}).data_hash()

    assert full() == db.data_hash()
    ours, plain = seconds(db.data_hash, 30), seconds(full, 5)
    name = loaded.domain.name
    print(f"{name:7} hash after one task         {ours * 1e3:8.2f} ms")
    print(f"{name:7} hash of everything          {plain * 1e3:8.2f} ms   x{plain / ours:,.0f}")


def measure_memory(loaded: LoadedDomain, episodes: int) -> None:
    """The peak of the resident memory while every task's own actions are played, over and over."""
    tasks: list[Task] = list(loaded.tasks["test"])
    sizes, copies = [], 0
    for number in range(episodes):
        task = tasks[number % len(tasks)]
        environment = Environment(loaded, ScriptedUser(["Hi."]))
        environment.reset(task)
        for action in task.actions:
            environment.step(action)
        copies += environment.db.copies
        if number % (episodes // 10) == episodes // 10 - 1:
            sizes.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10)
    name = loaded.domain.name
    print(f"{name:7} peak memory over {episodes:,} episodes, MiB, by tenths:")
    print("        " + " ".join(f"{size:.1f}" for size in sizes))
    print(f"        records copied per episode: {copies / episodes:.2f}")


def main() -> None:
    """Run all measurements."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="the data folder (else TAUBENCH_PATH)")
    parser.add_argument("--episodes", type=int, default=10_000)
    options = parser.parse_args()
    data = data_folder(options.data, "--data DIR")
    measure_replay(data)
    for name in ("retail", "airline"):
        loaded = load_domain(name, data)
        measure_reset(loaded)
        measure_hash(loaded)
        measure_memory(loaded, options.episodes)


if __name__ == "__main__":
    main()
