"""Two folds that are alike and share no chain and no group of related questions.

Evenness is a weighted sum of squared differences (see ``imbalance``). A seeded greedy pass from the
rarest questions to the commonest makes it small; then moves and exchanges follow as long as they
lower it.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from harness.errors import UserError
from harness.seeds import generator
from memtoc.benchmark.drafts import groups_of, natural_key
from memtoc.benchmark.sheets import read_csv
from memtoc.questions import FOLDS

# What weighs how much in the imbalance. A combination (family, kind and origin together) is rare
# and noisy, so each counts for less than the margins that it adds up to.
WEIGHTS = {"size": 1.0, "family": 1.0, "kind": 1.0, "origin": 1.0, "combination": 0.25}
HUMAN_SOURCES = frozenset({"human", "authored", "starter", "dual_human_adjudication"})


@dataclass(frozen=True)
class Member:
    """What fold assignment needs of a question.

    ``origin`` is human or machine: who made the wrong value. ``groups`` are the names of its
    near-duplicate and linked groups.
    """

    id: str
    chain: str
    kind: str
    family: str
    origin: str
    groups: tuple[str, ...] = ()

    @property
    def bound(self) -> tuple[str, ...]:
        """Return the names of what must stay whole: the chain and the groups."""
        return (f"chain {self.chain}", *(f"group {name}" for name in self.groups))

    @property
    def strata(self) -> tuple[tuple[str, str], ...]:
        """Return the (dimension, value) pairs that the folds should hold equally often."""
        return (
            ("size", "all"),
            ("family", self.family),
            ("kind", self.kind),
            ("origin", self.origin),
            ("combination", f"{self.family}/{self.kind}/{self.origin}"),
        )


# Exchanges are sought among this many units at most; more units are even without them.
MOST_EXCHANGED = 2_000
# On the released questions (seeds 0 to 3) the imbalance comes to 10 to 12, with no group in both
# folds; the published folds have 17.25, with 15 groups in both.
ATTEMPTS = 8

Counts = NDArray[np.float64]


def origin_of(source: str) -> str:
    """Return ``human`` or ``machine``, by where a question's wrong value comes from."""
    return "human" if source in HUMAN_SOURCES else "machine"


def imbalance(members: Iterable[Member], folds: Mapping[str, str]) -> float:
    """Return the sum over strata s of weight(s) * (n_A(s) - n_B(s))^2.

    The strata are the whole, each family, kind and origin, and each combination of the three; 0
    means that the folds agree in all of them.
    """
    difference: Counter[tuple[str, str]] = Counter()
    for member in members:
        sign = 1 if folds[member.id] == FOLDS[0] else -1
        difference.update(dict.fromkeys(member.strata, sign))
    return sum(WEIGHTS[name] * count**2 for (name, _), count in difference.items())


def assign_folds(members: Sequence[Member], seed: int) -> dict[str, str]:
    """Return id -> fold with chains and groups whole, whatever the order of the members.

    It is the most even of several attempts, which differ in how ties are broken.
    """
    units = _units(members)
    attempts = [_attempt(units, seed, number) for number in range(ATTEMPTS)]
    return min(attempts, key=lambda folds: imbalance(members, folds))


def _attempt(units: Mapping[str, Sequence[Member]], seed: int, number: int) -> dict[str, str]:
    order = _by_rarity(units, seed, number)
    counts, weights = _counts([units[name] for name in order])
    coins = [generator(seed, f"fold side {number}", name).choice((1.0, -1.0)) for name in order]
    sides = _improved(_greedy(counts, weights, coins), counts, weights)
    return {
        member.id: FOLDS[0] if side > 0 else FOLDS[1]
        for name, side in zip(order, sides, strict=True)
        for member in units[name]
    }


def _units(members: Sequence[Member]) -> dict[str, list[Member]]:
    """Return the smallest sets that must stay whole, by the name of one of their bonds."""
    bonds = groups_of((member.bound[0], other) for member in members for other in member.bound)
    units: dict[str, list[Member]] = defaultdict(list)
    for member in sorted(members, key=lambda m: natural_key(m.id)):
        units[bonds[member.bound[0]]].append(member)
    return units


