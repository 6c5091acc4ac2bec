"""Wrong persons, places and organizations of the gold's own sort, from Wikidata.

The distances are the paper's (arXiv 2608.26295). A near person shares occupation (P106), sex (P21),
citizenship (P27) and a birth within 45 years (P569); the search widens step by step. A far person
shares occupation and sex and was born 150 to 600 years earlier. A near place or organization shares
its class (P31) and country (P17), a far one the class alone.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from harness.seeds import generator
from memtoc.benchmark.drafts import Draft, WrongValues, names, natural_key, words_of
from memtoc.benchmark.families import asked_by
from memtoc.benchmark.kinds import ROOT_KINDS, kind_of
from memtoc.construction.aliases import aliases_of
from memtoc.construction.checks import scored_as_one
from memtoc.construction.wikidata import ITEM, Entity, Wikidata

PROPERTIES = {
    "father": "P22", "mother": "P25", "spouse": "P26", "husband": "P26", "wife": "P26",
    "child": "P40", "son": "P40", "daughter": "P40", "sibling": "P3373", "brother": "P3373",
    "sister": "P3373", "director": "P57", "author": "P50", "writer": "P50", "performer": "P175",
    "composer": "P86", "publisher": "P123", "creator": "P170", "cast member": "P161",
    "producer": "P162", "screenwriter": "P58", "editor": "P98", "illustrator": "P110",
    "lyricist": "P676", "cinematographer": "P344", "place of birth": "P19",
    "place of death": "P20", "place of burial": "P119", "founder": "P112", "architect": "P84",
    "employer": "P108", "political party": "P102", "headquarters": "P159", "country": "P17",
    "capital": "P36", "owner": "P127", "developer": "P178", "designer": "P287",
    "manufacturer": "P176", "nationality": "P27", "country of citizenship": "P27",
    "doctoral advisor": "P184", "student": "P802",
    "administrative territorial entity": "P131",
}  # fmt: skip
# The paper's 45 and 150 to 600 years; 90 is our last widening before people are asked.
NEAR_BIRTH, WIDE_BIRTH, FAR_BIRTH = 45, 90, (150, 600)
# Items with more articles than this are globally famous: taken only if no modest one fits.
FAMOUS_SITELINKS = 40
# The service gives rows in an order of its own, other ones next year: the answers are kept.
MOST_ROWS = 400
MOST_TRIED = 25


@dataclass(frozen=True)
class Resolution:
    """The gold's item, or the ``reason`` why it stays open; ``others`` are valid values too."""

    gold: Entity | None
    reason: str = ""
    others: tuple[Entity, ...] = ()


@dataclass(frozen=True)
class Facts:
    """What a distractor must share with the gold; None or empty if the item lacks it."""

    id: str
    label: str | None
    instance_of: tuple[str, ...]
    country: str | None
    occupation: tuple[str, ...] = ()
    sex: str | None = None
    birth: int | None = None


@dataclass(frozen=True)
class Step:
    """One width of a search: its name, for the provenance, and its query."""

    name: str
    sparql: str


def resolve(source: Wikidata, question: str, gold: str) -> Resolution:
    """Return the gold's item, found by the subject's property if the question names one.

    Else, and if that finds nothing, a search by name finds it. The result holds a reason in place
    of an item if the name has no bearer or several.
    """
    asked = asked_by(question)
    name = PROPERTIES.get(asked.role or "")
    if name is not None and asked.subject is not None:
        found = _by_property(source, asked.subject, name, gold)
        if found is not None:
            return found
    bearers = _bearers(source, gold)
    # Two bearers of one name cannot be told apart by it: refused.
    if len(bearers) == 1:
        return Resolution(bearers[0])
    return Resolution(None, "ambiguous_name" if bearers else "not_found")


def _by_property(source: Wikidata, subject: str, name: str, gold: str) -> Resolution | None:
    golds: dict[str, Entity] = {}
    others: dict[str, Entity] = {}
    # Two films of one name are told apart by the gold: only one was directed by that person.
    for bearer in _bearers(source, subject):
        values = source.entities(bearer.items(name))
        right = {e.id: e for e in values.values() if _bears(e, gold)}
        if right:
            golds |= right
            others |= {e.id: e for e in values.values() if e.id not in right}
    if len(golds) != 1:
        return Resolution(None, "ambiguous_subject") if golds else None
    return Resolution(next(iter(golds.values())), "", _in_order(others.values()))


def _bearers(source: Wikidata, name: str) -> tuple[Entity, ...]:
    """Return the distinct items that bear a name as label or alias."""
    found = source.entities(source.search(name)).values()
    return _in_order(entity for entity in found if _bears(entity, name))


def _in_order(entities: Any) -> tuple[Entity, ...]:
    distinct = {entity.id: entity for entity in entities}
    return tuple(distinct[i] for i in sorted(distinct, key=natural_key))


