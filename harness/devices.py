"""One GPU for each of the jobs that run side by side on a machine."""

import fcntl
import os
import platform
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from harness.files import disk_errors

POLL_S = 1.0  # while every GPU is taken


def visible_gpus() -> tuple[str, ...]:
    """The GPUs that this process may use, as CUDA_VISIBLE_DEVICES names them; torch stays out."""
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    if chosen is not None:
        return tuple(name.strip() for name in chosen.split(",") if name.strip())
    devices = Path("/dev").glob("nvidia[0-9]*")
    return tuple(sorted((path.name.removeprefix("nvidia") for path in devices), key=int))


@contextmanager
def own_gpu(gpus: Sequence[str], locks: Path) -> Iterator[str | None]:
    """Takes a free one of ``gpus`` for this process, and waits where all are taken.

    Sets CUDA_VISIBLE_DEVICES, which torch reads when it first looks for a GPU. ``locks`` is a
    folder that all jobs of the machine share; the lock of a killed job is free. No GPUs: no-op.
    """
    if not gpus:
        yield None
        return
    with disk_errors(locks):
        locks.mkdir(parents=True, exist_ok=True)
    name, lock = _wait_for(gpus, locks)
    before = os.environ.get("CUDA_VISIBLE_DEVICES")
    os.environ["CUDA_VISIBLE_DEVICES"] = name
    try:
        with lock:
            yield name
    finally:
        if before is None:
            del os.environ["CUDA_VISIBLE_DEVICES"]
        else:
            os.environ["CUDA_VISIBLE_DEVICES"] = before


def _wait_for(gpus: Sequence[str], locks: Path) -> tuple[str, IO[str]]:
    while True:
        for name in gpus:
            path = locks / f".gpu-{platform.node()}-{name.replace('/', '_')}.lock"
            lock = path.open("w")
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                lock.close()
            else:
                return name, lock
        time.sleep(POLL_S)
