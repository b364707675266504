"""The model with some KV heads cut to sinks and a window, as a cache plan says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .attention import LayerCall, Watcher


class Cutting(Watcher):
    """Lets the query heads of cut KV heads see the first `sinks` tokens and the last `window`, their own among them.

    cut: for each layer whether each of its KV heads is cut.
    """

    def __init__(self, cut: Mapping[int, np.ndarray[Any, np.dtype[np.bool_]]], window: int, sinks: int) -> None:
        self._cut = {layer: heads for layer, heads in cut.items() if heads.any()}
        self._window = window
        self._sinks = sinks

    def mask(self, call: LayerCall, mask: Any) -> Any:
        heads = self._cut.get(call.layer)
        if heads is None:
            return mask
        import torch

        device, tokens = call.query.device, call.query.shape[2]
        group = call.query.shape[1] // call.key.shape[1]
        is_cut = torch.from_numpy(np.repeat(heads, group)).to(device)
        at = torch.arange(tokens, device=device)
        distance = at[:, None] - at[None, :]
        dropped = (distance >= self._window) & (at[None, :] >= self._sinks)
        dropped = (is_cut[:, None, None] & dropped)[None]
        if mask is None:
            return (distance >= 0) & ~dropped
        mask = mask[..., :tokens]
        if mask.dtype == torch.bool:
            return mask & ~dropped
        return mask.masked_fill(dropped, torch.finfo(mask.dtype).min)
