"""Weights that an installed Python package carries as GGUF, converted once to safetensors.

A package carries one ``*.gguf`` file, or is split over companions (``NAME_part1``, ``NAME_part2``,
...) whose ``*.gguf.part*`` files are joined in order.
"""

import importlib.util
import io
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from harness.errors import UserError
from harness.files import disk_errors
from harness.hashing import digest_of_file


@dataclass(frozen=True)
class Gguf:
    """The parts of one GGUF file in order (a whole file is one part), and their digest."""

    parts: tuple[Path, ...]
    digest: str


def find_gguf(package: str) -> Gguf | None:
    """Return the GGUF that a package or its numbered companions carry; None if not installed.

    Looks for the file in the package's folder. Its code stays unimported, since what that imports
    may be missing here.
    """
    parts = _files(package, "*.gguf")[:1] or list(_numbered_parts(package))
    if not parts:
        return None
    return Gguf(tuple(parts), "-".join(digest_of_file(part)[:16] for part in parts))


def _numbered_parts(package: str) -> Iterator[Path]:
    for number in count(1):
        found = _files(f"{package}_part{number}", "*.gguf.part*")
        if not found:
            return
        yield from found


def _files(package: str, pattern: str) -> list[Path]:
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        return []
    return sorted(Path(spec.origin).parent.rglob(pattern))


def convert(gguf: Gguf, target: Path) -> None:
    """Write a checkpoint folder: bf16 safetensors, tokenizer, chat template.

    The folder is renamed into place when it is whole. Raises UserError for a GGUF that transformers
    cannot read, and for a full disk.
    """
    print(f"converting the packaged weights once, into {target} ...", file=sys.stderr)  # noqa: T201
    with disk_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".converting-") as work:
            whole = Path(work) / "model.gguf"
            _join(gguf.parts, whole)
            done = Path(work) / target.name
            _convert_file(whole, done)
            done.replace(target)


def _join(parts: tuple[Path, ...], whole: Path) -> None:
    with whole.open("wb") as out:
        for part in parts:
            with part.open("rb") as file:
                shutil.copyfileobj(file, out)


def _convert_file(gguf: Path, folder: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    source = {"pretrained_model_name_or_path": str(gguf.parent), "gguf_file": gguf.name}
    try:
        with _no_bars():
            tokenizer = AutoTokenizer.from_pretrained(**source)
            read = AutoModelForCausalLM.from_pretrained(**source, dtype=torch.float32)
    except (ValueError, KeyError, RuntimeError) as error:
        raise UserError(f"{gguf.name}: transformers cannot read this GGUF ({error})") from error
    # transformers counts a model from a GGUF as quantized and refuses to save it, so the weights
    # move into a fresh model of the same config.
    config = read.config
    # It holds the path of the temporary folder.
    config.name_or_path = ""
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    fresh = AutoModelForCausalLM.from_config(config)
    fresh.load_state_dict(read.state_dict())
    fresh.generation_config = read.generation_config
    with _no_bars():
        fresh.to(torch.bfloat16).save_pretrained(folder)
        tokenizer.save_pretrained(folder)


@contextmanager
def _no_bars() -> Iterator[None]:
    """Silence the libraries' progress bars, which all go to standard error."""
    # transformers' GGUF reader makes its bar with tqdm directly, so that the library's own
    # switch for progress bars does not reach it.
    with redirect_stderr(io.StringIO()):
        yield
