"""Score the text of a finished arm with today's scorer, and keep both versions."""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from harness.errors import NothingToDoError, UserError
from harness.folders import RunFolder
from harness.outcomes import Command, Outcome, Plan
from harness.settings import parse
from harness.terminal import console, say
from harness.validators import Filled
from memtoc import scoring
from memtoc.arm import select
from memtoc.arms import FinishedArm, FinishedMemory, completions
from memtoc.episodes import episodes
from memtoc.rates import Metrics
from memtoc.scored import ScoredRow, score_episodes
from memtoc.scoring import ScoringRules
from memtoc.tables import show_rates


@dataclass(frozen=True)
class RescoreSettings:
    """The folder of the arm that is scored again, and the rules to score it by."""

    task: Literal["rescore"]
    arm: Filled
    scoring: ScoringRules = scoring.DEFAULT_RULES


def plan_rescore(config: dict[str, Any]) -> Plan[RescoreSettings]:
    """Return the plan of a rescoring."""
    return Plan(config, parse(RescoreSettings, config))


def run_rescore(plan: Plan[RescoreSettings]) -> Outcome:
    """Score the arm again, and show its rates by today's scorer."""
    found = rescore(Path(plan.settings.arm), plan.settings.scoring)

    def show() -> None:
        screen = console()
        show_rates(found.metrics, found.arm.settings.report, screen)
        old = found.arm.metrics.scorer
        for matcher, rows in found.changed.items():
            say(screen, f"{matcher}: {rows} outcomes differ from scorer {old}")
        say(screen, f"rows: {found.episodes}")

    return Outcome("done", name=found.arm.folder.name, folder=str(found.arm.folder), show=show)


RESCORE = Command(RescoreSettings, plan_rescore, run_rescore)


@dataclass(frozen=True)
class Rescored:
    """The new file of rows beside the old one, the new rates, changed outcomes by matcher."""

    arm: FinishedArm
    episodes: Path
    metrics: Metrics
    changed: dict[str, int]


def rescore(path: Path, rules: ScoringRules = scoring.DEFAULT_RULES) -> Rescored:
    """Score the arm in a folder again.

    Raises UserError where the folder is no finished arm, or its benchmark or memory is not what it
    was, and NothingToDoError where it was scored by this version and these rules.
    """
    from memtoc.metrics import measure

    arm, version = FinishedArm.load(path), scoring.scorer_name(rules)
    if arm.metrics.scorer == version:
        raise NothingToDoError(
            f"{path} was scored by this version ({version}) already: nothing to do"
        )
    rows = score_again(arm, rules)
    metrics = measure(rows, arm.settings.seed, rules)
    # In a file's name "=" would have to be quoted on Hydra's command lines.
    slug = re.sub("[ =]", "-", version)
    name, folder = f"episodes.scorer-{slug}.jsonl", RunFolder(path)
    folder.write_rows(name, [asdict(row) for row in rows])
    folder.write(f"metrics.scorer-{slug}.json", asdict(metrics))
    return Rescored(arm, path / name, metrics, _changed(arm.rows, rows))


def score_again(arm: FinishedArm, rules: ScoringRules) -> list[ScoredRow]:
    """Return the rows of an arm as today's scorer reads its text; raises as ``rescore`` does."""
    benchmark = arm.settings.benchmark.load()
    if benchmark.digest != arm.manifest.digests["benchmark"]:
        raise UserError(
            f"{arm.folder}: its benchmark has changed since: score with the rows of that time"
        )
    replies, memory = arm.replies(), arm.memory.folder
    FinishedMemory.load(memory)
    memories = {name: reply for (name, _), reply in completions(memory).items()}
    rows = episodes(arm.settings, select(benchmark, arm.settings))
    try:
        in_order = [replies[row.question.id, row.condition] for row in rows]
        return score_episodes(rows, in_order, memories, rules)
    except KeyError as error:
        raise UserError(
            f"{arm.folder}: no text for {error}: its generations.jsonl or the memory folder "
            f"{memory} is incomplete; run the arm's own command again"
        ) from error


def _changed(old: Sequence[ScoredRow], new: Sequence[ScoredRow]) -> dict[str, int]:
    return {
        matcher: sum(
            before.scores[matcher].outcome != after.scores[matcher].outcome
            for before, after in zip(old, new, strict=True)
        )
        for matcher in scoring.MATCHERS
    }
