"""Digests (sha256, hex) of values and files, and the canonical JSON that values are hashed as."""

import hashlib
import json
from pathlib import Path
from typing import Any


def canonical_json(value: Any) -> str:
    """Return JSON with sorted keys and without white space.

    Raises ValueError for NaN and infinities, TypeError for a value that JSON lacks.
    """
    return json.dumps(
        value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False
    )


def digest_of(value: Any) -> str:
    """Return the sha256 (hex) of the canonical JSON of a value."""
    # surrogatepass: a reply that a server cut can end in half a character, which UTF-8 refuses.
    return hashlib.sha256(canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()


def digest_of_file(path: Path) -> str:
    """Return the sha256 (hex) of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
