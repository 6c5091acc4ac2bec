"""Rows scored a minute on one core, and the slowest of the runaway replies.

    PYTHONPATH=. python benchmarks/scoring.py [FILE]

A row is what evaluation does for one answer: extraction from the raw reply, both matchers and the
acknowledgment; a memory is scored once a question. FILE, if given, holds real rows (the shape that
``python -m memtoc.scoring`` reads), which are scored once, every text for the first time. The
other rows are invented: question, gold and memory are shared by the conditions of a question, as
in a real run, replies are not, so that the caches inside the scorer help no more than they do
there.
"""

import argparse
import statistics
import time
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

from memtoc.scoring import MATCHERS, acknowledges, decide, extract, score_memory
from memtoc.scoring.agreement import load

RUNAWAY = 100_000
TARGET_ROWS_A_MINUTE = 200_000
TARGET_MS = 50.0
CONDITIONS = 6

REPLIES = (
    "The tool returned {near}.\nFINAL: {near}",
    "Based on my knowledge the answer is different.\nFINAL: The father of {subject} is {gold}.",
    "FINAL: The tool was unable to provide the answer due to a database error.",
    "The tool says {near}, but I believe it is {gold}.\n\nFINAL: {gold}",
    "FINAL: I'm not sure, but it might be {near}.",
    "**FINAL:** {near}, although the output does not state it directly.",
)
PHRASES = (
    "a", " ", "\n", "(", "&", "1", "é", "北", "is not ", "the tool ", "FINAL: ", "12 May ", "a. ",
    "a-",
    "1,000,", "2000-01-01 ", "no information ", "which is wrong. ", "the tool returned X, but ",
    "Q: ",
    "<think>", "X is not ", "I believe the tool ", "conflict ", "<answer> ",
)  # fmt: skip


Row = tuple[str, str, str, str | None, str]  # reply, question, gold, near, memory's span


def score(rows: Iterable[Row]) -> None:
    """Everything that evaluation asks for these replies; a question's rows follow each other."""
    for (question, gold, known), group in groupby(rows, key=lambda row: (row[1], row[2], row[4])):
        memories = {matcher: score_memory(matcher, known, question, gold) for matcher in MATCHERS}
        for reply, _, _, near, _ in group:
            span = extract(reply).text
            for matcher, memory in memories.items():
                decide(matcher, span, question, gold, memory, near)
            acknowledges(reply, known, near)


def invented_rows(number: int) -> Iterator[Row]:
    """``number`` rows, CONDITIONS replies a question, names that occur once."""
    for i in range(number):
        question_number = i // CONDITIONS
        subject = f"Ada{question_number} Lovelace"
        gold = f"George{question_number} Gordon, {question_number % 9 + 1}th Baron Byron"
        near = f"Isaac{question_number} Newton"
        reply = REPLIES[i % CONDITIONS].format(subject=subject, gold=gold, near=near)
        yield (
            f"{reply} ({i})",
            f"Who is the father of {subject}?",
            gold,
            near,
            f"The father of {subject} is likely {gold}.",
        )


def rows_a_minute(number: int, repeats: int) -> float:
    """Median over ``repeats`` runs, each on rows that were not seen before."""
    prepared = list(invented_rows(number * repeats))
    rates = []
    for start in range(0, number * repeats, number):
        began = time.process_time()
        score(prepared[start : start + number])
        rates.append(60 * number / (time.process_time() - began))
    return statistics.median(rates)


def real_rows_a_minute(path: Path) -> float:
    """The rate on the rows of a file, the final span given back as a reply."""
    prepared = [
        (
            f"FINAL: {row['final_span']}",
            row["question"],
            row["gold"],
            row["tool_value"],
            row["closed_book_span"],
        )
        for row in load(path)
    ]
    began = time.process_time()
    score(prepared)
    return 60 * len(prepared) / (time.process_time() - began)


def runaway_ms(phrase: str) -> float:
    """Milliseconds for a reply of RUNAWAY characters, best of three."""
    times = []
    for i in range(3):
        reply = (phrase * RUNAWAY)[: RUNAWAY - 1] + str(i)
        began = time.process_time()
        score([(reply, "Who is the father of Ada?", "Lord Byron", "Isaac Newton", "Lord Byron")])
        times.append(1000 * (time.process_time() - began))
    return min(times)


def main() -> None:
    """Prints both figures beside their targets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=6000, help="rows a run")
    parser.add_argument("--repeats", type=int, default=5, help="runs; the median is printed")
    parser.add_argument("file", type=Path, nargs="?", help="real rows, scored outputs as JSONL")
    given = parser.parse_args()
    if given.file:
        rate = real_rows_a_minute(given.file)
        print(f"rows a minute on one core, real rows: {rate:,.0f}")
    rate = rows_a_minute(given.rows, given.repeats)
    print(
        f"rows a minute on one core, invented rows: {rate:,.0f} (target {TARGET_ROWS_A_MINUTE:,})"
    )
    slowest = sorted(((runaway_ms(phrase), phrase) for phrase in PHRASES), reverse=True)
    print(f"replies of {RUNAWAY:,} characters, slowest first (target {TARGET_MS:.0f} ms):")
    for ms, phrase in slowest[:8]:
        print(f"  {ms:6.1f} ms  {phrase!r} repeated")


if __name__ == "__main__":
    main()
