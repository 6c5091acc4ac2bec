import errno
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.arms import ROOT, finished, obey_file_modes

from harness.cache import GenerationCache, cache_key
from harness.completions import Completion, Decoding, Message, Request, failed, to_row
from harness.errors import UserError
from harness.files import locked
from harness.filesystems import type_of

GREEDY = Decoding("greedy", 0.0, 16)
HELLO = Request((Message("user", "hello"),), GREEDY)
# A row with every field, one of them of another type.
ODD = json.dumps({**to_row(Completion("x", "stop")), "text": None})
MOCK = {"kind": "mock", "version": "1"}

PUTS = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from harness.cache import GenerationCache
from harness.completions import Completion
from harness.errors import UserError
first, last, size = (int(text) for text in sys.argv[3:6])
try:
    with GenerationCache(Path(sys.argv[2])) as cache:
        for at in range(first, last):
            cache.put([(f"{at}-{part}", Completion("x" * size, "stop")) for part in range(4)])
except UserError as error:
    sys.exit(str(error))
"""


def puts(path: Path, first: int, last: int, size: int = 10) -> list[str]:
    return [sys.executable, "-c", PUTS, str(ROOT), str(path), str(first), str(last), str(size)]


def whole_groups(cache: GenerationCache, groups: int) -> list[int]:
    """The groups that are there; every group must be there whole or not at all."""
    found = cache.get([f"{at}-{part}" for at in range(groups) for part in range(4)])
    parts = [sum(f"{at}-{part}" in found for part in range(4)) for at in range(groups)]
    assert set(parts) <= {0, 4}
    return [at for at, count in enumerate(parts) if count]


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 256 KiB of its own."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = shutil.which("mount")
    options = ["-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)]
    if mount is None or finished([mount, *options]).returncode:
        pytest.skip("needs the right to mount a disk")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_what_was_put_is_read_back_by_another_connection(tmp_path: Path):
    replies = {
        "plain": Completion("FINAL: Ravenna", "stop", 12, 4),
        "cut": Completion("I think", "length", 12, 16),
        "empty": Completion("", "stop", 12, 1),
        "odd": Completion("a\u2028b\x00\ud83d", "stop", 1, 1),
    }
    with GenerationCache(tmp_path / "a" / "cache.sqlite") as cache:
        cache.put(replies.items())
    with GenerationCache(tmp_path / "a" / "cache.sqlite") as cache:
        assert cache.get([*replies, "absent"]) == replies


def test_a_failed_request_is_never_stored(tmp_path: Path):
    with GenerationCache(tmp_path / "cache.sqlite") as cache:
        cache.put([("good", Completion("x", "stop")), ("bad", failed("server down"))])
        assert list(cache.get(["good", "bad"])) == ["good"]


def test_the_first_text_of_a_key_stays(tmp_path: Path):
    with GenerationCache(tmp_path / "cache.sqlite") as cache:
        cache.put([("key", Completion("first", "stop"))])
        cache.put([("key", Completion("second", "stop"))])
        assert cache.get(["key"])["key"].text == "first"


def test_a_group_that_breaks_half_way_leaves_nothing(tmp_path: Path):
    def broken():
        yield "one", Completion("x", "stop")
        raise RuntimeError("the engine died")

    with GenerationCache(tmp_path / "cache.sqlite") as cache:
        with pytest.raises(RuntimeError):
            cache.put(broken())
        assert cache.get(["one"]) == {}


def test_more_keys_than_one_query_holds(tmp_path: Path):
    rows = {f"key{at}": Completion(str(at), "stop") for at in range(1750)}
    with GenerationCache(tmp_path / "cache.sqlite") as cache:
        cache.put(rows.items())
        assert cache.get(list(rows)) == rows
        assert cache.get([]) == {}


def test_many_processes_open_and_fill_one_file_at_once(tmp_path: Path):
    path = tmp_path / "cache.sqlite"
    workers = [subprocess.Popen(puts(path, at * 25, at * 25 + 25)) for at in range(6)]
    assert [worker.wait(timeout=120) for worker in workers] == [0] * 6
    with GenerationCache(path) as cache:
        assert whole_groups(cache, 150) == list(range(150))
    with sqlite3.connect(path) as database:
        assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def mounts(*places: tuple[Path | str, str]) -> list[SimpleNamespace]:
    """What psutil tells of the mounts of a machine."""
    return [SimpleNamespace(mountpoint=str(place), fstype=kind) for place, kind in places]


@pytest.mark.parametrize("kind", ["nfs4", "lustre", "gpfs", "cifs", "fuse.sshfs"])
def test_on_a_network_file_system_the_journal_is_one_that_machines_can_share(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
):
    monkeypatch.setattr(
        "psutil.disk_partitions", lambda all: mounts(("/", "ext4"), (tmp_path, kind))
    )
    path = tmp_path / "home" / "cache.sqlite"
    with GenerationCache(path) as cache, GenerationCache(path) as other:
        cache.put([("key", Completion("first", "stop"))])
        assert other.get(["key"])["key"].text == "first"
        other.put([("more", Completion("second", "stop"))])
        assert set(cache.get(["key", "more"])) == {"key", "more"}
        assert not list(path.parent.glob("*-wal")) + list(path.parent.glob("*-shm"))
    with sqlite3.connect(path) as database:
        assert database.execute("PRAGMA journal_mode").fetchone() == ("delete",)


def test_a_cache_that_was_moved_to_a_network_file_system_changes_its_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "cache.sqlite"
    with GenerationCache(path) as cache:
        cache.put([("key", Completion("first", "stop"))])
    monkeypatch.setattr("psutil.disk_partitions", lambda all: mounts((tmp_path, "nfs")))
    with GenerationCache(path) as cache:
        assert cache.get(["key"])["key"].text == "first"
    with sqlite3.connect(path) as database:
        assert database.execute("PRAGMA journal_mode").fetchone() == ("delete",)


def test_many_processes_fill_one_file_on_a_network_file_system(tmp_path: Path):
    path = tmp_path / "cache.sqlite"
    plant = (
        "import psutil, types; psutil.disk_partitions = lambda all:"
        f"[types.SimpleNamespace(mountpoint={str(tmp_path)!r}, fstype='nfs4')]\n"
    )
    lines = [puts(path, at * 10, at * 10 + 10) for at in range(4)]
    workers = [subprocess.Popen([*line[:2], plant + line[2], *line[3:]]) for line in lines]
    assert [worker.wait(timeout=120) for worker in workers] == [0] * 4
    with sqlite3.connect(path) as database:
        assert database.execute("PRAGMA journal_mode").fetchone() == ("delete",)
        assert database.execute("SELECT count(*) FROM completions").fetchone() == (160,)


def test_an_object_store_is_refused_with_the_setting_to_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    places = mounts(("/", "overlay"), (tmp_path, "ext4"), (tmp_path / "bucket", "fuse.gcsfuse"))
    monkeypatch.setattr("psutil.disk_partitions", lambda all: places)
    with pytest.raises(UserError, match=r"fuse\.gcsfuse mount has no locks.*set paths\.cache"):
        GenerationCache(tmp_path / "bucket" / "cache" / "cache.sqlite")
    assert not (tmp_path / "bucket" / "cache" / "cache.sqlite").exists()
    GenerationCache(tmp_path / "cache.sqlite")


def test_a_later_mount_covers_an_earlier_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    both = mounts(("/", "ext4"), (tmp_path, "autofs"), (tmp_path, "nfs4"))
    monkeypatch.setattr("psutil.disk_partitions", lambda all: both)
    assert type_of(tmp_path / "not" / "there") == "nfs4"
    assert type_of(tmp_path.parent) == "ext4"


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP])
def test_a_lock_that_the_file_system_cannot_give_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
):
    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("fcntl.flock", refuse)
    refused = pytest.raises(UserError, match=r"has no locks .*-o flock\), or set paths")
    with refused, locked(tmp_path / "arm" / ".lock"):
        pass


def test_a_process_killed_while_it_writes_leaves_whole_groups(tmp_path: Path):
    path = tmp_path / "cache.sqlite"
    worker = subprocess.Popen(puts(path, 0, 100_000))
    with GenerationCache(path) as cache:
        while not whole_groups(cache, 40):
            assert worker.poll() is None
        worker.kill()
        worker.wait()
        kept = whole_groups(cache, 100)
    assert kept == list(range(len(kept)))
    assert finished(puts(path, 0, 50)).returncode == 0
    with GenerationCache(path) as cache:
        assert whole_groups(cache, 50) == list(range(50))


@pytest.mark.parametrize("content", [b"not a database\n" * 100, b"\x00" * 5000, b"{}\n"])
def test_a_file_that_is_not_a_database_is_named_and_left_alone(tmp_path: Path, content: bytes):
    path = tmp_path / "cache.sqlite"
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"cache\.sqlite is not a generation cache.*move it away"):
        GenerationCache(path)
    assert path.read_bytes() == content


def test_another_programs_database_is_refused(tmp_path: Path):
    path = tmp_path / "cache.sqlite"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE completions (id INTEGER, name TEXT)")
    with pytest.raises(UserError, match="is not a generation cache"):
        GenerationCache(path).get(["key"])


@pytest.mark.parametrize("stored", ["[]", "{}", "nonsense", '{"text": 1}', '"text"', "null", ODD])
def test_a_stored_row_that_is_not_a_completion_is_refused(tmp_path: Path, stored: str):
    path = tmp_path / "cache.sqlite"
    with GenerationCache(path) as cache:
        cache.put([("key", Completion("x", "stop"))])
    with sqlite3.connect(path) as database:
        database.execute("UPDATE completions SET row = ?", (stored,))
    with (
        GenerationCache(path) as cache,
        pytest.raises(UserError, match="is not a generation cache"),
    ):
        cache.get(["key"])


def test_a_damaged_database_is_named(tmp_path: Path):
    path = tmp_path / "cache.sqlite"
    assert finished(puts(path, 0, 200, 200)).returncode == 0
    whole = path.read_bytes()
    path.write_bytes(whole[:8192] + b"\xff" * (len(whole) - 8192))
    with pytest.raises(UserError, match=r"cache\.sqlite is not a generation cache"):
        GenerationCache(path).get([f"{at}-0" for at in range(200)])


def test_a_folder_in_the_place_of_the_file_is_named(tmp_path: Path):
    (tmp_path / "cache.sqlite").mkdir()
    with pytest.raises(UserError, match=r"cache\.sqlite cannot be written.*paths\.cache"):
        GenerationCache(tmp_path / "cache.sqlite")


def test_a_file_in_the_place_of_the_folder_is_named(tmp_path: Path):
    (tmp_path / "cache").write_text("")
    with pytest.raises(UserError, match="cannot be written"):
        GenerationCache(tmp_path / "cache" / "cache.sqlite")


def test_a_read_only_file_is_named_with_the_setting_to_change(tmp_path: Path):
    path = tmp_path / "cache.sqlite"
    assert finished(puts(path, 0, 2)).returncode == 0
    path.chmod(0o444)
    done = finished(puts(path, 2, 3), preexec_fn=obey_file_modes)
    assert done.returncode == 1
    assert "cannot be written" in done.stderr
    assert "paths.cache" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_full_disk_is_named_and_what_was_stored_stays(tiny_disk: Path):
    path = tiny_disk / "cache.sqlite"
    done = finished(puts(path, 0, 1000, 2000))
    assert done.returncode == 1, done.stderr
    assert "no room left on the disk" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    subprocess.run(["mount", "-o", "remount,size=8m", str(tiny_disk)], check=True)
    with GenerationCache(path) as cache:
        kept = whole_groups(cache, 1000)
    assert kept == list(range(len(kept)))
    assert kept


def test_a_disk_without_any_room_is_named(tiny_disk: Path):
    (tiny_disk / "filler").write_bytes(b"x" * os.statvfs(tiny_disk).f_bavail * 4096)
    done = finished(puts(tiny_disk / "c.sqlite", 0, 1))
    assert done.returncode == 1, done.stderr
    assert "no room left on the disk" in done.stderr


def test_a_limit_on_file_sizes_is_not_taken_for_another_file(tmp_path: Path):
    def limit() -> None:
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))

    path = tmp_path / "cache.sqlite"
    done = finished(puts(path, 0, 1000, 2000), preexec_fn=limit)
    assert done.returncode == 1, done.stderr
    assert "is not a generation cache" not in done.stderr
    assert "free some room" in done.stderr
    with GenerationCache(path) as cache:
        assert whole_groups(cache, 1000)


def variants() -> Iterator[tuple[str, Request, str, dict[str, str]]]:
    yield "text", Request((Message("user", "hullo"),), GREEDY), "w", MOCK
    yield "role", Request((Message("system", "hello"),), GREEDY), "w", MOCK
    yield "turns", Request((*HELLO.messages, Message("user", "")), GREEDY), "w", MOCK
    yield "temperature", Request(HELLO.messages, Decoding("greedy", 0.5, 16)), "w", MOCK
    yield "length", Request(HELLO.messages, Decoding("greedy", 0.0, 17)), "w", MOCK
    yield "stop", Request(HELLO.messages, GREEDY, stop=("\n",)), "w", MOCK
    yield "seed", Request(HELLO.messages, GREEDY, seed=1), "w", MOCK
    yield "weights", HELLO, "v", MOCK
    yield "engine", HELLO, "w", {**MOCK, "kind": "hf"}
    yield "version", HELLO, "w", {**MOCK, "version": "2"}


def test_whatever_can_change_a_text_changes_its_key():
    keys = [cache_key(request, weights, engine) for _, request, weights, engine in variants()]
    assert len({cache_key(HELLO, "w", MOCK), *keys}) == len(keys) + 1


def test_the_name_of_a_decoding_does_not():
    renamed = Request(HELLO.messages, Decoding("other", 0.0, 16))
    assert cache_key(renamed, "w", MOCK) == cache_key(HELLO, "w", MOCK)


def test_a_digest_is_the_same_in_another_process():
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]);"
        "from harness.completions import *;"
        "print(Request((Message('user', 'hello'),), Decoding('x', 0.0, 16)).digest)"
    )
    done = finished([sys.executable, "-c", script, str(ROOT)], env={"PYTHONHASHSEED": "7"})
    assert done.stdout.strip() == HELLO.digest


def test_threads_that_make_a_cache_at_the_same_moment_all_get_it(tmp_path: Path):
    def opened(path: Path, together: threading.Barrier) -> int:
        together.wait(20)
        with GenerationCache(path) as cache:
            return len(cache.get(["absent"]))

    with ThreadPoolExecutor(8) as pool:
        for number in range(40):
            together = threading.Barrier(8)
            path = tmp_path / str(number) / "generations.sqlite"
            assert list(pool.map(opened, [path] * 8, [together] * 8)) == [0] * 8
