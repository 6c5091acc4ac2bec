"""The connection to a server: its client, the key from the environment, the pause it asks for."""

import ipaddress
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from harness.engines.openai_errors import readable
from harness.errors import UserError

if TYPE_CHECKING:
    import httpx

CONNECT_S = 20.0
LONGEST_WAIT_S = 300.0  # of what a server may ask for


def key_of(variable: str | None) -> str | None:
    """Return the key that a variable holds; raises UserError, which never shows it, for no key."""
    if variable is None:
        return None
    key = os.environ.get(variable, "").strip()
    if not key:
        raise UserError(f"engine.key_variable: {readable(variable)[:60]} is not set: export it")
    if not key.isascii() or not key.isprintable() or " " in key:
        raise UserError(f"engine.key_variable: what {variable} holds is no key: mend it")
    return key


def client_of(
    base_url: str, key: str | None, timeout_s: float, connections: int
) -> "httpx.AsyncClient":
    """Return a client that follows no redirect, so that the key goes to no other host.

    Proxies come from the environment, except for a server on this machine. Raises UserError for an
    address, a proxy or certificates that cannot be used.
    """
    import httpx

    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json",
        "Accept-Encoding": "identity",
        **({"Authorization": f"Bearer {key}"} if key else {}),
    }
    try:
        httpx.URL(base_url)
        return httpx.AsyncClient(
            headers=headers,
            timeout=httpx.Timeout(timeout_s, connect=min(timeout_s, CONNECT_S)),
            # Bounded by the engine's own slots: a request that is cancelled at the wrong moment
            # keeps its place in the pool for good, and a bounded one would fill up.
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=connections),
            follow_redirects=False,
            trust_env=not _is_here(urlsplit(base_url).hostname or ""),
        )
    except httpx.InvalidURL as error:
        raise UserError(f"engine.base_url cannot be used ({error}): mend it") from error
    except (ImportError, ValueError, OSError) as error:
        raise UserError(
            f"engine: the proxy or certificates of the environment cannot be used"
            f" ({readable(str(error))[:120]}): mend or unset HTTPS_PROXY, ALL_PROXY,"
            " SSL_CERT_FILE"
        ) from error


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def asked_wait(headers: Mapping[str, str]) -> float:
    """Return the seconds that Retry-After asks for (a number or a date), 0 to 300."""
    asked = headers.get("retry-after", "")
    try:
        seconds = float(asked)
    except ValueError:
        try:
            date = parsedate_to_datetime(asked)
        except (ValueError, OverflowError):
            return 0.0
        seconds = (date.astimezone(UTC) - datetime.now(UTC)).total_seconds()
    return min(max(seconds, 0.0), LONGEST_WAIT_S) if isfinite(seconds) else 0.0
