"""What a person sees of an arm in the terminal."""

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table

from harness.terminal import say
from memtoc.arms import FinishedArm
from memtoc.rates import MatcherMetrics, Metrics, Rate
from memtoc.scoring import CELLS, OUTCOMES
from memtoc.settings import Report


def show(arm: FinishedArm, report: Report, console: Console) -> None:
    """Print the arm's cells, outcomes and rates, and where its files are."""
    show_rates(arm.metrics, report, console)
    say(console, _status_line(arm))
    say(console, f"arm: {arm.folder}")


def show_rates(metrics: Metrics, report: Report, console: Console) -> None:
    """Print cells, outcomes and rates under the report's matcher, and the main ones in words."""
    found = metrics.matchers[report.matcher]
    console.print(_counts("Cells (is the memory right, is the return right?)", found.cells, CELLS))
    console.print(_counts("What the answer did", found.outcomes, OUTCOMES))
    console.print(_rates(found.rates, report))
    for line in (*in_words(found), *unsettled(found)):
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


def _rates(rates: Sequence[Rate], report: Report) -> Table:
    title = f"Rates ({report.matcher} matcher; 95 % intervals, bootstrap over questions)"
    table = Table(title=title, title_justify="left")
    for name in ("metric", "definition"):
        table.add_column(name)
    for name in ("n", "rate", "95 %", "cut", "errors"):
        table.add_column(name, justify="right")
    for rate in rates:
        if rate.denominator or rate.errors:
            table.add_row(*_rate_cells(rate, report.min_support))
    return table


def _rate_cells(rate: Rate, min_support: int) -> list[str]:
    share = "" if rate.numerator is None else f"{rate.numerator}/"
    value, interval = "n too small", ""
    if rate.value is not None and rate.denominator >= min_support:
        assert rate.low is not None and rate.high is not None
        value = f"{100 * rate.value:.1f}"
        interval = f"{100 * rate.low:.1f} to {100 * rate.high:.1f}"
    cut, errors = str(rate.truncated or ""), str(rate.errors or "")
    support = f"{share}{rate.denominator}"
    return [rate.metric, rate.definition, support, value, interval, cut, errors]


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


def in_words(found: MatcherMetrics) -> list[str]:
    """Return the main rates as sentences with their counts, whatever the support."""
    lines = []
    for metric, definition, sentence in SENTENCES:
        rate = found.rate(metric, definition)
        if rate.denominator:
            lines.append(sentence.format(f"{rate.numerator} of {rate.denominator}"))
    alike = found.rate("retention", "ours").left_out
    alike += found.rate("incorrect-tool following", "ours").left_out
    if alike:
        rows = "1 row" if alike == 1 else f"{alike} rows"
        lines.append(
            f"Left out of these: {rows} of tool_wrong whose memory was the tool's own value, so"
            " that nothing was in conflict (the released definitions count them)."
        )
    return lines


# The columns of a sweep's table: the rate, and what it counts.
COLUMNS = {
    "retention": (
        ("retention", "ours"),
        "memory right, tool wrong: the final answer is right",
    ),
    "correct tool": (
        ("correct-tool following", "ours"),
        "memory wrong, tool right: the tool's value was taken",
    ),
    "both right": (
        ("agreement accuracy", "ours"),
        "memory and tool right: the final answer is right",
    ),
    "wrong tool": (
        ("incorrect-tool following", "ours"),
        "both wrong, differently: the tool's value was taken",
    ),
    "error abst.": (
        ("tool-error abstention", "released"),
        "the tool failed: the model declined to answer",
    ),
}
# What may befall a row, by status; a column is there where it befell one.
BEFELL = {
    "truncated": ("cut", "rows whose reply was cut off at decoding.max_new_tokens"),
    "empty": ("empty", "rows whose reply holds no text"),
    "error": ("failed", "rows whose request failed; no rate counts them"),
}


def figures(metrics: Metrics, report: Report) -> dict[str, str]:
    """Return the columns of a sweep's table: "62.5 (16)" is a rate in percent with its rows.

    Below ``min_support`` rows it is the counts alone, as "10/16".
    """
    shown = {}
    for column, (name, _) in COLUMNS.items():
        rate = metrics.matchers[report.matcher].rate(*name)
        if rate.value is None or rate.denominator < report.min_support:
            shown[column] = f"{rate.numerator}/{rate.denominator}" if rate.denominator else "-"
        else:
            shown[column] = f"{100 * rate.value:.1f} ({rate.denominator})"
    befell = {column: metrics.status.get(status, 0) for status, (column, _) in BEFELL.items()}
    return {**shown, **{column: str(count) for column, count in befell.items() if count}}


def legend(shown: Mapping[str, str], report: Report) -> dict[str, str]:
    """Return what the columns of ``shown`` count, and what stands in for a rate of few rows."""
    texts = {column: text for column, (_, text) in COLUMNS.items()} | dict(BEFELL.values())
    found = {column: texts[column] for column in shown}
    if any("/" in cell for cell in shown.values()):
        few = f"fewer than report.min_support={report.min_support} rows"
        found["a/b"] = f"counts in place of a rate, where there are {few}"
    return found


def unsettled(found: MatcherMetrics) -> list[str]:
    """Return a line on the rows that the matcher's rules leave open, and one on partial answers."""
    lines = []
    if found.ambiguous:
        lines.append(
            f"{_by_condition(found.ambiguous)} ambiguous: the rules cannot settle what the reply or"
            " the memory says; see `python analyze.py --config-name=packet`"
        )
    if found.partial:
        lines.append(
            f"{_by_condition(found.partial)} partial: the reply is less exact than two different"
            " values, fits both, and counts as both"
        )
    return lines


def _by_condition(counts: Mapping[str, int]) -> str:
    """Return e.g. "3 rows (no_tool 1, tool_wrong 2) are"."""
    total = sum(counts.values())
    each = ", ".join(f"{condition} {count}" for condition, count in counts.items())
    return f"{total} row{'s' if total > 1 else ''} ({each}) {'are' if total > 1 else 'is'}"


def _status_line(arm: FinishedArm) -> str:
    metrics, skipped = arm.metrics, arm.manifest.counts["skipped"]
    status = ", ".join(f"{count} {name}" for name, count in sorted(metrics.status.items()))
    left = "".join(f"; {count} questions without {name}" for name, count in skipped.items())
    return f"{metrics.rows} row{'s' if metrics.rows != 1 else ''}: {status}{left}"
