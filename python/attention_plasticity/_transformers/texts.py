"""Texts: files of several kinds, datasets of the Hub, strings, and a sample of our own."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._errors import AccessError, ConfigError, InputError

SAMPLE = "sample"
_KINDS = (".txt", ".jsonl", ".parquet")


class Text(NamedTuple):
    """A document, as text or as token ids, and where it stands, for messages."""

    text: Any
    place: str


def read_texts(
    source: Any, *, field: str = "text", split: str = "train", max_documents: int | None = None
) -> list[Text]:
    """The documents of a source, in its order.

    source: a .txt file (one document), a .jsonl file or a Parquet file (one document a row, in `field`), a folder of such
        files, a dataset of the Hub (org/name, of which `split` is read), "sample" for the texts that come with the
        package, or an iterable of strings, or of sequences of token ids.

    Raises InputError for what is missing, empty or no text.
    """
    texts = list(islice(_all(source, field, split), max_documents))
    if not texts:
        raise InputError("there are no texts", os.fsdecode(source) if isinstance(source, (str, os.PathLike)) else "")
    for text in texts:
        if len(text.text.strip() if isinstance(text.text, str) else text.text) == 0:
            raise InputError("the text is empty; leave it out", text.place)
    return texts


def _all(source: Any, field: str, split: str) -> Iterator[Text]:
    if isinstance(source, (str, os.PathLike)):
        return _named(os.fsdecode(source), field, split)
    if not isinstance(source, Iterable):
        raise ConfigError(f"`texts`: {type(source).__name__} is no file, folder, dataset or list of strings")
    return _listed(source)


def _listed(source: Iterable[Any]) -> Iterator[Text]:
    for number, text in enumerate(source):
        if isinstance(text, str):
            yield Text(text, f"text {number}")
            continue
        ids = np.asarray(text)
        if ids.ndim != 1 or (len(ids) and (ids.dtype.kind not in "iu" or ids.min() < 0)):
            raise InputError(f"text {number} is {type(text).__name__}, it should be a string or a list of token ids")
        yield Text(ids.astype(np.int64), f"text {number}")


def _named(name: str, field: str, split: str) -> Iterator[Text]:
    path = Path(name)
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.suffix.lower() in _KINDS and file.is_file())
        if not files:
            raise InputError(f"this folder has no texts ({', '.join(_KINDS)})", name)
        for file in files:
            yield from _file(file, field)
    elif path.exists():
        yield from _file(path, field)
    elif name == SAMPLE:
        yield from sample_texts()
    elif path.suffix.lower() in _KINDS or name.count("/") != 1 or name.startswith("."):
        raise InputError("there is no such file or folder", name)
    else:
        yield from _dataset(name, field, split)


def _file(path: Path, field: str) -> Iterator[Text]:
    kind = path.suffix.lower()
    if kind == ".parquet":
        yield from _parquet(path, field)
    elif kind == ".jsonl":
        yield from _lines(path, field)
    elif kind == ".txt":
        yield Text(_decoded(path), str(path))
    else:
        raise InputError(f"texts are {', '.join(_KINDS)} files", str(path))


def _decoded(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"this is no UTF-8 text (byte {error.start})", str(path)) from None
    except OSError as error:
        raise InputError(f"it cannot be read: {error.strerror}", str(path)) from None


def _lines(path: Path, field: str) -> Iterator[Text]:
    for number, line in enumerate(_decoded(path).split("\n"), 1):
        if not line.strip():
            continue
        place = f"{path}:{number}"
        try:
            row = json.loads(line)
        except ValueError as error:
            raise InputError(f"this line is no JSON: {error}", place) from None
        except RecursionError:
            raise InputError("this line is JSON that is nested too deeply", place) from None
        if not isinstance(row, dict):
            raise InputError("this line is no JSON object", place)
        yield _row_text(row.get(field), field, row, place)


def _row_text(value: Any, field: str, names: Iterable[str], place: str) -> Text:
    if field not in names:
        raise InputError(f"there is no field {field}, only {', '.join(names)}; pass `text_field`", place)
    if not isinstance(value, str):
        raise InputError(f"the field {field} is {type(value).__name__}, it should be text", place)
    return Text(value, place)


def _parquet(path: Path, field: str) -> Iterator[Text]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"this is no Parquet file: {str(error).splitlines()[0]}", str(path)) from None
    names = file.schema_arrow.names
    if field not in names:
        raise InputError(f"there is no column {field}, only {', '.join(names)}; pass `text_field`", str(path))
    row = 0
    for batch in file.iter_batches(columns=[field]):
        for value in batch.column(0).to_pylist():
            yield _row_text(value, field, names, f"{path} row {row}")
            row += 1


def _dataset(name: str, field: str, split: str) -> Iterator[Text]:
    try:
        import datasets  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError:
        raise InputError(
            "there is no such file or folder; for a dataset of the Hub, pip install datasets", name
        ) from None
    try:
        rows = datasets.load_dataset(name, split=split, streaming=True)
    except Exception as error:  # its errors have many classes
        raise AccessError(f"the dataset cannot be read: {str(error).splitlines()[0]}", name) from error
    for number, row in enumerate(rows):
        yield _row_text(row.get(field), field, row, f"{name} row {number}")


def sample_texts() -> Iterator[Text]:
    """The pages of the project's documentation, which come with the package: some 25,000 words."""
    folder = Path(__file__).parents[1] / "sample"
    for file in sorted(folder.glob("*.md")):
        yield Text(_decoded(file), f"sample {file.name}")
