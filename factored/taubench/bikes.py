"""The bicycle rental: a small domain of our own, embedded with its data and tasks.

Today is 2031-06-10. A rental is booked for whole days and is paid from the member's credit.
"""

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Annotated, Literal, TypedDict

from factored.taubench.common import calculate, think, transfer_to_human_agents
from factored.taubench.state import Record, State
from factored.taubench.tools import Domain, require, tool

Kind = Literal["city", "cargo", "electric"]
Extra = Literal["helmet", "child seat", "lock", "basket"]
Reason = Literal["weather", "illness", "change of plans"]
MemberId = Annotated[str, "Such as 'M-104'."]
RentalId = Annotated[str, "Such as 'R-2001'."]
Day = Annotated[str, "As YYYY-MM-DD."]
EXTRA_PRICE = 2.5  # for each extra and day
OPEN = "booked"


class Rider(TypedDict):
    """Who rides a bicycle."""

    name: str
    height_cm: Annotated[int, "In whole centimetres."]


def _days(first_day: str, days: int) -> list[str]:
    start = date.fromisoformat(first_day)
    return [(start + timedelta(days=number)).isoformat() for number in range(days)]


def _taken(db: State, bike_id: str, but: str = "") -> set[str]:
    """The days on which another rental holds the bicycle."""
    return {
        day
        for rental_id, rental in db["rentals"].items()
        if rental["bike_id"] == bike_id and rental["status"] == OPEN and rental_id != but
        for day in _days(rental["first_day"], rental["days"])
    }


def _price(db: State, bike_id: str, days: int, extras: Sequence[str]) -> float:
    a_day: float = db["bikes"][bike_id]["price_per_day"] + EXTRA_PRICE * len(extras)
    return round(days * a_day, 2)


def _pay(db: State, member_id: str, amount: float) -> None:
    """Take an amount, or give a negative one back."""
    credit = db["members"][member_id]["credit"]
    require(credit >= amount, f"the credit of {credit} does not cover {amount}")
    db["members"].edit(member_id)["credit"] = round(credit - amount, 2)


def _open_rental(db: State, rental_id: str) -> Record:
    require(rental_id in db["rentals"], "rental not found")
    require(db["rentals"][rental_id]["status"] == OPEN, "the rental is not open")
    return db["rentals"][rental_id]


@tool
def find_member(db: State, email: Annotated[str, "The member's e-mail address."]) -> str:
    """Find a member's id by e-mail address."""
    found = [key for key, member in db["members"].items() if member["email"] == email.lower()]
    require(found, "member not found")
    return str(found[0])


@tool
def get_member(db: State, member_id: MemberId) -> Record:
    """Show a member: name, credit, rentals."""
    require(member_id in db["members"], "member not found")
    return db["members"][member_id]


@tool
def get_rental(db: State, rental_id: RentalId) -> Record:
    """Show a rental."""
    require(rental_id in db["rentals"], "rental not found")
    return db["rentals"][rental_id]


@tool
def search_bikes(db: State, kind: Kind, first_day: Day, days: int) -> list[Record]:
    """List the bicycles of a kind that are free on all of these days."""
    wanted = set(_days(first_day, days))
    return [
        {"bike_id": key, **bike}
        for key, bike in db["bikes"].items()
        if bike["kind"] == kind and not wanted & _taken(db, key)
    ]


@tool
def book_rental(
    db: State,
    member_id: MemberId,
    bike_id: Annotated[str, "Such as 'B-12'."],
    first_day: Day,
    days: int,
    riders: list[Rider],
    extras: list[Extra],
) -> Record:
    """Book a bicycle and pay for it from the member's credit."""
    require(member_id in db["members"], "member not found")
    require(bike_id in db["bikes"], "bicycle not found")
    require(days >= 1, "a rental takes at least one day")
    require(riders, "a rental needs a rider")
    require(not set(_days(first_day, days)) & _taken(db, bike_id), "the bicycle is not free")
    price = _price(db, bike_id, days, extras)
    _pay(db, member_id, price)
    rental_id = f"R-{2001 + len(db['rentals'])}"
    rental: Record = {
        "rental_id": rental_id,
        "member_id": member_id,
        "bike_id": bike_id,
        "first_day": first_day,
        "days": days,
        "riders": riders,
        "extras": extras,
        "price": price,
        "status": OPEN,
    }
    db["rentals"].put(rental_id, rental)
    db["members"].edit(member_id)["rentals"].append(rental_id)
    return rental


@tool
def move_rental(db: State, rental_id: RentalId, first_day: Day, days: int) -> Record:
    """Give a rental other days; the difference in price is paid from, or to, the credit."""
    rental = _open_rental(db, rental_id)
    require(days >= 1, "a rental takes at least one day")
    taken = _taken(db, rental["bike_id"], but=rental_id)
    require(not set(_days(first_day, days)) & taken, "the bicycle is not free")
    price = _price(db, rental["bike_id"], days, rental["extras"])
    _pay(db, rental["member_id"], round(price - rental["price"], 2))
    edited = db["rentals"].edit(rental_id)
    edited.update(first_day=first_day, days=days, price=price)
    return edited


@tool
def add_extras(db: State, rental_id: RentalId, extras: list[Extra]) -> Record:
    """Add extras to a rental; they are paid from the credit."""
    rental = _open_rental(db, rental_id)
    more = [*rental["extras"], *extras]
    price = _price(db, rental["bike_id"], rental["days"], more)
    _pay(db, rental["member_id"], round(price - rental["price"], 2))
    edited = db["rentals"].edit(rental_id)
    edited.update(extras=more, price=price)
    return edited


@tool
def cancel_rental(db: State, rental_id: RentalId, reason: Reason) -> Record:
    """Cancel a rental; its price goes back to the credit."""
    rental = _open_rental(db, rental_id)
    _pay(db, rental["member_id"], -rental["price"])
    edited = db["rentals"].edit(rental_id)
    edited.update(status="cancelled", reason=reason)
    return edited


@tool
def give_credit(db: State, member_id: MemberId, amount: float) -> str:
    """Add an amount to a member's credit, as a gesture."""
    require(member_id in db["members"], "member not found")
    require(amount > 0, "the amount must be positive")
    _pay(db, member_id, -amount)
    return f"{member_id} now has a credit of {db['members'][member_id]['credit']}"


BIKES = Domain(
    name="bikes",
    tables=("members", "bikes", "rentals"),
    tools=(
        add_extras,
        book_rental,
        calculate,
        cancel_rental,
        find_member,
        get_member,
        get_rental,
        give_credit,
        move_rental,
        search_bikes,
        think,
        transfer_to_human_agents,
    ),
    writes=frozenset({"add_extras", "book_rental", "cancel_rental", "give_credit", "move_rental"}),
)
