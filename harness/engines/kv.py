"""Keys and values: those of a prefix tree, and those of the rows that are being decoded.

Both stand in for transformers' cache: a layer hands its new keys and values to ``update`` and
gets all that it attends to.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.engines.attention import LayerMasks
from harness.engines.prefixes import Chunk, PrefixTree

if TYPE_CHECKING:
    import numpy as np
    import torch

GROWTH = 32  # columns that rows are given at a time
# A group's stem is read once a step, its rows' own tokens once a row: what is at most this long
# is cheap to read, and most rows of a question differ in less.
OWN = 64
SEATS = 8  # rows of a group at most; all groups have as many seats as the largest


class TreeCache:
    """Keys and values of a tree's tokens, for each layer heads x tokens x width, reserved once."""

    def __init__(self, tree: PrefixTree, masks: LayerMasks, device: str) -> None:
        """Reserve nothing yet: the first pass shows the shapes."""
        self.tree = tree
        self.masks = masks
        self.device = device
        self.layers: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def open(self, chunk: Chunk, dtype: "torch.dtype") -> dict[str, Any]:
        """Return what the forward takes for the next tokens, which it hands to ``update``."""
        import torch

        def on_device(values: Any) -> torch.Tensor:
            return torch.as_tensor(values, device=self.device)

        depths = on_device(self.tree.depths)
        self._chunk, self._visible = chunk, on_device(chunk.visible)
        positions = depths[chunk.start : chunk.end]
        full = torch.zeros(chunk.mask.shape, dtype=dtype, device=self.device)
        full.masked_fill_(~on_device(chunk.mask), torch.finfo(dtype).min)
        ages = positions[:, None] - depths[self._visible]
        return {
            "input_ids": on_device(self.tree.tokens[chunk.start : chunk.end])[None],
            "position_ids": positions[None],
            "attention_mask": self.masks.of(full[None, None], ages),
            "past_key_values": self,
        }

    def update(
        self, keys: "torch.Tensor", values: "torch.Tensor", layer: int, *_: Any, **__: Any
    ) -> "tuple[torch.Tensor, torch.Tensor]":
        """Store the new keys and values (1 x heads x tokens x width), return the visible ones."""
        if layer not in self.layers:
            size = len(self.tree.tokens)
            self.layers[layer] = (
                keys.new_empty(keys.shape[1], size, keys.shape[3]),
                values.new_empty(values.shape[1], size, values.shape[3]),
            )
        stored = self.layers[layer]
        for held, new in zip(stored, (keys, values), strict=True):
            held[:, self._chunk.start : self._chunk.end] = new[0]
        seen_keys, seen_values = (held.index_select(1, self._visible)[None] for held in stored)
        return seen_keys, seen_values

    def get_seq_length(self, layer: int = 0) -> int:  # noqa: ARG002
        """Return how many tokens are computed so far."""
        return self._chunk.start


