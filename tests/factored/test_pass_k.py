"""pass^k, floors and counts."""

from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.playing import row_of as row

from factored.call_checks import Punt
from factored.episode import Turn
from factored.metrics import floor_tasks, pass_k, pass_table, turn_counts
from factored.taubench.tasks import Action, Task


@given(st.lists(st.booleans(), min_size=1, max_size=7), st.data())
def test_pass_k_is_the_share_of_draws_that_all_succeed(trials, data):
    k = data.draw(st.integers(1, len(trials)))
    draws = list(combinations(trials, k))
    share = sum(all(draw) for draw in draws) / len(draws)
    assert pass_k(sum(trials), len(trials), k) == pytest.approx(share)


def test_pass_k_is_a_mean_over_the_listed_tasks():
    rows = [row(0, t, 1.0) for t in range(2)] + [row(1, 0, 1.0), row(1, 1, 0.0)]
    first, second = pass_table(rows, [0, 1], 2, seed=0)
    assert (first.value, second.value) == (0.75, 0.5)
    assert first.low <= 0.75 <= first.high
    assert pass_table(rows, [0, 1], 2, seed=0)[0] == first


def test_a_k_is_refused_where_a_task_has_too_few_valid_trials():
    rows = [row(0, 0, 1.0), row(0, 1, 1.0), row(1, 0, 1.0), row(1, 1, None, "infrastructure")]
    first, second = pass_table(rows, [0, 1], 2, seed=0)
    assert first.value == 1.0
    assert (second.value, second.lacking) == (None, (1,))
    assert pass_table(rows[:2], [0, 1], 1, seed=0)[0].lacking == (1,), "a task that never ran"


def test_a_task_outside_of_the_list_changes_nothing():
    rows = [row(0, 0, 1.0), row(9, 0, 0.0)]
    assert pass_table(rows, [0], 1, seed=0)[0].value == 1.0


def test_the_floor_is_what_an_agent_gets_that_does_nothing(bikes):
    tasks = dict(enumerate(bikes.tasks["test"]))
    assert floor_tasks(bikes, tasks) == [
        index
        for index, task in tasks.items()
        if not task.outputs and not any(a.name in bikes.domain.writes for a in task.actions)
    ]


@pytest.mark.parametrize(("domain", "floor", "of"), [("airline", 19, 50), ("retail", 7, 115)])
def test_the_published_floors(data, domain, floor, of):
    from factored.taubench.loading import load_domain

    loaded = load_domain(domain, data)
    tasks = dict(enumerate(loaded.tasks["test"]))
    assert (len(floor_tasks(loaded, tasks)), len(tasks)) == (floor, of)


def turn(name: str, intended: Action | None = None, punt: Any = None, **kwargs: Any) -> Turn:
    action = None if punt else Action(name, kwargs)
    return Turn("", action=action, intended=intended, punt=punt)


def test_wrong_values_are_writes_unlike_the_intended_or_any_true_call(bikes):
    truth = Action("give_credit", {"member_id": "M-1", "amount": 10.0})
    turns = [
        turn("give_credit", member_id="M-1", amount=10.0),
        turn("give_credit", member_id="M-1", amount=10),  # whole: another state
        turn("get_member", member_id="M-9"),  # a read is free
        turn("give_credit", intended=Action(truth.name, {}), member_id="M-1", amount=10.0),
        turn("x", punt=Punt("unknown_tool", "")),
        turn("x", punt=Punt("marker_with_text", "")),
    ]
    rows = [row(task=Task("", "", (truth,), ()), turns=turns)]
    counts = turn_counts(rows, bikes)
    assert counts.call_errors["wrong_value"] == 2
    assert counts.call_errors["unknown_tool"] == 1
    assert counts.planner_errors["marker_with_text"] == 1
    assert (counts.turns, counts.calls, counts.punts) == (6, 4, 2)
