from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler

import pytest
from support.servers import serving

from harness.errors import UserError
from memtoc.construction.download import fetch

CONTENT = bytes(range(256)) * 4_000
DIGEST = sha256(CONTENT).hexdigest()


@contextmanager
def serve(cuts=(), ranges=True, statuses=()):
    """A file server; each cut is the number of bytes after which one reply breaks off."""
    pending, failing, asked = list(cuts), list(statuses), []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            start = self.headers.get("Range", "bytes=0-")[6:-1] if ranges else "0"
            asked.append(int(start))
            if failing:
                self.send_response(failing.pop(0))
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            body = CONTENT[int(start) :]
            if not body:
                self.send_response(416)
                self.end_headers()
                return
            self.send_response(206 if int(start) else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[: pending.pop(0)] if pending else body)

    with serving(Handler) as address:
        yield f"{address}/file.json", asked


def test_a_broken_download_goes_on_where_it_broke_off(tmp_path):
    seen = []
    with serve(cuts=[100_000, 200_000]) as (url, asked):
        path = fetch(
            url, DIGEST, tmp_path / "f.json", lambda *p: seen.append(p), sleep=lambda _: None
        )
    assert path.read_bytes() == CONTENT
    assert asked == [0, 100_000, 300_000]
    assert seen[-1] == (len(CONTENT), len(CONTENT))
    assert not (tmp_path / "f.json.part").exists()


def test_the_next_run_goes_on_too(tmp_path):
    with serve(cuts=[100_000]) as (url, asked):
        with pytest.raises(UserError, match=r"broke off.*run the same command again"):
            fetch(url, DIGEST, tmp_path / "f.json", attempts=1)
        fetch(url, DIGEST, tmp_path / "f.json", attempts=1)
        assert fetch(url, DIGEST, tmp_path / "f.json").read_bytes() == CONTENT
    assert asked == [0, 100_000]


def test_a_server_without_ranges_starts_again(tmp_path):
    with serve(cuts=[100_000], ranges=False) as (url, _):
        assert fetch(url, DIGEST, tmp_path / "f", sleep=lambda _: None).read_bytes() == CONTENT


def test_a_whole_part_is_taken_as_it_is(tmp_path):
    (tmp_path / "f.part").write_bytes(CONTENT)
    with serve() as (url, _):
        assert fetch(url, DIGEST, tmp_path / "f").read_bytes() == CONTENT


def test_another_digest_is_refused_and_names_the_way_out(tmp_path):
    with serve() as (url, _):
        with pytest.raises(UserError, match=r"not 000000000000.*delete it and run again"):
            fetch(url, "0" * 64, tmp_path / "f")
        (tmp_path / "g").write_bytes(b"something else")
        with pytest.raises(UserError, match="as pinned for"):
            fetch(url, DIGEST, tmp_path / "g")
    assert not (tmp_path / "f").exists()


def test_a_busy_server_is_asked_again_and_a_refusal_is_not(tmp_path):
    with serve(statuses=[503, 429]) as (url, asked):
        fetch(url, DIGEST, tmp_path / "f", sleep=lambda _: None)
        assert len(asked) == 3
    with serve(statuses=[404]) as (url, asked):
        with pytest.raises(UserError, match=r"HTTP 404: check benchmark\.publisher\.url"):
            fetch(url, DIGEST, tmp_path / "g")
        assert len(asked) == 1


def test_a_file_without_end_is_not_taken(tmp_path):
    with serve() as (url, _), pytest.raises(UserError, match="larger than 0 MB"):
        fetch(url, DIGEST, tmp_path / "f", most_bytes=100_000)
