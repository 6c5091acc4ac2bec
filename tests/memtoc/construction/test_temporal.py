import re
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memtoc.benchmark.dates import MONTHS, parse_date
from memtoc.benchmark.kinds import kind_of
from memtoc.construction.temporal import temporal_pair

LAST_YEAR = 2025
days = st.dates(date(101, 1, 1), date(2025, 12, 31))
seeds = st.integers(0, 2**31)
keys = st.text(min_size=1, max_size=8)
FORMATS = {
    "2017-03-05": lambda d: d.isoformat(),
    "5 March 2017": lambda d: f"{d.day} {MONTHS[d.month - 1]} {d.year}",
    "05 March 2017": lambda d: f"{d.day:02d} {MONTHS[d.month - 1]} {d.year}",
    "March 5, 2017": lambda d: f"{MONTHS[d.month - 1]} {d.day}, {d.year}",
    "March 5 2017": lambda d: f"{MONTHS[d.month - 1]} {d.day} {d.year}",
    "Mar 5, 2017": lambda d: f"{MONTHS[d.month - 1][:3]} {d.day}, {d.year}",
    "March 2017": lambda d: f"{MONTHS[d.month - 1]} {d.year}",
}
SHAPES = {
    "2017-03-05": r"\d{4}-\d\d-\d\d",
    "5 March 2017": r"[1-9]\d? [A-Z][a-z]+ \d{3,4}",
    "05 March 2017": r"\d\d? [A-Z][a-z]+ \d{3,4}",
    "March 5, 2017": r"[A-Z][a-z]+ [1-9]\d?, \d{3,4}",
    "March 5 2017": r"[A-Z][a-z]+ [1-9]\d? \d{3,4}",
    "Mar 5, 2017": r"[A-Z][a-z]{2,} [1-9]\d?, \d{3,4}",
    "March 2017": r"[A-Z][a-z]+ \d{3,4}",
}


@pytest.mark.parametrize("form", FORMATS)
@settings(max_examples=600, deadline=None)
@given(day=days, seed=seeds, key=keys)
def test_wrong_dates_are_real_dates_in_the_golds_format_at_the_right_distance(form, day, seed, key):
    gold = FORMATS[form](day)
    assert kind_of(gold) == "date"
    pair = temporal_pair(gold, "date", seed, key, LAST_YEAR)
    right = parse_date(gold).value
    month_only = 30 if form == "March 2017" else 0
    for wrong, least, most in ((pair.near, 15, 1_500), (pair.far, 18_000, 110_000)):
        assert wrong is not None and wrong != gold
        assert re.fullmatch(SHAPES[form], wrong)
        value = parse_date(wrong).value
        assert date(1, 1, 1) <= value <= date(LAST_YEAR, 12, 31)
        assert least - month_only <= abs((value - right).days) <= most + month_only
    assert pair.near != pair.far
    assert pair == temporal_pair(gold, "date", seed, key, LAST_YEAR)


@settings(max_examples=2_000, deadline=None)
@given(year=st.integers(1000, LAST_YEAR), seed=seeds, key=keys)
def test_wrong_years_are_years_at_the_right_distance(year, seed, key):
    pair = temporal_pair(str(year), "year", seed, key, LAST_YEAR)
    assert kind_of(pair.near) == kind_of(pair.far) == "year"
    assert 1 <= abs(int(pair.near) - year) <= 15
    assert 80 <= abs(int(pair.far) - year) <= 400
    assert max(int(pair.near), int(pair.far)) <= LAST_YEAR


@pytest.mark.parametrize(
    "gold", ["America/New_York", "Europe/London", "Asia/Kolkata", "Africa/Lagos"]
)
@given(seed=seeds, key=keys)
def test_wrong_time_zones_keep_or_leave_the_region(gold, seed, key):
    pair = temporal_pair(gold, "timezone", seed, key, LAST_YEAR)
    area = gold.split("/")[0]
    assert pair.near.split("/")[0] == area != pair.far.split("/")[0]
    assert pair.near != gold
    assert kind_of(pair.near) == kind_of(pair.far) == "timezone"


def test_a_near_time_zone_shows_another_time_than_the_gold():
    drawn = {temporal_pair("Europe/Paris", "timezone", s, "q", 2025).near for s in range(200)}
    assert not drawn & {"Europe/Paris", "Europe/Berlin", "Europe/Madrid", "Europe/Rome"}
    assert len(drawn) > 3


def test_the_seed_and_the_key_both_change_the_draw():
    def near(seed, key):
        return temporal_pair("5 March 2017", "date", seed, key, LAST_YEAR).near

    assert len({near(seed, "q1") for seed in range(20)}) > 15
    assert len({near(0, f"q{number}") for number in range(20)}) > 15


def test_a_gold_after_the_last_year_gets_no_future_value():
    pair = temporal_pair("2031", "year", 1, "q", LAST_YEAR)
    assert int(pair.near) <= LAST_YEAR
    assert temporal_pair("1 January 2031", "date", 1, "q", LAST_YEAR).near is None
