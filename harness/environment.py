"""What a run was made with: versions, commit, hardware. Goes into every manifest."""

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = (
    "torch",
    "transformers",
    "tokenizers",
    "llguidance",
    "hydra-core",
    "pandas",
    "scipy",
    "rapidfuzz",
)


def environment() -> dict[str, Any]:
    """Return the versions of Python and packages, the commit, and the hardware.

    Reads package metadata and device files, so that torch need not be imported for it.
    """
    return {
        "python": platform.python_version(),
        "packages": {name: found for name in PACKAGES if (found := _version(name))},
        "git_commit": _git_commit(),
        "hardware": {
            "machine": platform.machine(),
            "cpu": _cpu(),
            "cores": os.cpu_count(),
            "gpu": Path("/dev/nvidia0").exists(),
            "visible_gpus": os.environ.get("CUDA_VISIBLE_DEVICES"),
        },
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _git_commit() -> str | None:
    """Return the commit of this checkout, with ``-dirty`` if tracked files differ.

    Returns None without git.
    """
    here = Path(__file__).parent
    # An empty --match takes no tag, so that describe prints the bare commit.
    command = ["git", "describe", "--always", "--dirty", "--abbrev=40", "--match="]
    try:
        done = subprocess.run(  # noqa: S603
            command, cwd=here, capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None


def _cpu() -> str:
    # platform.processor() is an empty string on most Linux systems.
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
