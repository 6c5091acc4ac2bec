"""A shop and an airline of a few records each."""

import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path

import pytest

from factored.taubench.airline import AIRLINE
from factored.taubench.environment import LoadedDomain
from factored.taubench.retail import RETAIL
from factored.taubench.state import Record, Rows, State


def variant(item_id: str, price: float, available: bool = True, **options: str) -> Record:
    return {"item_id": item_id, "options": options, "available": available, "price": price}


def line(item_id: str, price: float, product: str = "1", name: str = "Mug") -> Record:
    options = {"size": item_id[-1]}
    return {
        "name": name,
        "product_id": product,
        "item_id": item_id,
        "price": price,
        "options": options,
    }


def order(order_id: str, status: str, items: list[Record], method: str, **more: object) -> Record:
    amount = round(sum(item["price"] for item in items), 2)
    payment = {"transaction_type": "payment", "amount": amount, "payment_method_id": method}
    return {
        "order_id": order_id,
        "user_id": "ann_lee_1",
        "address": {"address1": "1 A St", "address2": "", "city": "B", "country": "USA"},
        "items": items,
        "fulfillments": [],
        "status": status,
        "payment_history": [payment],
        **more,
    }


ADDRESS = {
    "address1": "1 A St",
    "address2": "",
    "city": "Boston",
    "country": "USA",
    "state": "MA",
    "zip": "02101",
}
RETAIL_TABLES: dict[str, dict[str, Record]] = {
    "products": {
        "1": {
            "name": "Mug",
            "product_id": "1",
            "variants": {
                "10": variant("10", 10.1, size="0"),
                "11": variant("11", 12.35, size="1"),
                "12": variant("12", 99.99, size="2"),
                "13": variant("13", 10.0, available=False, size="3"),
                "14": variant("14", 3.33, size="4"),
                "15": variant("15", 10.4, size="5"),
            },
        },
        "2": {"name": "Axe", "product_id": "2", "variants": {"20": variant("20", 5, kind="x")}},
    },
    "users": {
        "ann_lee_1": {
            "name": {"first_name": "Ann", "last_name": "Lee"},
            "address": ADDRESS,
            "email": "Ann@example.com",
            "payment_methods": {
                "credit_card_1": {
                    "source": "credit_card",
                    "brand": "visa",
                    "last_four": "1111",
                    "id": "credit_card_1",
                },
                "gift_card_1": {"source": "gift_card", "balance": 50, "id": "gift_card_1"},
                "gift_card_2": {"source": "gift_card", "balance": 1, "id": "gift_card_2"},
                "paypal_1": {"source": "paypal", "id": "paypal_1"},
            },
            "orders": ["#W1", "#W2", "#W3", "#W4"],
        },
        "bob_lee_2": {
            "name": {"first_name": "Bob", "last_name": "Lee"},
            "address": {**ADDRESS, "zip": "90001"},
            "email": "bob@example.com",
            "payment_methods": {},
            "orders": [],
        },
    },
    "orders": {
        "#W1": order("#W1", "pending", [line("10", 10.1), line("11", 12.35)], "credit_card_1"),
        "#W2": order("#W2", "delivered", [line("10", 10.1), line("10", 10.1)], "credit_card_1"),
        "#W3": order("#W3", "pending", [line("10", 10.1)], "gift_card_1"),
        "#W4": order("#W4", "processed", [line("10", 10.1)], "paypal_1"),
    },
}


def day(seats: int, price: int, status: str = "available") -> Record:
    if status != "available":
        return {"status": status}
    cabins = ("basic_economy", "economy", "business")
    return {
        "status": status,
        "available_seats": dict.fromkeys(cabins, seats),
        "prices": {cabin: price * (n + 1) for n, cabin in enumerate(cabins)},
    }


def flight(number: str, origin: str, to: str, times: tuple[str, str], days: Record) -> Record:
    return {
        "flight_number": number,
        "origin": origin,
        "destination": to,
        "scheduled_departure_time_est": times[0],
        "scheduled_arrival_time_est": times[1],
        "dates": days,
    }


