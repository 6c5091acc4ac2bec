"""A polite client for Wikidata's SPARQL endpoint and entity API.

It sends one request at a time with a pause between, under a named user agent, and keeps every
answer on disk: a build that broke off continues where it stopped, and a rebuild needs no network. A
failure is retried and never kept.
"""

import json
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Annotated, Any, TypeVar

import httpx
from pydantic import Field

from harness.errors import UserError
from harness.files import write_atomic
from harness.hashing import canonical_json, digest_of

ITEM = re.compile(r"Q[1-9]\d{0,11}")
_ITEM_URI = re.compile(r"https?://www\.wikidata\.org/entity/(Q[1-9]\d{0,11})")
# Years run to 16 digits there, and month and day may be 00 (unknown).
_TIME = re.compile(r"([+-])(\d{1,16})-\d\d-\d\dT")
# Replies are outside data: bounded before they are parsed.
_MOST_BYTES = 32 * 2**20
# The entity API takes at most 50 ids a request.
_BATCH = 50
_MOST_LANGUAGES = 30
# Codes as Wikidata has them: de, pt-br, zh-hans.
Languages = Annotated[
    tuple[Annotated[str, Field(pattern=r"^[a-z]{2,3}(-[a-z]{2,8}){0,2}$")], ...],
    Field(min_length=1, max_length=_MOST_LANGUAGES),
]

Parsed = TypeVar("Parsed")


@dataclass(frozen=True)
class WikidataSettings:
    """Where the service is and how it is asked; times in seconds.

    ``attempts`` counts the first try; between tries the pause doubles from ``backoff`` up to
    ``longest_wait``. A server that asks for a longer wait ends the build, with its answers kept.
    ``languages`` are those of a gold's other names.
    """

    endpoint: str
    api: str
    user_agent: str
    cache: Path
    interval: float = 1.0
    timeout: float = 60.0
    attempts: int = 5
    backoff: float = 2.0
    longest_wait: float = 120.0
    languages: Languages = ("en",)


@dataclass(frozen=True)
class Entity:
    """What a build needs of an item.

    ``claims`` maps a property to its values of the best rank: item ids, or texts. ``label`` is the
    English one, None without one; ``sitelinks`` counts its articles.
    """

    id: str
    label: str | None
    aliases: tuple[str, ...]
    claims: Mapping[str, tuple[str, ...]]
    sitelinks: int

    def items(self, name: str) -> tuple[str, ...]:
        """Return the item ids among the values of a property."""
        return tuple(value for value in self.claims.get(name, ()) if ITEM.fullmatch(value))

    @property
    def names(self) -> tuple[str, ...]:
        """Return the English label and the aliases."""
        return (*((self.label,) if self.label else ()), *self.aliases)

    @property
    def birth(self) -> int | None:
        """Return the year of birth (P569), negative before year 1; None if unknown."""
        return next((year_of(value) for value in self.claims.get("P569", ())), None)


class _Retry(Exception):  # noqa: N818 - a signal between two functions, never seen outside
    def __init__(self, reason: str, wait: float | None = None) -> None:
        super().__init__(reason)
        self.wait = wait


