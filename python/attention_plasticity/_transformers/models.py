"""Models and their tokenizers: from the Hub, a folder or a GGUF file."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._errors import AccessError, ConfigError, InputError
from .needed import check_installed


@dataclass
class LoadedModel:
    """A model, its tokenizer (None: there is none) and its name."""

    model: Any
    tokenizer: Any
    name: str

    @property
    def config_text(self) -> str:
        """The text of config.json. What a configuration leaves to its class is written out."""
        return json.dumps(self.model.config.to_dict(), indent=2, sort_keys=True, default=str) + "\n"

    @property
    def device(self) -> Any:
        """Where the input of the model belongs."""
        return self.model.get_input_embeddings().weight.device

    @property
    def longest(self) -> int | None:
        """Tokens that the model was made for; None: it does not say."""
        limit = getattr(self.model.config.get_text_config(), "max_position_embeddings", None)
        return int(limit) if limit else None


def _device(device: str | None) -> Any:
    import torch

    if device is None:
        if torch.cuda.is_available():
            return torch.device("cuda")
        mps = getattr(torch.backends, "mps", None)
        return torch.device("mps" if mps is not None and mps.is_available() else "cpu")
    try:
        wanted = torch.device(device)
    except RuntimeError:
        raise ConfigError(f"`device: {device}` is no device of torch; say cpu, cuda, cuda:1 or mps") from None
    try:
        torch.empty(0, device=wanted)
    except (RuntimeError, AssertionError, NotImplementedError):
        raise ConfigError(
            f"`device: {device}`: torch finds no such device here; pass `device: cpu`, or install a torch that knows it"
        ) from None
    return wanted


def _dtype(name: str) -> Any:
    import torch

    if name == "auto":
        return name
    found = getattr(torch, name, None)
    if not isinstance(found, torch.dtype) or not found.is_floating_point:
        raise ConfigError(f"`dtype: {name}` is none of auto, float32, bfloat16 and float16")
    return found


def _place(model: str, gguf_file: str | None) -> tuple[str, str | None]:
    """The folder or name of the model, and its GGUF file."""
    path = Path(model)
    if path.suffix.lower() == ".gguf" and gguf_file is None:
        if not path.is_file():
            raise InputError("there is no such GGUF file", model)
        return str(path.parent), path.name
    if path.is_dir() and gguf_file is None and not (path / "config.json").is_file():
        raise InputError("this folder has no config.json of a model", model)
    if not path.exists() and (path.is_absolute() or model.startswith(".") or model.count("/") > 1):
        raise InputError("there is no such folder", model)
    return model, gguf_file


@contextmanager
def _plainly(model: str) -> Iterator[None]:
    """Turns what transformers raises into one line."""
    try:
        yield
    except ImportError as error:
        line = str(error).strip().splitlines()[0]
        raise ConfigError(f"loading {model} needs a package that is not installed: {line}") from error
    except (OSError, ValueError, KeyError) as error:
        line = str(error).strip().splitlines()[0]
        kind = InputError if os.path.exists(model) else AccessError
        raise kind(f"transformers cannot load it: {line}", model) from error


def load_model(
    model: str | os.PathLike[str],
    *,
    dtype: str = "auto",
    device: str | None = None,
    device_map: str | None = None,
    attention: str | None = None,
    revision: str | None = None,
    gguf_file: str | None = None,
    trust_remote_code: bool = False,
) -> LoadedModel:
    """Loads a model and its tokenizer.

    Args:
        model: the name of a repository of the Hub, a folder, or a GGUF file.
        dtype: float32, bfloat16, float16, or auto: that of its files.
        device: None: a GPU if there is one.
        device_map: spreads the model, as accelerate does; "auto" will mostly do.
        attention: sdpa, eager, flash_attention_2 or another implementation; None: that of the model.
    """
    check_installed()
    name = os.fsdecode(model)
    if device is not None and device_map is not None:
        raise ConfigError("`device` and `device_map` both say where the model lies; give one of them")
    kind, place = _dtype(dtype), None if device_map is not None else _device(device)
    folder, gguf = _place(name, gguf_file)
    from transformers import AutoModelForCausalLM, AutoTokenizer

    common: dict[str, Any] = {"trust_remote_code": trust_remote_code}
    if revision is not None:
        common["revision"] = revision
    if gguf is not None:
        common["gguf_file"] = gguf
    with _plainly(name):
        tokenizer = AutoTokenizer.from_pretrained(folder, **common)
        loaded = AutoModelForCausalLM.from_pretrained(
            folder, dtype=kind, attn_implementation=attention, device_map=device_map, **common
        )
    if place is not None:
        loaded = loaded.to(place)
    return LoadedModel(loaded.eval(), tokenizer, _model_name(loaded, name))


def _model_name(model: Any, given: str) -> str:
    path = Path(given)
    if path.suffix.lower() == ".gguf":
        return path.stem
    return path.resolve().name if path.exists() else given


def as_loaded(model: Any, tokenizer: Any, options: dict[str, Any]) -> LoadedModel:
    """The model that a user hands over: one of transformers, or what `load_model` takes."""
    if isinstance(model, LoadedModel):
        return model
    given = {name: value for name, value in options.items() if value is not None}
    if isinstance(model, (str, os.PathLike)):
        loaded = load_model(model, **given)
        return LoadedModel(loaded.model, tokenizer or loaded.tokenizer, loaded.name)
    check_installed()
    if given:
        raise ConfigError(f"`{next(iter(given))}`: the model is loaded already")
    if not hasattr(model, "get_input_embeddings"):
        raise InputError(f"{type(model).__name__} is no model of transformers, and no name of one")
    name = getattr(model.config, "name_or_path", "") or type(model).__name__
    return LoadedModel(model, tokenizer, _model_name(model, str(name)))
