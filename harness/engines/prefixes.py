"""Token sequences laid out as a tree, so that what several of them begin with stands there once."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Branch:
    """A run of the tree's tokens, from ``start`` to before ``end``, that grows out of ``stem``.

    ``stem`` holds the places of the tokens that come before it, from the root on.
    """

    start: int
    end: int
    stem: "np.ndarray"


@dataclass(frozen=True)
class Chunk:
    """Tokens that are computed in one forward pass: places ``start`` to before ``end``.

    ``visible`` holds the places (sorted) whose keys they need, themselves among them; ``mask``
    (tokens x visible) is true where a token sees another, which is at its own prefix.
    """

    start: int
    end: int
    visible: "np.ndarray"
    mask: "np.ndarray"


@dataclass(frozen=True)
class PrefixTree:
    """Sequences as one list of tokens without repeated prefixes.

    ``depths`` says how many tokens precede each on its path; ``paths`` holds, for each sequence
    in the order given, the places of its tokens.
    """

    tokens: list[int]
    depths: list[int]
    paths: "list[np.ndarray]"
    branches: list[Branch]

    @cached_property
    def _starts(self) -> list[int]:
        return [branch.start for branch in self.branches]

    def chunks(self, size: int) -> Iterator[Chunk]:
        """Yield all tokens in order, ``size`` at a time."""
        for start in range(0, len(self.tokens), size):
            yield self._chunk(start, min(start + size, len(self.tokens)))

    def _chunk(self, start: int, end: int) -> Chunk:
        import numpy as np

        branches = [
            branch
            for branch in self.branches[bisect_right(self._starts, start) - 1 :]
            if branch.start < end
        ]
        earlier = [np.append(b.stem, np.arange(b.start, max(start, b.start))) for b in branches]
        visible = np.unique(np.concatenate([*earlier, np.arange(start, end)]))
        mask = np.zeros((end - start, len(visible)), dtype=bool)
        for branch, before in zip(branches, earlier, strict=True):
            first, last = max(start, branch.start), min(end, branch.end)
            rows = slice(first - start, last - start)
            mask[rows, np.searchsorted(visible, before)] = True
            column = int(np.searchsorted(visible, first))
            mask[rows, column : column + last - first] = np.tri(last - first, dtype=bool)
        seen = mask.sum(axis=1)
        assert (seen == np.array(self.depths[start:end]) + 1).all(), "a token sees its path alone"
        return Chunk(start, end, visible, mask)


def tree_of(sequences: Sequence[Sequence[int]]) -> PrefixTree:
    """Build the tree of token sequences, none of them empty.

    Sorted sequences share the most with their neighbours, so one look back finds every prefix.
    """
    import numpy as np

    tokens: list[int] = []
    depths: list[int] = []
    branches: list[Branch] = []
    paths: dict[int, np.ndarray] = {}
    before: Sequence[int] = ()
    path = np.zeros(0, dtype=np.int64)
    for index in sorted(range(len(sequences)), key=lambda i: (sequences[i], i), reverse=True):
        sequence = sequences[index]
        assert sequence, "a sequence has tokens"
        shared = common(before, sequence)
        start, end = len(tokens), len(tokens) + len(sequence) - shared
        if start < end:
            branches.append(Branch(start, end, path[:shared]))
        tokens += sequence[shared:]
        depths += range(shared, len(sequence))
        path = np.append(path[:shared], np.arange(start, end))
        paths[index] = path
        before = sequence
    return PrefixTree(tokens, depths, [paths[i] for i in range(len(sequences))], branches)


def common(one: Sequence[int], other: Sequence[int]) -> int:
    """Return the number of tokens with which both begin."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))