class Wikidata:
    """An open client; use it in a ``with`` block. ``requests`` counts requests to the service."""

    def __init__(
        self, settings: WikidataSettings, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        # The service asks who it is that asks; the setting is empty until the user fills it in.
        if not settings.user_agent.strip():
            raise UserError(
                "distractors.user_agent is empty: name your project and an address, or leave"
                " entities to people with distractors=authored"
            )
        self.settings = settings
        self.requests = 0
        self._sleep = sleep
        self._last = float("-inf")
        self._http = httpx.Client(
            timeout=settings.timeout,
            headers={"User-Agent": settings.user_agent},
            follow_redirects=True,
        )

    def __enter__(self) -> "Wikidata":
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def query(self, sparql: str) -> tuple[list[dict[str, str]], str]:
        """Return the rows of a SELECT and the day (UTC) on which the service gave them.

        A row is variable -> value, item ids without their URI.
        """
        return self._ask(self.settings.endpoint, {"query": sparql, "format": "json"}, _bindings)

    def entities(self, ids: Iterable[str]) -> dict[str, Entity]:
        """Return id -> entity; a redirected id leads to its target, a deleted one is left out."""
        # Sorted and without repeats, so that equal wants are equal requests, which the cache
        # answers.
        wanted = sorted({i for i in ids if ITEM.fullmatch(i)}, key=lambda i: int(i[1:]))
        found: dict[str, Entity] = {}
        for start in range(0, len(wanted), _BATCH):
            params = {
                "action": "wbgetentities",
                "ids": "|".join(wanted[start : start + _BATCH]),
                "props": "labels|aliases|claims|sitelinks",
                "languages": "en",
                "format": "json",
            }
            found |= self._ask(self.settings.api, params, _entities)[0]
        return found

    def names(self, entity: Entity) -> tuple[tuple[str, ...], str]:
        """Return an item's labels and aliases in the languages of the settings, and the day.

        English names alone are on the entity already, and cost no request; their day is empty.
        """
        languages = self.settings.languages
        if languages == ("en",):
            return entity.names, ""
        params = {
            "action": "wbgetentities",
            "ids": entity.id,
            "props": "labels|aliases",
            "languages": "|".join(languages),
            "format": "json",
        }
        return self._ask(self.settings.api, params, lambda body: _names(body, languages))

    def search(self, name: str) -> list[str]:
        """Return the ids of the items that the service finds for an English label or alias."""
        params = {
            "action": "wbsearchentities",
            # Labels there have at most 250 characters.
            "search": name[:250],
            "language": "en",
            "type": "item",
            "limit": "20",
            "format": "json",
        }
        return self._ask(self.settings.api, params, _hits)[0]

    def _ask(
        self, url: str, params: Mapping[str, str], parse: Callable[[Any], Parsed]
    ) -> tuple[Parsed, str]:
        """Return what a reply says, and the day (UTC) on which the service gave it."""
        request = {"url": url, "params": dict(params)}
        # By the request alone, not by the settings: another pause or user agent keeps the answers.
        path = self.settings.cache / f"{digest_of(request)}.json"
        if (kept := _kept(path, parse)) is not None:
            return kept
        body, parsed = self._fetch(url, params, parse)
        retrieved = datetime.now(UTC).date().isoformat()
        write_atomic(
            path, canonical_json({"request": request, "retrieved": retrieved, "body": body})
        )
        return parsed, retrieved

    def _fetch(
        self, url: str, params: Mapping[str, str], parse: Callable[[Any], Parsed]
    ) -> tuple[Any, Parsed]:
        failure = ""
        for attempt in range(self.settings.attempts):
            try:
                body = _decoded(self._once(url, params), url)
                return body, _parsed(body, parse)
            except _Retry as retry:
                failure = str(retry)
                # The build ends with its answers kept, and the next run continues from them.
                if retry.wait is not None and retry.wait > self.settings.longest_wait:
                    failure = f"it asks to wait {retry.wait:.0f} s"
                    break
                wait = retry.wait or self.settings.backoff * 2**attempt
                if attempt + 1 < self.settings.attempts:
                    self._sleep(min(wait, self.settings.longest_wait))
        raise UserError(
            f"{url} gave no answer ({failure}): run the same command again later,"
            f" answers so far are kept in {self.settings.cache}"
        )

    def _once(self, url: str, params: Mapping[str, str]) -> bytes:
        left = self._last + self.settings.interval - time.monotonic()
        if left > 0:
            self._sleep(left)
        self.requests += 1
        try:
            with self._http.stream("GET", url, params=dict(params)) as reply:
                _check_status(reply, url)
                return _bounded(reply)
        # These come from the address and would come again: no retry.
        except (httpx.TooManyRedirects, httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
            raise UserError(f"{url} cannot be asked ({error}): check the address") from error
        except httpx.RequestError as error:
            raise _Retry(type(error).__name__) from error
        finally:
            # Counted from the end of a request, so that a slow service gets its pause as well.
            self._last = time.monotonic()


def _kept(path: Path, parse: Callable[[Any], Parsed]) -> tuple[Parsed, str] | None:
    """Return an answer on disk; None for a damaged file, which is then fetched again."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        return _parsed(kept["body"], parse), str(kept["retrieved"])
    except (FileNotFoundError, ValueError, KeyError, TypeError, _Retry):
        return None


def _parsed(body: Any, parse: Callable[[Any], Parsed]) -> Parsed:
    try:
        return parse(body)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        # Seen as a passing fault, since it is never kept; after the last attempt the build ends.
        raise _Retry("a reply of another shape") from error


def _check_status(reply: httpx.Response, url: str) -> None:
    if reply.status_code == 429 or reply.status_code >= 500:
        raise _Retry(f"HTTP {reply.status_code}", _retry_after(reply.headers.get("Retry-After")))
    if reply.status_code != 200:
        raise UserError(
            f"{url} refuses the request (HTTP {reply.status_code}): check its address and"
            " wikidata.user_agent"
        )


def _retry_after(value: str | None) -> float | None:
    """Return the seconds to wait, from either form of the header (RFC 9110, 10.2.3)."""
    if value is None:
        return None
    if value.strip().isdecimal():
        return float(value)
    try:
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None


def _bounded(reply: httpx.Response) -> bytes:
    content = bytearray()
    for part in reply.iter_bytes():
        content += part
        if len(content) > _MOST_BYTES:
            raise UserError(f"{reply.url.host} sent more than {_MOST_BYTES >> 20} MB: not read")
    return bytes(content)


def _decoded(content: bytes, url: str) -> Any:
    """Return the JSON of a reply; broken JSON and a busy API are worth another try."""
    try:
        body = json.loads(content)
    except (ValueError, RecursionError) as broken:
        raise _Retry("broken JSON") from broken
    if isinstance(body, dict) and isinstance(body.get("error"), dict):
        error = body["error"]
        # A busy API may answer 200 with an error in the body.
        if error.get("code") in ("maxlag", "ratelimited", "readonly"):
            raise _Retry(f"the API says {error['code']}")
        raise UserError(f"{url} refuses the request ({error.get('info')}): check the settings")
    return body


def _bindings(body: Any) -> list[dict[str, str]]:
    return [
        {name: _without_uri(str(cell["value"])) for name, cell in row.items()}
        for row in body["results"]["bindings"]
    ]


def _without_uri(value: str) -> str:
    return found[1] if (found := _ITEM_URI.fullmatch(value)) else value


def _hits(body: Any) -> list[str]:
    return [hit["id"] for hit in body["search"] if ITEM.fullmatch(hit["id"])]


def _entities(body: Any) -> dict[str, Entity]:
    found: dict[str, Entity] = {}
    for raw in body["entities"].values():
        if "missing" not in raw:
            entity = _entity(raw)
            found[entity.id] = entity
            if "redirects" in raw:
                found[str(raw["redirects"]["from"])] = entity
    return found


def _names(body: Any, languages: Sequence[str]) -> tuple[str, ...]:
    """Return the label and the aliases of the one item of a reply, language by language."""
    (raw,) = body["entities"].values()
    # An empty map arrives as [] from the service.
    labels, aliases = raw.get("labels") or {}, raw.get("aliases") or {}
    found: list[str] = []
    for language in languages:
        found += [str(labels[language]["value"])] if language in labels else []
        found += [str(alias["value"]) for alias in aliases.get(language, ())]
    return tuple(found)


def _entity(raw: Mapping[str, Any]) -> Entity:
    claims = {name: _best(statements) for name, statements in raw.get("claims", {}).items()}
    if not ITEM.fullmatch(raw["id"]):
        raise ValueError(f"{raw['id']!r} is no item")
    # An empty map arrives as [] from the service.
    labels, aliases = raw.get("labels") or {}, raw.get("aliases") or {}
    return Entity(
        id=raw["id"],
        label=labels["en"]["value"] if "en" in labels else None,
        aliases=tuple(alias["value"] for alias in aliases.get("en", ())),
        claims=claims,
        sitelinks=len(raw.get("sitelinks") or {}),
    )


def _best(statements: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the known values of the best rank: preferred, else normal; never deprecated."""
    # Statements of unknown or no value have no datavalue.
    known = [s for s in statements if s["mainsnak"].get("snaktype") == "value"]
    for rank in ("preferred", "normal"):
        if chosen := [s for s in known if s.get("rank", "normal") == rank]:
            return tuple(_plain(statement["mainsnak"]["datavalue"]) for statement in chosen)
    return ()


def _plain(datavalue: Mapping[str, Any]) -> str:
    value = datavalue["value"]
    if isinstance(value, Mapping):
        return str(value.get("id") or value.get("time") or value.get("text") or "")
    return str(value)


def year_of(time_value: str) -> int | None:
    """Return the year of a time such as ``+1564-04-00T00:00:00Z``; negative before year 1."""
    found = _TIME.match(time_value if time_value[:1] in "+-" else f"+{time_value}")
    if found is None:
        return None
    return int(found[2]) * (-1 if found[1] == "-" else 1)
