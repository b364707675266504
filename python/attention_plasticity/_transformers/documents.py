"""Documents as the model reads them: token ids of at most `max_length`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple

import numpy as np

from .._errors import ConfigError, InputError
from .models import LoadedModel
from .texts import Text

# Longest documents unless said otherwise, where the model takes as many.
USUAL_LENGTH = 4096


class Document(NamedTuple):
    """Token ids, and the text that they come from."""

    ids: np.ndarray[Any, np.dtype[np.int64]]
    place: str


def longest(loaded: LoadedModel, max_length: int | None) -> int:
    """Tokens of the longest document: `max_length`, otherwise the smaller of 4,096 and what the model takes."""
    limit = loaded.longest
    if max_length is None:
        return USUAL_LENGTH if limit is None else min(USUAL_LENGTH, limit)
    if max_length < 1:
        raise ConfigError(f"`max_length: {max_length}` should be at least 1")
    if limit is not None and max_length > limit:
        raise ConfigError(f"`max_length: {max_length}`: the model takes {limit} tokens (max_position_embeddings)")
    return max_length


def _tokens(loaded: LoadedModel, text: Text, chat_template: bool) -> Any:
    if not isinstance(text.text, str):
        return text.text
    if loaded.tokenizer is None:
        raise ConfigError("there is no tokenizer; pass the one of the model")
    if not chat_template:
        return list(loaded.tokenizer(text.text, verbose=False)["input_ids"])
    if not getattr(loaded.tokenizer, "chat_template", None):
        raise ConfigError("`chat_template`: the tokenizer of this model has none")
    turn = [{"role": "user", "content": text.text}]
    return list(loaded.tokenizer.apply_chat_template(turn, tokenize=True, return_dict=False))


def tokenized(
    loaded: LoadedModel,
    texts: Iterable[Text],
    *,
    max_length: int,
    long_texts: Literal["cut", "chunk"] = "cut",
    max_documents: int | None = None,
    chat_template: bool = False,
) -> list[Document]:
    """The documents of the texts. Longer texts are cut, or become several documents, each as if it stood alone.

    The rest of a text that was taken apart is left out when it is shorter than half of `max_length`.
    """
    vocabulary = int(loaded.model.get_input_embeddings().num_embeddings)
    documents: list[Document] = []
    for text in texts:
        ids = np.asarray(_tokens(loaded, text, chat_template), np.int64)
        if not len(ids):
            raise InputError("the text has no tokens; leave it out", text.place)
        if ids.max() >= vocabulary:
            raise InputError(
                f"the tokenizer gives token {ids.max()}, the model has {vocabulary}; they do not belong together",
                text.place,
            )
        starts = [0, *range(max_length, len(ids) - max_length // 2, max_length)] if long_texts == "chunk" else [0]
        for chunk in (ids[at : at + max_length] for at in starts):
            documents.append(Document(chunk, text.place))
            if len(documents) == max_documents:
                return documents
    return documents


def digest(documents: Iterable[Document]) -> str:
    """A digest of all token ids; equal for equal documents only."""
    sum_of_all = hashlib.sha256()
    for document in documents:
        sum_of_all.update(len(document.ids).to_bytes(8, "little"))
        sum_of_all.update(document.ids.tobytes())
    return sum_of_all.hexdigest()


def batches(numbers: Iterable[int], batch_size: int) -> Iterator[list[int]]:
    """The numbers in lists of `batch_size`."""
    batch: list[int] = []
    for number in numbers:
        batch.append(number)
        if len(batch) == batch_size:
            yield batch
            batch = []
    if batch:
        yield batch
