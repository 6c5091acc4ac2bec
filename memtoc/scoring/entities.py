"""Whether an answer names an entity: a person, a place, a work, a thing.

The name is looked for word by word, then as a place with or without its generic noun, then by its
surname. At last the name that the answer asserts is compared as a whole.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from memtoc.scoring.asked import asked_kinds
from memtoc.scoring.claims import STEM, clause_end, known_words, repeats, value
from memtoc.scoring.echo import offers_both, only_repeated
from memtoc.scoring.groups import MODIFIERS, STUFF, class_only, is_cut, longer_group, same_joined
from memtoc.scoring.lexicon import HEADS, VERBS
from memtoc.scoring.locating import only_locates
from memtoc.scoring.names import (
    Name,
    extended,
    is_bare_title,
    name_of,
    other_land,
    preceded,
    same_name,
    tails_conflict,
)
from memtoc.scoring.places import (
    differ_in_kind,
    is_one,
    is_side,
    named_after,
    place_of,
    runs_on,
    widened,
)
from memtoc.scoring.rejection import turned_down
from memtoc.scoring.rules import ScoringRules
from memtoc.scoring.surnames import alone, is_among, is_shared, is_written, other_bearer, surname_of
from memtoc.scoring.text import Text, Words, occurrences, occurs, read

# A runaway reply may name a value hundreds of times; one accepted place is enough.
_MAX_PLACES = 50

Decided = tuple[bool, str]
Range = tuple[int, int]

# Reasons that hold for the span as a whole: the names need not be compared further.
_FINAL = frozenset(
    [
        "negated",
        "called_wrong",
        "relative_of",
        "denied",
        "only_reported",
        "only_mentioned",
        "another_fact",
        "former_belief",
        "only_locates",
        "bare_title",
        "longer_group",
        "longer_name",
        "class_only",
        "compared",
        "surname_shared",
    ]
)
_FOUND = frozenset(("whole_words", "same_place", "surname"))
_DECIDED = _FINAL | _FOUND


@dataclass(frozen=True)
class Wanted:
    """An entity that is looked for.

    ``forms`` are the ways to write it, each with the tail (a title, a place) that it leaves out;
    ``limit`` marks a value such as "before 1934"; ``thing`` a thing's name rather than a proper
    one: salicylic acid.
    """

    name: Name
    forms: tuple[tuple[Words, Words], ...]
    limit: bool
    thing: bool


@dataclass(frozen=True)
class Reply:
    """An answer that is judged: as it was read, and what decides how it is taken.

    ``span`` is the range of the words that it asserts, ``rivals`` are the row's other candidates.
    """

    said: Text
    span: Range
    question: str
    rules: ScoringRules
    rivals: tuple[str, ...]

    @property
    def asserted(self) -> Text:
        """Return the words that the answer asserts."""
        return self.said.part(*self.span)

    def places(self, words: Words) -> Iterator[Range]:
        """Yield the ranges at which words stand in the answer."""
        for at in islice(occurrences(words, self.said.words), _MAX_PLACES):
            yield at, at + len(words)


def same_entity(reply: Reply, wanted: Wanted) -> Decided:
    """Return whether an answer names the wanted entity, and the rule that decided."""
    reason = _word_for_word(reply, wanted)
    for look in (_same_place, _same_surname):
        if reason in _DECIDED:
            break
        found = look(reply, wanted.name)
        reason = found if found in _DECIDED else reason
    if reason in _FOUND:
        return True, reason
    return _as_a_whole(reply, wanted, reason)


def _word_for_word(reply: Reply, wanted: Wanted) -> str:
    """Return ``whole_words`` where the target stands in the answer, else why it does not count."""
    reason, refused = "different", set[int]()
    # From the full name to its shorter forms, so that the strictest reading decides first.
    for words, tail in (*wanted.forms, *_located(reply, wanted.name)):
        for place in reply.places(words):
            if place[0] in refused:
                continue
            reason = _refusal(reply, wanted, words, place, tail)
            if not reason:
                return "whole_words"
            # A short form is not looked for where the full one was refused.
            refused.add(place[0])
    return reason


def _refusal(reply: Reply, wanted: Wanted, words: Words, place: Range, tail: Words) -> str:
    """Return the rule by which words at a place are not the target; empty if they are."""
    said, question = reply.said, reply.question
    person = "person" in asked_kinds(question)
    return (
        ("bare_title" if is_bare_title(words) and words != said.words else "")
        or ("" if _is_number(words) else _other_entity(reply, place))
        or ("" if person else class_only(said, *place, reply.rivals))
        or (longer_group(said, *place, question) if wanted.thing else "")
        or (_joined_rival(reply) if wanted.thing else "")
        or named_after(said, *place, question)
        or _echoed(reply, place)
        or (_other_tail(said, place, words, tail) if tail else "")
        or ("compared" if _is_compared(said, place[0]) else "")
        or only_locates(said, *place, question, reply.rivals)
        or turned_down(said, *place, question)
    )


def _joined_rival(reply: Reply) -> str:
    """Return ``longer_group`` where the answer is a rival but for its spaces: per acetic acid."""
    given = reply.asserted.words
    joined = (same_joined(given, value(rival, reply.question).words) for rival in reply.rivals)
    return "longer_group" if any(joined) else ""


def _is_compared(said: Text, first: int) -> bool:
    """Return whether a name is what another is compared with, as in "larger than X"."""
    ahead = said.words[max(0, first - 2) : first]
    return ahead[-1:] == ("than",) and ahead[:1] not in (("other",), ("rather",))


def _located(reply: Reply, name: Name) -> Iterator[tuple[Words, Words]]:
    """Yield a place without where it lies, where a place is asked for: Portland | in Oregon."""
    if "in" in name.head[1:-1] and "place" in asked_kinds(reply.question):
        at = name.head.index("in", 1)
        yield name.head[:at], name.head[at + 1 :]


def _as_a_whole(reply: Reply, wanted: Wanted, reason: str) -> Decided:
    """Compare the asserted name, which may have initials, lack middle names or be inverted."""
    given = reply.asserted
    repeated = reason == "only_in_question" and repeats(reply.said, reply.question)
    final = reason in _FINAL or reason == "named_after" or repeated
    if wanted.limit or final or not given.words or is_bare_title(given.words):
        return False, reason
    name = name_of(given)
    rule = same_name(name, wanted.name)
    if rule == "short_form" and (wanted.thing or is_cut(name, wanted.name, reply.question)):
        return False, "class_only"
    if rule and differ_in_kind(name.head, wanted.name.head, reply.question):
        return False, "named_after"
    if not rule and wanted.thing and same_joined(name.head, wanted.name.head):
        rule = "same_joined"
    if not rule:
        return False, reason
    down = turned_down(reply.said, *reply.span, reply.question)
    return not down, down or rule


def _other_entity(reply: Reply, place: Range) -> str:
    """Return the rule by which a name is part of another's, unless answer or question say no."""
    said, (first, last) = reply.said, place
    if runs_on(said, last):
        return "longer_name"
    rule = extended(said, first, last)
    # "The Iliad | came first" (which came first?), "oxygen | gas".
    if rule == "longer_entity" and last - first == 1 and said.words[last] not in HEADS:
        whole = said.words[last] in STUFF or _is_asked_verb(reply, said.words[last])
        rule = "" if whole else rule
    return rule or _part(reply, place)


