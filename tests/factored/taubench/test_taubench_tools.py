"""What every tool shares: argument errors, schemas, answers."""

import json

import pytest

from factored.taubench.airline import AIRLINE
from factored.taubench.loading import load_domain
from factored.taubench.retail import RETAIL
from factored.taubench.state import State
from factored.taubench.tasks import MAX_DEPTH, Action, MalformedActionError
from factored.taubench.tools import Tool, tool

ALL_TOOLS = [(domain.name, t) for domain in (RETAIL, AIRLINE) for t in domain.tools]
IDS = [f"{domain}-{t.name}" for domain, t in ALL_TOOLS]
TEXTS = [
    ("cancel_pending_order", {}, "CancelPendingOrder.invoke() missing 2 required positional "
     "arguments: 'order_id' and 'reason'"),
    ("cancel_pending_order", {"reason": "x"}, "CancelPendingOrder.invoke() missing 1 required "
     "positional argument: 'order_id'"),
    ("modify_user_address", {"address1": "a", "zip": "1"}, "ModifyUserAddress.invoke() missing 5 "
     "required positional arguments: 'user_id', 'address2', 'city', 'state', and 'country'"),
    ("find_user_id_by_name_zip", {"zip": "1", "last_name": "b"}, "FindUserIdByNameZip.invoke() "
     "missing 1 required positional argument: 'first_name'"),
    ("get_user_details", {"user_id": "x", "foo": 1}, "GetUserDetails.invoke() got an unexpected "
     "keyword argument 'foo'"),
    ("get_user_details", {"foo": 1, "bar": 2}, "GetUserDetails.invoke() got an unexpected keyword "
     "argument 'foo'"),
    ("list_all_product_types", {"x": 1}, "ListAllProductTypes.invoke() got an unexpected keyword "
     "argument 'x'"),
    ("get_user_details", {"db": 1, "user_id": "x"}, "GetUserDetails.invoke() got an unexpected "
     "keyword argument 'db'"),
    ("get_user_details", {"data": 1}, "tau_bench.envs.retail.tools.get_user_details."
     "GetUserDetails.invoke() got multiple values for keyword argument 'data'"),
    ("get_user_details", {"foo": 1, "data": {}}, "tau_bench.envs.retail.tools.get_user_details."
     "GetUserDetails.invoke() got multiple values for keyword argument 'data'"),
    ("get_user_details", {"user_id": ["a"]}, "unhashable type: 'list'"),
    ("get_order_details", {"order_id": {}}, "unhashable type: 'dict'"),
    ("find_user_id_by_email", {"email": None}, "'NoneType' object has no attribute 'lower'"),
    ("think", {}, "Think.invoke() missing 1 required positional argument: 'thought'"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "kwargs", "text"), TEXTS)
def test_wrong_arguments_get_pythons_text_with_the_tools_class_name(shop, name, kwargs, text):
    assert shop(name, **kwargs) == f"Error: {text}"


@pytest.mark.parametrize(("domain", "a_tool"), ALL_TOOLS, ids=IDS)
def test_every_tool_names_all_its_missing_arguments_in_order(
    domain: str, a_tool: Tool, make_loaded
):
    answer = a_tool.call(make_loaded(domain).fresh_state(), {}, domain)
    named = answer.split("'")[1::2]
    if a_tool.parameters:
        assert answer.startswith("Error: ") and named == list(a_tool.parameters)
    else:
        assert json.loads(answer)


@pytest.mark.parametrize(("domain", "a_tool"), ALL_TOOLS, ids=IDS)
@pytest.mark.parametrize("value", [None, 7, "x", [], ["a"], {}, [{}], [[]], 1.5, True, "\ud800"])
def test_no_tool_ever_raises_or_touches_the_snapshot_whatever_the_values(
    domain: str, a_tool: Tool, value, make_loaded
):
    loaded = make_loaded(domain)
    before = loaded.fresh_state().data_hash()
    arguments = dict.fromkeys(a_tool.parameters, value)
    answer = a_tool.call(loaded.fresh_state(), arguments, domain)
    assert isinstance(answer, str)
    # The texts of a new State over new Rows: nothing of the shared records may have changed.
    assert make_loaded(domain).fresh_state().data_hash() == before
    assert {n: r.records for n, r in loaded.snapshot.items()} == {
        n: r.records for n, r in make_loaded(domain).snapshot.items()
    }


def test_the_two_domains_have_16_and_14_tools_in_alphabetical_order():
    for domain, number in ((RETAIL, 16), (AIRLINE, 14)):
        names = [t.name for t in domain.tools]
        assert len(names) == number and names == sorted(names)


def test_declared_schemas_are_the_published_ones_but_for_their_wording(data):
    for name, domain in (("retail", RETAIL), ("airline", AIRLINE)):
        loaded = load_domain(name, data)  # refuses a schema that differs
        assert [s["function"]["name"] for s in loaded.schemas] == [t.name for t in domain.tools]
        assert loaded.schemas == json.loads((data / name / "tools.json").read_text())


def test_objects_are_stored_as_copies_of_the_arguments(airline):
    passengers = [{"first_name": "B", "last_name": "C", "dob": "2000-01-01"}]
    airline("update_reservation_passengers", reservation_id="AAAAAA", passengers=passengers)
    passengers[0]["first_name"] = "changed afterwards"
    assert airline.db["reservations"]["AAAAAA"]["passengers"][0]["first_name"] == "B"


def test_a_tool_is_declared_by_its_signature_alone():
    @tool
    def water(db: State, plants: list[str], litres: float) -> str:
        """Water the plants."""
        return f"{len(plants)} plants, {litres} litres"

    assert water.schema == {
        "type": "function",
        "function": {
            "name": "water",
            "description": "Water the plants.",
            "parameters": {
                "type": "object",
                "properties": {
                    "plants": {"type": "array", "items": {"type": "string"}},
                    "litres": {"type": "number"},
                },
                "required": ["plants", "litres"],
            },
        },
    }
    assert water.call(State({}), {"plants": ["a"], "litres": 2}, "x") == "1 plants, 2 litres"


def nested(depth: int):
    value: object = "x"
    for _ in range(depth):
        value = [value]
    return {"a": value}


@pytest.mark.parametrize("kwargs", [[], "text", None, {1: "x"}, nested(MAX_DEPTH + 1), nested(900)])
def test_arguments_that_are_no_flat_enough_object_make_no_action(kwargs):
    with pytest.raises(MalformedActionError):
        Action("think", kwargs)
    assert Action("think", nested(MAX_DEPTH - 2)).kwargs
