"""All benchmarks, one after another, each in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
MODULES = ("benchmarks.evaluating", "benchmarks.hf", "benchmarks.scoring", "benchmarks.taubench")


def main() -> int:
    """Runs each module; the exit code is that of the first that failed, else 0."""
    codes = []
    for module in MODULES:
        print(f"== python -m {module}", flush=True)
        if module == "benchmarks.taubench" and "TAUBENCH_PATH" not in os.environ:
            print("skipped: set TAUBENCH_PATH to a folder with TauBench's data")
            continue
        done = subprocess.run([sys.executable, "-m", module], cwd=ROOT, check=False)
        codes.append(done.returncode)
    return next((code for code in codes if code), 0)


if __name__ == "__main__":
    sys.exit(main())