class RowCache:
    """Keys and values of rows side by side, for each layer rows x heads x columns x width.

    Every row ends at the current column, however long it is: a step writes one column for all.
    With ``stems``, a row's own columns begin after what it shares with the rest of its group.
    """

    def __init__(self, tree: TreeCache, paths: "Sequence[np.ndarray]", *, stems: bool) -> None:
        """Copy the keys and values of the paths, one for each row, out of the tree."""
        import torch

        self.live = len(paths)
        self._masks = tree.masks
        self.stems = Stems(tree, paths) if stems else None
        own = [path[length:] for path, length in zip(paths, self._stem_lengths(paths), strict=True)]
        self._lengths = torch.tensor([len(path) for path in paths], device=tree.device)
        self.column = max(map(len, own))
        self._layers, self._bias = side_by_side(tree, own)

    def _stem_lengths(self, paths: "Sequence[np.ndarray]") -> list[int]:
        return self.stems.lengths_of_rows() if self.stems else [0] * len(paths)

    def open(self, tokens: "torch.Tensor") -> dict[str, Any]:
        """Return what the forward takes for a step of all rows (``tokens``: one of each)."""
        import torch

        if self.column == self._bias.shape[1]:
            self._grow()
        self._bias[: self.live, self.column] = 0
        full = self._bias[: self.live, None, None]
        lengths = self._lengths[: self.live]
        own = (full == 0).sum(dim=-1).flatten() - 1
        stems = 0 if self.stems is None else self.stems.open(lengths)
        assert torch.equal(own + stems, lengths), "a row sees its own tokens and its stem"
        ages = self.column - torch.arange(full.shape[-1], device=full.device)
        return {
            "input_ids": tokens[:, None],
            "position_ids": lengths[:, None],
            "attention_mask": self._masks.of(full, ages),
            "past_key_values": self,
            **({} if self.stems is None else {"stems": self.stems}),
        }

    def _grow(self) -> None:
        """Make room for more columns.

        Attention reads all columns that there are: to read fewer of them would cost a copy of
        keys and values, since torch multiplies batches of matrices only where they lie in one
        piece.
        """
        import torch

        lowest = torch.finfo(self._bias.dtype).min
        more = (self.live, GROWTH)
        self._bias = torch.cat([self._bias[: self.live], self._bias.new_full(more, lowest)], dim=1)
        for layer, rooms in self._layers.items():
            self._layers[layer] = [_with_columns(room[: self.live]) for room in rooms]

    def update(
        self, keys: "torch.Tensor", values: "torch.Tensor", layer: int, *_: Any, **__: Any
    ) -> "tuple[torch.Tensor, torch.Tensor]":
        """Write the current column (rows x heads x 1 x width), return all columns."""
        held_keys, held_values = (room[: self.live] for room in self._layers[layer])
        held_keys[:, :, self.column] = keys[:, :, 0]
        held_values[:, :, self.column] = values[:, :, 0]
        return held_keys, held_values

    def close(self) -> None:
        """End a step."""
        self._lengths += 1
        self.column += 1

    def leave(self, row: int) -> None:
        """Free a row; the last one takes its place."""
        self.live -= 1
        for room in (
            self._bias,
            self._lengths,
            *(r for rooms in self._layers.values() for r in rooms),
        ):
            room[row] = room[self.live]
        if self.stems is not None:
            self.stems.leave(row, self.live)

    def get_seq_length(self, layer: int = 0) -> int:  # noqa: ARG002
        """Return how many columns there are so far."""
        return self.column


def _with_columns(room: "torch.Tensor") -> "torch.Tensor":
    rows, heads, columns, width = room.shape
    # Zeros, for masked columns too are multiplied, and 0 x NaN is NaN.
    more = room.new_zeros(rows, heads, columns + GROWTH, width)
    more[:, :, :columns] = room
    return more


def side_by_side(
    tree: TreeCache, paths: "Sequence[np.ndarray]"
) -> "tuple[dict[int, list[torch.Tensor]], torch.Tensor]":
    """Return keys and values of paths a layer (paths x heads x longest x width), right-aligned.

    The second is what is added to scores: 0 at a path's own columns, the lowest number elsewhere.
    """
    import numpy as np
    import torch

    longest = max(map(len, paths))
    places = np.zeros((len(paths), longest), dtype=np.int64)
    own = np.zeros(places.shape, dtype=bool)
    for row, path in enumerate(paths):
        places[row, longest - len(path) :] = path
        own[row, longest - len(path) :] = True
    flat = torch.as_tensor(places, device=tree.device).flatten()
    layers = {}
    for layer, stored in tree.layers.items():
        rooms = [held.index_select(1, flat).unflatten(1, places.shape) for held in stored]
        layers[layer] = [room.transpose(0, 1).contiguous() for room in rooms]
    dtype = next(iter(tree.layers.values()))[0].dtype
    bias = torch.zeros(places.shape, dtype=dtype, device=tree.device)
    bias.masked_fill_(~torch.as_tensor(own, device=tree.device), torch.finfo(dtype).min)
    return layers, bias


