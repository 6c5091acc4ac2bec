"""Peers as processes in environments of their own, and the order in which they run."""

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.peers.worker import Timing

ROOT = Path(__file__).parent.parent.parent
THREADS = 2
BATCH_SIZES = (4, 8, 16, 32)  # of lm-evaluation-harness
KV_CACHE_GIB = 2


@dataclass(frozen=True)
class Peer:
    """A module to run and the environment that it runs in, by the name of its folder.

    ``batch_size`` is None for a peer that makes up its batches by itself.
    """

    module: str
    environment: str
    batch_size: int | None = None

    @property
    def stamp(self) -> Path:
        """The file that make leaves when the environment is complete."""
        return ROOT / self.environment / ".installed"

    @property
    def installed(self) -> bool:
        """Is the environment complete? The one that runs this program is."""
        return self.environment == ".venv" or self.stamp.exists()

    @property
    def python(self) -> str:
        """The environment's interpreter."""
        own = self.environment == ".venv"
        return sys.executable if own else str(ROOT / self.environment / "bin" / "python")


PEERS = {
    "ours": Peer("benchmarks.peers.run_ours", ".venv"),
    "lmeval": Peer("benchmarks.peers.run_lmeval", ".venv-peer-lmeval"),
    "vllm": Peer("benchmarks.peers.run_vllm", ".venv-peer-vllm"),
}


def run(peer: Peer, job: Path) -> Timing:
    """Runs a peer once on a job; raises SystemExit with its last words where it fails."""
    timing = job.with_name("timing.json")
    timing.unlink(missing_ok=True)
    command = [peer.python, "-m", peer.module, str(job), str(timing)]
    if peer.batch_size is not None:
        command += ["--batch-size", str(peer.batch_size)]
    done = subprocess.run(
        command, cwd=ROOT, env=variables(os.environ), capture_output=True, text=True, check=False
    )
    if done.returncode or not timing.exists():
        raise SystemExit(f"{' '.join(command)} failed:\n{(done.stderr or done.stdout)[-2000:]}")
    return Timing.read(timing)


def variables(given: Mapping[str, str]) -> dict[str, str]:
    """The environment variables of every peer: as many threads for each, no network."""
    return {
        **given,
        "OMP_NUM_THREADS": str(THREADS),
        "HF_HUB_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
        # vLLM compiles the model at its first start (two minutes) and finds it here later.
        "VLLM_CACHE_ROOT": str(ROOT / ".cache" / "peers" / "vllm"),
        # Without it vLLM wants a share of the whole machine's memory and may refuse to start.
        "VLLM_CPU_KVCACHE_SPACE": str(KV_CACHE_GIB),
        "VLLM_NO_USAGE_STATS": "1",
    }


def pin() -> None:
    """Keeps this process and those that it starts on as many cores as each has threads.

    vLLM binds a thread to every core that it may use, whatever OMP_NUM_THREADS says.
    """
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:THREADS])


def at_best_batch_size(peer: Peer, job: Path) -> Peer:
    """The peer with that of BATCH_SIZES under which it answers the job first, each tried once."""
    spent = {size: run(replace(peer, batch_size=size), job).seconds for size in BATCH_SIZES}
    tried = ", ".join(f"{size}: {seconds:.1f} s" for size, seconds in spent.items())
    print(f"{peer.module} by batch size: {tried}", flush=True)
    return replace(peer, batch_size=min(spent, key=lambda size: spent[size]))


def take_turns(peers: Mapping[str, Peer], repeats: int, job: Path) -> dict[str, list[Timing]]:
    """Timings by peer, a run of each after another, so that a slow spell meets all of them."""
    timings: dict[str, list[Timing]] = {name: [] for name in peers}
    for turn in range(1, repeats + 1):
        for name, peer in peers.items():
            timing = run(peer, job)
            timings[name].append(timing)
            print(f"run {turn} of {repeats}, {name}: {timing.seconds:.1f} s", flush=True)
    return timings
