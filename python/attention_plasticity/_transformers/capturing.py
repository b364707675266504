"""From a model and texts to a dump, on disk or in memory."""

from __future__ import annotations

import os
import threading
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from .. import _capture  # type: ignore[attr-defined]
from .._errors import ConfigError
from .._option_values import as_texts
from .._printable import printable_text
from .._progress import Progress, warn
from .._temporary import temporary_folder
from .documents import Document, batches, digest
from .forward import layer_calls, padded, run
from .labels import label_heads
from .models import LoadedModel
from .opening import check_counts, open_model_and_texts
from .rows import Handing, RowTaker, TakenLayer, Wanted

if TYPE_CHECKING:
    import pandas as pd

LABELS_FILE = "head_labels.csv"


class Dump:
    """Captured queries and keys, in a folder or in memory. `ap.analyze` takes it.

    `path` is the folder (None: in memory), `model_name` the model, `documents` how many there are, `labels` a data frame
    of the labels of heads (None: none were asked for).
    """

    def __init__(
        self, model_name: str, documents: int, path: Path | None, labels: pd.DataFrame | None, heads: Any, config: str
    ) -> None:
        self.model_name = model_name
        self.documents = documents
        self.path = path
        self.labels = labels
        self._heads = heads
        self._config = config

    def __fspath__(self) -> str:
        if self.path is None:
            raise TypeError("this dump is in memory; capture(..., output=FOLDER) writes files")
        return str(self.path)

    def __repr__(self) -> str:
        where = "in memory" if self.path is None else str(self.path)
        return f"<Dump {printable_text(f'{self.model_name}: {self.documents} documents, {where}')}>"

    @property
    def heads(self) -> dict[tuple[int, int, int], tuple[dict[str, Any], dict[str, Any]]]:
        """The queries and keys of a dump in memory, by layer, query head and key head, with the columns of a dump."""
        if self._heads is None:
            raise ConfigError("this dump is in a folder; ap.analyze reads it")
        return self._heads

    def _analyzed(self) -> tuple[Any, dict[str, Any]]:
        """What `analyze` reads, and the options that say what a folder says itself."""
        if self.path is not None:
            return str(self.path), {}
        folder = temporary_folder(self)
        (folder / "config.json").write_text(self._config)
        return self.heads, {"rope_config": folder / "config.json"}


def layer_shapes(loaded: LoadedModel) -> list[dict[str, Any]]:
    """Heads, width and window of every layer; a layer without attention has no heads."""
    calls = layer_calls(loaded)
    declared = getattr(loaded.model.config.get_text_config(), "num_hidden_layers", None) or 0
    shapes: list[dict[str, Any]] = []
    for layer in range(max(max(calls) + 1, declared)):
        call = calls.get(layer)
        shapes.append(
            {"q_heads": 0, "k_heads": 0, "width": 0, "window": None}
            if call is None
            else {
                "q_heads": call.query.shape[1],
                "k_heads": call.key.shape[1],
                "width": call.query.shape[-1],
                "window": call.window,
            }
        )
    return shapes


class _Capture:
    """Documents through a model into a writer, which tells what it wants of each."""

    def __init__(self, loaded: LoadedModel, documents: list[Document], writer: Any, layers: int) -> None:
        self._loaded = loaded
        self._documents = documents
        self._writer = writer
        self._lock = threading.Lock()  # the writer takes one call at a time
        heads = {layer: writer.heads(layer) for layer in range(layers)}
        self._heads = {layer: chosen for layer, chosen in heads.items() if len(chosen[0])}

    def run(self, pending: list[int], batch_size: int, tell: Progress) -> None:
        handing = Handing(self._receive)
        try:
            for batch in batches(pending, batch_size):
                wanted = self._wanted(batch)
                taker = RowTaker(lambda document, layer: wanted.get((document, layer)), batch, set(self._heads))
                run(self._loaded, padded(self._loaded, [self._documents[number].ids for number in batch]), taker)
                handing.put(taker.taken)
                tell("step", "documents", 1 + batch[-1], len(self._documents), "document")
            handing.finish()
        finally:
            handing.stop()

    def _wanted(self, batch: list[int]) -> dict[tuple[int, int], Wanted]:
        import numpy as np

        wanted = {}
        with self._lock:
            for document in batch:
                self._writer.begin_document(document, len(self._documents[document].ids))
                for layer, (q_heads, k_heads) in self._heads.items():
                    positions = self._writer.positions(document, layer)
                    heads = np.asarray(q_heads, np.int64), np.asarray(k_heads, np.int64)
                    wanted[document, layer] = Wanted(*heads, *positions)
        return wanted

    def _receive(self, taken: list[TakenLayer]) -> None:
        for rows in taken:
            rows.ready()
            with self._lock:
                self._writer.add(rows.document, rows.layer, rows.queries, rows.keys)
        for document in sorted({rows.document for rows in taken}):
            with self._lock:
                self._writer.end_document(document)


