"""What a person sees of an arm in the terminal."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from harness.terminal import say
from memtoc.evaluation import ArmResult
from memtoc.scoring import CELLS, OUTCOMES
from memtoc.settings import Report


def show(result: ArmResult, report: Report, console: Console) -> None:
    """Prints the arm's cells, outcomes and rates, and where its files are."""
    show_rates(result.metrics, report, console)
    console.print(_status_line(result.metrics, result.manifest), highlight=False, markup=False)
    say(console, f"arm: {result.folder}")


def show_rates(metrics: Mapping[str, Any], report: Report, console: Console) -> None:
    """Prints cells, outcomes and rates under the report's matcher, and the main ones in words."""
    found = metrics["matchers"][report.matcher]
    console.print(
        _counts("Cells (is the memory right, is the return right?)", found["cells"], CELLS)
    )
    console.print(_counts("What the answer did", found["outcomes"], OUTCOMES))
    console.print(_rates(found["rates"], report))
    for line in in_words(found["rates"]):
        say(console, line)


def _counts(title: str, counts: Mapping[str, Mapping[str, int]], names: Sequence[str]) -> Table:
    present = [name for name in (*names, "none") if any(name in row for row in counts.values())]
    table = Table(title=title, title_justify="left")
    table.add_column("condition")
    for name in present:
        table.add_column(name, justify="right")
    for condition, row in counts.items():
        table.add_row(condition, *(str(row.get(name, 0)) for name in present))
    return table


def _rates(rates: Sequence[Mapping[str, Any]], report: Report) -> Table:
    title = f"Rates ({report.matcher} matcher; 95 % intervals, bootstrap over questions)"
    table = Table(title=title, title_justify="left")
    for name in ("metric", "definition"):
        table.add_column(name)
    for name in ("n", "rate", "95 %", "cut", "errors"):
        table.add_column(name, justify="right")
    for rate in rates:
        if rate["denominator"] or rate["errors"]:
            table.add_row(*_rate_cells(rate, report.min_support))
    return table


def _rate_cells(rate: Mapping[str, Any], min_support: int) -> list[str]:
    share = "" if rate["numerator"] is None else f"{rate['numerator']}/"
    support = f"{share}{rate['denominator']}"
    tail = [str(rate["truncated"] or ""), str(rate["errors"] or "")]
    if rate["value"] is None or rate["denominator"] < min_support:
        return [rate["metric"], rate["definition"], support, "n too small", "", *tail]
    interval = f"{100 * rate['low']:.1f} to {100 * rate['high']:.1f}"
    return [
        rate["metric"],
        rate["definition"],
        support,
        f"{100 * rate['value']:.1f}",
        interval,
        *tail,
    ]


# The rates that tell the story of an arm, each as a sentence about its numerator.
SENTENCES = (
    ("no_tool accuracy", "ours", "Asked with no tool, the model was right in {}."),
    (
        "retention",
        "ours",
        "Where it was right and the tool contradicted it, it stayed right in {}.",
    ),
    (
        "correct-tool following",
        "ours",
        "Where it was wrong and the tool was right, it took the tool's value in {}.",
    ),
    (
        "incorrect-tool following",
        "ours",
        "Where both were wrong, differently, it took the tool's value in {}.",
    ),
    ("tool-error abstention", "released", "Where the tool failed, it declined to answer in {}."),
)


def in_words(rates: Sequence[Mapping[str, Any]]) -> list[str]:
    """The main rates as sentences with their counts, whatever the support."""
    found = {(rate["metric"], rate["definition"]): rate for rate in rates}
    lines = []
    for metric, definition, sentence in SENTENCES:
        rate = found[metric, definition]
        if rate["denominator"]:
            lines.append(sentence.format(f"{rate['numerator']} of {rate['denominator']}"))
    return lines


def _status_line(metrics: Mapping[str, Any], manifest: Mapping[str, Any]) -> str:
    status = ", ".join(f"{count} {name}" for name, count in sorted(metrics["status"].items()))
    skipped = manifest["counts"]["skipped"]
    left = "".join(f"; {count} questions without {name}" for name, count in skipped.items())
    return f"{metrics['rows']} rows: {status}{left}"
