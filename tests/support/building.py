"""``python build.py`` run inside the test's process, and annotators who fill in its packets."""

import csv
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import build
from harness.entry import start
from support.arms import ROOT
from support.entries import Ended

SHARED = ROOT.parent / "shared" / "data" / "memtoc" / "questions.jsonl"
TOOLHOP = ROOT / "tests" / "memtoc" / "sources" / "toolhop_30.json"
RELEASE = ROOT / "tests" / "memtoc" / "sources" / "released"


class Builder:
    """``python build.py`` with everything it writes under a folder of the test's own."""

    def __init__(
        self, root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ):
        self.root, self.monkeypatch, self.capsys = root, monkeypatch, capsys

    def __call__(self, *arguments: str) -> Ended:
        paths = [f"paths.benchmarks={self.root / 'built'}"]
        if "--config-name=taubench" not in arguments:
            paths.append(f"paths.cache={self.root / 'cache'}")
        self.monkeypatch.setattr(sys, "argv", ["build.py", *paths, *arguments])
        self.capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            start(build.CONFIGS)
        captured = self.capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return Ended(ended.value.code, captured.out, captured.err)


def files_of(folder: Path) -> dict[Path, bytes]:
    """Every file under a folder with its bytes."""
    return {
        path.relative_to(folder): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def sheet(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def save(path: Path, rows: list[dict[str, str]]) -> None:
    path.parent.mkdir(exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def send_back(
    work: Path, name: str, fill: Callable[[dict[str, str]], Mapping[str, Any]]
) -> dict[str, dict[str, str]]:
    """Fills in each row of packets/NAME.csv, returns it, and gives the rows by id."""
    rows = [row | dict(fill(row)) for row in sheet(work / "packets" / f"{name}.csv")]
    save(work / "returned" / f"{name}.csv", rows)
    return {row["id"]: row for row in rows}
