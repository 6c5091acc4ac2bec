"""The kind of a gold: by its text if that suffices, else by its classes on Wikidata."""

import re
from collections.abc import Collection

from memtoc.benchmark.dates import TIMEZONE, YEAR, parse_date

NUMBER = re.compile(r"[+-]?(?:\d{1,3}(?:[, ]\d{3})+|\d+)(?:\.\d+)?\s?%?")
# Classes that stand at the end of an instance-of, subclass-of path; the first that fits decides,
# so that a city is a place although its administration is an organization.
ROOT_KINDS = (
    ("Q5", "person"),
    ("Q95074", "person"),  # fictional character
    ("Q486972", "place"),  # human settlement
    ("Q56061", "place"),  # administrative territorial entity
    ("Q386724", "work"),
    ("Q43229", "organization"),
    ("Q2221906", "place"),  # geographic location
)
TEMPORAL = ("date", "year", "timezone")


def kind_of(gold: str, roots: Collection[str] = ()) -> str:
    """Return one of memtoc.questions.KINDS; ``roots`` are the gold's Wikidata root classes."""
    text = gold.strip()
    # Before number: four digits from 1000 to 2099 are a year.
    if YEAR.fullmatch(text):
        return "year"
    if parse_date(text):
        return "date"
    if TIMEZONE.fullmatch(text):
        return "timezone"
    if NUMBER.fullmatch(text):
        return "number"
    return next((kind for root, kind in ROOT_KINDS if root in roots), "other_string")
