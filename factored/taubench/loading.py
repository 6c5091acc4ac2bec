"""A domain's folder of data, read once per process.

    <path>/retail/{orders,products,users}.json  tasks_<split>.json  tools.json  policy.md
    <path>/airline/{flights,reservations,users}.json  ...

Only the tables are needed; without ``tools.json`` the schemas are those of the declared tools.
Files that are not the published ones (``digests.json``) are used, with a warning.
"""

import hashlib
import json
import os
import warnings
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from factored.taubench.airline import AIRLINE
from factored.taubench.bikes import BIKES
from factored.taubench.environment import LoadedDomain
from factored.taubench.retail import RETAIL
from factored.taubench.state import Record, Rows
from factored.taubench.tasks import Task
from factored.taubench.tools import Domain
from harness.errors import UserError, one_of

TAU_BENCH: Mapping[str, Domain] = {domain.name: domain for domain in (RETAIL, AIRLINE)}
DOMAINS: Mapping[str, Domain] = {**TAU_BENCH, BIKES.name: BIKES}
# Holds the domains that come with this package.
EMBEDDED = Path(__file__).with_name("data")
MAX_BYTES = 256 * 1024 * 1024
# sha256 of each published file: over ``json.dumps`` of what a JSON file holds (its layout does not
# matter, its key order does), over the bytes of a text.
DIGESTS: Mapping[str, Mapping[str, str]] = json.loads(
    Path(__file__).with_name("digests.json").read_text(encoding="utf-8")
)


def domain_named(name: str) -> Domain:
    """Return the declared domain; raises UserError, with the nearest name, for any other."""
    if name not in DOMAINS:
        raise UserError(f"no domain '{name}': {one_of(DOMAINS, name)}")
    return DOMAINS[name]


def data_folder(path: str | Path | None, asked_by: str = "taubench.path=DIR") -> Path:
    """Return the folder of the data: the given one, or that of the variable TAUBENCH_PATH.

    ``asked_by`` is how the user names a folder. Raises UserError where there is none.
    """
    chosen = path or os.environ.get("TAUBENCH_PATH")
    if not chosen:
        raise UserError(f"no data folder: give {asked_by} or set TAUBENCH_PATH")
    folder = Path(chosen)
    if not folder.is_dir():
        raise UserError(f"{folder}: no such data folder: give {asked_by} or set TAUBENCH_PATH")
    return folder.resolve()


def data_for(domain: str, path: str | None, asked_by: str) -> Path:
    """Return the folder that holds a domain: the given one, the embedded one, or the variable's.

    Raises UserError where there is none.
    """
    if path is None and (EMBEDDED / domain).is_dir():
        return EMBEDDED
    return data_folder(path, asked_by)


@lru_cache(maxsize=8)
def load_domain(name: str, path: Path, province: bool = False) -> LoadedDomain:
    """Read a domain from the data folder ``path``, once per process.

    ``province`` gives the users' addresses the key they had until January 2025. Warns of tables
    that are not the published ones. Raises UserError that names the file and what is wrong with
    it.
    """
    domain = domain_named(name)
    folder = path / name
    if not folder.is_dir():
        raise UserError(f"{path}: holds no folder '{name}'")
    tables = {table: _table(folder / f"{table}.json") for table in domain.tables}
    _warn_of_changes(folder, tables)
    if province and "users" not in tables:
        raise UserError(f"domain.province: {name} has no users' addresses: leave it out")
    if province:
        tables["users"] = {key: _old_address(user) for key, user in tables["users"].items()}
    policy = folder / "policy.md"
    return LoadedDomain(
        domain=domain,
        snapshot={table: Rows(records) for table, records in tables.items()},
        tasks={
            file.stem.removeprefix("tasks_"): read_tasks(read_json(file), str(file))
            for file in sorted(folder.glob("tasks_*.json"))
        },
        schemas=_schemas(domain, folder / "tools.json"),
        policy=read_text(policy) if policy.is_file() else "",
    )


def read_bytes(path: Path) -> bytes:
    """Return a file's bytes; raises UserError where it cannot be read or exceeds MAX_BYTES."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise UserError(f"{path}: larger than {MAX_BYTES >> 20} MiB")
        return path.read_bytes()
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from error


def read_text(path: Path) -> str:
    """Return a file's text; raises UserError where it cannot be read or is not UTF-8."""
    try:
        return read_bytes(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: is not UTF-8 text") from error


def read_json(path: Path) -> Any:
    """Return a JSON file's value; raises UserError where it cannot be read or is no JSON."""
    content = read_bytes(path)
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: is not JSON ({error})") from error


def read_tasks(rows: Any, where: str) -> tuple[Task, ...]:
    """Return the tasks of a ``tasks_<split>.json``; raises UserError that names the row."""
    if not isinstance(rows, list):
        raise UserError(f"{where}: must be a list of tasks")
    return tuple(Task.from_row(row, f"{where} task {index}") for index, row in enumerate(rows))


def content_digest(text: str) -> str:
    """Return the sha256 (hex) of a file's content, see DIGESTS."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def is_published(domain: str, file: str, text: str) -> bool | None:
    """Return whether this is the published file's content; None where no digest is known."""
    known = DIGESTS.get(domain, {}).get(file)
    return None if known is None else content_digest(text) == known


def _table(path: Path) -> dict[str, Record]:
    table = read_json(path)
    if not isinstance(table, dict) or not table:
        raise UserError(f"{path}: must be an object of records")
    for key, record in table.items():
        if not isinstance(record, dict):
            raise UserError(f"{path}: record '{key}' must be an object")
    return table


def _warn_of_changes(folder: Path, tables: Mapping[str, Mapping[str, Record]]) -> None:
    files = {f"{table}.json": json.dumps(records) for table, records in tables.items()}
    changed = [n for n, text in files.items() if is_published(folder.name, n, text) is False]
    if changed:
        names = ", ".join(changed)
        warnings.warn(f"{folder}: not as published: {names}", stacklevel=3)


def _old_address(user: Record) -> Record:
    """Return the user with 'province' in the place of the address's 'state'."""
    if not isinstance(user.get("address"), dict):
        return user
    address = {"province" if key == "state" else key: v for key, v in user["address"].items()}
    return {**user, "address": address}


def _schemas(domain: Domain, path: Path) -> list[Record]:
    """Return the published schemas, whose wording the agent reads, or else the declared ones.

    Raises UserError where the two differ in more than their descriptions.
    """
    declared = [tool.schema for tool in domain.tools]
    if not path.is_file():
        return declared
    published = read_json(path)
    if not isinstance(published, list):
        raise UserError(f"{path}: must be a list of tool schemas")
    for index, (ours, theirs) in enumerate(zip(declared, published, strict=False)):
        if _without_descriptions(ours) != _without_descriptions(theirs):
            name = ours["function"]["name"]
            raise UserError(f"{path}: entry {index} is not the schema of '{name}'")
    if len(published) != len(declared):
        raise UserError(f"{path}: has {len(published)} tools, {domain.name} has {len(declared)}")
    return published


def _without_descriptions(value: Any) -> Any:
    if isinstance(value, dict):
        # A parameter may be named "description": then it is a schema, and stays.
        return {
            key: _without_descriptions(inner)
            for key, inner in value.items()
            if key != "description" or not isinstance(inner, str)
        }
    if isinstance(value, list):
        return [_without_descriptions(element) for element in value]
    return value
