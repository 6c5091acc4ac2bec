"""Calls as JSON text: run, or punted with a kind and a reason."""

import json

import pytest

from factored.call_checks import CallChecker, Punt, write_json_call
from factored.taubench.tasks import Action


@pytest.fixture
def checker(bikes) -> CallChecker:
    return CallChecker(bikes.schemas)


def call(name: str, **arguments: object) -> str:
    return json.dumps({"name": name, "arguments": arguments})


BOOK = {
    "member_id": "M-1",
    "bike_id": "B-1",
    "first_day": "2031-07-01",
    "days": 2,
    "riders": [{"name": "Ann", "height_cm": 170}],
    "extras": ["lock"],
}


def test_a_whole_call_is_run_as_it_is(checker):
    assert checker.read(call("book_rental", **BOOK)) == Action("book_rental", BOOK)
    assert checker.read(f"  ```json\n{call('get_member', member_id='M-1')}\n```\n") == Action(
        "get_member", {"member_id": "M-1"}
    )


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "malformed"),
        ("I will look that up.", "malformed"),
        ('{"name": "get_member", "arguments": {"member_id": "M-1"}', "malformed"),
        ('Here it is: {"name": "get_member", "arguments": {"member_id": "M-1"}}', "malformed"),
        (call("get_member", member_id="M-1") + call("get_member", member_id="M-2"), "malformed"),
        ('["get_member", {"member_id": "M-1"}]', "malformed"),
        ('{"name": "get_member", "arguments": "M-1"}', "malformed"),
        ('{"name": 3, "arguments": {}}', "malformed"),
        ('{"name": "give_credit", "arguments": {"member_id": "M", "amount": NaN}}', "malformed"),
        ("[" * 100_000, "malformed"),
        ('{"name": "get_member"}', "missing_field"),
        ('{"arguments": {}}', "missing_field"),
        ('{"name": "get_member", "arguments": {"member_id": "M"}, "id": 1}', "hallucinated_field"),
        (call("delete_everything"), "unknown_tool"),
        (call("respond", content="Hello"), "unknown_tool"),
        (call("get_member"), "missing_field"),
        (call("get_member", member_id="M-1", verbose=True), "hallucinated_field"),
        (call("get_member", member_id=1), "wrong_type"),
        (call("book_rental", **{**BOOK, "days": 2.0}), "wrong_type"),
        (call("book_rental", **{**BOOK, "days": True}), "wrong_type"),
        (call("book_rental", **{**BOOK, "days": "2"}), "wrong_type"),
        (call("book_rental", **{**BOOK, "extras": "lock"}), "wrong_type"),
        (call("book_rental", **{**BOOK, "extras": ["wings"]}), "wrong_type"),
        (call("book_rental", **{**BOOK, "riders": [{"name": "Ann"}]}), "missing_field"),
        (call("book_rental", **{**BOOK, "riders": ["Ann"]}), "wrong_type"),
        (call("give_credit", member_id="M-1", amount="10"), "wrong_type"),
    ],
)
def test_a_call_that_cannot_be_run_is_punted_with_its_kind(checker, text, error):
    found = checker.read(text)
    assert isinstance(found, Punt)
    assert found.error == error
    assert found.reason
    assert len(found.reason) < 400


def test_every_error_of_a_call_is_counted_the_gravest_first(checker):
    found = checker.read(call("get_member", verbose=True))
    assert isinstance(found, Punt)
    assert found.errors == ("missing_field", "hallucinated_field")
    assert "member_id" in found.reason


def test_a_number_may_be_whole_where_the_schema_takes_any(checker):
    for amount in (10, 10.0):
        read = checker.read(call("give_credit", member_id="M-1", amount=amount))
        assert isinstance(read, Action)
        assert type(read.kwargs["amount"]) is type(amount)


def test_fields_beside_the_schema_are_refused_as_parameters_and_left_to_it_deeper(checker):
    riders = [{"name": "Ann", "height_cm": 170, "age": 30}]
    assert isinstance(checker.read(call("book_rental", **{**BOOK, "riders": riders})), Action)
    assert isinstance(checker.read(call("book_rental", **BOOK, age=30)), Punt)


def test_writing_and_reading_a_call_are_one(checker):
    action = Action("book_rental", {**BOOK, "member_id": 'é "quoted" \n ☃'})
    assert checker.read(write_json_call(action)) == action


def test_the_reason_of_a_huge_mistake_still_fits_into_a_prompt(checker):
    found = checker.read(call("get_member", member_id=["x" * 50_000]))
    assert isinstance(found, Punt)
    assert len(found.reason) < 400
    assert isinstance(checker.read(call("get_member", member_id="x" * 200_000)), Punt)
