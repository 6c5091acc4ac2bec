"""Imports point one way, and heavy libraries are imported only where they are used."""

import ast
import json
import shutil
import sys
from collections.abc import Iterator
from functools import cache
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


def runtime_imports(node: ast.AST) -> Iterator[tuple[str, str | None]]:
    """Module and name of each import below a node, in functions too.

    What stands under TYPE_CHECKING is left out: it is never run, so it ties no module to another.
    """
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue
        if isinstance(child, ast.Import):
            yield from ((alias.name, None) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            yield from ((child.module or "", alias.name) for alias in child.names)
        yield from runtime_imports(child)


@cache
def modules() -> dict[str, frozenset[str]]:
    """Each module of the packages with the modules of them that it imports."""
    named = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for path in files()
    }

    def module(name: str, inside: str | None) -> str:
        return f"{name}.{inside}" if f"{name}.{inside}" in named else name

    return {
        name: frozenset(
            module(*pair) for pair in runtime_imports(ast.parse(path.read_text(encoding="utf-8")))
        )
        & named.keys()
        for name, path in named.items()
    }


def reached(module: str) -> set[str]:
    """The modules that one imports, and those that they import."""
    found: set[str] = set()
    waiting = [module]
    while waiting:
        new = modules()[waiting.pop()] - found
        found |= new
        waiting += new
    return found


def files() -> list[Path]:
    return [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]


@pytest.mark.parametrize("path", files(), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_one_way(path: Path):
    package = path.relative_to(ROOT).parts[0]
    ours = imported(path) & {*PACKAGES, *ENTRIES, "tests", "benchmarks"}
    assert ours <= MAY[package]


@pytest.mark.parametrize("module", modules())
def test_no_module_comes_back_to_itself(module: str):
    circle = sorted(other for other in reached(module) if module in reached(other))
    assert module not in reached(module), f"these import each other: {circle}"


@pytest.mark.parametrize(
    ("lower", "higher"),
    [
        ("memtoc.benchmark", "memtoc.sources"),
        ("memtoc.benchmark", "memtoc.construction"),
        ("memtoc.sources", "memtoc.construction"),
    ],
)
def test_benchmark_lies_below_sources_below_construction(lower: str, higher: str):
    def under(package: str) -> set[str]:
        return {name for name in modules() if f"{name}.".startswith(f"{package}.")}

    assert under(lower) and under(higher)
    assert not {name for name in under(lower) if reached(name) & under(higher)}


def test_the_graph_holds_imports_of_functions_and_not_those_for_types():
    source = (
        "from typing import TYPE_CHECKING\nimport a.b\nif TYPE_CHECKING:\n    from c import d\n"
        "def f():\n    from e import g\n"
    )
    found = set(runtime_imports(ast.parse(source)))
    assert found == {("typing", "TYPE_CHECKING"), ("a.b", None), ("e", "g")}


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


TENANTS = ("memtoc", "factored", "taubench", "tool_agent", "agent=", "mitigation", "formulation")


def literals(path: Path) -> list[str]:
    """The texts in a module's code, docstrings left out."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr)
    }
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in docstrings
    ]


@pytest.mark.parametrize(
    "path", sorted((ROOT / "harness").rglob("*.py")), ids=lambda path: path.name
)
def test_harness_names_no_tenant(path: Path):
    """entry.py alone lists the packages, to tell our tracebacks from those of libraries."""
    found = [text for text in literals(path) if any(word in text for word in TENANTS)]
    assert found == (["memtoc", "factored"] if path.name == "entry.py" else [])
