"""One seed for a whole run: each use of chance gets a generator of its own."""

import hashlib
import random


def generator(seed: int, purpose: str, key: str) -> random.Random:
    """Return a generator that depends on (seed, purpose, key) alone.

    Draws are then the same in any order, and after a resumption.
    """
    # hashlib, since hash() of a text differs from process to process.
    material = f"{seed}\x1f{purpose}\x1f{key}".encode("utf-8", "surrogatepass")
    return random.Random(hashlib.sha256(material).digest())
