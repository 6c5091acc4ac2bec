"""Other names of golds, from Wikidata into the ``aliases`` of a benchmark."""

import json

import pytest
from support.building import Builder, files_of
from support.fake_wikidata import World, item, serve

from memtoc.construction.aliases import MOST, aliases_of
from memtoc.construction.wikidata import Wikidata, WikidataSettings
from memtoc.questions import load_rows

CITY = {"P31": "Q515", "P17": "Q40"}
WORLD = World(
    {
        "Q1": item("Sachertorte", P495="Q10"),
        "Q10": item(
            "Vienna",
            "City of Music",
            "Old Graz",
            names={"de": ["Wien", "Bundeshauptstadt Wien"], "hu": ["Bécs"], "fr": ["Vienne"]},
            **CITY,
        ),
        "Q11": item("Graz", **CITY),
    }
)
ROW = "question,answer,near,kind\nIn which city was Sachertorte invented?,Vienna,Graz,place\n"


@pytest.fixture
def build(tmp_path, monkeypatch, capsys):
    return Builder(tmp_path, monkeypatch, capsys)


def found(tmp_path, languages, wrong=(), world=WORLD):
    with serve(world) as (url, seen):
        settings = WikidataSettings(
            f"{url}/sparql", f"{url}/w/api.php", "memtoc-tests", tmp_path,
            interval=0.0, languages=languages,
        )  # fmt: skip
        with Wikidata(settings) as client:
            gold = client.entities(["Q10"])["Q10"]
            return aliases_of(client, gold, "Vienna", wrong), len(seen)


def test_labels_and_aliases_come_in_the_order_of_the_languages(tmp_path):
    aliases, asked = found(tmp_path, ("en", "de", "hu"))
    assert aliases.kept == ("City of Music", "Old Graz", "Wien", "Bundeshauptstadt Wien", "Bécs")
    assert aliases.provenance["item"] == "Q10"
    assert aliases.provenance["languages"] == ["en", "de", "hu"]
    assert aliases.provenance["retrieved"]
    again, more = found(tmp_path, ("en", "de", "hu"))
    # The fake service has another address each time, so that only the names are compared.
    assert (again.kept, asked, more) == (aliases.kept, 2, 2)


def test_english_names_alone_cost_no_request_of_their_own(tmp_path):
    aliases, asked = found(tmp_path, ("en",))
    assert aliases.kept == ("City of Music", "Old Graz")
    assert asked == 1


def test_a_name_that_equals_or_contains_a_wrong_value_is_left_out(tmp_path):
    aliases, _ = found(tmp_path, ("en", "de"), wrong=("Graz", "WIEN"))
    assert aliases.kept == ("City of Music",)
    assert aliases.provenance["left_out"] == ["Old Graz", "Wien", "Bundeshauptstadt Wien"]


def test_an_item_of_many_names_gives_a_bounded_number(tmp_path):
    many = World({"Q10": item("Vienna", *(f"Name {chr(97 + n % 26)}{n}" for n in range(200)))})
    aliases, _ = found(tmp_path, ("en",), world=many)
    assert len(aliases.kept) == MOST
    assert aliases.provenance["beyond_bound"] == 200 - MOST


def command(tmp_path, url, *more):
    path = tmp_path / "my.csv"
    path.write_text(ROW, encoding="utf-8")
    return (
        "benchmark=csv", f"benchmark.path={path}",
        f"distractors.endpoint={url}/sparql", f"distractors.api={url}/w/api.php",
        "distractors.user_agent='a test (nobody@example.org)'", "distractors.interval=0", *more,
    )  # fmt: skip


def test_questions_that_bring_their_wrong_values_get_names_where_asked_for(build, tmp_path):
    with serve(WORLD) as (url, seen):
        wanted = command(tmp_path, url, "distractors.aliases=all", "distractors.languages=[en,de]")
        ended = build(*wanted)
        assert ended.code == 0, ended.err
        asked = len(seen)
        assert f"{asked} requests to Wikidata" in ended.out
        first = files_of(tmp_path / "built/csv")
        assert "0 requests to Wikidata" in build(*wanted).out
        assert len(seen) == asked
    assert files_of(tmp_path / "built/csv") == first
    assert "other names of golds: 3 (1 too near to a wrong value, left out)" in ended.out
    (question,) = load_rows(tmp_path / "built/csv/questions.jsonl")
    assert question.aliases == ("City of Music", "Wien", "Bundeshauptstadt Wien")
    assert (question.near, question.source) == ("Graz", "human")
    (row,) = (tmp_path / "built/csv/work/distractors.jsonl").read_text("utf-8").splitlines()
    provenance = json.loads(row)["provenance"]["aliases"]
    assert (provenance["item"], provenance["left_out"]) == ("Q10", ["Old Graz"])


def test_without_being_asked_for_they_need_no_network(build, tmp_path):
    with serve(WORLD) as (url, seen):
        ended = build(*command(tmp_path, url))
    assert ended.code == 0, ended.err
    assert not seen


def test_a_gold_that_cannot_be_told_apart_keeps_the_reason(build, tmp_path):
    twins = World({"Q10": WORLD.items["Q10"], "Q12": item("Vienna", P31="Q515")})
    with serve(twins) as (url, _):
        ended = build(*command(tmp_path, url, "distractors.aliases=all"))
    assert ended.code == 0, ended.err
    (row,) = (tmp_path / "built/csv/work/distractors.jsonl").read_text("utf-8").splitlines()
    assert json.loads(row)["provenance"]["aliases"] == {"unresolved": "ambiguous_name"}


@pytest.mark.parametrize("languages", ["[German]", "[]", "[de_AT]"])
def test_a_language_that_cannot_be_is_named(build, tmp_path, languages):
    ended = build(*command(tmp_path, "http://x", f"distractors.languages={languages}"))
    assert ended.code == 2
    assert "distractors.languages" in ended.err
