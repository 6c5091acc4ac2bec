"""Databases that are copied on write, and their hash."""

import hashlib
from copy import deepcopy

from hypothesis import given, settings
from hypothesis import strategies as st

from factored.taubench.state import Rows, State, canonical_text

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
JSON = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=12,
)
TABLES = st.dictionaries(
    st.sampled_from(["a", "b", "c"]),
    st.dictionaries(
        st.text(max_size=2), st.dictionaries(st.text(max_size=2), JSON, max_size=3), max_size=4
    ),
    max_size=3,
)


def hashable(value):
    """The rule as the papers' environment states it, written plainly."""
    if isinstance(value, dict):
        return tuple((key, hashable(value[key])) for key in sorted(value))
    if isinstance(value, list):
        return tuple(hashable(element) for element in value)
    return value


def plain_hash(tables) -> str:
    return hashlib.sha256(str(hashable(tables)).encode("utf-8")).hexdigest()


def fresh(tables) -> State:
    return State({name: Rows(records) for name, records in tables.items()})


@settings(deadline=None)
@given(JSON)
def test_the_canonical_text_is_that_of_sorted_tuples(value):
    assert canonical_text({"v": value}) == str(hashable({"v": value}))


@settings(deadline=None)
@given(TABLES)
def test_the_hash_of_untouched_data_is_that_of_the_whole(tables):
    assert fresh(tables).data_hash() == plain_hash(tables)


@settings(max_examples=200, deadline=None)
@given(TABLES, st.data())
def test_the_hash_of_changed_data_is_that_of_a_full_copy_with_the_same_changes(tables, data):
    before = deepcopy(tables)
    state, copy = fresh(tables), deepcopy(tables)
    state.data_hash()  # the cached texts are there before the changes
    for table in sorted(tables):
        for key in data.draw(st.lists(st.text(max_size=2), max_size=4)):
            value = data.draw(JSON)
            if key in copy[table]:
                state[table].edit(key)["changed"] = value
                copy[table][key]["changed"] = value
            else:
                state[table].put(key, {"new": value})
                copy[table][key] = {"new": value}
    assert state.data_hash() == plain_hash(copy)
    assert plain_hash(tables) == plain_hash(before)
    for table in tables:
        assert list(state[table]) == list(copy[table])
        assert len(state[table]) == len(copy[table])


def test_numbers_keep_their_type_in_the_hash():
    texts = {canonical_text(value) for value in (100, 100.0, "100", True, 1, [1], [[1]])}
    assert len(texts) == 7


def test_key_order_is_free_and_list_order_is_not():
    assert canonical_text({"b": 1, "a": 2}) == canonical_text({"a": 2, "b": 1})
    assert canonical_text([1, 2]) != canonical_text([2, 1])


def test_a_fresh_state_copies_nothing_and_a_write_copies_one_record():
    tables = {"a": {str(i): {"n": [i]} for i in range(100)}}
    rows = {name: Rows(records) for name, records in tables.items()}
    states = [State(rows) for _ in range(1000)]
    assert sum(state.copies for state in states) == 0
    states[0]["a"].edit("7")["n"].append(1)
    states[0]["a"].edit("7")["n"].append(2)
    assert states[0].copies == 1
    assert states[0]["a"]["7"] == {"n": [7, 1, 2]}
    assert states[1]["a"]["7"] == {"n": [7]}
    assert states[1]["a"]["7"] is tables["a"]["7"]


def test_a_key_that_is_not_hashable_raises_pythons_error():
    state = fresh({"a": {"x": {}}})
    try:
        assert ["x"] in state["a"]
    except TypeError as error:
        assert str(error) == "unhashable type: 'list'"
    else:
        raise AssertionError("no error")
