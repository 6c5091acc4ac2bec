"""Whether a span declines to answer.

``containment`` looks for the paper's set phrases (arXiv 2608.26295). ``boundary`` also asks whether
the span gives an answer after all: "Lord Byron, but I am not sure" and "I am not sure, but it may
be Lord Byron" are answers.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from memtoc.scoring import refusal
from memtoc.scoring.claims import asserts, value_range
from memtoc.scoring.clauses import clauses_of
from memtoc.scoring.foreign import declines
from memtoc.scoring.lexicon import COPULAS, PREPOSITIONS, WORK_KINDS
from memtoc.scoring.match import check_matcher
from memtoc.scoring.rejection import another_fact
from memtoc.scoring.text import fold, read
from memtoc.scoring.truth import asks_yes_or_no, verdict

# Models hand a question back with a label, "Q: Who ...?". The release counts that as a refusal,
# ``boundary`` as an echo (docs/scoring.md lists the rows that differ by it).
_LABELLED_QUESTION = re.compile(r"\s*(?:q|question)\s*\d*\s*[:.]", re.IGNORECASE)
_LABEL = re.compile(r"^\W*(?:(?:q|question|a|answer)\s*\d*\s*[:.]\s*)+")
_QUESTION = re.compile(
    r"^(?:(?:in|on|at|by|from|to|for|of) )?(?:who|whom|whose|what|which|when|where|why|how)\b"
)
# What is left of a label or a sentence that broke off: "Final answer: The".
_STUBS = frozenset(("answer", "final", "is", "a", "an", "the", "q", "question", "i", "it"))
# "The closest match in the given data is X" gives an answer although it speaks of data.
_CONCLUSION = re.compile(
    r"\b(?:match|guess|answer|candidate|possibility|option|conclusion|inference)\b[^.;]{0,80}?"
    r"\b(?:is|was|are|be)\b"
)
# In a bracket behind a refusal these mark a guess, which is an answer.
_GUESS = re.compile(r"\b(?:possibly|perhaps|maybe|likely|probably|might|may be|could|guess)\b")
# Taken off before a clause is judged: "Based on the tool's output, Lord Byron" answers, although
# reports of failure speak of output too.
_BASIS = re.compile(r"\b(?:based on|according to|from|given|per)\b[^,;]{0,120},")
# "The tool returned X" gives X. "The tool only returned X" says that X is beside the question.
_REPORTED = re.compile(
    r"^(?:the |this )?(?:provided |returned )?"
    r"(?:tool|lookup|search|database|output|result|response)"
    r"(?:'s)?(?: output| result| response| return| call)? (?:says?|said|returned|returns|states?"
    r"|stated|indicates?|indicated|shows?|showed|gives?|gave|suggests?|suggested|reports?|lists?) "
    r"(?!only\b)"
)
_BUT = re.compile(r"\W*(?:but|however|yet|still)\W+")
_IGNORANT = re.compile(
    r"\W*(?:i|my memory|personally i)\b.{0,40}?\b(?:no idea|know|remember|recall|sure|certain|aware"
    r"|familiar|unsure|uncertain|heard)\b"
)
_NEGATION = re.compile(r"\b(?:not|never|cannot|nor)\b|n't\b")


@dataclass(frozen=True)
class Abstention:
    """Whether the span abstains, and the rule that decided.

    The rules ``echo`` (a question handed back), ``truncated`` (a stub) and ``empty`` mark spans
    that neither answer nor decline.
    """

    matched: bool
    rule: str

    @property
    def no_answer(self) -> bool:
        """Return whether the span neither answers nor declines."""
        return self.rule in ("echo", "truncated", "empty")


@lru_cache(maxsize=16384)
def abstains(matcher: str, span: str, question: str = "") -> Abstention:
    """Return whether ``span`` declines to answer the question, and by which rule.

    Raises UserError for an unknown matcher.
    """
    check_matcher(matcher)
    if not span.strip():
        return Abstention(False, "empty")
    if matcher == "boundary":
        return _ours(span, question)
    # The release counts a question handed back with its label ("Q: ...") as a refusal.
    if _LABELLED_QUESTION.match(span):
        return Abstention(True, "labelled_question")
    found = refusal.PAPER.search(fold(span))
    return Abstention(bool(found), "set_phrase" if found else "answer")


def _ours(span: str, question: str) -> Abstention:
    shown = fold(span)
    if _is_echo(shown, question):
        return Abstention(False, "echo")
    foreign = declines(span, question)
    if foreign or shown.strip(" .*_\"'()[]!") in refusal.BARE:
        return Abstention(True, "foreign_refusal" if foreign else "bare_refusal")
    if _is_stub(shown, question) and not _refuses(shown, question):
        return Abstention(False, "truncated")
    # Most spans hold no word of a refusal: the slower reading by clauses is for the rest.
    harmless = not refusal.NO_VALUE.search(shown) and not _may_refuse(shown)
    judged = asks_yes_or_no(question) and verdict(read(span), question) is not None
    if harmless or judged or _is_title(span, question):
        return Abstention(False, "answer")
    found = _weigh(_statements(shown), question)
    if found.rule == "nothing_asserted":
        failed = bool(refusal.NO_VALUE.search(shown))
        return Abstention(failed, "no_value_reported" if failed else "answer")
    return found


def _is_title(span: str, question: str) -> bool:
    """Return whether a span such as "Nobody Knows" is the title of a work that is asked for."""
    named = all(word[0].isupper() for word in span.split()) and not span.isupper()
    asked = not WORK_KINDS.isdisjoint(read(question).words)
    return named and asked and bool(refusal.NOBODY.match(fold(span)))


def _weigh(clauses: list[str], question: str) -> Abstention:
    """Decide by the order of refusals and answers among the clauses.

    An answer that comes first, or after the last refusal, makes the refusal a hedge.
    """
    refused = asserted = -1
    for at, clause in enumerate(clauses):
        if _refuses(clause, question):
            refused = at
        elif _answers(
            clause, question, first=at == 0 or _hands_over(clauses, at)
        ) and not _explains(clause, clauses[at - 1], question):
            asserted = at
            if refused < 0:
                break
    if refused < 0:
        if asserted < 0:
            return Abstention(False, "nothing_asserted")
        hedged = any(_refuses(clause, question) for clause in clauses[asserted + 1 :])
        return Abstention(False, "answer_with_hedge" if hedged else "answer")
    rule = "answer_after_hedge" if asserted > refused else "refusal"
    return Abstention(asserted < refused, rule)


def _hands_over(clauses: list[str], at: int) -> bool:
    """Return whether own ignorance gives way to the tool: "I had no idea, but | it says X"."""
    return at > 0 and bool(_BUT.match(clauses[at]) and _IGNORANT.match(clauses[at - 1]))


def _explains(clause: str, previous: str, question: str) -> bool:
    """Return whether a bracket explains the failure before it: "unavailable (HTTP 503)"."""
    if not clause.startswith("(") or _GUESS.search(clause):
        return False
    return bool(refusal.NO_VALUE.search(previous)) or _refuses(previous, question)


def _is_echo(shown: str, question: str) -> bool:
    """Return whether the span hands a question back, this one or another, without an answer."""
    labelled = _LABELLED_QUESTION.match(shown)
    body = _LABEL.sub("", shown).strip(" \"'*")
    if body.endswith("?") and (labelled or _QUESTION.match(body)):
        return True
    if labelled and "?" not in body:
        return True
    # An echo without its question mark.
    return bool(question) and read(body).words == read(question).words


def _is_stub(shown: str, question: str) -> bool:
    """Return whether the span is a label alone, or breaks off where its value should stand."""
    words = read(shown).words
    if all(word in _STUBS for word in words):
        return True
    first, last = value_range(shown, question)
    cut_off = words[-1] in COPULAS | PREPOSITIONS and len(words) > 1
    return cut_off and not asserts(shown, question) and first < last


def _statements(shown: str) -> list[str]:
    """Return the clauses that hold a word; one in brackets keeps its opening bracket."""
    parts = (
        shown[start - (shown[start - 1 : start] == "(") : end] for start, end in clauses_of(shown)
    )
    return [part.strip() for part in parts if part.strip(" .!?,;:()\"'-")]


def _refuses(clause: str, question: str) -> bool:
    """Return whether the clause holds a phrase of refusal that is not part of a name.

    A phrase is part of a name if the question holds it as well ("I Can't Tell You Why"), or if it
    runs on into a word of its own ("No Information Society").
    """
    if not _may_refuse(clause):
        return False
    asked = fold(question)
    for match in refusal.OURS.finditer(clause):
        following = clause[match.end() :].split(maxsplit=1)[:1]
        runs_on = match["absent"] and following and asserts(following[0], question)
        runs_on = runs_on and not refusal.BEHIND_ABSENT.match(following[0])
        rest = clause[match.end() :] if match["nobody"] else ""
        runs_on = runs_on or (asserts(rest, question) and not refusal.BEHIND_NOBODY.match(rest))
        if match.group().strip(" .,:;") not in asked and not runs_on:
            return True
    return False


def _may_refuse(text: str) -> bool:
    return any(trigger in text for trigger in refusal.TRIGGERS)


def _answers(clause: str, question: str, *, first: bool) -> bool:
    """Return whether a clause gives a value, right or wrong, for what the question asks.

    "The tool returned X" is an answer in the first clause and a mention in a later one.
    """
    if _NEGATION.search(clause) or another_fact(clause, question) or declines(clause, question):
        return False
    concluded = _CONCLUSION.search(clause)
    if concluded:
        return asserts(clause[concluded.end() :], question)
    clause = _BASIS.sub("", clause)
    clause = _REPORTED.sub("", _BUT.sub("", clause, count=1)) if first else clause
    return not refusal.NO_ASSERTION.search(clause) and asserts(clause, question)
