"""Peers as processes in environments of their own, and the order in which they run."""

import os
import subprocess
import sys
from argparse import ArgumentTypeError
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.peers.worker import Timing

ROOT = Path(__file__).parent.parent.parent
THREADS = 2
KV_CACHE_GIB = 2


@dataclass(frozen=True)
class Peer:
    """A module to run and the environment that it runs in, by the name of its folder.

    ``choices`` are the values of the peer's own ``knob`` that are tried first, each in one run;
    ``setting`` is the one that is taken, None where the peer has no knob.
    """

    module: str
    environment: str
    knob: str = ""
    choices: tuple[int, ...] = ()
    setting: int | None = None

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
    "lmeval": Peer(
        "benchmarks.peers.run_lmeval", ".venv-peer-lmeval", "batch size", choices=(4, 8, 16, 32)
    ),
    # Left alone, vLLM keeps one core for its scheduler, so that one thread computes on two cores.
    "vllm": Peer("benchmarks.peers.run_vllm", ".venv-peer-vllm", "threads", choices=(1, THREADS)),
}


def chosen(words: str) -> dict[str, Peer]:
    """The peers of a list such as "ours,lmeval=16"; raises ArgumentTypeError for other words."""
    peers = {}
    for word in words.split(","):
        name, _, number = word.partition("=")
        peer = PEERS.get(name)
        if peer is None:
            raise ArgumentTypeError(f"no peer {name!r}: choose from {', '.join(PEERS)}")
        if number and not (peer.knob and number.isdecimal() and int(number)):
            raise ArgumentTypeError(f"{word!r}: {name} takes no such {peer.knob or 'number'}")
        peers[name] = replace(peer, setting=int(number) if number else None)
    return peers


def run(peer: Peer, job: Path) -> Timing:
    """Runs a peer once on a job; raises SystemExit with its last words where it fails."""
    timing = job.with_name("timing.json")
    timing.unlink(missing_ok=True)
    command = [peer.python, "-m", peer.module, str(job), str(timing)]
    if peer.setting is not None:
        command += ["--setting", str(peer.setting)]
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
        # vLLM compiles the model when it starts: minutes once, then inductor finds its code here.
        "VLLM_CACHE_ROOT": str(ROOT / ".cache" / "peers" / "vllm"),
        "TORCHINDUCTOR_CACHE_DIR": str(ROOT / ".cache" / "peers" / "inductor"),
        # vLLM 0.32 on a CPU cannot read the whole compiled model that it writes ("'function' object
        # has no attribute 'finalize_loading'") and compiles again, past inductor's cache.
        "VLLM_USE_AOT_COMPILE": "0",
        # Without it vLLM wants a share of the whole machine's memory and may refuse to start.
        "VLLM_CPU_KVCACHE_SPACE": str(KV_CACHE_GIB),
        "VLLM_NO_USAGE_STATS": "1",
    }


def pin() -> None:
    """Keeps this process and those that it starts on as many cores as each has threads.

    vLLM binds a thread to every core that it may use, whatever OMP_NUM_THREADS says.
    """
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:THREADS])


def at_best(peer: Peer, job: Path) -> Peer:
    """The peer with that of its choices under which it answers the job first, each tried once."""
    if not peer.choices or peer.setting is not None:
        return peer
    spent = {choice: run(replace(peer, setting=choice), job).seconds for choice in peer.choices}
    tried = ", ".join(f"{choice}: {seconds:.1f} s" for choice, seconds in spent.items())
    print(f"{peer.module} by {peer.knob}: {tried}", flush=True)
    return replace(peer, setting=min(spent, key=lambda choice: spent[choice]))


def take_turns(peers: Mapping[str, Peer], repeats: int, job: Path) -> dict[str, list[Timing]]:
    """Timings by peer, a run of each after another, so that a slow spell meets all of them."""
    timings: dict[str, list[Timing]] = {name: [] for name in peers}
    for turn in range(1, repeats + 1):
        for name, peer in peers.items():
            timing = run(peer, job)
            timings[name].append(timing)
            print(f"run {turn} of {repeats}, {name}: {timing.seconds:.1f} s", flush=True)
    return timings
