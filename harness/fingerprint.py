"""The identity of a run: every setting that gives its result a meaning, and what they name."""

from collections.abc import Iterator, Mapping
from typing import Any

from harness.hashing import digest_of

# A leaf at or under one of these keys changes where or how a run is done or shown, never what
# it says. Everything else is identity, including keys that do not exist yet.
COSMETIC = (
    "paths",
    "tracker",
    "report",
    "dry_run",
    "benchmark.path",
    "benchmark.limit",  # reaches the run through `limit`
    "benchmark.toolhop",  # its tools are part of the benchmark's digest
    "benchmark.build",
    "benchmark.publisher",
    "taubench.path",
    "taubench.recording",
    "pool",
)
# These are cosmetic under a role's name too (planner.engine.device). Where a server is reached is
# cosmetic since engine.server names it, by its address unless it has a name.
OF_A_ROLE = (
    "engine.device",
    "engine.base_url",
    "engine.key_variable",
    "engine.concurrency",
    "engine.timeout_s",
    "engine.retries",
    "engine.pause_s",
    "engine.max_bytes",
    "model.path",
    "model.requirement",
    "model.terms",
)


def is_cosmetic(key: str) -> bool:
    """Whether a dotted key stands on the cosmetic list."""
    named = any(key == name or key.startswith(f"{name}.") for name in (*COSMETIC, *OF_A_ROLE))
    return named or key.endswith(tuple(f".{name}" for name in OF_A_ROLE))


def leaves(container: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted keys with their values; lists and empty mappings are leaves."""
    for name, value in container.items():
        key = f"{prefix}{name}"
        if isinstance(value, Mapping) and value:
            yield from leaves(value, f"{key}.")
        else:
            yield key, value


def identity(container: Mapping[str, Any]) -> dict[str, Any]:
    """The leaves of a config that are not cosmetic."""
    return {key: value for key, value in leaves(container) if not is_cosmetic(key)}


def fingerprint(container: Mapping[str, Any], digests: Mapping[str, str | None]) -> str:
    """sha256 over the identity of a config and the digests of what it names.

    ``digests`` holds weights, benchmark, adapter and the like under fixed names.
    """
    return digest_of({"settings": identity(container), "digests": dict(digests)})
