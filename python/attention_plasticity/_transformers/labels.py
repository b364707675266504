"""Labels of heads from the model's own attention. What they are, and which sequences show them, is the engine's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import _capture  # type: ignore[attr-defined]
from .attention import LayerCall, Watcher
from .documents import Document
from .forward import padded, run
from .models import LoadedModel


class _Labeller(Watcher):
    def __init__(self, add: Callable[..., None]) -> None:
        self._add = add

    def see(self, call: LayerCall) -> None:
        import torch

        def array(tensor: Any) -> Any:
            copied = tensor.detach().cpu()
            return copied.float() if copied.dtype == torch.float64 else copied

        sinks = None if call.sinks is None else array(call.sinks).float().numpy().reshape(-1)
        self._add(
            call.layer, array(call.query[0]), array(call.key[0]), call.scale, call.softcap, sinks, call.window
        )


def ordinary_ids(loaded: LoadedModel) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The ids of the vocabulary without special tokens, ascending."""
    rows = int(loaded.model.get_input_embeddings().num_embeddings)
    tokenizer = loaded.tokenizer
    if tokenizer is None:
        return np.arange(rows, dtype=np.int64)
    special = set(tokenizer.all_special_ids)
    special.update(number for number, token in tokenizer.added_tokens_decoder.items() if token.special)
    return np.array(sorted(number for number in set(tokenizer.get_vocab().values()) - special if number < rows), np.int64)


def first_id(tokenizer: Any) -> int | None:
    """The id of the BOS token, if the tokenizer puts it before a text."""
    if tokenizer is None or tokenizer.bos_token_id is None:
        return None
    ids = tokenizer("a")["input_ids"]
    return int(ids[0]) if len(ids) > 1 and ids[0] == tokenizer.bos_token_id else None


def label_heads(
    loaded: LoadedModel,
    layers: Sequence[dict[str, Any]],
    documents: Sequence[Document],
    step: Callable[[int, int], None],
) -> Any:
    """The labels of all heads. `step` is told how many of how many sequences are done."""
    labels = _capture.HeadLabels([(layer["q_heads"], layer["k_heads"]) for layer in layers])
    repeated = labels.sequences(ordinary_ids(loaded), bos=first_id(loaded.tokenizer))
    length = labels.document_tokens
    long_enough = [document.ids[:length] for document in documents if len(document.ids) >= length][: labels.documents]
    total = len(repeated) + len(long_enough)
    work = [(labels.add_repeated, ids) for ids in repeated] + [(labels.add_document, ids) for ids in long_enough]
    for done, (add, ids) in enumerate(work, 1):
        run(loaded, padded(loaded, [ids]), _Labeller(add))
        step(done, total)
    return labels
