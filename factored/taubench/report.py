"""What a person or a program reads of a comparison: counts, what differs and why, all in a file."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from factored.taubench.differences import EXPLAINED, Cause, Comparison, shown
from harness.files import write_jsonl
from harness.terminal import printable

DIFFERENCES = Path("replay_differences.jsonl")


def say(line: str, out: TextIO | None = None) -> None:
    """Write one line to ``out`` (standard output if None).

    Leaves out what a file may bring along to break the line or to steer the terminal.
    """
    print(printable(line), file=out)


def report(comparison: Comparison, as_json: bool, file: Path) -> int:
    """Print counts and differences, write all of these to ``file``, and return the exit code.

    With ``as_json`` the counts alone go to standard output, the environment's differences to
    standard error. The code is 1 if there are any of the environment's. An old file is emptied
    where there is no difference.
    """
    if comparison.found or file.exists():
        write_jsonl(file, (one.as_row() for one in comparison.found))
    faults = comparison.faults
    out = sys.stderr if as_json else sys.stdout
    for line in comparison.lines:
        say(line, out)
    hidden = len(faults) - len(comparison.lines)
    if hidden:
        say(f"... and {hidden} more differences", out)
    if as_json:
        say(json.dumps(comparison.as_row()))
    else:
        for line in _summary(comparison, file):
            say(line)
    return 1 if faults else 0


def _summary(comparison: Comparison, file: Path) -> Iterator[str]:
    for kind in comparison.total:
        explained = sum(comparison.explained(kind).values())
        of_recording = f", {explained:,} differ by the recording's doing" if explained else ""
        counts = f"{comparison.equal[kind]:>6,} of {comparison.total[kind]:,} equal"
        yield f"{kind:>12}  {counts}{of_recording}"
    for cause, count in comparison.explained().items():
        yield f"{count:,} {EXPLAINED[cause]}: {_example(comparison, cause)}"
    if comparison.found:
        faults = len(comparison.faults)
        said = f"{faults:,} of them the environment's" if faults else "none the environment's"
        yield f"{comparison.differences:,} differences, {said}; all of them in {file}"


def _example(comparison: Comparison, cause: Cause) -> str:
    """Return where the first difference of a cause is, and how many calls that write it met."""
    of_cause = [one for one in comparison.found if one.cause == cause]
    skipped = sum(bool(one.first) for one in of_cause)
    first = of_cause[0]
    named = f", {first.call}" if first.call else ""
    recorded = first.recorded["reward"] if isinstance(first.recorded, dict) else first.recorded
    rest = f"; {skipped} of the calls did not run, by what follows them" if skipped else ""
    return f"first {first.where}{named}: {shown(ascii(recorded), 60)}{rest}"
