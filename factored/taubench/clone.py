"""Read tau-bench's own files, from a clone or an installed package, without running any of them.

    tau_bench/envs/<domain>/data/*.json   wiki.md   tasks_<split>.py   tools/<tool>.py

Task lists and tool schemas are literals in Python files; they are parsed and evaluated as literals.
"""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from factored.taubench.loading import read_json, read_text
from factored.taubench.tools import Domain
from harness.errors import UserError

Files = dict[str, Any]


def environments_in(source: Path) -> Path | None:
    """Return the folder that holds the domains' folders, or None where this is no tau-bench."""
    for folder in (source / "tau_bench" / "envs", source / "envs", source):
        if any(folder.glob("*/data/users.json")) and any(folder.glob("*/tools/*.py")):
            return folder
    return None


def read_clone(envs: Path, domain: Domain) -> Files:
    """Return a domain's files by their names in a data folder: JSON as values, others as text.

    Raises UserError that names the file and line where one is not what tau-bench holds.
    """
    folder = envs / domain.name
    files: Files = {
        f"{name}.json": read_json(folder / "data" / f"{name}.json") for name in domain.tables
    }
    files["policy.md"] = read_text(folder / "wiki.md")
    for path in sorted(folder.glob("tasks_*.py")):
        files[f"{path.stem}.json"] = _tasks(path)
    schemas = (
        schema for path in sorted((folder / "tools").glob("*.py")) for schema in _schemas(path)
    )
    files["tools.json"] = list(schemas)
    return files


def _parsed(path: Path) -> ast.Module:
    text = read_text(path)
    try:
        return ast.parse(text)
    except (SyntaxError, RecursionError, MemoryError, ValueError) as error:
        raise UserError(f"{path}: is not Python that can be read ({error})") from error


def _tasks(path: Path) -> list[Files]:
    """Return the list that is assigned to a name beginning with TASKS, without annotators."""
    for statement in _parsed(path).body:
        if isinstance(statement, ast.Assign):
            target, value = statement.targets[0], statement.value
        elif isinstance(statement, ast.AnnAssign) and statement.value:
            target, value = statement.target, statement.value
        else:
            continue
        named = isinstance(target, ast.Name) and target.id.startswith("TASKS")
        if named and isinstance(value, ast.List):
            return [_task(element, path) for element in value.elts]
    raise UserError(f"{path}: holds no list named TASKS...")


def _task(node: ast.expr, path: Path) -> Files:
    fields = _call(node, "Task", path)
    actions = fields.get("actions")
    if not isinstance(actions, ast.List):
        raise UserError(f"{path} line {node.lineno}: a task needs a list of actions")
    return {
        "user_id": _literal(fields.get("user_id"), node, path),
        "instruction": _literal(fields.get("instruction"), node, path),
        "actions": [
            {name: _literal(call.get(name), action, path) for name in ("name", "kwargs")}
            for action in actions.elts
            for call in [_call(action, "Action", path)]
        ],
        "outputs": _literal(fields.get("outputs", ast.List(elts=[])), node, path),
    }


def _call(node: ast.expr, name: str, path: Path) -> dict[str, ast.expr]:
    """Return the arguments of a call ``name(...)``, all of which are keywords."""
    if (
        not isinstance(node, ast.Call)
        or not isinstance(node.func, ast.Name)
        or node.func.id != name
        or node.args
    ):
        raise UserError(f"{path} line {node.lineno}: expected {name}(...) with keywords only")
    return {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}


def _literal(value: ast.expr | None, near: ast.AST, path: Path) -> Any:
    try:
        if value is not None:
            return ast.literal_eval(value)
    except (ValueError, TypeError, RecursionError):
        pass
    line = getattr(near, "lineno", 0)
    raise UserError(f"{path} line {line}: a value is missing or is not a literal")


def _schemas(path: Path) -> Iterator[Files]:
    """Yield what each ``get_info`` of the file returns."""
    for node in ast.walk(_parsed(path)):
        if isinstance(node, ast.FunctionDef) and node.name == "get_info":
            for statement in node.body:
                if isinstance(statement, ast.Return):
                    yield _literal(statement.value, statement, path)
