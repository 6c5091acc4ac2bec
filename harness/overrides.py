"""Overrides that Hydra takes and that do not do what they say: each names the one that does.

``mitigation.name=warn`` leaves the prompts without a warning and calls the arm ``warn``; a folder
given as ``hydra.run.dir`` stays empty, since an arm's folder is named after its content.
"""

from collections.abc import Sequence

from harness.compose import options_of
from harness.errors import UserError

PATHS = "folders are set by paths.runs, and an arm's own one is named after its content"
SWEEPER = "sweeps are planned by this project's own sweeper: leave it out"
SCREEN = "a run prints to the screen and writes into its own folder: leave it out"
RESERVED = {
    "hydra.run": PATHS,
    "hydra.sweep": PATHS,
    "hydra.output_subdir": PATHS,
    "hydra.runtime": PATHS,
    "hydra.job.chdir": "paths are relative to the folder that a command is given in: leave it out",
    "hydra.job.config_name": "a config is chosen by --config-name=NAME",
    "hydra/output": PATHS,
    "hydra/sweeper": SWEEPER,
    "hydra.sweeper._target_": SWEEPER,
    "hydra/job_logging": SCREEN,
    "hydra/hydra_logging": SCREEN,
    "hydra.job_logging": SCREEN,
    "hydra.hydra_logging": SCREEN,
    "hydra.verbose": SCREEN,
}
# The keys by which the file of an option says which option it is.
LABELS = ("name", "kind", "source")


def check_overrides(overrides: Sequence[str]) -> None:
    """Raise UserError for the first override that is taken and changes nothing of what it names."""
    keys = [override.lstrip("+~").partition("=")[0] for override in overrides]
    for override, key in zip(overrides, keys, strict=True):
        _check_reserved(key)
        if not override.startswith("~"):
            _check_label(key, override.partition("=")[2], keys)


def repeated(overrides: Sequence[str]) -> list[str]:
    """Return a note for each setting that is given twice with two values: the later one counts."""
    given: dict[str, str] = {}
    notes = []
    for override in overrides:
        key = override.lstrip("+~").partition("=")[0]
        earlier = given.get(key, override)
        if earlier != override:
            notes.append(f"{key} is given twice: {override} counts, {earlier} does not")
        given[key] = override
    return notes


def _check_reserved(key: str) -> None:
    for reserved, remedy in RESERVED.items():
        if key == reserved or key.startswith(f"{reserved}."):
            raise UserError(f"{key} is not for users to set: {remedy}")


def _check_label(key: str, value: str, keys: Sequence[str]) -> None:
    """Refuse ``group.name=option``: it relabels the option that was chosen.

    A name is a user's own where no option has it, or where content of that group stands beside it,
    as in ``model.name=qwen model.path=FOLDER``.
    """
    place, _, label = key.rpartition(".")
    group = place.rpartition(".")[2]
    if not place or label not in LABELS or not set(value.split(",")) <= set(options_of(group)):
        return
    beside = [other for other in keys if other.startswith(f"{place}.")]
    if all(other.rpartition(".")[2] in LABELS for other in beside):
        chosen = group if place == group else f"{group}@{place}"
        raise UserError(f"{key}={value} chooses no option: write {chosen}={value}")
