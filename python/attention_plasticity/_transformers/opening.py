"""The model and the documents that a user names, for whatever runs the one over the others."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from .._errors import ConfigError
from .documents import Document, longest, tokenized
from .models import LoadedModel, as_loaded
from .texts import read_texts


class Opened(NamedTuple):
    """A model and the documents it will read, of at most `max_length` tokens."""

    loaded: LoadedModel
    documents: list[Document]
    max_length: int


def open_model_and_texts(
    model: Any,
    tokenizer: Any,
    texts: Any,
    *,
    max_length: int | None,
    max_documents: int | None,
    long_texts: Literal["cut", "chunk"],
    text_field: str,
    text_split: str,
    chat_template: bool,
    **loading: Any,
) -> Opened:
    """Reads the texts, loads the model with the options `loading` of `load_model`, and makes documents of the texts.

    Options are checked and texts are read before the model is loaded, which takes longest. None in `loading` stands for an
    option that was not given.
    """
    check_counts(max_documents=max_documents)
    if long_texts not in ("cut", "chunk"):
        raise ConfigError(f"`long_texts: {long_texts}` is none of cut and chunk")
    if texts is None:
        raise ConfigError('`texts`: give a file, a folder, a list of strings, or "sample"')
    source = read_texts(texts, field=text_field, split=text_split, max_documents=max_documents)
    loaded = as_loaded(model, tokenizer, loading)
    length = longest(loaded, max_length)
    documents = tokenized(
        loaded,
        source,
        max_length=length,
        long_texts=long_texts,
        max_documents=max_documents,
        chat_template=chat_template,
    )
    return Opened(loaded, documents, length)


def check_counts(**counts: int | None) -> None:
    """Raises ConfigError for a count below 1."""
    for name, count in counts.items():
        if count is not None and count < 1:
            raise ConfigError(f"`{name}: {count}` should be at least 1")
