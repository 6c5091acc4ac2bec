"""Imports point one way, and heavy libraries are imported only where they are used."""

import ast
import json
import shutil
import sys
from pathlib import Path

import pytest
from support.arms import ROOT, command, command_environment, finished, folders

PACKAGES = ("harness", "memtoc", "factored", "hydra_plugins")
ENTRIES = sorted(path.stem for path in ROOT.glob("*.py"))
# Whom each may import of the project itself.
MAY = {
    "harness": {"harness"},
    "memtoc": {"memtoc", "harness"},
    "factored": {"factored", "harness"},
    "hydra_plugins": {"hydra_plugins", "harness"},
}
HEAVY = ("torch", "transformers", "trl", "peft", "vllm", "datasets", "accelerate", "wandb")


def imported(path: Path) -> set[str]:
    """Top-level names that a file imports, wherever in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names.add((node.module or "").split(".")[0])
    return names


def files() -> list[Path]:
    return [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]


@pytest.mark.parametrize("path", files(), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_one_way(path: Path):
    package = path.relative_to(ROOT).parts[0]
    ours = imported(path) & {*PACKAGES, *ENTRIES, "tests", "benchmarks"}
    assert ours <= MAY[package]


def test_every_package_was_looked_at():
    seen = {path.relative_to(ROOT).parts[0] for path in files()}
    assert {"harness", "memtoc", "factored"} <= seen
    assert "evaluate" in ENTRIES


@pytest.mark.parametrize("path", files(), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_module_imports_a_heavy_library_when_it_is_imported(path: Path):
    """Inside functions and under TYPE_CHECKING they may stand."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    at_import = {
        name.split(".")[0]
        for node in tree.body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [a.name for a in node.names] if isinstance(node, ast.Import) else [node.module]
        )
    }
    assert not at_import & set(HEAVY)


def modules_of(tmp_path: Path, *arguments: str) -> set[str]:
    """The modules that ``python evaluate.py ARGUMENTS`` has loaded by its end."""
    listing = tmp_path / "modules.json"
    script = (
        "import atexit, json, pathlib, runpy, sys\n"
        "sys.path.insert(0, str(pathlib.Path(sys.argv[2]).parent))\n"
        "listing, sys.argv = sys.argv[1], sys.argv[2:]\n"
        "atexit.register(lambda: pathlib.Path(listing).write_text(json.dumps(list(sys.modules))))\n"
        "runpy.run_path(sys.argv[0], run_name='__main__')\n"
    )
    line = [sys.executable, "-c", script, str(listing), str(ROOT / "evaluate.py"), *arguments]
    done = finished(line, cwd=tmp_path, env=command_environment())
    assert done.returncode == 0, done.stderr
    return {name.split(".")[0] for name in json.loads(listing.read_text())}


def test_help_loads_neither_torch_nor_transformers_nor_pandas(tmp_path: Path):
    assert not modules_of(tmp_path, "--help") & {*HEAVY, "numpy", "pandas", "scipy"}


def test_an_arm_on_another_engine_loads_neither(tmp_path: Path):
    arguments = ("engine=mock", "tracker=none", "limit=2", *folders(tmp_path))
    assert not modules_of(tmp_path, *arguments) & set(HEAVY)


@pytest.mark.slow
def test_an_arm_whose_texts_are_all_cached_loads_neither(tmp_path: Path, smollm2: Path):
    arguments = (
        "tracker=none", "limit=1", "conditions=[tool_wrong,no_tool]", f"model.path={smollm2}",
        "decoding.max_new_tokens=2", "engine.dtype=float32", *folders(tmp_path),
    )  # fmt: skip
    assert command(*arguments, cwd=tmp_path).returncode == 0
    (folder,) = (path for path in (tmp_path / "runs").iterdir() if (path / "DONE").exists())
    shutil.rmtree(folder)
    assert not modules_of(tmp_path, *arguments) & set(HEAVY)
    counts = json.loads((folder / "manifest.json").read_text())["counts"]
    assert (counts["engine_loads"], counts["generated"]) == (0, 0)
    assert not modules_of(tmp_path, *arguments) & set(HEAVY), "a finished arm is only read"


@pytest.mark.slow
def test_a_dry_run_loads_no_weights(tmp_path: Path, smollm2: Path):
    arguments = ("dry_run=true", "tracker=none", "limit=2", f"model.path={smollm2}")
    assert "torch" not in modules_of(tmp_path, *arguments, *folders(tmp_path))
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("name", ENTRIES)
def test_entry_points_are_short(name: str):
    assert len((ROOT / f"{name}.py").read_text(encoding="utf-8").splitlines()) <= 70
