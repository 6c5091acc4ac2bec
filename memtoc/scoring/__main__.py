"""``python -m memtoc.scoring FILE [--json]``: agreement with decisions made elsewhere."""

import argparse
import json
import sys
from pathlib import Path

from harness.errors import UserError
from harness.interrupts import end_on_signals
from memtoc.scoring.agreement import compare, counts, load, report


def main(arguments: list[str] | None = None) -> int:
    """Print agreement per field and every disagreement, or with ``--json`` the counts alone."""
    parser = argparse.ArgumentParser(prog="python -m memtoc.scoring", description=__doc__)
    parser.add_argument("file", type=Path, help="JSONL of outputs with decisions to compare with")
    parser.add_argument("--json", action="store_true", help="the counts alone, as one JSON object")
    given = parser.parse_args(arguments)
    try:
        comparisons = list(compare(load(given.file)))
    except UserError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    if given.json:
        sys.stdout.write(json.dumps(counts(comparisons)) + "\n")
    else:
        sys.stdout.write("\n".join(report(comparisons)) + "\n")
    return 0


if __name__ == "__main__":
    end_on_signals()
    sys.exit(main())
