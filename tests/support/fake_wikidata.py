"""A local HTTP server that answers in Wikidata's JSON shapes, from a small world, with faults."""

import json
import re
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qs, urlsplit

from support.servers import serving

ENTITY = "http://www.wikidata.org/entity/"


def item(label, *aliases, sitelinks=5, names=None, **claims):
    """An item of the world; claims as P21="Q6581097", P569="+1937-11-30T00:00:00Z" or lists.

    ``names`` has the label and the aliases by language, besides the English ones.
    """
    known = {"label": label, "aliases": aliases, "sitelinks": sitelinks, "claims": claims}
    return known | {"names": names or {}}


def statements(values):
    values = values if isinstance(values, list) else [values]
    return [_statement(value) for value in values]


def _statement(value):
    if isinstance(value, dict):
        return value
    if value is None:
        snak = {"snaktype": "somevalue"}
    elif value[:1] == "Q":
        snak = {
            "snaktype": "value",
            "datavalue": {
                "value": {"entity-type": "item", "numeric-id": int(value[1:]), "id": value},
                "type": "wikibase-entityid",
            },
        }
    else:
        snak = {
            "snaktype": "value",
            "datavalue": {
                "value": {"time": value, "precision": 11, "calendarmodel": f"{ENTITY}Q1985727"},
                "type": "time",
            },
        }
    return {"mainsnak": snak, "type": "statement", "rank": "normal"}


class World:
    def __init__(self, items, redirects=None, roots=None):
        self.items, self.redirects, self.roots = items, redirects or {}, roots or {}

    def values(self, name, prop):
        values = self.items[name]["claims"].get(prop, [])
        return values if isinstance(values, list) else [values]

    def entity(self, name, languages=("en",)):
        target = self.redirects.get(name, name)
        if target not in self.items:
            return {"id": name, "missing": ""}
        known = self.items[target]
        raw = {
            "pageid": 1,
            "type": "item",
            "id": target,
            "labels": {"en": {"language": "en", "value": known["label"]}} if known["label"] else [],
            "aliases": {"en": [{"language": "en", "value": a} for a in known["aliases"]]},
            "claims": {p: statements(v) for p, v in known["claims"].items()},
            "sitelinks": {f"l{n}wiki": {"title": "x"} for n in range(known["sitelinks"])},
        }
        for language in set(languages) & set(known["names"]):
            label, *aliases = known["names"][language]
            raw["labels"] = dict(raw["labels"]) | {language: {"language": language, "value": label}}
            raw["aliases"][language] = [{"language": language, "value": a} for a in aliases]
        if target != name:
            raw["redirects"] = {"from": name, "to": target}
        return raw

    def search(self, name):
        hits = [
            {"id": i, "label": k["label"] or i, "match": {"type": "label", "language": "en"}}
            for i, k in self.items.items()
            if name.lower() in " | ".join([k["label"] or "", *k["aliases"]]).lower()
        ]
        return {"searchinfo": {"search": name}, "search": hits, "success": 1}

    def select(self, sparql):
        if found := re.search(r"wd:(Q\d+) wdt:P31/wdt:P279\* \?root", sparql):
            offered = re.search(r"VALUES \?root \{([^}]*)\}", sparql)[1]
            roots = {r for c in self.values(found[1], "P31") for r in self.roots.get(c, [c])}
            return [{"root": uri(r)} for r in sorted(roots) if f"wd:{r} " in f"{offered} "]
        return [self.row(name) for name in self.items if self.fits(name, sparql)]

    def row(self, name):
        known = self.items[name]
        return {
            "item": uri(name),
            "label": {"xml:lang": "en", "type": "literal", "value": known["label"] or name},
            "sitelinks": {
                "datatype": "http://www.w3.org/2001/XMLSchema#integer",
                "type": "literal",
                "value": str(known["sitelinks"]),
            },
        }

    def fits(self, name, sparql):
        for prop, value in re.findall(r"\?item wdt:(P\d+) wd:(Q\d+) \.", sparql):
            if value not in self.values(name, prop):
                return False
        for variable, offered in re.findall(r"VALUES \?(\w+) \{([^}]*)\}", sparql):
            prop = re.search(rf"\?item wdt:(P\d+) \?{variable} \.", sparql)[1]
            if not set(self.values(name, prop)) & set(re.findall(r"wd:(Q\d+)", offered)):
                return False
        if found := re.search(r"YEAR\(\?birth\) >= (-?\d+) && YEAR\(\?birth\) <= (-?\d+)", sparql):
            years = [int(v[:5]) for v in self.values(name, "P569") if v]
            if not any(int(found[1]) <= y <= int(found[2]) for y in years):
                return False
        if found := re.search(r"FILTER\(\?country != wd:(Q\d+)\)", sparql):
            countries = self.values(name, "P17")
            return bool(countries) and found[1] not in countries
        return True


def uri(name):
    return {"type": "uri", "value": f"{ENTITY}{name}"}


@contextmanager
def serve(world, faults=()):
    """Yields (base url, list of (path, user agent)); each fault meets one request, in order."""
    seen, pending = [], list(faults)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self):
            seen.append((self.path, self.headers["User-Agent"]))
            fault = pending.pop(0) if pending else {}
            if "silent" in fault:  # until the client has had enough
                self.rfile.read(1)
            if fault.keys() & {"close", "silent"}:
                self.close_connection = True
            elif "location" in fault:
                self.reply(fault["status"], b"", {"Location": self.path})
            else:
                self.answered(fault)

        def answered(self, fault):
            body = fault.get("body", json.dumps(self.answer()).encode())
            if "cut" in fault:
                body = body[: len(body) // 2]
            self.reply(fault.get("status", 200), body, fault.get("headers", {}))

        def answer(self):
            asked = {k: v[0] for k, v in parse_qs(urlsplit(self.path).query).items()}
            if "query" in asked:
                rows = world.select(asked["query"])
                return {"head": {"vars": ["item"]}, "results": {"bindings": rows}}
            if asked["action"] == "wbsearchentities":
                return world.search(asked["search"])
            ids = asked["ids"].split("|")
            languages = asked["languages"].split("|")
            return {"entities": {i: world.entity(i, languages) for i in ids}, "success": 1}

        def reply(self, status, body, headers):
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with serving(Handler) as address:
        yield address, seen