def _part(reply: Reply, place: Range) -> str:
    """Return the rule by which the word before a name makes it part of another's."""
    rule = preceded(reply.said, *place)
    if rule not in ("qualified_entity", "part_of_name"):
        return rule
    previous = reply.said.words[place[0] - 1]
    # "Northern | Laos", "metallic | potassium", "Portugal borders | France".
    whole = is_side(reply.said, place[0], reply.question)
    if rule == "part_of_name":
        whole = whole or previous in MODIFIERS or _is_asked_verb(reply, previous)
    return "" if whole else rule


def _is_asked_verb(reply: Reply, word: str) -> bool:
    """Return whether a word is the question's verb: "Portugal borders | France"."""
    verb = word in VERBS or word.endswith(("s", "ed"))
    return verb and word[:STEM] in known_words(reply.question)


def _same_place(reply: Reply, name: Name) -> str:
    """Return ``same_place`` where the name stands with or without its generic noun.

    Where it stands and is turned down, the rule is returned that does so; else nothing.
    """
    wanted, reason = place_of(name.head), ""
    if "person" in asked_kinds(reply.question):
        return ""
    for core in reply.places(wanted.core):
        place = widened(reply.said, *core)
        found = place_of(reply.said.words[slice(*place)])
        if (wanted.kinds or found.kinds) and is_one(wanted, found, reply.question):
            reason = (
                _other_entity(reply, place)
                or _echoed(reply, core)
                or only_locates(reply.said, *place, reply.question, reply.rivals)
                or turned_down(reply.said, *place, reply.question)
            )
            if not reason:
                return "same_place"
    return reason


