"""LoRA adapters on disk: which files they are, what identifies them, which base they are for.

An adapter is somebody's file: it is read from safetensors and a bounded JSON file only, and what
would change the base model, on which other arms stand, is refused. Nothing heavy is imported;
`harness.engines.lora` puts an adapter over a loaded model.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.errors import UserError
from harness.hashing import digest_of, digest_of_file
from harness.json_files import read_json

WEIGHTS, CONFIG, BASE = "adapter_model.safetensors", "adapter_config.json", "base.json"
MAX_CONFIG_BYTES = 1_000_000
MAX_RANK = 1024
# Settings of PEFT that add weights beside LoRA's, or change those of the base when they are loaded
# (layer_replication copies layers). vLLM takes none of them either.
BEYOND_LORA = (
    "modules_to_save",
    "layer_replication",
    "trainable_token_indices",
    "target_parameters",
    "alora_invocation_tokens",
    "arrow_config",
    "use_qalora",
    "lora_bias",
)
# PiSSA, OLoRA, CorDA and EVA subtract from the base's weights as they start: the base that stays
# in memory for other arms would be another model afterwards.
HARMLESS_STARTS = (True, False, "gaussian", "orthogonal")


@dataclass(frozen=True)
class Adapter:
    """A LoRA adapter: its folder, what identifies it, its rank, and the digest of its base.

    ``base`` is None for an adapter that does not say which weights it was trained on.
    """

    folder: Path
    digest: str
    rank: int
    base: str | None

    @property
    def name(self) -> str:
        """Return a short name of its content, for folders, tables and engines."""
        return f"lora-{self.digest[:8]}"


def read_adapter(folder: Path) -> Adapter:
    """Read an adapter's settings and digest; its weights are hashed, not loaded.

    Raises UserError, naming the file and the setting, for what is no LoRA adapter.
    """
    for name, remedy in (
        (CONFIG, "give the folder that save_pretrained of PEFT wrote"),
        (WEIGHTS, "weights are read from safetensors only: save it with safe_serialization"),
    ):
        if not (folder / name).is_file():
            raise UserError(f"adapter {folder} has no {name}: {remedy}")
    config = _json_object(folder / CONFIG)
    rank = _check(folder / CONFIG, config)
    # Where the base lay on the machine that trained it is no part of what the adapter is.
    own = {key: value for key, value in config.items() if key != "base_model_name_or_path"}
    digest = digest_of({"weights": digest_of_file(folder / WEIGHTS), "config": own})
    return Adapter(folder, digest, rank, _base(folder))


def _json_object(path: Path) -> dict[str, Any]:
    if path.stat().st_size > MAX_CONFIG_BYTES:
        raise UserError(f"{path} has over {MAX_CONFIG_BYTES} bytes: it is no adapter's")
    content = read_json(path, broken="restore the file")
    if not isinstance(content, dict):
        raise UserError(f"{path} is not a JSON object: restore the file")
    return content


def _check(path: Path, config: Mapping[str, Any]) -> int:
    """Return the rank; raise UserError for settings that are more than LoRA's."""
    kind, rank, targets = config.get("peft_type"), config.get("r"), config.get("target_modules")
    if kind != "LORA":
        raise UserError(f"{path}: peft_type is {kind!r}: only LORA adapters are read")
    if isinstance(rank, bool) or not isinstance(rank, int) or not 1 <= rank <= MAX_RANK:
        raise UserError(f"{path}: r is {rank!r}: a rank is a number from 1 to {MAX_RANK}")
    for name in BEYOND_LORA:
        if config.get(name):
            raise UserError(f"{path}: {name} is more than LoRA: train the adapter without it")
    start = config.get("init_lora_weights", True)
    if start not in HARMLESS_STARTS:
        raise UserError(
            f"{path}: init_lora_weights is {start!r}, which changes the base model:"
            " convert the adapter to plain LoRA"
        )
    # A pattern from a file could match for hours.
    if isinstance(targets, str) and targets != "all-linear":
        raise UserError(f"{path}: target_modules is a pattern: list the names of the modules")
    return rank


def _base(folder: Path) -> str | None:
    """Return the digest of the weights that the adapter was trained on, where it says so."""
    if not (folder / BASE).is_file():
        return None
    digest = _json_object(folder / BASE).get("weights")
    if not isinstance(digest, str):
        raise UserError(f"{folder / BASE} names no weights: train the adapter again")
    return digest
