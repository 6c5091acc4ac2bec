"""A domain's databases: one shared snapshot, and for each episode the records it has changed.

A fresh state copies nothing. The first write to a record copies that record; everything else is
read from the snapshot, which nobody may write to. The data hash re-renders changed records only.
"""

import hashlib
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from functools import cached_property
from typing import Any

Record = dict[str, Any]


def canonical_text(value: Any) -> str:
    """Return the text that is hashed: ``str`` of the value with dicts as sorted tuples of pairs.

    Lists become tuples; numbers keep their type, so that 100, 100.0 and "100" differ.
    """
    if isinstance(value, dict):
        return _tuple_text([_pair_text(key, value[key]) for key in sorted(value)])
    if isinstance(value, list):
        return _tuple_text([canonical_text(element) for element in value])
    return repr(value)


def _pair_text(key: str, value: Any) -> str:
    return f"({key!r}, {canonical_text(value)})"


def _tuple_text(parts: Sequence[str]) -> str:
    return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"


class Rows:
    """One table of the snapshot, shared by all episodes: key -> record, in file order."""

    def __init__(self, records: Mapping[str, Record]) -> None:
        self.records = records

    @cached_property
    def sorted_keys(self) -> list[str]:
        """The keys in the order of the hash."""
        return sorted(self.records)

    @cached_property
    def pairs(self) -> list[str]:
        """The canonical text of each (key, record), in key order."""
        return [_pair_text(key, self.records[key]) for key in self.sorted_keys]

    @cached_property
    def canonical(self) -> str:
        """The canonical text of the whole table."""
        return _tuple_text(self.pairs)


class Table(Mapping[str, Record]):
    """One episode's view of a table. What ``[]`` gives is for reading; ``edit`` gives a copy.

    ``copies`` counts the records that were copied: the cost of an episode, in records.
    """

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._changed: dict[str, Record] = {}
        self.copies = 0

    def __getitem__(self, key: str) -> Record:
        return self._changed[key] if key in self._changed else self._rows.records[key]

    def __contains__(self, key: object) -> bool:
        return key in self._changed or key in self._rows.records

    def __iter__(self) -> Iterator[str]:
        yield from self._rows.records
        yield from (key for key in self._changed if key not in self._rows.records)

    def __len__(self) -> int:
        return len(self._rows.records) + len(self._changed.keys() - self._rows.records.keys())

    @property
    def changed(self) -> frozenset[str]:
        """The keys of the records that this episode has copied or added."""
        return frozenset(self._changed)

    def edit(self, key: str) -> Record:
        """Return the record as this episode's own, copied from the snapshot on the first call.

        Raises KeyError where there is none.
        """
        if key not in self._changed:
            self._changed[key] = deepcopy(self._rows.records[key])
            self.copies += 1
        return self._changed[key]

    def put(self, key: str, record: Record) -> None:
        """Add a record, or replace the one that has this key."""
        self._changed[key] = record

    def canonical(self) -> str:
        """Return the canonical text of the whole table; renders changed records only."""
        if not self._changed:
            return self._rows.canonical
        keys, pairs = self._rows.sorted_keys, list(self._rows.pairs)
        # From the last key to the first, so that an insertion moves only places that are filled.
        for key in sorted(self._changed, reverse=True):
            place = bisect_left(keys, key)
            known = place < len(keys) and keys[place] == key
            pairs[place : place + known] = [_pair_text(key, self._changed[key])]
        return _tuple_text(pairs)


class State:
    """The databases as one episode sees and changes them."""

    def __init__(self, snapshot: Mapping[str, Rows]) -> None:
        self._tables = {name: Table(rows) for name, rows in snapshot.items()}

    def __getitem__(self, table: str) -> Table:
        return self._tables[table]

    @property
    def tables(self) -> Mapping[str, Table]:
        """The tables by name."""
        return self._tables

    @property
    def copies(self) -> int:
        """How many records this episode has copied."""
        return sum(table.copies for table in self._tables.values())

    def data_hash(self) -> str:
        """Return the sha256 (hex) over the canonical text of all tables."""
        pairs = [f"({name!r}, {self._tables[name].canonical()})" for name in sorted(self._tables)]
        return hashlib.sha256(_tuple_text(pairs).encode("utf-8")).hexdigest()
