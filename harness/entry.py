"""The one wrapper around Hydra that every entry point stands on: errors in a line, exit codes.

Exit codes: 0 done, 1 the run failed, 2 a mistake of the user, 130 interrupted.
"""

import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from harness.errors import UserError, one_of
from harness.files import NO_ROOM
from harness.fingerprint import leaves
from harness.passes import RunFailedError
from harness.settings import resolve

CONF = Path(__file__).parent.parent / "conf"
DONE, FAILED, MISTAKE, INTERRUPTED = 0, 1, 2, 130

Job = Callable[[dict[str, Any]], None]


def start(config_name: str, job: Job) -> NoReturn:
    """Composes the config, runs ``job`` on it as a plain container, exits with its code."""
    import hydra
    from omegaconf import DictConfig

    codes: list[int] = []

    def task(config: DictConfig) -> int:
        codes.append(guarded(lambda: job(resolve(config))))
        return codes[-1]

    # With this set Hydra raises its errors instead of printing them, so that they can be reworded.
    os.environ["HYDRA_FULL_ERROR"] = "1"
    main = hydra.main(version_base="1.3", config_path=str(CONF), config_name=config_name)
    code = guarded(main(task), lambda error: explain_compose(error, config_name))
    sys.exit(max([code, *codes]))


def guarded(work: Callable[[], object], reword: Callable[[Exception], str | None] = str) -> int:
    """Runs ``work`` and turns what it raises into a line on standard error and an exit code."""
    from hydra.errors import HydraException
    from omegaconf.errors import OmegaConfBaseException

    try:
        work()
    except KeyboardInterrupt:
        return _say("interrupted: run the same command again to go on", INTERRUPTED)
    except UserError as error:
        return _say(f"error: {error}", MISTAKE)
    except RunFailedError as error:
        return _say(f"failed: {error}", FAILED)
    except (HydraException, OmegaConfBaseException) as error:
        return _say(f"error: {reword(error)}", MISTAKE)
    except OSError as error:
        if error.errno not in NO_ROOM and not isinstance(error, PermissionError):
            raise
        return _say(
            f"error: {error.filename or 'a file'}: {error.strerror}: free the disk", MISTAKE
        )
    return DONE


def _say(line: str, code: int) -> int:
    print(" ".join(line.split()), file=sys.stderr)  # noqa: T201
    return code


def explain_compose(error: Exception, config_name: str) -> str:
    """Hydra's message about a wrong key, option or value, in one line with the nearest name."""
    from hydra.errors import OverrideParseException

    text = str(error)
    option = re.search(r"Could not find '([^']+)/([^'/]*)'", text)
    if option:
        group, name = option.groups()
        return f"{group}={name}: no such option: {one_of(_options(group), name)}"
    key = re.search(r"Could not override '([^']+)'", text) or re.search(r"full_key: (\S+)", text)
    if key:
        name, keys = key[1], _keys(config_name)
        depth = name.count(".")
        level = [other for other in keys if other.count(".") == depth]
        return f"{name}: no such setting: {one_of(level or keys, name)}"
    first = next((line for line in text.splitlines() if line.strip()), type(error).__name__)
    if isinstance(error, OverrideParseException):
        return f"{first} (lists are written 'key=[a,b]', texts with spaces in quotes)"
    return first


def _options(group: str) -> Sequence[str]:
    return [path.stem for path in (CONF / group).glob("*.yaml")] or ["(none)"]


def _keys(config_name: str) -> list[str]:
    """Every key and group of the default config."""
    from hydra import compose, initialize_config_dir
    from omegaconf import OmegaConf

    with initialize_config_dir(str(CONF), version_base="1.3"):
        plain = OmegaConf.to_container(compose(config_name))
    assert isinstance(plain, dict)
    return sorted({*(str(key) for key in plain), *(key for key, _ in leaves(plain))})  # type: ignore[arg-type]
