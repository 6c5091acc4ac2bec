"""What Hydra says of a wrong key, option or value, in one line with the nearest valid name."""

import re
from collections.abc import Sequence
from pathlib import Path

from harness.errors import one_of
from harness.fingerprint import leaves

CONF = Path(__file__).parent.parent / "conf"


def explain(error: Exception, config_name: str) -> str:
    """The line for an error of Hydra or OmegaConf."""
    from hydra.errors import OverrideParseException

    text = str(error)
    option = re.search(r"Could not find '([^']+)/([^'/]*)'", text)
    if option:
        return _option(*option.groups())
    primary = re.search(r"Cannot find primary config '([^']+)'", text)
    if primary:
        return f"--config-name={primary[1]}: no such config: {one_of(_primaries(), primary[1])}"
    group = re.search(r"Could not override '([^'@]+)(?:@[^']*)?'\.?\s*No match", text)
    key = group or re.search(r"Could not override '([^']+)'", text)
    key = key or re.search(r"full_key: (\S+)", text)
    if key:
        return _key(key[1], config_name)
    first = next((line for line in text.splitlines() if line.strip()), type(error).__name__)
    if isinstance(error, OverrideParseException):
        return f"{first} (lists are written 'key=[a,b]', texts with spaces in quotes)"
    if "Sweep parameters" in first or "Ambiguous value" in first:
        return f"{first}: add -m to sweep, or write a list as 'key=[a,b]'"
    return first


def _option(group: str, name: str) -> str:
    if group == "hydra/launcher":
        return f"{group}={name}: not installed: pip install -r requirements-cluster.txt"
    if not group.startswith("hydra"):  # experiment/memtoc is a folder of the group experiment
        group, _, folder = group.partition("/")
        name = f"{folder}/{name}" if folder else name
    return f"{group}={name}: no such option: {one_of(_options(group), name)}"


def _key(name: str, config_name: str) -> str:
    keys = _keys(config_name)
    depth = name.count(".")
    level = [other for other in keys if other.count(".") == depth]
    return f"{name}: no such setting: {one_of(level or keys, name)}"


def _options(group: str) -> Sequence[str]:
    folder = CONF / group
    names = [str(path.relative_to(folder).with_suffix("")) for path in folder.rglob("*.yaml")]
    return names or ["(none)"]


def _primaries() -> list[str]:
    return [path.stem for path in CONF.glob("*.yaml")]


def _keys(config_name: str) -> list[str]:
    """Every key and group of the default config."""
    from hydra import compose, initialize_config_dir
    from omegaconf import OmegaConf

    with initialize_config_dir(str(CONF), version_base="1.3"):
        plain = OmegaConf.to_container(compose(config_name))
    assert isinstance(plain, dict)
    named = {str(key): value for key, value in plain.items()}
    return sorted({*named, *(key for key, _ in leaves(named))})