def _same_surname(reply: Reply, wanted: Name) -> str:
    """Return ``surname`` where one side gives the other by the surname alone.

    A target that is a surname is met by the one candidate of the row that has it. Where the surname
    stands and is turned down or shared by another candidate, the rule is returned.
    """
    if not reply.rules.surname or "person" not in asked_kinds(reply.question):
        return ""
    owner, given, places = wanted, name_of(reply.asserted), list[Range]()
    surname = surname_of(wanted)
    if given.head and given.head in (surname, *alone(wanted)):
        places = [
            place
            for place in reply.places(given.head)
            if place[0] >= reply.span[0] and is_written(reply.said, place[0], surname)
        ]
    elif not set(surname) & set(read(reply.question).words):
        # A surname of the question, inside a sentence, is that of whom it asks about.
        places = [place for words in alone(wanted) for place in reply.places(words)]
    if len(wanted.head) == 1 and not wanted.tail and surname_of(given)[-1:] == wanted.head:
        owner = given
        places = [reply.span] if is_among(given, reply.rivals, reply.question) else []
    reason = ""
    for place in places:
        reason = (
            ("" if place == reply.span else _other_entity(reply, place))
            or other_bearer(reply.said, *place)
            or turned_down(reply.said, *place, reply.question)
            or ("surname_shared" if is_shared(owner, reply.rivals, reply.question) else "surname")
        )
        if reason == "surname":
            break
    return reason


def _is_number(words: Words) -> bool:
    return all(word.replace(".", "").isdigit() for word in words)


def _echoed(reply: Reply, place: Range) -> str:
    """Return ``only_in_question`` for a value of the question outside of what is asserted."""
    said, question, span = reply.said, reply.question, reply.span
    if question and offers_both(said, *place, question):
        return "only_in_question"
    if question and repeats(said, question):
        return "only_in_question" if only_repeated(said, *place, question) else ""
    if not question or (span[0] <= place[0] and place[1] <= span[1]):
        return ""
    asked = read(question).words
    return "only_in_question" if occurs(said.words[slice(*place)], asked) else ""


def _other_tail(said: Text, place: Range, words: Words, tail: Words) -> str:
    """Return the rule by which a name carries another title or land than the target's.

    Henry Somerset, 10th Duke of Beaufort, is another man than Henry Somerset, 1st Marquess of
    Worcester.
    """
    last = place[1]
    if said.words[last : last + 1] == ("of",):
        named = Name(said.words[place[0] : clause_end(said, place[0])], ())
        return "other_land" if other_land(named, Name(words, tail)) else ""
    # Without a comma the words behind are no tail of this name.
    if not said.after(last - 1).startswith(","):
        return ""
    end = clause_end(said, place[0])
    found = Name(words, said.words[last:end])
    return "other_title" if tails_conflict(found, Name(words, tail)) else ""
