"""Keys and values: those of a prefix tree, and those of the rows that are being decoded.

Both stand in for transformers' cache: a layer hands its new keys and values to ``update`` and
gets all that it attends to.
"""

from typing import TYPE_CHECKING, Any

from harness.engines.attention import LayerMasks
from harness.engines.prefixes import Chunk, PrefixTree

if TYPE_CHECKING:
    import numpy as np
    import torch


class TreeCache:
    """Keys and values of a tree's tokens, for each layer heads x tokens x width, reserved once."""

    def __init__(self, tree: PrefixTree, masks: LayerMasks, device: str) -> None:
        """Reserves at the first pass, when the shapes are known."""
        self.tree = tree
        self.masks = masks
        self.device = device
        self.layers: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def open(self, chunk: Chunk, dtype: "torch.dtype") -> dict[str, Any]:
        """What the model's forward takes for the next tokens, which it then hands to ``update``."""
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
        """Stores the new keys and values (1 x heads x tokens x width), gives the visible ones."""
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
        """Tokens computed so far."""
        return self._chunk.start


class RowCache:
    """Keys and values of rows side by side, for each layer rows x heads x columns x width.

    Every row ends at the current column, however long it is: a step writes one column for all.
    Columns are used in a circle, which attention does not see (positions are part of the keys),
    so that rows which join late need no more room than those which began.
    """

    def __init__(self, tree: TreeCache, rows: int, columns: int, column: int) -> None:
        """Room for ``rows``; the first step writes ``column``, which no prompt is longer than."""
        import torch

        keys, _ = next(iter(tree.layers.values()))
        self.columns = columns
        self.column = column
        self.lengths = torch.zeros(rows, dtype=torch.long)
        self.live = 0
        self._tree = tree
        self._bias = torch.full(
            (rows, columns), torch.finfo(keys.dtype).min, dtype=keys.dtype, device=keys.device
        )
        # Zeros, for masked columns too are multiplied, and 0 x NaN is NaN.
        self._layers = {
            layer: tuple(
                held.new_zeros(rows, held.shape[0], columns, held.shape[2]) for held in stored
            )
            for layer, stored in tree.layers.items()
        }

    def join(self, path: "np.ndarray") -> None:
        """Copies the keys and values of a path into a free row, up to the current column."""
        import torch

        row, length = self.live, len(path)
        assert length <= min(self.column, self.columns), "a prompt fits before the current column"
        places = torch.as_tensor(path, device=self._bias.device)
        last = self.column % self.columns
        columns = torch.arange(last - length, last, device=places.device) % self.columns
        for layer, rooms in self._layers.items():
            for room, held in zip(rooms, self._tree.layers[layer], strict=True):
                room[row].index_copy_(1, columns, held.index_select(1, places))
        self._bias[row] = torch.finfo(self._bias.dtype).min
        self._bias[row, columns] = 0
        self.lengths[row] = length
        self.live += 1

    def leave(self, row: int) -> None:
        """Frees a row; the last one takes its place."""
        self.live -= 1
        for room in (
            self._bias,
            self.lengths,
            *(r for rooms in self._layers.values() for r in rooms),
        ):
            room[row] = room[self.live]

    def open(self, tokens: "torch.Tensor") -> dict[str, Any]:
        """What the model's forward takes for a step of all rows (``tokens``: one of each row)."""
        import torch

        now = self.column % self.columns
        self._bias[: self.live, now] = 0
        width = min(self.column + 1, self.columns)
        full = self._bias[: self.live, None, None, :width]
        seen = (full == 0).sum(dim=-1).flatten().cpu()
        assert torch.equal(seen, self.lengths[: self.live] + 1), "a row sees its own tokens alone"
        ages = (now - torch.arange(width, device=full.device)) % self.columns
        return {
            "input_ids": tokens[:, None],
            "position_ids": self.lengths[: self.live, None].to(full.device),
            "attention_mask": self._tree.masks.of(full, ages),
            "past_key_values": self,
        }

    def update(
        self, keys: "torch.Tensor", values: "torch.Tensor", layer: int, *_: Any, **__: Any
    ) -> "tuple[torch.Tensor, torch.Tensor]":
        """Writes the current column (rows x heads x 1 x width), gives all columns so far."""
        width = min(self.column + 1, self.columns)
        held_keys, held_values = self._layers[layer]
        held_keys[: self.live, :, self.column % self.columns] = keys[:, :, 0]
        held_values[: self.live, :, self.column % self.columns] = values[:, :, 0]
        return held_keys[: self.live, :, :width], held_values[: self.live, :, :width]

    def close(self) -> None:
        """Ends a step."""
        self.lengths[: self.live] += 1
        self.column += 1

    def get_seq_length(self, layer: int = 0) -> int:  # noqa: ARG002
        """The columns so far."""
        return self.column
