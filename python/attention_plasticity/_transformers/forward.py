"""Running a model over token ids, with failures in plain words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from .._errors import InputError
from .attention import LayerCall, Watcher, watching
from .models import LoadedModel


class SeenEnough(Exception):
    """Ends a pass through the model early: a watcher has all layers that it wants."""


@contextmanager
def _at_rest(model: Any) -> Iterator[None]:
    """No gradients and no dropout; afterwards the model is as before."""
    import torch

    training = model.training
    model.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        model.train(training)


def padded(loaded: LoadedModel, sequences: Sequence[np.ndarray[Any, Any]]) -> Any:
    """Token ids as (sequences, tokens), padded at the end, where no token before the padding sees it."""
    import torch

    tokens = torch.zeros((len(sequences), max(map(len, sequences))), dtype=torch.long)
    for row, ids in zip(tokens, sequences):
        row[: len(ids)] = torch.from_numpy(np.ascontiguousarray(ids))
    return tokens.to(loaded.device)


@contextmanager
def _plainly(tokens: Any) -> Iterator[None]:
    import torch

    try:
        yield
    except (torch.OutOfMemoryError, MemoryError) as error:
        raise _out_of_memory(tokens) from error
    except RuntimeError as error:
        if "allocate memory" not in str(error) and "out of memory" not in str(error):
            raise
        raise _out_of_memory(tokens) from error


def _out_of_memory(tokens: Any) -> InputError:
    documents, length = tokens.shape
    some = "1 document" if documents == 1 else f"{documents} documents"
    return InputError(
        f"there is not enough memory on {tokens.device} for {some} of {length} tokens at once; pass a smaller "
        "`batch_size` or `max_length`, or another `dtype` or `device_map`"
    )


def run(loaded: LoadedModel, tokens: Any, watcher: Watcher, *, logits: bool = False, attention: str | None = None) -> Any:
    """Runs the model over token ids while the watcher sees its attention. Returns the logits if they are asked for."""
    # Without its head a model is faster and needs less memory: the logits are often its largest tensor.
    part = loaded.model if logits else loaded.model.base_model
    with watching(loaded.model, watcher, attention), _at_rest(loaded.model), _plainly(tokens):
        try:
            output = part(input_ids=tokens, use_cache=False)
        except SeenEnough:
            return None
    return output.logits if logits else None


class _Shapes(Watcher):
    def __init__(self) -> None:
        self.calls: dict[int, LayerCall] = {}

    def see(self, call: LayerCall) -> None:
        if call.layer in self.calls:
            raise InputError(f"layer {call.layer} attends twice in one pass, so there is no one query of a token")
        self.calls[call.layer] = call


def layer_calls(loaded: LoadedModel) -> dict[int, LayerCall]:
    """What every layer with attention compares, from a pass over two tokens.

    Raises InputError for a model whose attention cannot be seen.
    """
    shapes = _Shapes()
    run(loaded, padded(loaded, [np.zeros(2, np.int64)]), shapes)
    if not shapes.calls:
        raise InputError(
            f"{type(loaded.model).__name__} computes its attention without the attention interface of transformers, so "
            "its queries and keys cannot be seen"
        )
    for call in shapes.calls.values():
        if call.key.shape[2] != call.query.shape[2] or call.key.shape[-1] != call.query.shape[-1]:
            raise InputError(
                f"layer {call.layer} compares queries of {call.query.shape[-1]} components with keys of "
                f"{call.key.shape[-1]}, over {call.query.shape[2]} and {call.key.shape[2]} tokens"
            )
    return dict(sorted(shapes.calls.items()))