def _bears(entity: Entity, name: str) -> bool:
    return words_of(name) in {words_of(own) for own in entity.names}


def facts_of(entity: Entity) -> Facts:
    """Return the properties of an item that its distractors must share."""
    # Persons have a citizenship (P27), places and organizations a country (P17).
    country = entity.items("P27") or entity.items("P17")
    return Facts(
        id=entity.id,
        label=entity.label,
        instance_of=entity.items("P31"),
        country=next(iter(country), None),
        occupation=entity.items("P106"),
        sex=next(iter(entity.items("P21")), None),
        birth=entity.birth,
    )


def kind_on_wikidata(source: Wikidata, entity: Entity, gold: str) -> str:
    """Return the gold's kind by its item's classes, direct or through subclasses."""
    roots = " ".join(f"wd:{root}" for root, _ in ROOT_KINDS)
    rows, _ = source.query(
        f"SELECT DISTINCT ?root WHERE {{ VALUES ?root {{ {roots} }}"
        f" wd:{entity.id} wdt:P31/wdt:P279* ?root }}"
    )
    return kind_of(gold, [row["root"] for row in rows])


def entity_distractors(source: Wikidata, draft: Draft, seed: int) -> tuple[WrongValues, str]:
    """Return wrong values for a draft whose gold is an entity, and the gold's kind on Wikidata.

    Without a near value ``unresolved`` holds the reason, and people author the question. A draft
    that has a kind already keeps it.
    """
    resolution = resolve(source, draft.text, draft.gold)
    if resolution.gold is None:
        return WrongValues(draft.id, None, None, "authored", resolution.reason), draft.kind
    gold = resolution.gold
    kind = draft.kind
    # A kind that the source gives stands; only the catch-all is looked up.
    if kind == "other_string":
        kind = kind_on_wikidata(source, gold, draft.gold)
    if kind not in ("person", "place", "organization"):
        return WrongValues(draft.id, None, None, "authored", f"kind_{kind}"), kind
    return _wrong_values(source, replace(draft, kind=kind), resolution, seed), kind


def _wrong_values(source: Wikidata, draft: Draft, resolution: Resolution, seed: int) -> WrongValues:
    gold = resolution.gold
    assert gold is not None
    facts = facts_of(gold)
    near, near_log = _first_hit(source, draft, resolution, near_steps(facts, draft.kind), seed)
    far, far_log = _first_hit(source, draft, resolution, far_steps(facts, draft.kind), seed, near)
    # What fits only in another country goes to people, as a suggestion.
    lost_country = near_log.get("step") == "without_country"
    provenance: dict[str, Any] = {"gold": asdict(facts), "near_search": near_log}
    if near is not None:
        provenance["suggested" if lost_country else "near"] = asdict(facts_of(near))
    if far is not None:
        provenance |= {"far": asdict(facts_of(far)), "far_search": far_log}
    resolved = near is not None and not lost_country
    given = [value.label for value in (near if resolved else None, far) if value and value.label]
    aliases = aliases_of(source, gold, draft.gold, given)
    provenance["aliases"] = aliases.provenance
    return WrongValues(
        id=draft.id,
        near=near.label if near is not None and resolved else None,
        far=far.label if far is not None else None,
        branch="wikidata" if resolved else "authored",
        unresolved="" if resolved else ("lost_country" if lost_country else "no_candidate"),
        alternatives=tuple(name for other in resolution.others for name in other.names),
        gold_aliases=aliases.kept,
        near_aliases=near.aliases if near is not None and resolved else (),
        provenance=provenance,
    )


def with_aliases(source: Wikidata, draft: Draft, values: WrongValues) -> WrongValues:
    """Return wrong values that Wikidata did not give, with the other names of the gold's item.

    Where the gold cannot be told apart there, the provenance holds the reason.
    """
    found = resolve(source, draft.text, draft.gold)
    if found.gold is None:
        note: dict[str, Any] = {"unresolved": found.reason}
        return replace(values, provenance={**values.provenance, "aliases": note})
    given = [value for value in (values.near, values.far) if value]
    aliases = aliases_of(source, found.gold, draft.gold, given)
    provenance = {**values.provenance, "aliases": aliases.provenance}
    return replace(values, gold_aliases=aliases.kept, provenance=provenance)


def near_steps(facts: Facts, kind: str) -> tuple[Step, ...]:
    """Return the queries for near values, narrowest first; none if the item lacks a fact."""
    if kind != "person":
        same = _class_of(facts)
        if not same or facts.country is None:
            return ()
        return (Step("class_country", _select([*same, _country(facts.country, "P17")])),)
    if facts.sex is None:
        return ()
    # The sex never widens, whatever else does.
    person, work = [*_PERSON, f"?item wdt:P21 wd:{facts.sex} ."], _occupation(facts)
    close, wide = (
        _born(facts.birth, -NEAR_BIRTH, NEAR_BIRTH),
        _born(facts.birth, -WIDE_BIRTH, WIDE_BIRTH),
    )
    steps = []
    if facts.country is not None:
        home = [_country(facts.country, "P27")]
        if work:
            steps.append(
                Step("occupation_sex_country_birth", _select(person + work + home + close))
            )
        steps.append(Step("sex_country_birth", _select(person + home + close)))
        steps.append(Step("sex_country_wide_birth", _select(person + home + wide)))
    if work:
        steps.append(Step("without_country", _select(person + work + close)))
    return tuple(steps)


