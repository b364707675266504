"""Every layer's queries and keys, seen where the model computes its attention.

transformers looks an attention function up by name, for every layer of every architecture, after it has normalised and
rotated queries and keys. `watching` puts a function of ours under a name of ours in that place. It shows the tensors to a
`Watcher` and calls the function that the model would have called, with the same arguments, so that what the model computes
stays the same to the last bit. The masks come likewise from the function that belongs to the model's own implementation.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from .._errors import InputError

_PREFIX = "attention_plasticity_"


@dataclass(frozen=True)
class LayerCall:
    """What one layer compares: queries and keys as (sequences, heads, tokens, components), and how."""

    layer: int
    query: Any
    key: Any
    scale: float
    softcap: float | None
    sinks: Any  # a logit for each query head that takes part in the softmax and has no key; None: there are none
    window: int | None  # tokens that a query sees, its own among them; None: all before it


class Watcher:
    """Sees the attention of every layer while `watching`."""

    def see(self, call: LayerCall) -> None:
        """Called before a layer attends. The tensors are the model's own and must not be changed."""

    def mask(self, call: LayerCall, mask: Any) -> Any:
        """The mask that the layer attends with, in place of its own."""
        return mask


_active: ContextVar[Watcher | None] = ContextVar("attention_plasticity_watcher", default=None)


@lru_cache(maxsize=None)
def _own_function(kind: type, implementation: str) -> Callable[..., Any]:
    """The function that a layer of this class attends with when its model has this implementation."""
    homes = [sys.modules[base.__module__] for base in kind.__mro__ if base.__module__ in sys.modules]
    if implementation == "eager":
        for home in homes:
            if hasattr(home, "eager_attention_forward"):
                return home.eager_attention_forward  # type: ignore[no-any-return]
        raise InputError(f"{kind.__name__} has no eager attention function; load the model with another `attention`")
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    # A model may have a table of its own.
    return getattr(homes[0], "ALL_ATTENTION_FUNCTIONS", ALL_ATTENTION_FUNCTIONS)[implementation]  # type: ignore[no-any-return]


def _layer_call(module: Any, query: Any, key: Any, options: dict[str, Any]) -> LayerCall | None:
    layer = getattr(module, "layer_idx", None)
    causal = options.get("is_causal")
    if layer is None or not (getattr(module, "is_causal", True) if causal is None else causal):
        return None  # an encoder of images or sound
    scale = options.get("scaling")
    window = options.get("sliding_window", getattr(module, "sliding_window", None))
    return LayerCall(
        int(layer),
        query,
        key,
        float(query.shape[-1] ** -0.5 if scale is None else scale),
        options.get("softcap"),
        options.get("s_aux"),
        int(window) if window else None,
    )


def _function(implementation: str) -> Callable[..., Any]:
    def attend(module: Any, query: Any, key: Any, value: Any, attention_mask: Any, *rest: Any, **options: Any) -> Any:
        watcher = _active.get()
        call = None if watcher is None else _layer_call(module, query, key, options)
        if watcher is not None and call is not None:
            watcher.see(call)
            attention_mask = watcher.mask(call, attention_mask)
        own = _own_function(type(module), implementation)
        return own(module, query, key, value, attention_mask, *rest, **options)

    return attend


def _register(implementation: str) -> str:
    """The name under which our function stands for this implementation."""
    from transformers import AttentionInterface
    from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS, AttentionMaskInterface
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    # The name holds that of the implementation, since models look for words such as "flash" in it.
    name = _PREFIX + implementation
    if name not in ALL_ATTENTION_FUNCTIONS.valid_keys():
        AttentionInterface.register(name, _function(implementation))
    if name not in ALL_MASK_ATTENTION_FUNCTIONS.valid_keys():
        AttentionMaskInterface.register(name, ALL_MASK_ATTENTION_FUNCTIONS[implementation])
    return name


def _configs(model: Any) -> list[Any]:
    """The configurations of the model and of the models inside it, the outermost first."""
    from transformers import PreTrainedModel

    found: dict[int, Any] = {}
    for module in model.modules():
        if isinstance(module, PreTrainedModel):
            found.setdefault(id(module.config), module.config)
    return list(found.values())


@contextmanager
def watching(model: Any, watcher: Watcher, attention: str | None = None) -> Iterator[None]:
    """Shows the attention of the model's layers to the watcher. Afterwards the model is as before.

    attention: the implementation that computes it; None: the model's own.

    Raises InputError for a model that does not look its attention functions up.
    """
    if not hasattr(model, "set_attn_implementation"):
        raise InputError(f"{type(model).__name__} is no model of transformers, or of a version before 5")
    before = [(config, config._attn_implementation) for config in _configs(model)]
    own = attention or model.config.get_text_config()._attn_implementation
    name = _register(own or "eager")
    # transformers decides by the source of the class, logs a warning and leaves the implementation as it is.
    if not model._can_set_attn_implementation():
        raise InputError(
            f"{type(model).__name__} computes its attention without the attention interface of transformers, so its "
            "queries and keys cannot be seen"
        )
    token = _active.set(watcher)
    try:
        model.set_attn_implementation(name)
        yield
    finally:
        _active.reset(token)
        for config, implementation in before:
            config._attn_implementation = implementation
