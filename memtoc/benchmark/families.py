"""What a templated question asks for: a role, and the subject whose role it is.

``Who is the father of Norah Jones?`` asks for the role ``father`` of ``Norah Jones`` and is of the
family ``genealogy``. A question in other words is ``free_form``, whatever its topic.
"""

import re
from dataclasses import dataclass

RELATIONS = (
    "father", "mother", "parent", "spouse", "husband", "wife", "child", "son", "daughter",
    "sibling", "brother", "sister", "grandfather", "grandmother", "grandparent", "grandchild",
    "uncle", "aunt", "nephew", "niece", "cousin", "stepfather", "stepmother", "stepchild",
    "father-in-law", "mother-in-law", "paternal grandfather", "paternal grandmother",
    "maternal grandfather", "maternal grandmother",
)  # fmt: skip
# The performer of a song is left out, as in the published families.
CREDITS = (
    "director", "author", "publisher", "composer", "creator", "cast member", "producer",
    "screenwriter", "writer", "editor", "illustrator", "lyricist", "cinematographer",
)  # fmt: skip
# Templates that name a property, yet belong to none of the four templated families.
OTHER_ROLES = (
    "performer", "founder", "architect", "architectural style", "employer", "doctoral advisor",
    "student", "political party", "place of burial", "time zone", "headquarters", "nationality",
    "country of citizenship", "country", "capital", "owner", "developer", "designer",
    "manufacturer", "religion", "occupation",
)  # fmt: skip


@dataclass(frozen=True)
class Asked:
    """Family of a question; role and subject if its wording is a template."""

    family: str
    role: str | None = None
    subject: str | None = None


def _template(opening: str, roles: tuple[str, ...]) -> re.Pattern[str]:
    # Longest first: "father-in-law" must not be read as "father".
    names = "|".join(re.escape(role) for role in sorted(roles, key=len, reverse=True))
    return re.compile(rf"{opening} the ({names}) of (?-i:film )?(.+?)[\s?]*", re.IGNORECASE)


def roles_of(family: str) -> tuple[str, ...]:
    """Return the roles that a templated family can ask for; empty for free_form."""
    return {
        "genealogy": RELATIONS,
        "creator_role": CREDITS,
        "birth_death_date": _DATED,
        "birth_death_place": _PLACED,
    }.get(family, ())


_DATED = ("date of birth", "date of death")
_PLACED = ("place of birth", "place of death")
_TEMPLATES = (
    ("genealogy", _template("who is", RELATIONS)),
    ("creator_role", _template("who is", CREDITS)),
    ("birth_death_date", _template("what is", _DATED)),
    ("birth_death_place", _template("what is", _PLACED)),
    ("free_form", _template("(?:who|what|where) (?:is|was)", RELATIONS + CREDITS)),
    ("free_form", _template("(?:who|what|where) (?:is|was)", _DATED + _PLACED + OTHER_ROLES)),
)
_TERRITORY = re.compile(
    r"in which administrative territorial entity is (.+?) located[\s?]*", re.IGNORECASE
)


def asked_by(question: str) -> Asked:
    """Return family, role (lower case) and subject; the latter two None without a template."""
    text = " ".join(question.split())
    for family, template in _TEMPLATES:
        if found := template.fullmatch(text):
            return Asked(family, found[1].lower(), found[2])
    if found := _TERRITORY.fullmatch(text):
        return Asked("free_form", "administrative territorial entity", found[1])
    return Asked("free_form")
