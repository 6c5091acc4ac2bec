"""Our `hf` engine, lm-evaluation-harness and vLLM on the same prompts, taking turns.

    python -m benchmarks.peers [--peers ours,lmeval,vllm] [--repeats 3] [--batch-size N]

Each run is a process of its own, in the peer's own environment; loading is printed apart.
"""

import argparse
import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from benchmarks.peers import prompts
from benchmarks.peers.report import report
from benchmarks.peers.runs import PEERS, THREADS, Peer, at_best_batch_size, pin, take_turns
from harness.environment import environment


def main() -> int:
    """Prints the report; the exit code is 1 where none of the peers is installed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", default=",".join(PEERS), help=f"of {', '.join(PEERS)}")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--batch-size", type=int, help="of lmeval; left out: some are tried first")
    given = parser.parse_args()
    names = given.peers.split(",")
    if unknown := sorted(set(names).difference(PEERS)):
        parser.error(f"no peer {', '.join(unknown)}: choose from {', '.join(PEERS)}")
    if given.repeats < 1:
        parser.error(f"--repeats {given.repeats}: give 1 or more")
    for name in names:
        if not PEERS[name].installed:
            print(f"{name} is not installed, skipped: make {PEERS[name].environment}/.installed")
    here = {name: PEERS[name] for name in names if PEERS[name].installed}
    if here:
        pin()
        compare(here, given.repeats, given.batch_size)
    return 0 if here else 1


def compare(peers: dict[str, Peer], repeats: int, batch_size: int | None) -> None:
    """Prints what is measured, each run as it ends, and the report."""
    job = prompts.job()
    tokens = sum(len(prompt.token_ids) for prompt in job.prompts)
    print(
        f"{len(job.prompts)} prompts of {tokens} tokens, up to {job.max_new_tokens} new ones each"
    )
    print(f"{job.dtype}, {THREADS} threads, {environment()['hardware']['cpu']}")
    print(f"load average before the first run: {os.getloadavg()[0]:.1f}", flush=True)
    with tempfile.TemporaryDirectory() as work:
        path = Path(work) / "job.json"
        job.write(path)
        if "lmeval" in peers:
            sized = replace(peers["lmeval"], batch_size=batch_size)
            peers["lmeval"] = sized if batch_size else at_best_batch_size(sized, path)
        timings = take_turns(peers, repeats, path)
    notes = {n: f"batch size {p.batch_size}" for n, p in peers.items() if p.batch_size is not None}
    print("\n" + report(timings, notes))


if __name__ == "__main__":
    sys.exit(main())