class Stems:
    """What neighbouring rows share, kept once a group: groups x heads x longest x width a layer.

    A group's rows attend to it in one matrix product: keys and values are read once a group and
    step in place of once a row. Rows sit in the group's seats (groups x most rows of a group);
    seats that are free or were left compute the first row again, and nobody reads that.
    """

    def __init__(self, tree: TreeCache, paths: "Sequence[np.ndarray]") -> None:
        """Group neighbours among the paths."""
        import torch

        groups = stem_groups(paths)
        seats = max(len(group.rows) for group in groups)
        self._masks = tree.masks
        self._live = [len(group.rows) for group in groups]
        self._lengths = torch.tensor([group.length for group in groups], device=tree.device)
        self._layers, self._bias = side_by_side(
            tree, [paths[group.rows[0]][: group.length] for group in groups]
        )
        self._rows = torch.zeros(len(groups), seats, dtype=torch.long, device=tree.device)
        self._seats = torch.zeros(len(paths), dtype=torch.long, device=tree.device)
        for at, group in enumerate(groups):
            self._rows[at, : len(group.rows)] = torch.tensor(group.rows)
            self._seats[group.rows] = torch.arange(len(group.rows)) + at * seats

    def lengths_of_rows(self) -> list[int]:
        """Return how many tokens of each row stand in its group's stem."""
        found: list[int] = self._lengths[self._seats // self._rows.shape[1]].tolist()
        return found

    def open(self, lengths: "torch.Tensor") -> "torch.Tensor":
        """Prepare a step of rows of these lengths; return the lengths of their stems."""
        import torch

        groups = len(self._live)
        self._groups_of = self._seats[: len(lengths)] // self._rows.shape[1]
        stems = self._lengths[self._groups_of]
        full = self._bias[:groups, None, None]
        columns = torch.arange(full.shape[-1], device=full.device)
        # A stem ends at the last column, and where it ends a row's own tokens begin.
        first = self._lengths[:groups, None] - full.shape[-1]
        positions = lengths[self._rows[:groups]]
        ages = positions[:, None, :, None] - (first + columns)[:, None, None]
        self._step = self._masks.of(full, ages)
        return stems

    def bias(self, layer: int, repeats: int) -> "torch.Tensor":
        """Return what a layer's scores get added: groups x 1 x (1 or seats x repeats) x columns."""
        bias = self._step
        if self._masks.kinds is not None:
            bias = bias[self._masks.kinds[layer]]
        return bias if bias.shape[2] == 1 else bias.repeat_interleave(repeats, dim=2)

    def scores(self, layer: int, query: "torch.Tensor", scaling: float) -> "torch.Tensor":
        """Return scores against the rows' stems (query: rows x heads x repeats x width), by row."""
        groups, seats = len(self._live), self._rows.shape[1]
        keys = self._layers[layer][0][:groups]
        together = self._by_group(query)
        scores = (together @ keys.transpose(2, 3)).mul_(scaling)
        scores.add_(self.bias(layer, query.shape[2]))
        return self._by_row(scores, seats)[: len(query)]

    def values(self, layer: int, weights: "torch.Tensor") -> "torch.Tensor":
        """Return sums of stems' values under weights (rows x heads x repeats x columns), by row."""
        groups, seats = len(self._live), self._rows.shape[1]
        together = self._by_group(weights) @ self._layers[layer][1][:groups]
        return self._by_row(together, seats)

    def _by_group(self, rows: "torch.Tensor") -> "torch.Tensor":
        """Rows x heads x repeats x n to groups x heads x (seats x repeats) x n."""
        seated = rows[self._rows[: len(self._live)]]
        return seated.transpose(1, 2).flatten(2, 3)

    def _by_row(self, groups: "torch.Tensor", seats: int) -> "torch.Tensor":
        """The way back."""
        seated = groups.unflatten(2, (seats, -1)).transpose(1, 2).flatten(0, 1)
        return seated[self._seats[: len(self._groups_of)]]

    def leave(self, row: int, last: int) -> None:
        """Free a row's seat; the row ``last`` is called ``row`` from now on."""
        seats = self._rows.shape[1]
        left, moved = int(self._seats[row]), int(self._seats[last])
        self._rows.view(-1)[moved] = row
        self._rows.view(-1)[left] = 0
        self._seats[row] = moved
        self._live[left // seats] -= 1
        if self._live[left // seats] == 0:
            self._drop(left // seats)

    def _drop(self, group: int) -> None:
        """Free an empty group; the last one takes its place."""
        end = len(self._live) - 1
        seats = self._rows.shape[1]
        moved = (self._seats // seats) == end
        for room in (
            self._rows, self._bias, self._lengths,
            *(r for rooms in self._layers.values() for r in rooms),
        ):  # fmt: skip
            room[group] = room[end]
        self._seats[moved] += (group - end) * seats
        self._live[group] = self._live[end]
        self._live.pop()


@dataclass(frozen=True)
class StemGroup:
    """Rows, and the number of tokens that all of them begin with."""

    rows: list[int]
    length: int


def stem_groups(paths: "Sequence[np.ndarray]") -> list[StemGroup]:
    """Group neighbours in the tree, such that no row has over OWN tokens beside its stem."""
    import numpy as np

    groups: list[StemGroup] = []
    longest = 0
    for row in sorted(range(len(paths)), key=lambda i: paths[i].tolist(), reverse=True):
        path = paths[row]
        if groups:
            group = groups[-1]
            stem = paths[group.rows[0]][: group.length]
            both = min(len(stem), len(path))
            same = stem[:both] == path[:both]
            shared = both if same.all() else int(np.argmin(same))
            longest = max(longest, len(path))
            if shared > 0 and longest - shared <= OWN and len(group.rows) < SEATS:
                groups[-1] = StemGroup([*group.rows, row], shared)
                continue
        groups.append(StemGroup([row], len(path)))
        longest = len(path)
    return groups
