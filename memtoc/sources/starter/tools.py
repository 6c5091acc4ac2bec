"""The starter's tools: each looks one fact up in a fact table for a schema-valid call.

One call, as a question stores it::

    biography_lookup({"person": {"full_name": "Ada Lovelace"}, "event": "birth",
                      "detail": "date", "date_style": "iso"})  ->  "1815-12-10"
"""

from collections.abc import Callable, Mapping
from datetime import date
from typing import Any

from memtoc.benchmark.dates import MONTHS
from memtoc.sources.starter.tables import LookupFailedError, Row, named, only, table, value, where

Arguments = Mapping[str, Any]


def biography_lookup(arguments: Arguments) -> str:
    """Return a date, year, place, region or country of a person's birth or death."""
    person, event, detail = arguments["person"], arguments["event"], arguments["detail"]
    names = (person["full_name"], *person.get("other_names", ()))
    row = only(named(table("people"), "name", *names), names[0])
    if detail in ("date", "year"):
        return _dated(value(row, f"{event}_date", row["name"]), detail, arguments, row["name"])
    return value(row, f"{event}_{detail}", row["name"])


def family_tree(arguments: Arguments) -> str:
    """Return the nth relative of a kind, in order of birth or marriage."""
    person, relation = arguments["person"], arguments["relation"]
    names = (person["full_name"], *person.get("other_names", ()))
    position = str(arguments.get("position", 1))
    rows = where(named(table("families"), "person", *names), relation=relation, position=position)
    return only(rows, f"{relation} {position} of {names[0]}")["relative"]


def work_credits(arguments: Arguments) -> str:
    """Return who had a role in the making of a work."""
    work, role = arguments["work"], arguments["role"]
    rows = where(named(table("works"), "title", work["title"]), medium=work["medium"], role=role)
    span = work.get("released", {})
    rows = [r for r in rows if span.get("from", 0) <= int(r["year"]) <= span.get("to", 9999)]
    sought = f"{role} of the {work['medium']} {work['title']}"
    return value(only(rows, sought), "creator", sought)


def work_finder(arguments: Arguments) -> str:
    """Return the title of the one work that has all the features asked for."""
    medium, creator = arguments["medium"], arguments.get("creator", {}).get("name")
    titles = {row["title"] for row in where(table("works"), medium=medium, creator=creator)}
    return _fitting(titles, "features", "title", arguments["features"])


def country_facts(arguments: Arguments) -> str:
    """Return a standing fact about a country."""
    country, attribute = arguments["country"], arguments["attribute"]
    rows, given = table("countries"), country["value"]
    by_name = country["identified_by"] == "name"
    found = named(rows, "name", given) if by_name else where(rows, iso_code=given)
    return value(only(found, given), attribute, given)


def gazetteer(arguments: Arguments) -> str:
    """Return where a river, mountain, city or monument is, or what is there."""
    feature, wanted = arguments["feature"], arguments["attribute"]
    rows = named(table("places"), "name", feature["name"])
    rows = where(rows, type=feature["type"], attribute=wanted)
    return only(rows, f"{wanted} of the {feature['type']} {feature['name']}")["value"]


def timezone_lookup(arguments: Arguments) -> str:
    """Return the tz database zone (Area/City) that a city keeps."""
    location = arguments["location"]
    rows = where(named(table("timezones"), "city", location["city"]),
                 country_code=location["country_code"], region=location.get("region"))  # fmt: skip
    zone = only(rows, f"{location['city']} ({location['country_code']})")["zone"]
    return zone.split("/")[0] if arguments.get("output") == "area" else zone


def organization_profile(arguments: Arguments) -> str:
    """Return founder, founding year, seat or country of an organization."""
    organization, attribute = arguments["organization"], arguments["attribute"]
    rows = named(table("organizations"), "name", organization["name"])
    row = only(where(rows, type=organization.get("type")), organization["name"])
    return value(row, attribute, row["name"])