def capture(
    model: Any,
    tokenizer: Any = None,
    texts: Any = None,
    *,
    output: str | os.PathLike[str] | None = None,
    labels: bool = False,
    batch_size: int = 1,
    max_length: int | None = None,
    max_documents: int | None = None,
    long_texts: Literal["cut", "chunk"] = "cut",
    text_field: str = "text",
    text_split: str = "train",
    chat_template: bool = False,
    dtype: str | None = None,
    device: str | None = None,
    device_map: str | None = None,
    attention: str | None = None,
    revision: str | None = None,
    gguf_file: str | None = None,
    trust_remote_code: bool | None = None,
    progress: bool | None = None,
    **options: Any,
) -> Dump:
    """Runs a model over texts and keeps queries and keys of sampled positions, as the layers compare them.

    Args:
        model: a model of transformers; or the name of a repository of the Hub, a folder, or a GGUF file, which is loaded
            with `dtype` (auto), `device` (a GPU if there is one), `device_map`, `attention`, `revision`, `gguf_file` and
            `trust_remote_code`.
        tokenizer: that of the model; None: it is loaded with the model.
        texts: a .txt, .jsonl (`text_field`) or Parquet file, a folder of these, a dataset of the Hub (`text_split`),
            "sample" for the texts that come with the package, or an iterable of strings or of token ids.
        output: the folder of the dump. None: the rows stay in memory. An interrupted capture into a folder goes on where
            it stopped when it is called again.
        labels: whether to label the heads too, in head_labels.csv of the dump.
        batch_size: documents that the model reads at once.
        max_length: longest document in tokens; None: 4,096, or what the model takes if that is less. Longer texts are cut,
            or become several documents (`long_texts`).
        max_documents: how many documents are read.
        chat_template: puts each text into the model's chat template, as what a user says.

    Raises ConfigError, InputError, AccessError, OutputError.

    """
    check_counts(batch_size=batch_size)
    opened = open_model_and_texts(
        model,
        tokenizer,
        texts,
        max_length=max_length,
        max_documents=max_documents,
        long_texts=long_texts,
        text_field=text_field,
        text_split=text_split,
        chat_template=chat_template,
        dtype=dtype,
        device=device,
        device_map=device_map,
        attention=attention,
        revision=revision,
        gguf_file=gguf_file,
        trust_remote_code=trust_remote_code,
    )
    named = os.fsdecode(texts) if isinstance(texts, (str, os.PathLike)) else ""
    with Progress(progress) as tell:
        settings = {**options, "max_length": opened.max_length}
        return _captured(opened.loaded, opened.documents, named, output, labels, batch_size, settings, tell)


def _captured(
    loaded: LoadedModel,
    documents: list[Document],
    source: str,
    output: str | os.PathLike[str] | None,
    with_labels: bool,
    batch_size: int,
    options: dict[str, Any],
    tell: Progress,
) -> Dump:
    shapes = layer_shapes(loaded)
    config = loaded.config_text
    model = {"name": loaded.name, "config": config, "source": source, "layers": shapes}
    settings = as_texts(options, without={})
    _capture.check_lengths([len(document.ids) for document in documents], settings)
    if output is None:
        rows = _capture.DumpRows(model, settings)
        _Capture(loaded, documents, rows, len(shapes)).run(list(range(len(documents))), batch_size, tell)
        labels = _labels(loaded, shapes, documents, tell) if with_labels else None
        return Dump(loaded.name, len(documents), None, _frame(labels), rows.take(), config)
    with closing(_capture.DumpWriter(os.fsdecode(output), model, digest(documents), settings)) as writer:
        if writer.is_complete:
            path = Path(writer.finish())
            if with_labels and not (path / LABELS_FILE).is_file():
                _labels(loaded, shapes, documents, tell).write(path / LABELS_FILE)
            return Dump(loaded.name, len(documents), path, _read_labels(path), None, config)
        done = set(writer.finished)
        pending = [number for number in range(len(documents)) if number not in done]
        _Capture(loaded, documents, writer, len(shapes)).run(pending, batch_size, tell)
        labels = _labels(loaded, shapes, documents, tell) if with_labels else None
        files = {} if labels is None else {LABELS_FILE: labels.text()}
        path = Path(writer.finish(files))
    return Dump(loaded.name, len(documents), path, _frame(labels), None, config)


def _labels(loaded: LoadedModel, shapes: list[dict[str, Any]], documents: list[Document], tell: Progress) -> Any:
    length = _capture.HeadLabels.document_tokens
    if sum(len(document.ids) >= length for document in documents) < 2:
        warn(f"fewer than 2 documents have {length} tokens, so labels that need them are empty")
    return label_heads(loaded, shapes, documents, lambda done, total: tell("step", "labels", done, total, "text"))


def _frame(labels: Any) -> pd.DataFrame | None:
    if labels is None:
        return None
    import pandas as pd

    return pd.DataFrame(labels.table())


def _read_labels(path: Path) -> pd.DataFrame | None:
    import pandas as pd

    file = path / LABELS_FILE
    return pd.read_csv(file) if file.is_file() else None
