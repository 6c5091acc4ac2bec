import copy
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
import yaml
from support.arms import ROOT, compose_config, options

from harness import fingerprint as fingerprints
from harness.fingerprint import cosmetic_keys, leaves
from memtoc.settings import ArmSettings

COSMETIC = cosmetic_keys(ArmSettings)
fingerprint = partial(fingerprints.fingerprint, cosmetic=COSMETIC)
identity = partial(fingerprints.identity, cosmetic=COSMETIC)
is_cosmetic = partial(fingerprints.is_cosmetic, cosmetic=COSMETIC)

DIGESTS = {"weights": "w", "benchmark": "b", "engine": "e"}
DEFAULTS = yaml.safe_load((ROOT / "conf" / "evaluate.yaml").read_text(encoding="utf-8"))["defaults"]
GROUPS = [
    group
    for entry in DEFAULTS
    if isinstance(entry, dict)
    for group, option in entry.items()
    if option is not None and " " not in group
]

# Where a run is done and how it is shown. A new entry here needs a reason why no text and no
# rate can depend on it.
COSMETIC_LEAVES = {
    "model.path", "model.requirement", "model.terms", "engine.device", "engine.base_url",
    "engine.key_variable", "engine.concurrency", "engine.timeout_s", "engine.retries",
    "engine.pause_s", "engine.max_bytes", "benchmark.limit",
    "benchmark.path", "benchmark.toolhop", "mitigation.adapter", "benchmark.build.strict",
    "benchmark.build.redraw_temporal", "benchmark.publisher.url", "benchmark.publisher.sha256",
    "dry_run", "report.matcher",
    "report.min_support", "report.max_error_rate", "report.max_empty_rate",
    "paths.runs", "paths.memories", "paths.cache",
    # How a file is read: what it gives is covered by the benchmark's digest.
    "benchmark.delimiter", "benchmark.encoding",
    # A layer over the texts: a finished arm is not shown under rules that it was not read by.
    "scoring.surname", "scoring.partial_dates",
}  # fmt: skip


def declared(key: str) -> bool:
    return key in COSMETIC_LEAVES or key.startswith("tracker.")


def composed(group: str, name: str) -> dict[str, Any]:
    """A group's option in its place, with whatever it must be given."""
    own = yaml.safe_load((ROOT / "conf" / group / f"{name}.yaml").read_text(encoding="utf-8"))
    given = [f"{group}.{key}=given" for key, value in own.items() if value == "???"]
    return compose_config(f"{group}={name}", *given)


CONFIGS = [("", "", compose_config())] + [
    (group, name, composed(group, name)) for group in GROUPS for name in options(group)
]


def flipped(value: Any) -> Any:
    """Another value of the same type where there is one."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, str):
        return f"{value} "
    if isinstance(value, list):
        return value[1:] or ["other"]
    return "set" if value is None else {"other": True}


def with_leaf(config: dict[str, Any], key: str, value: Any) -> dict[str, Any]:
    changed = copy.deepcopy(config)
    *path, last = key.split(".")
    inner = changed
    for name in path:
        inner = inner[name]
    inner[last] = value
    return changed


def elements(config: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Every leaf with another value; of a list, each element in turn too."""
    for key, value in leaves(config):
        yield key, value, flipped(value)
        if isinstance(value, list):
            for at, item in enumerate(value):
                yield key, value, [*value[:at], flipped(item), *value[at + 1 :]]


@pytest.mark.parametrize(
    ("group", "name", "config"),
    CONFIGS,
    ids=[f"{g}={n}" if g else "default" for g, n, _ in CONFIGS],
)
def test_every_leaf_changes_the_fingerprint_or_is_declared_cosmetic(group, name, config):
    before = fingerprint(config, digests=DIGESTS)
    for key, _, other in elements(config):
        changed = fingerprint(with_leaf(config, key, other), digests=DIGESTS) != before
        assert changed != declared(key), key


def test_the_declared_list_is_exactly_what_counts_as_cosmetic():
    every = {key for _, _, config in CONFIGS for key, _ in leaves(config)}
    assert {key for key in every if is_cosmetic(key)} == {key for key in every if declared(key)}
    assert every >= COSMETIC_LEAVES


def test_every_group_of_the_defaults_is_tried():
    assert {"model", "engine", "benchmark", "formulation", "frame", "mitigation"} <= set(GROUPS)


def test_a_key_that_nobody_thought_of_is_identity():
    config = compose_config()
    assert fingerprint({**config, "novelty": 1}, digests=DIGESTS) != fingerprint(
        config, digests=DIGESTS
    )
    assert not is_cosmetic("pathsandmore")
    assert not is_cosmetic("model")


@pytest.mark.parametrize("name", DIGESTS)
def test_each_digest_is_part_of_the_fingerprint(name):
    config = compose_config()
    other = fingerprint(config, digests={**DIGESTS, name: "other"})
    assert other != fingerprint(config, digests=DIGESTS)
    assert fingerprint(config, digests={**DIGESTS, name: None}) != other


def test_the_order_of_keys_is_not_part_of_it():
    config = compose_config()
    turned = dict(reversed(list(config.items())))
    assert fingerprint(turned, digests=DIGESTS) == fingerprint(config, digests=DIGESTS)


def test_values_of_different_type_are_different():
    assert fingerprint({"limit": 1}, digests={}) != fingerprint({"limit": "1"}, digests={})
    assert fingerprint({"limit": None}, digests={}) != fingerprint({"limit": {}}, digests={})


def test_an_emptied_mapping_still_shows():
    assert "model.template" in identity({"model": {"template": {}}})
    assert fingerprint({"template": {}}, digests={}) != fingerprint({}, digests={})
