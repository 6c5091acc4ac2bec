import json
import re
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.fake_wikidata import World, item, serve

from memtoc.benchmark.drafts import Draft
from memtoc.construction.entities import entity_distractors, resolve
from memtoc.construction.wikidata import Wikidata, WikidataSettings

RELEASED = Path(__file__).parents[4] / "shared/data/memtoc/questions.jsonl"
MALE, FEMALE = "Q6581097", "Q6581072"
ACTOR, POET, UK, US, HUMAN, BAND, CITY = "Q33999", "Q49757", "Q145", "Q30", "Q5", "Q215380", "Q515"


def person(label, *aliases, year=1950, sex=MALE, work=ACTOR, country=UK, sitelinks=5, **claims):
    born = (
        {}
        if year is None
        else {"P569": f"{'-' if year < 0 else '+'}{abs(year):04d}-01-01T00:00:00Z"}
    )
    known = {"P31": HUMAN, "P21": sex, "P106": work, "P27": country} | born | claims
    return item(label, *aliases, sitelinks=sitelinks, **{k: v for k, v in known.items() if v})


def world(**more):
    return World(
        {
            "Q1": item("Some Film", P57="Q10", P161=["Q10", "Q11"], P31="Q11424"),
            "Q10": person("John Gold", "J. Gold"),
            "Q11": person("Valid Too", "V. T."),
            "Q20": person("Near One", year=1960),
            "Q21": person("Very Famous", year=1955, sitelinks=90),
            "Q22": person("John Gold Junior", year=1951),
            "Q23": person("Woman Same", sex=FEMALE, year=1950),
            "Q24": person(None, year=1950),
            "Q25": person("Wrong Alias", "John Gold", year=1950),
            "Q30": person("Old Actor", year=1600, country="Q38"),
        }
        | more,
        roots={"Q215380": ["Q43229"], "Q515": ["Q486972", "Q43229"], "Q11424": ["Q386724"]},
    )


def draft(text="Who is the director of Some Film?", gold="John Gold", kind="person", **marks):
    return Draft("q1-0", "1", 0, "Film", text, gold, kind, "creator_role", **marks)


@contextmanager
def source(tmp_path, known):
    with serve(known) as (url, seen):
        settings = WikidataSettings(
            f"{url}/sparql", f"{url}/w/api.php", "memtoc-tests", tmp_path, interval=0.0
        )
        with Wikidata(settings, lambda _: None) as wikidata:
            yield wikidata, seen


def distract(tmp_path, known, asked=None, seed=0):
    with source(tmp_path, known) as (wikidata, _):
        return entity_distractors(wikidata, asked or draft(), seed)


