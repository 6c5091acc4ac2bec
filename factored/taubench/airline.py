"""The airline domain: flights, reservations and users; 14 tools.

The reading tools come first, then the writing ones. ``db`` is the state of one episode; the time
stands still at 2024-05-15 15:00 EST. Faults of the original are kept where results depend on them.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Literal, TypedDict

from factored.taubench.common import (
    UserId,
    calculate,
    get_user_details,
    think,
    transfer_to_human_agents,
)
from factored.taubench.state import Record, State
from factored.taubench.tools import Domain, require, tool

ReservationId = Annotated[str, "The reservation id, such as '8JX2WO'."]
Airport = Annotated[str, "The airport's three letters, such as 'JFK'."]
Day = Annotated[str, "The day as YYYY-MM-DD, such as '2024-01-01'."]
Cabin = Literal["basic_economy", "economy", "business"]
PaymentId = Annotated[str, "A payment id in the user's profile, such as 'gift_card_7815826'."]

AIRPORTS = {
    "SFO": "San Francisco", "JFK": "New York", "LAX": "Los Angeles", "ORD": "Chicago",
    "DFW": "Dallas", "DEN": "Denver", "SEA": "Seattle", "ATL": "Atlanta", "MIA": "Miami",
    "BOS": "Boston", "PHX": "Phoenix", "IAH": "Houston", "LAS": "Las Vegas", "MCO": "Orlando",
    "EWR": "Newark", "CLT": "Charlotte", "MSP": "Minneapolis", "DTW": "Detroit",
    "PHL": "Philadelphia", "LGA": "LaGuardia",
}  # fmt: skip
NEW_RESERVATIONS = ("HATHAT", "HATHAU", "HATHAV")
NEW_CERTIFICATES = ("certificate_3221322", "certificate_3221323", "certificate_3221324")
NOW = "2024-05-15T15:00:00"


class Leg(TypedDict):
    """A flight on a day."""

    flight_number: Annotated[str, "Such as 'HAT001'."]
    date: Day


class Passenger(TypedDict):
    """A passenger; dob as YYYY-MM-DD."""

    first_name: str
    last_name: str
    dob: str


class Payment(TypedDict):
    """A payment id and the amount to take from it."""

    payment_id: PaymentId
    amount: float


@tool
def get_reservation_details(db: State, reservation_id: ReservationId) -> Record:
    """Show a reservation."""
    require(reservation_id in db["reservations"], "user not found")
    return db["reservations"][reservation_id]


@tool
def list_all_airports(db: State) -> Record:  # noqa: ARG001
    """List all airports with their cities."""
    return dict(AIRPORTS)


@tool
def search_direct_flight(
    db: State, origin: Airport, destination: Airport, date: Day
) -> list[Record]:
    """Find the direct flights between two cities on a day."""
    return [
        _on_day(flight, date)
        for flight in db["flights"].values()
        if flight["origin"] == origin
        and flight["destination"] == destination
        and _is_available(flight, date)
    ]


@tool
def search_onestop_flight(
    db: State, origin: Airport, destination: Airport, date: Day
) -> list[list[Record]]:
    """Find the connections with one stop between two cities on a day."""
    pairs = []
    for first, second in _connections(db, origin, destination):
        arrival = first["scheduled_arrival_time_est"]
        # Without a leading zero, as in the original: an arrival on a day below 10 finds nothing.
        second_date = f"2024-05-{int(date[-2:]) + 1}" if "+1" in arrival else date
        if arrival > second["scheduled_departure_time_est"]:
            continue
        if _is_available(first, date) and _is_available(second, second_date):
            # The second leg's seats and prices are those of the first day, as in the original.
            pairs.append(
                [
                    {**_on_day(first, date), "date": date},
                    {**_on_day(second, date), "date": second_date},
                ]
            )
    return pairs


@tool
def book_reservation(
    db: State,
    *,
    user_id: UserId,
    origin: Airport,
    destination: Airport,
    flight_type: Literal["one_way", "round_trip"],
    cabin: Cabin,
    flights: Annotated[list[Leg], "Every flight of the reservation."],
    passengers: list[Passenger],
    payment_methods: list[Payment],
    total_baggages: Annotated[int, "All checked bags."],
    nonfree_baggages: Annotated[int, "The bags to be paid for."],
    insurance: Literal["yes", "no"],
) -> Record:
    """Book a reservation; the payments must add up to its price."""
    require(user_id in db["users"], "user not found")
    priced = [_priced(db, flight, cabin, passengers) for flight in flights]
    total = 0
    for flight in priced:
        total += flight["price"] * len(passengers)
    if insurance == "yes":
        total += 30 * len(passengers)
    total += 50 * nonfree_baggages
    _check_payments(db["users"][user_id]["payment_methods"], payment_methods, total)

    # Seats are not taken, as in the original.
    user = db["users"].edit(user_id)
    for payment in payment_methods:
        _take(user["payment_methods"], payment)
    reservation_id = _first_free(NEW_RESERVATIONS, db["reservations"]) or NEW_RESERVATIONS[-1]
    reservation = {
        "reservation_id": reservation_id,
        "user_id": user_id,
        "origin": origin,
        "destination": destination,
        "flight_type": flight_type,
        "cabin": cabin,
        "flights": priced or flights,  # an empty text or object is stored as it is given
        "passengers": passengers,
        "payment_history": payment_methods,
        "created_at": NOW,
        "total_baggages": total_baggages,
        "nonfree_baggages": nonfree_baggages,
        "insurance": insurance,
    }
    db["reservations"].put(reservation_id, reservation)
    user["reservations"].append(reservation_id)
    return reservation


@tool
def cancel_reservation(db: State, reservation_id: ReservationId) -> Record:
    """Cancel a whole reservation."""
    require(reservation_id in db["reservations"], "reservation not found")

    # A second time as well; gift cards and seats stay as they are, as in the original.
    reservation = db["reservations"].edit(reservation_id)
    refunds = [
        {"payment_id": entry["payment_id"], "amount": -entry["amount"]}
        for entry in reservation["payment_history"]
    ]
    reservation["payment_history"].extend(refunds)
    reservation["status"] = "cancelled"
    return reservation


@tool
def update_reservation_flights(
    db: State,
    reservation_id: ReservationId,
    cabin: Cabin,
    flights: Annotated[list[Leg], "Every flight of the reservation, the unchanged ones too."],
    payment_id: PaymentId,
) -> Record:
    """Change the flights of a reservation."""
    require(reservation_id in db["reservations"], "reservation not found")
    reservation = db["reservations"][reservation_id]
    passengers = reservation["passengers"]
    priced = [
        _kept(reservation, flight, cabin) or _priced(db, flight, cabin, passengers)
        for flight in flights
    ]
    difference = 0
    for new in priced:
        difference += new["price"] * len(passengers)
    difference -= sum(old["price"] for old in reservation["flights"]) * len(passengers)
    _check_payment(db, reservation, payment_id, difference)

    reservation = db["reservations"].edit(reservation_id)
    # The cabin has priced the flights but is not stored, as in the original.
    reservation["flights"] = priced or flights  # an empty text or object as it is given
    _charge(db, reservation, payment_id, difference)
    return reservation


@tool
def update_reservation_baggages(
    db: State,
    reservation_id: ReservationId,
    total_baggages: Annotated[int, "All checked bags after the change."],
    nonfree_baggages: Annotated[int, "The bags to be paid for after the change."],
    payment_id: PaymentId,
) -> Record:
    """Change the bags of a reservation; each more that is not free costs 50."""
    require(reservation_id in db["reservations"], "reservation not found")
    reservation = db["reservations"][reservation_id]
    price = 50 * max(0, nonfree_baggages - reservation["nonfree_baggages"])
    _check_payment(db, reservation, payment_id, price)

    reservation = db["reservations"].edit(reservation_id)
    reservation["total_baggages"] = total_baggages
    reservation["nonfree_baggages"] = nonfree_baggages
    _charge(db, reservation, payment_id, price)
    return reservation


@tool
def update_reservation_passengers(
    db: State, reservation_id: ReservationId, passengers: list[Passenger]
) -> Record:
    """Change the passengers of a reservation, not their number."""
    require(reservation_id in db["reservations"], "reservation not found")
    number = len(db["reservations"][reservation_id]["passengers"])
    require(len(passengers) == number, "number of passengers does not match")

    reservation = db["reservations"].edit(reservation_id)
    reservation["passengers"] = passengers
    return reservation


@tool
def send_certificate(db: State, user_id: UserId, amount: float) -> str | None:
    """Send a certificate to a user."""
    require(user_id in db["users"], "user not found")
    certificate_id = _first_free(NEW_CERTIFICATES, db["users"][user_id]["payment_methods"])
    if certificate_id is None:
        return None  # a fourth one crashes the original

    certificate = {"source": "certificate", "amount": amount, "id": certificate_id}
    db["users"].edit(user_id)["payment_methods"][certificate_id] = certificate
    return f"Certificate {certificate_id} added to user {user_id} with amount {amount}."


def _is_available(flight: Record, date: str) -> bool:
    return date in flight["dates"] and flight["dates"][date]["status"] == "available"


def _on_day(flight: Record, date: str) -> Record:
    """The flight without its calendar, then what is known of this day."""
    plain = {key: value for key, value in flight.items() if key != "dates"}
    return {**plain, **flight["dates"][date]}


def _connections(db: State, origin: str, destination: str) -> Iterator[tuple[Record, Record]]:
    for first in db["flights"].values():
        if first["origin"] == origin:
            for second in db["flights"].values():
                if (
                    second["destination"] == destination
                    and second["origin"] == first["destination"]
                ):
                    yield first, second


def _priced(db: State, flight: Leg, cabin: str, passengers: Sequence[Passenger]) -> Record:
    """The checks of a flight that is booked; the flight with price, origin and destination."""
    number = flight["flight_number"]
    require(number in db["flights"], f"flight {number} not found")
    known = db["flights"][number]
    date = flight["date"]
    require(date in known["dates"], f"flight {number} not found on date {date}")
    record = known["dates"][date]
    require(record["status"] == "available", f"flight {number} not available on date {date}")
    enough = record["available_seats"][cabin] >= len(passengers)
    require(enough, f"not enough seats on flight {number}")
    return _with_price(flight, record["prices"][cabin], known)


def _kept(reservation: Record, flight: Leg, cabin: str) -> Record | None:
    """A flight that the reservation has already, in the same cabin, at the price paid then."""
    for old in reservation["flights"]:
        if (
            old["flight_number"] == flight["flight_number"]
            and old["date"] == flight["date"]
            and cabin == reservation["cabin"]
        ):
            return _with_price(flight, old["price"], old)
    return None


def _with_price(flight: Leg, price: int, known: Record) -> Record:
    """The caller's own keys first, then the three that the tool adds."""
    return {
        **flight,
        "price": price,
        "origin": known["origin"],
        "destination": known["destination"],
    }


