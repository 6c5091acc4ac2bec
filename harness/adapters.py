"""LoRA adapters on disk: their files, their digest, and the base model they were trained on.

An adapter is a folder as PEFT's ``save_pretrained`` leaves it, and base.json beside it::

    adapter_config.json          {"peft_type": "LORA", "r": 8, "target_modules": ["q_proj"], ...}
    adapter_model.safetensors
    base.json                    {"weights": "<digest of the base checkpoint>"}  (optional)

The files come from anywhere, so weights are read from safetensors and settings from a bounded JSON
file. Settings that would change the base model, which other arms use too, are refused.
`harness.engines.lora` puts an adapter over a loaded model; this module needs no torch.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.errors import UserError
from harness.hashing import digest_of, digest_of_file
from harness.json_files import read_json

WEIGHTS, CONFIG, BASE = "adapter_model.safetensors", "adapter_config.json", "base.json"
MAX_CONFIG_BYTES = 1_000_000
MAX_RANK = 1024  # a file that says r=10**9 would have PEFT allocate for it
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
MODULE = re.compile(r"\^?[\w.\\-]{1,200}\$?")
LORA_KEY = re.compile(r"\.lora_(A|B|embedding_A|embedding_B|magnitude_vector)\b")
# PiSSA, OLoRA, CorDA and EVA subtract from the base's weights as they start: the base that stays
# in memory for other arms would be another model afterwards.
HARMLESS_STARTS = (True, False, "gaussian", "orthogonal")


@dataclass(frozen=True)
class Adapter:
    """A LoRA adapter: its folder, its digest, its rank, and the digest of its base's weights.

    ``base`` is None if the folder has no base.json; such an adapter goes over any model it fits.
    """

    folder: Path
    digest: str
    rank: int
    base: str | None

    @property
    def name(self) -> str:
        """Return a short name for folders and tables, e.g. lora-1f3a99c2, made from the digest."""
        return f"lora-{self.digest[:8]}"


def read_adapter(folder: Path) -> Adapter:
    """Read the settings of the adapter in a folder, check them, and hash its weights.

    Raises UserError, naming the file and the setting, for a folder that holds no LoRA adapter.
    """
    for name, remedy in (
        (CONFIG, "give the folder that save_pretrained of PEFT wrote"),
        (WEIGHTS, "weights are read from safetensors only: save it with safe_serialization"),
    ):
        if not (folder / name).is_file():
            raise UserError(f"adapter {folder} has no {name}: {remedy}")
    config = _json_object(folder / CONFIG)
    rank = _check(folder / CONFIG, config)
    _check_weights(folder / WEIGHTS)
    # The path of the base on the machine that trained it: the same adapter, trained elsewhere,
    # keeps its digest.
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
    """Return the largest rank; raise UserError for settings that go beyond plain LoRA."""
    kind = config.get("peft_type")
    if kind != "LORA":
        raise UserError(f"{path}: peft_type is {kind!r}: only LORA adapters are read")
    ranks = [config.get("r"), *_patterns(path, config, "rank_pattern").values()]
    for rank in ranks:
        if isinstance(rank, bool) or not isinstance(rank, int) or not 1 <= rank <= MAX_RANK:
            raise UserError(f"{path}: r is {rank!r}: a rank is a number from 1 to {MAX_RANK}")
    _patterns(path, config, "alpha_pattern")
    for name in BEYOND_LORA:
        if config.get(name):
            raise UserError(f"{path}: {name} is more than LoRA: train the adapter without it")
    # Trained biases take the place of the base's own, also while the adapter is switched off.
    if config.get("bias", "none") != "none":
        raise UserError(f"{path}: bias is {config['bias']!r}: train the adapter with bias=none")
    start = config.get("init_lora_weights", True)
    if start not in HARMLESS_STARTS:
        raise UserError(
            f"{path}: init_lora_weights is {start!r}, which changes the base model:"
            " convert the adapter to plain LoRA"
        )
    # PEFT runs a text here as a regular expression, and one from a foreign file can backtrack for
    # hours.
    for name in ("target_modules", "exclude_modules"):
        if isinstance(config.get(name), str) and config[name] != "all-linear":
            raise UserError(f"{path}: {name} is a pattern: list the names of the modules")
    return max(rank for rank in ranks if isinstance(rank, int))


def _patterns(path: Path, config: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return values by module; PEFT runs the keys as regular expressions, so only names may be."""
    found = config.get(name) or {}
    if not isinstance(found, Mapping) or not all(MODULE.fullmatch(key) for key in found):
        raise UserError(f"{path}: {name} holds a pattern: list the names of the modules")
    return found


def _check_weights(path: Path) -> None:
    """Refuse weights beside LoRA's: PEFT saves whole embeddings too, which replace the base's."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="np") as weights:
            others = [key for key in weights.keys() if not LORA_KEY.search(key)]  # noqa: SIM118
    except (OSError, SafetensorError) as error:
        raise UserError(f"{path} is not safetensors ({error}): restore the file") from error
    if others:
        raise UserError(
            f"{path}: {others[0]} is a weight of the base, and {len(others) - 1} more are: save the"
            " adapter with save_embedding_layers=False"
        )


def _base(folder: Path) -> str | None:
    """Return the digest of the weights that the adapter was trained on; None without base.json."""
    if not (folder / BASE).is_file():
        return None
    digest = _json_object(folder / BASE).get("weights")
    if not isinstance(digest, str):
        raise UserError(f"{folder / BASE} names no weights: train the adapter again")
    return digest
