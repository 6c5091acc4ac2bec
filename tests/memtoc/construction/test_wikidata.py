import json
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from support.fake_wikidata import World, item, serve, statements

from harness.errors import UserError
from memtoc.construction.wikidata import Wikidata, WikidataSettings, year_of

WORLD = World(
    {
        "Q5": item("human"),
        "Q42": item("Ada Lovelace", "Ada King", P31="Q5", P21="Q6581072", P27="Q145",
                    P569="+1815-12-10T00:00:00Z"),
        "Q43": item("Caesar", P31="Q5", P569="-0100-07-12T00:00:00Z"),
        "Q44": item(None, P31="Q5"),
        "Q45": item("Stateless", P31="Q5", P27=None),
    },
    redirects={"Q99": "Q42"},
)  # fmt: skip


@contextmanager
def client(cache, faults=(), **settings):
    with serve(WORLD, faults) as (url, seen):
        given = {
            "endpoint": f"{url}/sparql", "api": f"{url}/w/api.php", "cache": cache,
            "user_agent": "memtoc-tests (someone@example.org)", "interval": 0.0,
            "timeout": 1.0 if any("silent" in fault for fault in faults) else 30.0,
        } | settings  # fmt: skip
        slept = []
        with Wikidata(WikidataSettings(**given), slept.append) as wikidata:
            yield wikidata, seen, slept


def test_an_item_is_read_with_what_it_lacks(tmp_path):
    with client(tmp_path) as (wikidata, seen, _):
        found = wikidata.entities(["Q42", "Q43", "Q44", "Q45", "Q404", "not an id"])
    assert set(found) == {"Q42", "Q43", "Q44", "Q45"}
    assert (found["Q42"].label, found["Q42"].aliases) == ("Ada Lovelace", ("Ada King",))
    assert (found["Q42"].items("P27"), found["Q42"].birth) == (("Q145",), 1815)
    assert (found["Q43"].birth, found["Q44"].label) == (-100, None)
    assert found["Q45"].items("P27") == ()
    assert "not" not in seen[0][0]


def test_a_redirected_id_leads_to_its_target(tmp_path):
    with client(tmp_path) as (wikidata, _, _):
        assert wikidata.entities(["Q99"])["Q99"].id == "Q42"


def test_preferred_values_win_and_deprecated_ones_never_count(tmp_path):
    ranked = [
        statements("Q1")[0] | {"rank": "deprecated"},
        statements("Q2")[0],
        statements("Q3")[0] | {"rank": "preferred"},
    ]
    WORLD.items["Q46"] = item("Ranked", P27=ranked, P17=ranked[:2])
    with client(tmp_path) as (wikidata, _, _):
        entity = wikidata.entities(["Q46"])["Q46"]
    assert (entity.items("P27"), entity.items("P17")) == (("Q3",), ("Q2",))


def test_each_request_names_its_sender_and_is_asked_once_for_good(tmp_path):
    with client(tmp_path) as (wikidata, seen, _):
        first = wikidata.search("Ada Lovelace")
        assert {agent for _, agent in seen} == {"memtoc-tests (someone@example.org)"}
        address = wikidata.settings.api
    # The same address, where no server answers any more.
    with client(tmp_path, api=address) as (wikidata, seen, _):
        assert wikidata.search("Ada Lovelace") == first == ["Q42"]
        assert (wikidata.requests, seen) == (0, [])


@pytest.mark.parametrize(
    "fault",
    [
        {"status": 429, "headers": {"Retry-After": "7"}},
        {"status": 429, "headers": {"Retry-After": format_datetime(
            datetime.now(UTC) + timedelta(seconds=60), usegmt=True)}},
        {"status": 500},
        {"status": 503},
        {"silent": True},
        {"close": True},
        {"cut": True},
        {"body": b"<html>busy</html>"},
        {"body": b"[]"},
        {"body": b'{"results": {"bindings": [{"item": "Q1"}]}}'},
        {"body": json.dumps({"error": {"code": "maxlag", "info": "lagged"}}).encode()},
    ],
    ids=lambda fault: str(fault)[:40],
)  # fmt: skip
def test_a_fault_is_retried_and_never_kept(tmp_path, fault):
    with client(tmp_path, [fault, fault], attempts=3) as (wikidata, seen, slept):
        rows, _ = wikidata.query("SELECT ?item WHERE { ?item wdt:P27 wd:Q145 . }")
        assert [row["item"] for row in rows] == ["Q42"]
    assert (len(seen), len(slept)) == (3, 2)
    assert len(list(tmp_path.iterdir())) == 1
    with (
        client(tmp_path / "other", [fault] * 3, attempts=3) as (wikidata, _, _),
        pytest.raises(UserError, match=r"gave no answer.*run the same command again"),
    ):
        wikidata.query("SELECT ?item WHERE { ?item wdt:P27 wd:Q145 . }")
    assert not (tmp_path / "other").exists()


