"""Fetch a source file from its publisher, resumed where it broke off, its digest checked."""

import time
from collections.abc import Callable
from pathlib import Path

import httpx

from harness.errors import UserError
from harness.files import disk_errors
from harness.hashing import digest_of_file

Progress = Callable[[int, int | None], None]


def fetch(
    url: str,
    sha256: str,
    target: Path,
    progress: Progress | None = None,
    attempts: int = 5,
    timeout: float = 60.0,
    most_bytes: int = 2**30,
    sleep: Callable[[float], None] = time.sleep,
) -> Path:
    """Leave the file at ``target`` and return its path; a file that is already there is kept.

    What has arrived stays in ``target.part``, and this run or the next continues from it.
    ``progress`` gets (bytes so far, bytes in all or None); ``timeout`` is in seconds. Raises
    UserError for a digest other than ``sha256``, a refusal, a file over ``most_bytes``, and after
    ``attempts`` broken tries.
    """
    if target.is_file():
        _check_digest(target, sha256, url)
        return target
    part = target.with_name(f"{target.name}.part")
    with disk_errors(part):
        part.parent.mkdir(parents=True, exist_ok=True)
    for attempt in range(attempts):
        try:
            _get(url, part, progress, timeout, most_bytes)
            break
        except httpx.RequestError as error:
            if attempt + 1 == attempts:
                raise UserError(
                    f"{url} broke off ({type(error).__name__}): run the same command again,"
                    f" it goes on from {part}, or give your own file as benchmark.path"
                ) from error
            sleep(2.0**attempt)
    _check_digest(part, sha256, url)
    # Only a file of the pinned digest gets the target's name.
    part.replace(target)
    return target


def _get(url: str, part: Path, progress: Progress | None, timeout: float, most_bytes: int) -> None:
    have = part.stat().st_size if part.is_file() else 0
    # A compressed reply could not be gone on with by its byte count.
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
    with httpx.stream("GET", url, headers=headers, timeout=timeout, follow_redirects=True) as reply:
        # Nothing is left to send: the part is whole, and its digest decides.
        if reply.status_code == 416:
            return
        # A busy server is asked again like a broken line; a refusal is not.
        if reply.status_code >= 500 or reply.status_code == 429:
            raise httpx.ReadError(f"HTTP {reply.status_code}")
        if reply.status_code not in (200, 206):
            raise UserError(
                f"{url} answers HTTP {reply.status_code}: check benchmark.publisher.url"
            )
        # A server without ranges sends the whole file again: it replaces the part.
        have = have if reply.status_code == 206 else 0
        length = reply.headers.get("Content-Length", "")
        total = have + int(length) if length.isdecimal() else None
        with disk_errors(part), part.open("ab" if have else "wb") as file:
            for piece in reply.iter_bytes():
                have += len(piece)
                if have > most_bytes:
                    raise UserError(f"{url} is larger than {most_bytes >> 20} MB: not taken")
                file.write(piece)
                if progress is not None:
                    progress(have, total)


def _check_digest(path: Path, sha256: str, url: str) -> None:
    found = digest_of_file(path)
    if found != sha256:
        raise UserError(
            f"{path} has sha256 {found[:12]}..., not {sha256[:12]}... as pinned for {url}:"
            " delete it and run again, or give your own file as benchmark.path"
        )
