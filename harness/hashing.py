"""Digests of values and files, and the one canonical JSON that they are taken over."""

import hashlib
import json
from pathlib import Path
from typing import Any


def canonical_json(value: Any) -> str:
    """JSON with sorted keys and no white space; NaN and non-JSON values are refused."""
    return json.dumps(
        value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False
    )


def digest_of(value: Any) -> str:
    """sha256 (hex) over the canonical JSON of a value."""
    return hashlib.sha256(canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()


def digest_of_file(path: Path) -> str:
    """sha256 (hex) over a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
