"""The airline tools: every check in its order, every effect, to the key."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factored.taubench.tools import EpisodeCrashError

LEG = {"flight_number": "HAT001", "date": "2024-05-20"}
PERSON = {"first_name": "B", "last_name": "C", "dob": "2000-01-01"}
BOOKING = {
    "user_id": "ann_lee_1",
    "origin": "JFK",
    "destination": "SFO",
    "flight_type": "one_way",
    "cabin": "economy",
    "flights": [LEG],
    "passengers": [PERSON],
    "payment_methods": [{"payment_id": "credit_card_1", "amount": 200}],
    "total_baggages": 0,
    "nonfree_baggages": 0,
    "insurance": "no",
}
FLIGHT_ERRORS = [
    ({"flight_number": "HAT9", "date": "x"}, "flight HAT9 not found"),
    ({"flight_number": "HAT001", "date": "x"}, "flight HAT001 not found on date x"),
    ({"flight_number": "HAT001", "date": "2024-05-14"},
     "flight HAT001 not available on date 2024-05-14"),
    ({"date": "x"}, "'flight_number'"),
    ({"flight_number": "HAT001"}, "'date'"),
    ("HAT001", "string indices must be integers, not 'str'"),
]  # fmt: skip


def pay(*pairs):
    return [{"payment_id": name, "amount": amount} for name, amount in pairs]


def update(**more):
    """A change of flights that keeps the one flight, in its cabin."""
    return {
        "reservation_id": "AAAAAA",
        "cabin": "economy",
        "flights": [LEG],
        "payment_id": "credit_card_1",
        **more,
    }


def test_a_missing_reservation_is_named_differently_by_the_reading_tool(airline):
    assert airline("get_reservation_details", reservation_id="x") == "Error: user not found"
    for name, more in (
        ("cancel_reservation", {}),
        ("update_reservation_passengers", {"passengers": []}),
        (
            "update_reservation_baggages",
            {"total_baggages": 1, "nonfree_baggages": "1", "payment_id": "x"},
        ),
        ("update_reservation_flights", {"cabin": "x", "flights": ["x"], "payment_id": "x"}),
    ):
        assert airline(name, reservation_id="x", **more) == "Error: reservation not found"


def test_airports_are_listed_in_their_fixed_order(airline):
    airports = airline.object("list_all_airports")
    assert " ".join(airports) == (
        "SFO JFK LAX ORD DFW DEN SEA ATL MIA BOS PHX IAH LAS MCO EWR CLT MSP DTW PHL LGA"
    )
    assert (airports["LGA"], airports["JFK"]) == ("LaGuardia", "New York")


def test_direct_flights_come_in_file_order_without_their_calendar(airline):
    ask = {"origin": "JFK", "destination": "ORD"}
    found = airline.object("search_direct_flight", **ask, date="2024-05-20")
    assert [flight["flight_number"] for flight in found] == ["HAT001", "HAT004"]
    assert list(found[0])[-3:] == ["status", "available_seats", "prices"]
    assert "dates" not in found[0]
    for date in ("2024-05-14", "2024-06-01", "May 20", None):
        assert airline("search_direct_flight", **ask, date=date) == "[]"
    nowhere = airline("search_direct_flight", origin="XXX", destination="ORD", date=["x"])
    assert nowhere == "[]"


def test_connections_compare_times_as_text_and_take_prices_of_the_first_day(airline):
    ask = {"origin": "JFK", "destination": "SFO"}
    pairs = airline.object("search_onestop_flight", **ask, date="2024-05-20")
    numbers = [[leg["flight_number"] for leg in pair] for pair in pairs]
    # HAT001 lands at 08:00, after HAT003 left; HAT004 lands at 01:00 the next day, before both.
    assert numbers == [["HAT001", "HAT002"], ["HAT004", "HAT002"], ["HAT004", "HAT003"]]
    night, morning = pairs[1]
    assert (night["date"], morning["date"]) == ("2024-05-20", "2024-05-21")
    assert morning["prices"]["basic_economy"] == 100
    assert list(morning)[-1] == "date"


def test_a_connection_over_night_needs_the_next_day_in_the_calendar(airline):
    ask = {"origin": "JFK", "destination": "SFO", "date": "2024-05-21"}
    pairs = airline.object("search_onestop_flight", **ask)
    assert [pair[0]["flight_number"] for pair in pairs] == ["HAT001"]


def test_a_day_that_is_no_number_is_pythons_error_where_a_flight_lands_next_day(airline):
    ask = {"origin": "JFK", "destination": "SFO"}
    answer = airline("search_onestop_flight", **ask, date="tomorrow")
    assert answer == "Error: invalid literal for int() with base 10: 'ow'"
    assert airline("search_onestop_flight", origin="ORD", destination="SFO", date="x") == "[]"


@pytest.mark.parametrize(("leg", "text"), FLIGHT_ERRORS)
def test_a_flight_that_cannot_be_had_is_refused_by_booking_and_by_change(airline, leg, text):
    before = airline.db.data_hash()
    broken = {**BOOKING, "flights": [LEG, leg], "payment_methods": pay(("x", 1))}
    assert airline("book_reservation", **broken) == f"Error: {text}"
    change = update(flights=[LEG, leg], payment_id="x")
    assert airline("update_reservation_flights", **change) == f"Error: {text}"
    assert airline.db.data_hash() == before


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"user_id": "x", "flights": ["x"]}, "user not found"),
        ({"cabin": "first"}, "'first'"),
        ({"passengers": [PERSON] * 3, "payment_methods": []}, "not enough seats on flight HAT001"),
        ({"payment_methods": pay(("x", 1), ("gift_card_1", 999))}, "payment method x not found"),
        ({"payment_methods": pay(("gift_card_1", 999), ("x", 1))},
         "not enough balance in payment method gift_card_1"),
        ({"payment_methods": pay(("certificate_1", 151))},
         "not enough balance in payment method certificate_1"),
        ({"payment_methods": pay(("credit_card_1", 199))},
         "payment amount does not add up, total price is 200, but paid 199"),
        ({"payment_methods": []},
         "payment amount does not add up, total price is 200, but paid 0"),
        ({"insurance": "yes", "nonfree_baggages": 2, "total_baggages": 9},
         "payment amount does not add up, total price is 330, but paid 200"),
        ({"payment_methods": pay(("credit_card_1", 199.5))},
         "payment amount does not add up, total price is 200, but paid 199.5"),
        ({"payment_methods": pay(("credit_card_1", "200"))},
         "unsupported operand type(s) for +: 'int' and 'str'"),
        ({"payment_methods": pay(("gift_card_1", "200"))},
         "'<' not supported between instances of 'int' and 'str'"),
        ({"payment_methods": [{"payment_id": "credit_card_1"}]}, "'amount'"),
        ({"nonfree_baggages": "1"}, "unsupported operand type(s) for +=: 'int' and 'str'"),
        ({"passengers": None}, "object of type 'NoneType' has no len()"),
    ],
)  # fmt: skip
def test_a_booking_is_refused_in_the_documented_order(airline, more, text):
    before = airline.db.data_hash()
    assert airline("book_reservation", **{**BOOKING, **more}) == f"Error: {text}"
    assert airline.db.data_hash() == before


# What the published tools answer, tried with each kind of empty value beside the original's code.
NO_LOOP = [
    (0, "'int' object is not iterable"),
    (0.0, "'float' object is not iterable"),
    (False, "'bool' object is not iterable"),
    (None, "'NoneType' object is not iterable"),
]
NO_LENGTH = {
    0: "object of type 'int' has no len()",
    None: "object of type 'NoneType' has no len()",
}
FREE = {"flights": [], "payment_methods": []}


@pytest.mark.parametrize("empty", ["", {}, []])
@pytest.mark.parametrize(
    ("argument", "stored"),
    [
        ("flights", "flights"),
        ("passengers", "passengers"),
        ("payment_methods", "payment_history"),
    ],
)
def test_a_booking_stores_an_empty_value_as_it_is_given(airline, argument, stored, empty):
    booked = airline.object("book_reservation", **{**BOOKING, **FREE, argument: empty})
    assert booked[stored] == empty
    assert airline.db["reservations"]["HATHAT"][stored] == empty


@pytest.mark.parametrize("argument", ["flights", "payment_methods"])
@pytest.mark.parametrize(("empty", "text"), NO_LOOP)
def test_a_booking_refuses_an_empty_value_that_cannot_be_looped(airline, argument, empty, text):
    asked = {**BOOKING, **FREE, argument: empty}
    assert airline("book_reservation", **asked) == f"Error: {text}"


def test_passengers_that_have_no_length_are_stored_where_nobody_counts_them(airline):
    asked = {**BOOKING, **FREE, "passengers": 0}
    assert airline.object("book_reservation", **asked)["passengers"] == 0
    # Here they are counted: for the insurance, and for the difference in price of a change.
    insured = airline("book_reservation", **{**asked, "insurance": "yes"})
    changed = airline("update_reservation_flights", **update(reservation_id="HATHAT", flights=[]))
    assert insured == changed == f"Error: {NO_LENGTH[0]}"


@pytest.mark.parametrize("empty", ["", {}, []])
def test_a_change_to_no_flights_stores_the_empty_value_as_it_is_given(airline, empty):
    changed = airline.object("update_reservation_flights", **update(flights=empty))
    assert changed["flights"] == empty
    again = airline.object("update_reservation_flights", **update(flights=empty))
    assert again["payment_history"] == [
        {"payment_id": "credit_card_1", "amount": 77},
        {"payment_id": "credit_card_1", "amount": -77},
    ]


@pytest.mark.parametrize(("empty", "text"), NO_LOOP)
def test_a_change_refuses_flights_that_cannot_be_looped(airline, empty, text):
    assert airline("update_reservation_flights", **update(flights=empty)) == f"Error: {text}"


@pytest.mark.parametrize("empty", ["", {}, []])
def test_no_passengers_replace_no_passengers_as_they_are_given(airline, empty):
    ask = {"reservation_id": "AAAAAA", "passengers": empty}
    refused = "Error: number of passengers does not match"
    assert airline("update_reservation_passengers", **ask) == refused
    airline.object("book_reservation", **{**BOOKING, **FREE, "passengers": []})
    ask = {"reservation_id": "HATHAT", "passengers": empty}
    assert airline.object("update_reservation_passengers", **ask)["passengers"] == empty
    for other, text in NO_LENGTH.items():
        answer = airline("update_reservation_passengers", **{**ask, "passengers": other})
        assert answer == f"Error: {text}"


def test_a_booking_without_payments_as_a_list_cannot_be_cancelled(airline):
    airline.object("book_reservation", **{**BOOKING, **FREE, "payment_methods": ""})
    answer = airline("cancel_reservation", reservation_id="HATHAT")
    assert answer == "Error: 'str' object has no attribute 'extend'"


def test_a_booking_takes_from_gift_cards_and_uses_certificates_up(airline):
    legs = [{"date": "2024-05-20", "note": 1, "flight_number": "HAT001"}]
    methods = pay(("certificate_1", 20), ("gift_card_1", 110), ("credit_card_1", 100))
    booked = airline.object(
        "book_reservation",
        **{
            **BOOKING,
            "flights": legs,
            "payment_methods": methods,
            "insurance": "yes",
        },
    )
    assert list(booked) == [
        "reservation_id", "user_id", "origin", "destination", "flight_type", "cabin", "flights",
        "passengers", "payment_history", "created_at", "total_baggages", "nonfree_baggages",
        "insurance",
    ]  # fmt: skip
    assert booked["reservation_id"] == "HATHAT"
    assert booked["created_at"] == "2024-05-15T15:00:00"
    assert list(booked["flights"][0].items()) == [
        ("date", "2024-05-20"),
        ("note", 1),
        ("flight_number", "HAT001"),
        ("price", 200),
        ("origin", "JFK"),
        ("destination", "ORD"),
    ]
    assert booked["payment_history"] == methods
    user = airline.object("get_user_details", user_id="ann_lee_1")
    assert user["payment_methods"]["gift_card_1"]["amount"] == 90
    assert "certificate_1" not in user["payment_methods"]
    assert user["reservations"] == ["AAAAAA", "HATHAT"]
    # Seats stay as they were.
    assert airline.db["flights"].copies == 0


def test_a_booking_that_does_not_add_up_is_refused(airline):
    methods = pay(("certificate_1", 20), ("gift_card_1", 100), ("credit_card_1", 100))
    answer = airline("book_reservation", **{**BOOKING, "payment_methods": methods})
    assert answer.endswith("total price is 200, but paid 220")


def test_a_certificate_named_twice_is_gone_before_the_second_use_fails(airline):
    methods = pay(("certificate_1", 100), ("certificate_1", 100))
    answer = airline("book_reservation", **{**BOOKING, "payment_methods": methods})
    assert answer == "Error: 'certificate_1'"
    user = airline.object("get_user_details", user_id="ann_lee_1")
    assert "certificate_1" not in user["payment_methods"]
    assert user["reservations"] == ["AAAAAA"]


def test_new_reservations_have_three_names_and_a_fourth_takes_the_last_again(airline):
    ids = [airline.object("book_reservation", **BOOKING)["reservation_id"] for _ in range(3)]
    fourth = airline.object("book_reservation", **{**BOOKING, "origin": "here"})
    assert [*ids, fourth["reservation_id"]] == ["HATHAT", "HATHAU", "HATHAV", "HATHAV"]
    assert airline.db["reservations"]["HATHAV"]["origin"] == "here"
    assert len(airline.db["reservations"]) == 4


def test_a_second_cancel_doubles_the_history(airline):
    first = airline.object("cancel_reservation", reservation_id="AAAAAA")
    assert list(first)[-1] == "status" and first["status"] == "cancelled"
    assert [entry["amount"] for entry in first["payment_history"]] == [77, -77]
    second = airline.object("cancel_reservation", reservation_id="AAAAAA")
    assert [entry["amount"] for entry in second["payment_history"]] == [77, -77, -77, 77]


def test_a_kept_flight_keeps_its_price_only_in_its_own_cabin(airline):
    same = airline.object("update_reservation_flights", **update())
    assert same["flights"][0] == {**LEG, "price": 77, "origin": "JFK", "destination": "ORD"}
    assert list(same["flights"][0]) == ["flight_number", "date", "price", "origin", "destination"]
    assert len(same["payment_history"]) == 1
    dearer = airline.object("update_reservation_flights", **update(cabin="business"))
    assert dearer["flights"][0]["price"] == 300
    assert dearer["payment_history"][-1] == {"payment_id": "credit_card_1", "amount": 223}
    # The cabin itself is not stored.
    assert dearer["cabin"] == "economy"


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"cabin": "first"}, "'first'"),
        ({"payment_id": "x"}, "payment method not found"),
        ({"payment_id": "certificate_1"}, "certificate cannot be used to update reservation"),
        ({"cabin": "business", "payment_id": "gift_card_1"}, "gift card balance is not enough"),
        ({"flights": None}, "'NoneType' object is not iterable"),
    ],
)
def test_a_change_of_flights_is_refused_in_the_documented_order(airline, more, text):
    before = airline.db.data_hash()
    assert airline("update_reservation_flights", **update(**more)) == f"Error: {text}"
    assert airline.db.data_hash() == before


def test_cheaper_flights_raise_the_gift_card(airline):
    change = update(flights=[], payment_id="gift_card_1")
    empty = airline.object("update_reservation_flights", **change)
    assert empty["payment_history"][-1] == {"payment_id": "gift_card_1", "amount": -77}
    assert airline.db["users"]["ann_lee_1"]["payment_methods"]["gift_card_1"]["amount"] == 277


@pytest.mark.parametrize(
    ("nonfree", "payment_id", "text"),
    [
        ("2", "x", "unsupported operand type(s) for -: 'str' and 'int'"),
        (9, "x", "payment method not found"),
        (9, "certificate_1", "certificate cannot be used to update reservation"),
        (6, "gift_card_1", "gift card balance is not enough"),
    ],
)
def test_bags_are_refused_in_the_documented_order(airline, nonfree, payment_id, text):
    answer = airline(
        "update_reservation_baggages",
        reservation_id="AAAAAA",
        total_baggages=9,
        nonfree_baggages=nonfree,
        payment_id=payment_id,
    )
    assert answer == f"Error: {text}"


def test_bags_cost_50_each_and_nothing_is_given_back_for_fewer(airline):
    bags = {"reservation_id": "AAAAAA", "total_baggages": 7, "payment_id": "gift_card_1"}
    more = airline.object("update_reservation_baggages", **bags, nonfree_baggages=5)
    assert (more["total_baggages"], more["nonfree_baggages"]) == (7, 5)
    assert more["payment_history"][-1] == {"payment_id": "gift_card_1", "amount": 200}
    fewer = airline.object("update_reservation_baggages", **bags, nonfree_baggages=0)
    assert len(fewer["payment_history"]) == 2
    assert airline.db["users"]["ann_lee_1"]["payment_methods"]["gift_card_1"]["amount"] == 0


def test_passengers_are_replaced_as_given_if_their_number_fits(airline):
    name = "update_reservation_passengers"
    refused = airline(name, reservation_id="AAAAAA", passengers=[PERSON, PERSON])
    assert refused == "Error: number of passengers does not match"
    changed = airline.object(name, reservation_id="AAAAAA", passengers=[{"any": "thing"}])
    assert changed["passengers"] == [{"any": "thing"}]


def test_there_are_three_certificates_and_a_fourth_crashes_the_episode(airline):
    assert airline("send_certificate", user_id="x", amount=1) == "Error: user not found"
    for number in (3221322, 3221323, 3221324):
        answer = airline("send_certificate", user_id="ann_lee_1", amount=100)
        assert answer == (
            f"Certificate certificate_{number} added to user ann_lee_1 with amount 100."
        )
    added = airline.db["users"]["ann_lee_1"]["payment_methods"]["certificate_3221322"]
    assert list(added) == ["source", "amount", "id"]
    before = airline.db.data_hash()
    with pytest.raises(EpisodeCrashError):
        airline("send_certificate", user_id="ann_lee_1", amount=100)
    assert airline.db.data_hash() == before


@settings(max_examples=150, deadline=None)
@given(
    st.integers(1, 3),
    st.sampled_from(["basic_economy", "economy", "business"]),
    st.lists(st.sampled_from(["2024-05-20", "2024-05-21"]), min_size=1, max_size=3),
    st.integers(0, 4),
    st.booleans(),
    st.integers(0, 200),
    st.integers(-1, 1),
)
def test_a_booking_passes_exactly_if_seats_and_money_fit(
    desk_of, people, cabin, dates, bags, insured, card, off
):
    airline = desk_of("airline")
    price = {"basic_economy": 1, "economy": 2, "business": 3}[cabin]
    fares = [{"2024-05-20": 100, "2024-05-21": 110}[date] * price for date in dates]
    total = sum(fares) * people + 30 * people * insured + 50 * bags
    booking = {
        **BOOKING,
        "cabin": cabin,
        "flights": [{"flight_number": "HAT001", "date": date} for date in dates],
        "passengers": [PERSON] * people,
        "payment_methods": pay(("gift_card_1", card), ("credit_card_1", total - card + off)),
        "nonfree_baggages": bags,
        "insurance": "yes" if insured else "no",
    }
    answer = airline("book_reservation", **booking)
    if people > 2 and "2024-05-20" in dates:
        assert answer == "Error: not enough seats on flight HAT001"
    elif off:
        assert answer.endswith(f"total price is {total}, but paid {total + off}")
    else:
        assert [flight["price"] for flight in json.loads(answer)["flights"]] == fares
        held = airline.db["users"]["ann_lee_1"]["payment_methods"]["gift_card_1"]["amount"]
        assert held == 200 - card
    assert airline.db["flights"].copies == 0
