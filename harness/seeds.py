"""One seed for everything: each use draws from a generator of its own."""

import hashlib
import random


def generator(seed: int, purpose: str, key: str) -> random.Random:
    """A generator that depends on (seed, purpose, key) alone, so order and resumption do not."""
    material = f"{seed}\x1f{purpose}\x1f{key}".encode("utf-8", "surrogatepass")
    return random.Random(hashlib.sha256(material).digest())