def _check_payment(db: State, reservation: Record, payment_id: str, amount: float) -> None:
    methods = db["users"][reservation["user_id"]]["payment_methods"]
    require(payment_id in methods, "payment method not found")
    method = methods[payment_id]
    require(method["source"] != "certificate", "certificate cannot be used to update reservation")
    short = method["source"] == "gift_card" and method["amount"] < amount
    require(not short, "gift card balance is not enough")


def _charge(db: State, reservation: Record, payment_id: str, amount: float) -> None:
    """Take the amount from a gift card (a negative one is paid back) and note it."""
    method = db["users"][reservation["user_id"]]["payment_methods"][payment_id]
    if method["source"] == "gift_card":
        user = db["users"].edit(reservation["user_id"])
        user["payment_methods"][payment_id]["amount"] -= amount
    if amount != 0:
        reservation["payment_history"].append({"payment_id": payment_id, "amount": amount})


def _check_payments(
    methods: Mapping[str, Record], payments: Sequence[Payment], total: float
) -> None:
    """Every method is there and holds enough; together they pay the total exactly."""
    for payment in payments:
        payment_id, amount = payment["payment_id"], payment["amount"]
        require(payment_id in methods, f"payment method {payment_id} not found")
        if methods[payment_id]["source"] in ("gift_card", "certificate"):
            short = methods[payment_id]["amount"] < amount
            require(not short, f"not enough balance in payment method {payment_id}")
    paid: float = 0
    for payment in payments:
        paid = paid + payment["amount"]
    require(
        paid == total,
        f"payment amount does not add up, total price is {total}, but paid {paid}",
    )


def _take(methods: dict[str, Record], payment: Payment) -> None:
    """Pay from a method: a gift card loses the amount, a certificate is used up whole."""
    method = methods[payment["payment_id"]]
    if method["source"] == "gift_card":
        method["amount"] -= payment["amount"]
    elif method["source"] == "certificate":
        del methods[payment["payment_id"]]


def _first_free(ids: Sequence[str], taken: Mapping[str, Record]) -> str | None:
    return next((name for name in ids if name not in taken), None)


AIRLINE = Domain(
    name="airline",
    tables=("flights", "reservations", "users"),
    tools=(
        book_reservation,
        calculate,
        cancel_reservation,
        get_reservation_details,
        get_user_details,
        list_all_airports,
        search_direct_flight,
        search_onestop_flight,
        send_certificate,
        think,
        transfer_to_human_agents,
        update_reservation_baggages,
        update_reservation_flights,
        update_reservation_passengers,
    ),
    writes=frozenset(
        {
            "book_reservation",
            "cancel_reservation",
            "send_certificate",
            "update_reservation_baggages",
            "update_reservation_flights",
            "update_reservation_passengers",
        }
    ),
)
