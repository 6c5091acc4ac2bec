"""The embedded domain: its scripts solve its tasks, money is kept, reads change nothing."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st
from support.playing import arm_of, compose_taubench

from factored.taubench.environment import score
from factored.taubench.state import State
from factored.taubench.tasks import RESPOND, Action


def test_every_script_takes_its_task_to_reward_one(bikes):
    arm = arm_of(compose_taubench("tool_agent=oracle"))
    assert len(arm.tasks) >= 12
    for task_id, task in arm.tasks.items():
        db = bikes.fresh_state()
        actions = arm.script("scripted", task_id, 0).actions
        for action in actions:
            if action.name != RESPOND:
                assert not bikes.run(db, action).startswith("Error"), (task_id, action)
        assert score(bikes, task, db, actions).reward == 1.0, task_id


def test_the_tasks_use_every_tool_that_changes_data(bikes):
    used = {action.name for task in bikes.tasks["test"] for action in task.actions}
    assert used >= bikes.domain.writes
    assert len(bikes.domain.tools) >= 6


def test_only_the_declared_writes_change_data(bikes):
    arm = arm_of(compose_taubench("tool_agent=oracle"))
    for task_id in arm.tasks:
        for action in arm.script("scripted", task_id, 0).actions:
            if action.name != RESPOND:
                db = bikes.fresh_state()
                bikes.run(db, action)
                assert (db.copies > 0) <= (action.name in bikes.domain.writes)


def value(db: State) -> float:
    """Credits, and what open rentals have cost."""
    credit = sum(member["credit"] for member in db["members"].values())
    rented = sum(r["price"] for r in db["rentals"].values() if r["status"] == "booked")
    return round(credit + rented, 2)


RENTALS = st.sampled_from([f"R-200{n}" for n in range(1, 9)] + ["R-9"])
MEMBERS = st.sampled_from([f"M-10{n}" for n in range(1, 7)] + ["M-9"])
DAYS = st.dates().map(lambda day: f"2031-06-{day.day:02}") | st.just("June 3")
EXTRAS = st.lists(st.sampled_from(["helmet", "lock"]), max_size=2)
RIDERS = st.just([{"name": "A", "height_cm": 170}])


def calls_of(name: str, **fields: st.SearchStrategy) -> st.SearchStrategy:
    return st.tuples(st.just(name), st.fixed_dictionaries(fields))


CALLS = st.one_of(
    calls_of("cancel_rental", rental_id=RENTALS, reason=st.just("weather")),
    calls_of("add_extras", rental_id=RENTALS, extras=EXTRAS),
    calls_of("move_rental", rental_id=RENTALS, first_day=DAYS, days=st.integers(-1, 5)),
    calls_of(
        "book_rental",
        member_id=MEMBERS,
        bike_id=st.sampled_from(["B-11", "B-33", "B-9"]),
        first_day=DAYS,
        days=st.integers(0, 4),
        riders=RIDERS,
        extras=EXTRAS,
    ),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(CALLS, max_size=8))
def test_no_sequence_of_calls_makes_or_loses_money_or_rents_a_bicycle_twice(calls):
    bikes = arm_of(compose_taubench("tool_agent=oracle")).loaded
    db = bikes.fresh_state()
    before = value(db)
    for name, arguments in calls:
        unchanged = db.data_hash()
        answer = bikes.run(db, Action(name, arguments))
        assert not answer.startswith("Error") or db.data_hash() == unchanged
    assert value(db) == before
    assert all(member["credit"] >= 0 for member in db["members"].values())
    days = [
        (rental["bike_id"], day)
        for rental in db["rentals"].values()
        if rental["status"] == "booked"
        for day in _days(rental)
    ]
    assert len(days) == len(set(days))


def _days(rental):
    from datetime import date, timedelta

    first = date.fromisoformat(rental["first_day"])
    return [first + timedelta(days=n) for n in range(rental["days"])]


def test_the_answer_to_a_read_is_json(bikes):
    db = bikes.fresh_state()
    wanted = {"kind": "city", "first_day": "2031-06-14", "days": 1}
    found = bikes.run(db, Action("search_bikes", wanted))
    assert [bike["bike_id"] for bike in json.loads(found)] == ["B-11"]