def test_a_near_person_shares_all_four_and_a_far_one_is_of_another_age(tmp_path):
    known = world()
    del known.items["Q11"]
    wrong, kind = distract(tmp_path, known)
    assert (wrong.near, wrong.far, wrong.branch, kind) == (
        "Near One", "Old Actor", "wikidata", "person",
    )  # fmt: skip
    assert wrong.gold_aliases == ("J. Gold",)
    provenance = wrong.provenance
    assert provenance["near_search"]["step"] == "occupation_sex_country_birth"
    assert "wdt:P106" in provenance["near_search"]["query"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", provenance["near_search"]["retrieved"])
    assert provenance["gold"] == {
        "id": "Q10", "label": "John Gold", "instance_of": (HUMAN,), "country": UK,
        "occupation": (ACTOR,), "sex": MALE, "birth": 1950,
    }  # fmt: skip
    assert provenance["near"]["sex"] == MALE


def test_other_valid_values_are_never_offered(tmp_path):
    asked = draft("Who is the cast member of Some Film?")
    for seed in range(10):
        wrong, _ = distract(tmp_path / str(seed), world(), asked, seed)
        assert wrong.near == "Near One"
        assert wrong.alternatives == ("Valid Too", "V. T.")


def test_a_famous_one_is_taken_where_no_modest_one_exists(tmp_path):
    known = world()
    del known.items["Q20"], known.items["Q11"]
    assert distract(tmp_path, known)[0].near == "Very Famous"


def test_the_search_widens_by_occupation_then_by_birth_and_keeps_the_sex(tmp_path):
    known = world(Q10=person("John Gold", work=POET))
    known.items = {i: known.items[i] for i in ("Q1", "Q10", "Q20", "Q23", "Q30")}
    assert (
        distract(tmp_path / "1", known)[0].provenance["near_search"]["step"] == "sex_country_birth"
    )
    known.items["Q20"] = person("Near One", year=1880)
    wrong, _ = distract(tmp_path / "2", known)
    assert (wrong.near, wrong.provenance["near_search"]["step"]) == (
        "Near One", "sex_country_wide_birth",
    )  # fmt: skip
    del known.items["Q20"]
    assert distract(tmp_path / "3", known)[0].unresolved == "no_candidate"


def test_a_match_that_lost_the_country_goes_to_people_with_a_suggestion(tmp_path):
    wrong, _ = distract(tmp_path, world(Q10=person("John Gold", country=None)))
    assert (wrong.near, wrong.branch, wrong.unresolved) == (None, "authored", "lost_country")
    assert wrong.provenance["suggested"]["sex"] == MALE
    assert wrong.far == "Old Actor"


def test_a_gold_born_before_year_one_has_its_own_age(tmp_path):
    known = world(
        Q10=person("John Gold", year=-100), Q20=person("Near One", year=-80),
        Q30=person("Old Actor", year=-400),
    )  # fmt: skip
    wrong, _ = distract(tmp_path, known)
    assert (wrong.near, wrong.far) == ("Near One", "Old Actor")


def test_places_and_organizations_share_class_and_country(tmp_path):
    known = World(
        {
            "Q1": item("Ada", P19="Q60", P31=HUMAN),
            "Q60": item("Leeds", P31=CITY, P17=UK),
            "Q61": item("York", P31=CITY, P17=UK),
            "Q62": item("Boston", P31=CITY, P17=US),
            "Q63": item("Leeds United", P31=BAND, P17=UK),
        },
        roots={"Q515": ["Q43229", "Q486972"]},
    )
    asked = draft("What is the place of birth of Ada?", "Leeds", "other_string")
    wrong, kind = distract(tmp_path, known, asked)
    assert (wrong.near, wrong.far, kind) == ("York", "Boston", "place")


@pytest.mark.parametrize(
    ("known", "text", "gold", "reason"),
    [
        ({}, "Who is the director of Some Film?", "Nobody Known", "not_found"),
        ({"Q12": person("John Gold")}, "Which man led it?", "John Gold", "ambiguous_name"),
        ({"Q2": item("Some Film", P57="Q12"), "Q12": person("John Gold")},
         "Who is the director of Some Film?", "John Gold", "ambiguous_subject"),
    ],
)  # fmt: skip
def test_what_cannot_be_told_apart_is_refused_with_a_reason(tmp_path, known, text, gold, reason):
    known = world(**known)
    # An alias elsewhere would make the name ambiguous by itself.
    del known.items["Q25"]
    wrong, _ = distract(tmp_path, known, draft(text, gold))
    assert (wrong.near, wrong.branch, wrong.unresolved) == (None, "authored", reason)


def test_two_films_of_one_name_are_told_apart_by_the_gold(tmp_path):
    known = world(Q2=item("Some Film", P57="Q20"))
    with source(tmp_path, known) as (wikidata, _):
        found = resolve(wikidata, "Who is the director of Some Film?", "John Gold")
    assert found.gold.id == "Q10" and found.others == ()


def test_works_and_unknown_sexes_go_to_people(tmp_path):
    known = world(Q10=item("John Gold", P31=HUMAN, P27=UK), Q40=item("A Work", P31="Q11424"))
    assert distract(tmp_path / "1", known)[0].unresolved == "no_candidate"
    wrong, kind = distract(tmp_path / "2", known, draft("Which film?", "A Work", "other_string"))
    assert (wrong.unresolved, kind) == ("kind_work", "work")


def test_the_same_seed_gives_the_same_value_and_another_seed_may_not(tmp_path):
    known = world(**{f"Q{n}": person(f"Actor {n}", year=1950) for n in range(100, 140)})
    first = distract(tmp_path / "a", known, seed=1)[0]
    assert distract(tmp_path / "b", known, seed=1)[0].near == first.near
    known.items = dict(reversed(known.items.items()))
    assert distract(tmp_path / "c", known, seed=1)[0].near == first.near
    drawn = {distract(tmp_path / "b", known, seed=seed)[0].near for seed in range(8)}
    assert len(drawn) > 3


def test_a_rebuild_needs_no_network(tmp_path):
    with source(tmp_path, world()) as (wikidata, seen):
        first = entity_distractors(wikidata, draft(), 0)
        asked = len(seen)
        assert entity_distractors(wikidata, draft(), 0) == first
        assert len(seen) == asked


@pytest.mark.skipif(not RELEASED.is_file(), reason="the released mapping is not on this machine")
def test_real_provenance_leads_to_persons_of_the_same_sex_and_country(tmp_path):
    rows = [json.loads(line) for line in RELEASED.read_text(encoding="utf-8").splitlines()]
    people = {}
    for number, row in enumerate(rows):
        facts = row["wikidata"]
        if facts.get("sex") and facts.get("occ") and row["gold"] not in people:
            people[row["gold"]] = (
                f"Q{90_000_000 + number}",
                person(row["gold"], year=facts["birth"], sex=facts["sex"], work=facts["occ"],
                       country=facts["country"]),
            )  # fmt: skip
    known = World(dict(people.values()))
    near = 0
    with source(tmp_path, known) as (wikidata, _):
        for gold, (_, entity) in list(people.items())[:60]:
            wrong, _ = entity_distractors(wikidata, draft("Which one?", gold), 0)
            if wrong.near is None:
                assert wrong.unresolved in ("lost_country", "no_candidate", "ambiguous_name")
                continue
            near += 1
            claims = people[wrong.near][1]["claims"]
            assert (claims["P21"], claims["P27"]) == (
                entity["claims"]["P21"], entity["claims"]["P27"],
            )  # fmt: skip
    assert near >= 30