def _by_rarity(units: Mapping[str, Sequence[Member]], seed: int, number: int) -> list[str]:
    """Sort the units: rarest combination first, larger before smaller, ties by seeded draw."""
    # A rare combination has few places left once the common ones are set: it goes first.
    commonness = Counter(member.strata[-1] for unit in units.values() for member in unit)
    tie = {name: generator(seed, f"fold order {number}", name).random() for name in units}
    return sorted(
        units,
        key=lambda name: (
            min(commonness[member.strata[-1]] for member in units[name]),
            -len(units[name]),
            tie[name],
        ),
    )


def _counts(units: Sequence[Sequence[Member]]) -> tuple[Counts, Counts]:
    """Return the questions of each unit in each stratum [units, strata], and weights [strata]."""
    strata = sorted({stratum for unit in units for m in unit for stratum in m.strata})
    column = {stratum: number for number, stratum in enumerate(strata)}
    counts = np.zeros((len(units), len(strata)))
    for row, unit in enumerate(units):
        for member in unit:
            counts[row, [column[stratum] for stratum in member.strata]] += 1
    return counts, np.array([WEIGHTS[dimension] for dimension, _ in strata])


def _greedy(counts: Counts, weights: Counts, coins: Sequence[float]) -> Counts:
    """Return the side (1 or -1) of each unit [units]: in order, the one that lowers imbalance."""
    difference = np.zeros(counts.shape[1])
    sides = np.zeros(len(counts))
    for number, unit in enumerate(counts):
        pull = float((weights * difference) @ unit)
        sides[number] = coins[number] if pull == 0 else -np.sign(pull)
        difference += sides[number] * unit
    return sides


def _improved(sides: Counts, counts: Counts, weights: Counts) -> Counts:
    """Turn over the one or two units that lower the imbalance most, until none does.

    With d the difference, u_i a unit's counts and s_i its side, turning i changes the imbalance by
    g_i = -4 s_i (w d).u_i + 4 w.u_i^2, and turning i and j by g_i + g_j + 8 s_i s_j w.u_i u_j.
    """
    sides, some = sides.copy(), min(len(sides), MOST_EXCHANGED)
    products = (counts[:some] * weights) @ counts[:some].T
    squares = (counts**2) @ weights
    while True:
        gain = -4 * sides * (counts @ (weights * (sides @ counts))) + 4 * squares
        pairs = gain[:some, None] + gain[None, :some]
        pairs += 8 * np.outer(sides[:some], sides[:some]) * products
        np.fill_diagonal(pairs, 0)
        single, (first, second) = int(gain.argmin()), divmod(int(pairs.argmin()), some)
        if min(gain[single], pairs[first, second]) >= 0:
            return sides
        turned = [single] if gain[single] <= pairs[first, second] else [first, second]
        sides[turned] *= -1


def crossings(members: Iterable[Member], folds: Mapping[str, str]) -> list[str]:
    """Return the chains and groups that occur in both folds.

    An empty result proves that the folds do not leak.
    """
    seen: dict[str, set[str]] = defaultdict(set)
    for member in members:
        for name in member.bound:
            seen[name].add(folds[member.id])
    return sorted((name for name, in_folds in seen.items() if len(in_folds) > 1), key=natural_key)


def load_folds(path: Path, ids: Sequence[str]) -> dict[str, str]:
    """Load an assignment from a csv with the columns id and fold, one row for each of ``ids``.

    Rows for other ids are passed over. Raises UserError for a missing, doubled or unknown value.
    """
    folds: dict[str, str] = {}
    for number, row in read_csv(path, ("id", "fold")):
        name, fold = row["id"], row["fold"]
        if not name or fold not in FOLDS:
            raise UserError(f"{path} row {number}: give an id and a fold ({' or '.join(FOLDS)})")
        if name in folds:
            raise UserError(f"{path} row {number}: id '{name}' stands twice: remove one")
        folds[name] = fold
    missing = [name for name in ids if name not in folds]
    if missing:
        raise UserError(f"{path}: no fold for '{missing[0]}' ({len(missing)} missing): add rows")
    return {name: folds[name] for name in ids}
