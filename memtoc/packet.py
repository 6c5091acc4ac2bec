"""The rows of a finished arm that no rule settles, as a packet for blind annotators.

``packet/packet.xlsx`` and ``packet/packet.csv`` show a reply and the values that it may give,
without saying which is the gold, the return or the memory; ``packet_key.csv`` says so.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from harness.errors import UserError
from harness.outcomes import Command, Outcome, Plan
from harness.seeds import generator
from harness.settings import parse
from harness.terminal import console, say
from harness.validators import Filled
from memtoc import scoring
from memtoc.arms import FinishedArm
from memtoc.benchmark.sheets import Row, read_sheet, write_csv, write_xlsx
from memtoc.rescoring import score_again
from memtoc.scored import ScoredRow
from memtoc.scoring import ScoringRules

# Gold, return and memory, where no two of them are the same text.
_SLOTS = ("1", "2", "3")
COLUMNS = (
    "row", "question", "reply", *(f"candidate_{slot}" for slot in _SLOTS),
    *(f"gives_{slot}" for slot in _SLOTS), "declines", "remark",
)  # fmt: skip
KEY_COLUMNS = (
    "row", "id", "condition", *(f"candidate_{slot}_is" for slot in _SLOTS), "outcome",
    "followed_tool", "kept_memory", "final_correct",
)  # fmt: skip
CHOICES = dict.fromkeys(
    (*(f"gives_{slot}" for slot in _SLOTS), "declines"), ("yes", "no", "unsure")
)


@dataclass(frozen=True)
class PacketSettings:
    """The folder of the arm, the rules to score it by, and the seed of the order of its rows."""

    task: Literal["packet"]
    arm: Filled
    seed: Annotated[int, Field(ge=0)] = 0
    scoring: ScoringRules = scoring.DEFAULT_RULES


def plan_packet(config: dict[str, Any]) -> Plan[PacketSettings]:
    """Return the plan of a packet."""
    return Plan(config, parse(PacketSettings, config))


def run_packet(plan: Plan[PacketSettings]) -> Outcome:
    """Write the packet of an arm, and say where it is."""
    settings = plan.settings
    arm = Path(settings.arm)
    written = write_packet(arm, settings.scoring, settings.seed)

    def show() -> None:
        screen = console()
        if not written.rows:
            say(screen, "no row is ambiguous: nothing to judge, and no file is written")
            return
        say(screen, f"{written.rows} ambiguous rows")
        say(screen, f"for the annotators: {written.sheet}, {written.sheet.with_suffix('.csv')}")
        say(screen, f"not for them: {written.key}")

    figures = {"ambiguous": str(written.rows)}
    return Outcome("done", name=arm.name, folder=str(arm), figures=figures, show=show)


PACKET = Command(PacketSettings, plan_packet, run_packet)


@dataclass(frozen=True)
class Packet:
    """How many rows a packet has, its workbook, and the key to it."""

    rows: int
    sheet: Path
    key: Path


def write_packet(
    folder: Path, rules: ScoringRules = scoring.DEFAULT_RULES, seed: int = 0
) -> Packet:
    """Write the rows of an arm that are ambiguous under ``boundary``, scored by today's rules.

    Raises UserError where the folder is no finished arm, its benchmark or memory has changed, or a
    packet there has been filled in.
    """
    scored = score_again(FinishedArm.load(folder), rules)
    open_rows = [row for row in scored if row.scores["boundary"].ambiguous]
    packet = Packet(len(open_rows), folder / "packet" / "packet.xlsx", folder / "packet_key.csv")
    if open_rows:
        shown, key = _sheets(open_rows, seed)
        packet.sheet.parent.mkdir(exist_ok=True)
        for path in (packet.sheet, packet.sheet.with_suffix(".csv")):
            _check_unfilled(path)
        write_xlsx(packet.sheet, COLUMNS, shown, CHOICES)
        write_csv(packet.sheet.with_suffix(".csv"), COLUMNS, shown)
        write_csv(packet.key, KEY_COLUMNS, key)
    return packet


def _check_unfilled(path: Path) -> None:
    filled = (*CHOICES, "remark")
    if path.is_file() and any(
        row[name].strip() for _, row in read_sheet(path, COLUMNS) for name in filled
    ):
        raise UserError(f"{path} has been filled in: move it elsewhere first")


def _sheets(rows: Sequence[ScoredRow], seed: int) -> tuple[list[Row], list[Row]]:
    """Return what annotators see, in an order drawn from the seed, and the key to it."""
    shuffled = sorted(rows, key=lambda row: (row.id, row.condition))
    generator(seed, "packet", "rows").shuffle(shuffled)
    shown: list[Row] = []
    key: list[Row] = []
    for number, row in enumerate(shuffled, start=1):
        # The question's own id would tell two replies to one question apart from the others.
        name, candidates = f"r{number}", _candidates(row, seed)
        slots = dict(zip(_SLOTS, candidates.items(), strict=False))
        values = {f"candidate_{slot}": value for slot, (value, _) in slots.items()}
        shown.append({"row": name, "question": row.question, "reply": row.span or "", **values})
        roles = {f"candidate_{slot}_is": " ".join(role) for slot, (_, role) in slots.items()}
        key.append({"row": name, "id": row.id, "condition": row.condition, **roles, **_read(row)})
    return shown, key


def _candidates(row: ScoredRow, seed: int) -> dict[str, list[str]]:
    """Return the values that the reply may give, each with what it is, in an order by the seed."""
    named = (("gold", row.gold), ("return", row.tool_value), ("memory", row.memory_span))
    found: dict[str, list[str]] = {}
    for role, value in named:
        if value:
            found.setdefault(value, []).append(role)
    order = sorted(found)
    generator(seed, "packet", f"{row.id} {row.condition}").shuffle(order)
    return {value: found[value] for value in order}


def _read(row: ScoredRow) -> Mapping[str, str]:
    score = row.scores["boundary"]
    rules: Iterable[str] = ("followed_tool", "kept_memory", "final_correct")
    return {"outcome": score.outcome or "", **{name: (score.why or {})[name] for name in rules}}