def far_steps(facts: Facts, kind: str) -> tuple[Step, ...]:
    """Return the queries for far values; none if the gold's item lacks a shared fact."""
    if kind != "person":
        same = _class_of(facts)
        if not same or facts.country is None:
            return ()
        other = ["?item wdt:P17 ?country .", f"FILTER(?country != wd:{facts.country})"]
        return (Step("class_other_country", _select(same + other)),)
    if facts.sex is None or facts.birth is None or not facts.occupation:
        return ()
    earlier = _born(facts.birth, -FAR_BIRTH[1], -FAR_BIRTH[0])
    sex = f"?item wdt:P21 wd:{facts.sex} ."
    return (
        Step("occupation_sex_earlier", _select([*_PERSON, sex, *_occupation(facts), *earlier])),
    )


_PERSON = ["?item wdt:P31 wd:Q5 ."]


def _class_of(facts: Facts) -> list[str]:
    if not facts.instance_of:
        return []
    return [_values("class", facts.instance_of), "?item wdt:P31 ?class ."]


def _occupation(facts: Facts) -> list[str]:
    if not facts.occupation:
        return []
    return [_values("occupation", facts.occupation), "?item wdt:P106 ?occupation ."]


def _values(name: str, items: Sequence[str]) -> str:
    return f"VALUES ?{name} {{ {' '.join(f'wd:{item}' for item in items)} }}"


def _country(country: str, name: str) -> str:
    return f"?item wdt:{name} wd:{country} ."


def _born(birth: int | None, least: int, most: int) -> list[str]:
    """Return patterns for a birth from ``least`` to ``most`` years after the gold's."""
    if birth is None:
        return []
    bounds = f"YEAR(?birth) >= {birth + least} && YEAR(?birth) <= {birth + most}"
    return ["?item wdt:P569 ?birth .", f"FILTER({bounds})"]


def _select(patterns: Sequence[str]) -> str:
    # An item without an English label has no name to offer as an answer.
    named = '?item wikibase:sitelinks ?sitelinks ; rdfs:label ?label . FILTER(LANG(?label) = "en")'
    body = "\n  ".join([*patterns, named])
    return f"SELECT DISTINCT ?item ?label ?sitelinks WHERE {{\n  {body}\n}} LIMIT {MOST_ROWS}"


def _first_hit(
    source: Wikidata,
    draft: Draft,
    resolution: Resolution,
    steps: Sequence[Step],
    seed: int,
    near: Entity | None = None,
) -> tuple[Entity | None, dict[str, Any]]:
    """Return the first fitting item of the first step that has one, and how it was found."""
    for step in steps:
        rows, retrieved = source.query(step.sparql)
        tried = _shuffled(rows, seed, f"entity {step.name}", draft.id)
        found = source.entities(tried)
        for entity in (found[item] for item in tried if item in found):
            if _fits(entity, draft, resolution, near):
                log = {"step": step.name, "query": step.sparql, "retrieved": retrieved}
                return entity, log | {"candidates": len(rows)}
    return None, {"steps": [step.name for step in steps]}


def _shuffled(rows: Sequence[dict[str, str]], seed: int, purpose: str, key: str) -> list[str]:
    """Return at most MOST_TRIED items in seeded order, globally famous ones last."""
    links = {
        row["item"]: int(row.get("sitelinks", "0"))
        for row in rows
        if ITEM.fullmatch(row["item"]) and row.get("label", row["item"]) != row["item"]
    }
    # Sorted first, so that the draw does not depend on the service's order.
    items = sorted(links, key=natural_key)
    generator(seed, purpose, key).shuffle(items)
    return sorted(items, key=lambda item: links[item] > FAMOUS_SITELINKS)[:MOST_TRIED]


def _fits(entity: Entity, draft: Draft, resolution: Resolution, near: Entity | None) -> bool:
    """Return whether an item is none of the valid values and its names count as none of them."""
    assert resolution.gold is not None
    taken = (resolution.gold, *resolution.others, *((near,) if near else ()))
    if entity.label is None or entity.id in {other.id for other in taken}:
        return False
    # The check stage would refuse it (in_question): look for another one now.
    if names(draft.text, entity.label):
        return False
    right = {draft.gold, *draft.other_golds, *(name for other in taken for name in other.names)}
    return not any(
        names(own, name) or names(name, own) or scored_as_one(own, name)
        for own in entity.names
        for name in right
    )
