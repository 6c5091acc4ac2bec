"""Our `hf` engine, lm-evaluation-harness and vLLM on the same prompts, taking turns.

    python -m benchmarks.peers [--peers ours,lmeval=16,vllm=2] [--repeats 3]

Each run is a process of its own, in the peer's own environment; loading is printed apart. The
number behind a peer is its batch size (lmeval) or its threads (vllm); without one, some are tried.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

from benchmarks.peers import prompts
from benchmarks.peers.report import report
from benchmarks.peers.runs import PEERS, THREADS, Peer, at_best, chosen, pin, take_turns
from harness.environment import environment


def main() -> int:
    """Prints the report; the exit code is 1 where none of the peers is installed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", type=chosen, default=PEERS, help=f"of {', '.join(PEERS)}")
    parser.add_argument("--repeats", type=int, choices=range(1, 100), default=3, metavar="N")
    given = parser.parse_args()
    for name, peer in given.peers.items():
        if not peer.installed:
            print(f"{name} is not installed, skipped: make {peer.environment}/.installed")
    here = {name: peer for name, peer in given.peers.items() if peer.installed}
    if here:
        pin()
        compare(here, given.repeats)
    return 0 if here else 1


def compare(peers: dict[str, Peer], repeats: int) -> None:
    """Prints what is measured, each run as it ends, and the report."""
    job = prompts.job()
    tokens = sum(len(prompt.token_ids) for prompt in job.prompts)
    print(f"{len(job.prompts)} prompts of {tokens} tokens, replies of {job.max_new_tokens} at most")
    print(f"{job.dtype}, {THREADS} threads, {environment()['hardware']['cpu']}")
    print(f"load average before the first run: {os.getloadavg()[0]:.1f}", flush=True)
    with tempfile.TemporaryDirectory() as work:
        path = Path(work) / "job.json"
        job.write(path)
        best = {name: at_best(peer, path) for name, peer in peers.items()}
        timings = take_turns(best, repeats, path)
    settings = {name: f"{peer.knob} {peer.setting}" for name, peer in best.items() if peer.setting}
    print("\n" + report(timings, settings))


if __name__ == "__main__":
    sys.exit(main())