def airline_tables() -> dict[str, dict[str, Record]]:
    days = {
        "2024-05-14": day(0, 0, "landed"),
        "2024-05-20": day(2, 100),
        "2024-05-21": day(3, 110),
    }
    flights = [
        flight("HAT001", "JFK", "ORD", ("06:00:00", "08:00:00"), days),
        flight("HAT002", "ORD", "SFO", ("09:00:00", "11:00:00"), deepcopy(days)),
        flight("HAT003", "ORD", "SFO", ("07:00:00", "10:00:00"), deepcopy(days)),
        flight("HAT004", "JFK", "ORD", ("22:00:00", "01:00:00+1"), deepcopy(days)),
    ]
    kept = {
        "origin": "JFK",
        "destination": "ORD",
        "flight_number": "HAT001",
        "date": "2024-05-20",
        "price": 77,
    }
    return {
        "flights": {record["flight_number"]: record for record in flights},
        "reservations": {
            "AAAAAA": {
                "reservation_id": "AAAAAA",
                "user_id": "ann_lee_1",
                "origin": "JFK",
                "destination": "ORD",
                "flight_type": "one_way",
                "cabin": "economy",
                "flights": [kept],
                "passengers": [{"first_name": "Ann", "last_name": "Lee", "dob": "1990-01-01"}],
                "payment_history": [{"payment_id": "credit_card_1", "amount": 77}],
                "created_at": "2024-05-01T00:00:00",
                "total_baggages": 1,
                "nonfree_baggages": 1,
                "insurance": "no",
            }
        },
        "users": {
            "ann_lee_1": {
                "name": {"first_name": "Ann", "last_name": "Lee"},
                "address": ADDRESS,
                "email": "ann@example.com",
                "dob": "1990-01-01",
                "payment_methods": {
                    "credit_card_1": {"source": "credit_card", "id": "credit_card_1"},
                    "gift_card_1": {"source": "gift_card", "amount": 200, "id": "gift_card_1"},
                    "certificate_1": {
                        "source": "certificate",
                        "amount": 150,
                        "id": "certificate_1",
                    },
                },
                "saved_passengers": [],
                "membership": "gold",
                "reservations": ["AAAAAA"],
            }
        },
    }


def loaded(domain: str) -> LoadedDomain:
    """A fresh small domain; nothing is shared between two of them."""
    rules, tables = (
        (RETAIL, deepcopy(RETAIL_TABLES)) if domain == "retail" else (AIRLINE, airline_tables())
    )
    snapshot = {name: Rows(records) for name, records in tables.items()}
    schemas = [tool.schema for tool in rules.tools]
    return LoadedDomain(rules, snapshot, {}, schemas, "Be kind.")


class Desk:
    """Calls tools on one episode's state and gives what the agent would read."""

    def __init__(self, domain: str) -> None:
        self.loaded = loaded(domain)
        self.db: State = self.loaded.fresh_state()

    def __call__(self, name: str, **kwargs: object) -> str:
        tool = self.loaded.domain.tool(name)
        assert tool is not None
        return tool.call(self.db, kwargs, self.loaded.domain.name)

    def object(self, name: str, **kwargs: object) -> Record:
        """The object that a successful call gives."""
        answer = self(name, **kwargs)
        assert not answer.startswith("Error"), answer
        record: Record = json.loads(answer)
        return record


@pytest.fixture
def shop() -> Desk:
    return Desk("retail")


@pytest.fixture
def airline() -> Desk:
    return Desk("airline")


@pytest.fixture(scope="session")
def desk_of() -> type[Desk]:
    return Desk


@pytest.fixture(scope="session")
def make_loaded() -> Callable[[str], LoadedDomain]:
    return loaded


@pytest.fixture
def data_folder_of_both(tmp_path: Path) -> Path:
    """The small domains as a plain data folder."""
    for name in ("retail", "airline"):
        domain = loaded(name)
        (tmp_path / "data" / name).mkdir(parents=True)
        for table, rows in domain.snapshot.items():
            text = json.dumps(rows.records)
            (tmp_path / "data" / name / f"{table}.json").write_text(text, encoding="utf-8")
    return tmp_path / "data"