def test_the_pause_grows_unless_the_server_names_one(tmp_path):
    faults = [{"status": 503}, {"status": 503}, {"status": 429, "headers": {"Retry-After": "7"}}]
    with client(tmp_path, faults, backoff=2.0) as (wikidata, _, slept):
        wikidata.search("Ada")
    assert slept == [2.0, 4.0, 7.0]


def test_a_wait_that_is_too_long_ends_the_build_with_its_answers_kept(tmp_path):
    faults = [{}, {"status": 429, "headers": {"Retry-After": "9000"}}]
    with client(tmp_path, faults) as (wikidata, _, slept):
        wikidata.search("Ada")
        with pytest.raises(UserError, match="asks to wait 9000 s"):
            wikidata.search("Caesar")
    assert slept == []
    assert len(list(tmp_path.iterdir())) == 1


def test_requests_keep_their_distance(tmp_path):
    with client(tmp_path, interval=50.0) as (wikidata, _, slept):
        wikidata.search("Ada")
        wikidata.search("Caesar")
        wikidata.search("Ada")
    assert len(slept) == 1 and 40 < slept[0] <= 50


def test_an_empty_answer_is_an_answer(tmp_path):
    with client(tmp_path) as (wikidata, seen, _):
        nothing = "SELECT ?item WHERE { ?item wdt:P27 wd:Q7777 . }"
        assert wikidata.query(nothing)[0] == wikidata.query(nothing)[0] == []
        assert len(seen) == 1


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ({"status": 403}, "refuses the request"),
        ({"status": 404}, "refuses the request"),
        ({"body": b'{"error": {"code": "badvalue", "info": "no such"}}'}, "refuses.*no such"),
    ],
)
def test_a_refusal_is_not_retried(tmp_path, fault, message):
    with client(tmp_path, [fault]) as (wikidata, seen, slept):
        with pytest.raises(UserError, match=message):
            wikidata.search("Ada")
        assert (len(seen), slept) == (1, [])


def test_a_circle_of_redirects_is_a_mistake_in_the_address(tmp_path):
    with (
        client(tmp_path, [{"status": 302, "location": True}] * 40) as (wikidata, _, _),
        pytest.raises(UserError, match="check the address"),
    ):
        wikidata.search("Ada")


def test_one_redirect_is_followed(tmp_path):
    with client(tmp_path, [{"status": 302, "location": True}]) as (wikidata, _, _):
        assert wikidata.search("Caesar") == ["Q43"]


def test_a_damaged_file_is_fetched_again(tmp_path):
    with client(tmp_path) as (wikidata, seen, _):
        wikidata.search("Ada")
        next(tmp_path.iterdir()).write_text('{"body": ')
        assert wikidata.search("Ada") == ["Q42"]
        assert len(seen) == 2


def test_a_wrong_setting_is_named(tmp_path):
    with (
        pytest.raises(UserError, match=r"distractors\.user_agent is empty"),
        client(tmp_path, user_agent=" "),
    ):
        pass
    with client(tmp_path, api="nowhere") as (wikidata, _, slept):
        with pytest.raises(UserError, match="check the address"):
            wikidata.search("Ada")
        assert slept == []


@pytest.mark.parametrize(
    ("value", "year"),
    [("+1564-04-00T00:00:00Z", 1564), ("-0099-01-01T00:00:00Z", -99), ("circa 1900", None),
     ("1564-04-26T00:00:00Z", 1564)],
)  # fmt: skip
def test_the_year_of_a_time(value, year):
    assert year_of(value) == year
