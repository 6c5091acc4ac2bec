"""One GPU for each of the jobs that run side by side on a machine.

Submitit's local launcher starts all jobs of a sweep at once; each takes a free GPU, or waits::

    with own_gpu(visible_gpus(), cache) as gpu:  # "0"; CUDA_VISIBLE_DEVICES is set until the end
        ...
"""

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
    """Return the GPUs that this process may use, as CUDA_VISIBLE_DEVICES names them."""
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    if chosen is not None:
        return tuple(name.strip() for name in chosen.split(",") if name.strip())
    # Device files rather than torch.cuda: torch is slow to import, and a process that has once
    # initialised CUDA no longer heeds CUDA_VISIBLE_DEVICES.
    devices = Path("/dev").glob("nvidia[0-9]*")
    return tuple(sorted((path.name.removeprefix("nvidia") for path in devices), key=int))


@contextmanager
def own_gpu(gpus: Sequence[str], locks: Path) -> Iterator[str | None]:
    """Take a free one of ``gpus`` for this process, waiting while all are taken; yield its name.

    Sets CUDA_VISIBLE_DEVICES, which torch reads when it first looks for a GPU, and puts the old
    value back at the end. ``locks`` is a folder that all jobs of the machine share. Yields None if
    ``gpus`` is empty.
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
            # The cache may be shared by machines, so the node is in the name. Names of MIG devices
            # hold slashes.
            path = locks / f".gpu-{platform.node()}-{name.replace('/', '_')}.lock"
            lock = path.open("w")
            try:
                # The kernel frees the lock of a killed job; a file with a process id would stay.
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                lock.close()
            else:
                return name, lock
        time.sleep(POLL_S)