def organization_finder(arguments: Arguments) -> str:
    """Return the name of the one organization of a type that fits all the clues."""
    names = {row["name"] for row in where(table("affiliations"), type=arguments["type"])}
    return _fitting(names, "affiliations", "name", arguments["clues"])


def product_registry(arguments: Arguments) -> str | dict[str, str]:
    """Return maker, launch year or country of origin of a product."""
    item = arguments["item"]
    rows = where(named(table("products"), "name", item["name"]), category=item.get("category"))
    return _fields(only(rows, item["name"]), arguments["fields"])


def event_chronicle(arguments: Arguments) -> str:
    """Return date, year or place of an event."""
    event, detail = arguments["event"], arguments["detail"]
    rows = where(named(table("events"), "name", event["name"]), category=event.get("category"))
    row = only(rows, event["name"])
    if detail in ("date", "year"):
        return _dated(value(row, "date", row["name"]), detail, arguments, row["name"])
    return value(row, detail, row["name"])


def element_table(arguments: Arguments) -> str:
    """Return a property of a chemical element, found by name, symbol or atomic number."""
    element = arguments["element"]
    rows = where(table("elements"), **{element["identified_by"]: element["value"]})
    return value(only(rows, element["value"]), arguments["property"], element["value"])


def science_reference(arguments: Arguments) -> str:
    """Return a term that stands in a relation to another, as in a schoolbook's index."""
    subject, relation = arguments["subject"], arguments["relation"]
    rows = named(table("science"), "term", subject["term"])
    rows = where(rows, field=subject["field"], relation=relation)
    return only(rows, f"{relation} of {subject['term']}")["value"]


def office_holders(arguments: Arguments) -> str:
    """Return who held an office, by place in the sequence or by a day within the term."""
    office, selector = arguments["office"], arguments["selector"]
    rows = where(table("offices"), jurisdiction=office["jurisdiction"])
    rows = named(rows, "title", office["title"])
    if "ordinal" in selector:
        rows = where(rows, ordinal=str(selector["ordinal"]))
    else:
        rows = [r for r in rows if r["from"] <= selector["on_date"] < r["to"]]
    return only(rows, f"{office['title']} of {office['jurisdiction']}")["holder"]


def achievement_register(arguments: Arguments) -> str | dict[str, str]:
    """Return who is credited with an invention, discovery, theory or first, and when."""
    achievement = arguments["achievement"]
    rows = named(table("achievements"), "name", achievement["name"])
    row = only(where(rows, kind=achievement.get("kind")), achievement["name"])
    return _fields(row, arguments["fields"])


def _fitting(names: set[str], facts: str, column: str, clues: list[Mapping[str, str]]) -> str:
    for clue in clues:
        rows = where(table(facts), kind=clue["kind"], value=clue["value"])
        names = names & {row[column] for row in rows}
    return only([{column: name} for name in sorted(names)], "these clues")[column]


def _fields(row: Row, fields: list[str]) -> str | dict[str, str]:
    values = {field: value(row, field, row["name"]) for field in fields}
    return values[fields[0]] if len(fields) == 1 else values


def _dated(text: str, detail: str, arguments: Arguments, sought: str) -> str:
    if detail == "year":
        return text[:4]
    if len(text) == 4:
        raise LookupFailedError(404, "not_recorded", f"Only the year is known for {sought}.")
    day, style = date.fromisoformat(text), arguments.get("date_style", "day_month_year")
    month = MONTHS[day.month - 1]
    return {
        "iso": text,
        "day_month_year": f"{day.day} {month} {day.year}",
        "month_day_year": f"{month} {day.day}, {day.year}",
    }[style]


TOOLS: Mapping[str, Callable[[Arguments], str | dict[str, str]]] = {
    tool.__name__: tool
    for tool in (
        achievement_register, biography_lookup, country_facts, element_table, event_chronicle,
        family_tree, gazetteer, office_holders, organization_finder, organization_profile,
        product_registry, science_reference, timezone_lookup, work_credits, work_finder,
    )
}  # fmt: skip
