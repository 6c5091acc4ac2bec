"""LoRA adapters over a loaded model of transformers, switched in place without reloading it."""

from collections.abc import Sequence
from typing import Any

from harness.adapters import Adapter
from harness.errors import UserError

SHOWN_KEYS = 3


class Adapters:
    """The adapters that lie over one loaded model.

    PEFT puts its layers into the model itself: whoever holds the model goes on calling it, and gets
    the base's answers, bit for bit, while no adapter is in use.
    """

    def __init__(self, model: Any) -> None:
        """Keep the model; nothing changes before the first adapter is used."""
        self._model = model
        self._peft: Any = None
        self._loaded: set[str] = set()

    def use(self, adapter: Adapter | None) -> None:
        """Switch to an adapter, read from disk at its first use, or back to the base.

        Raises UserError for one that does not fit the model: other shapes, missing or unknown keys.
        """
        if adapter is not None and adapter.digest not in self._loaded:
            self._load(adapter)
        if self._peft is None:
            return
        if adapter is None:
            self._peft.base_model.disable_adapter_layers()
        else:
            self._peft.base_model.enable_adapter_layers()
            self._peft.set_adapter(adapter.digest)

    def _load(self, adapter: Adapter) -> None:
        from peft import LoraConfig, PeftModel

        name, folder = adapter.digest, str(adapter.folder)
        try:
            config = LoraConfig.from_pretrained(folder)
            config.inference_mode = True
            # What the file says of a start is of no use: every weight is read, and another start
            # than the plain one would change the base (harness.adapters refuses those).
            config.init_lora_weights = True
            if self._peft is None:
                self._peft = PeftModel(self._model, config, adapter_name=name)
            else:
                self._peft.add_adapter(name, config)
            device = str(self._model.device)
            found = self._peft.load_adapter(folder, adapter_name=name, torch_device=device)
        except (KeyError, RuntimeError, TypeError, ValueError) as error:
            reason = " ".join(str(error).replace(f".{name}", "").split())
            raise UserError(
                f"adapter {folder} does not fit the model ({reason[:200]}): choose the model that"
                " it was trained on"
            ) from error
        _check_keys(adapter, "lacks", found.missing_keys)
        _check_keys(adapter, "has keys that the model does not know:", found.unexpected_keys)
        self._loaded.add(adapter.digest)


def _check_keys(adapter: Adapter, words: str, keys: Sequence[str]) -> None:
    """A silently ignored key is an adapter that does something else than it was trained to."""
    if keys:
        shown = ", ".join(key.replace(f".{adapter.digest}", "") for key in keys[:SHOWN_KEYS])
        more = f" and {len(keys) - SHOWN_KEYS} more" if len(keys) > SHOWN_KEYS else ""
        raise UserError(
            f"adapter {adapter.folder} {words} {shown}{more}: restore {adapter.folder}, or choose"
            " the model that it was trained on"
        )
