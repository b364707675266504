"""Queries and keys in memory, from the arrays of any library."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from . import _core
from ._errors import InputError


class Rows:
    """The queries, or the keys, of one head: a row for each token.

    Args:
        vectors: tokens by components; float32 is read in place, float16 and bfloat16 are widened. Any array of the CPU
            with DLPack or the buffer protocol will do (NumPy, torch), and Arrow arrays of lists.
        position: in tokens, from 0.
        bucket: number of the position bucket, from 0.
        example_id: number of the sequence that a token comes from. Without it no pairs of keys can be formed, and
            plasticity is NaN.
        sliding_window: tokens that a query sees; None: all before it. Read of queries only.
    """

    __slots__ = ("bucket", "example_id", "position", "sliding_window", "vectors")

    def __init__(
        self,
        vectors: Any,
        *,
        position: Any,
        bucket: Any,
        example_id: Any = None,
        sliding_window: float | None = None,
    ) -> None:
        self.vectors: Any = vectors
        self.position: Any = position
        self.bucket: Any = bucket
        self.example_id: Any = example_id
        self.sliding_window: float | None = sliding_window

    def __len__(self) -> int:
        return _length(self.vectors)

    def __repr__(self) -> str:
        return f"Rows({len(self)} rows)"

    @classmethod
    def of(cls, source: Any) -> Rows:
        """Rows from a mapping, an Arrow table or a data frame with the columns of a dump.

        The columns are vector, position, bucket, and, if there are any, example_id and sliding_window.
        """
        if isinstance(source, cls):
            return source
        if isinstance(source, Mapping):
            return _of_columns(source, source)
        if hasattr(source, "__arrow_c_stream__") or hasattr(source, "__arrow_c_array__"):
            import pyarrow as pa

            table = source if isinstance(source, pa.Table) else pa.table(source)
            return _of_columns({name: table.column(name) for name in table.column_names}, table.column_names)
        raise InputError(
            f"{type(source).__name__}: queries and keys should be ap.Rows, or a mapping, Arrow table or data frame with "
            "the columns vector, position, bucket and example_id"
        )

    def _head_arrays(self, what: str, *, with_window: bool) -> _core.HeadArrays:
        # Lengths first: nothing is copied of rows that do not fit together.
        rows = len(self)
        for name in ("position", "bucket", "example_id"):
            column = getattr(self, name)
            if column is not None and _length(column) != rows:
                raise InputError(f"{what}: {name} has {_length(column)} rows, the vectors have {rows}")
        try:
            vectors = _core.float32_rows(_vector_array(self.vectors, what))
        except TypeError:
            kind = type(self.vectors).__name__
            raise InputError(f"{what}: {kind} is no array in the memory of the CPU") from None
        position = _position(self.position, what)
        bucket = _integers(self.bucket, "bucket", what).astype(np.int64, copy=False)
        example = None
        if self.example_id is not None:
            ids = _integers(self.example_id, "example_id", what)
            _require(ids >= 0, "example_id", "is negative", what)
            example = np.ascontiguousarray(ids.astype(np.uint64, copy=False))
        window = _window(self.sliding_window, what) if with_window else None
        return _core.HeadArrays(vectors, position, np.ascontiguousarray(bucket), example, window)


def _of_columns(columns: Mapping[str, Any], names: Any) -> Rows:
    def column(*spellings: str) -> Any:
        for name in spellings:
            if name in names:
                return columns[name]
        return None

    missing = [name for name in ("vector", "position", "bucket") if column(name, f"{name}s") is None]
    if missing:
        raise InputError(f"there is no column {' and no column '.join(missing)}")
    return Rows(
        column("vector", "vectors"),
        position=column("position", "positions"),
        bucket=column("bucket", "buckets"),
        example_id=column("example_id", "example_ids"),
        sliding_window=column("sliding_window"),
    )


def _length(column: Any) -> int:
    shape = getattr(column, "shape", None)
    return int(shape[0]) if shape is not None and len(shape) > 0 else len(column)


def _is_arrow(column: Any) -> bool:
    return hasattr(column, "__arrow_c_array__") or hasattr(column, "__arrow_c_stream__")


def _one_chunk(column: Any) -> Any:
    """An Arrow array; several chunks are copied into one."""
    import pyarrow as pa

    if not isinstance(column, (pa.Array, pa.ChunkedArray)):
        column = pa.chunked_array(column) if hasattr(column, "__arrow_c_stream__") else pa.array(column)
    if isinstance(column, pa.ChunkedArray):
        return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    return column


def _vector_array(column: Any, what: str) -> Any:
    if type(column).__module__.startswith("pandas"):
        column = column.to_numpy()
    if isinstance(column, np.ndarray):
        if column.dtype.name == "bfloat16":  # of ml_dtypes, which NumPy cannot export
            return _widened_bfloat16(column)
        if column.dtype == object:
            return np.stack(list(column)) if len(column) else np.empty((0, 0), np.float32)
        return column
    if not _is_arrow(column):
        if isinstance(column, (list, tuple)):
            return np.asarray(column)
        device = getattr(column, "device", None)
        if getattr(device, "type", "cpu") != "cpu":
            raise InputError(f"{what}: the vectors lie on the device {device}; pass .cpu()")
        return column.detach() if hasattr(column, "detach") else column
    import pyarrow as pa
    import pyarrow.compute as pc

    array = _one_chunk(column)
    kind = array.type
    is_list = pa.types.is_fixed_size_list(kind) or pa.types.is_list(kind) or pa.types.is_large_list(kind)
    if not is_list:
        raise InputError(f"{what}: the vectors are {kind}; they should be lists of numbers")
    if array.null_count:
        raise InputError(f"{what}: row {_first_null(array)}: the vector is null")
    values = array.flatten()
    if values.null_count:
        raise InputError(f"{what}: a component of a vector is null")
    width = kind.list_size if pa.types.is_fixed_size_list(kind) else None
    if width is None:
        widths = pc.list_value_length(array).unique().to_pylist()
        if len(widths) > 1:
            raise InputError(f"{what}: vectors have {widths[0]} and {widths[1]} components")
        width = widths[0] if widths else 0
    return values.to_numpy(zero_copy_only=True).reshape(len(array), width)


def _widened_bfloat16(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    bits = array.view(np.uint16).astype(np.uint32)
    bits <<= 16
    return bits.view(np.float32)


def _first_null(array: Any) -> int:
    return int(np.flatnonzero(np.asarray(array.is_null()))[0])


def _array(column: Any, name: str, what: str) -> np.ndarray[Any, Any]:
    if _is_arrow(column) and not isinstance(column, np.ndarray):
        array = _one_chunk(column)
        if array.null_count:
            raise InputError(f"{what}: row {_first_null(array)}: {name} is null")
        column = array.to_numpy(zero_copy_only=False)
    array = np.asarray(column)
    if array.ndim != 1:
        raise InputError(f"{what}: {name} has {array.ndim} dimensions, it should have one")
    return array


def _require(holds: np.ndarray[Any, Any], name: str, problem: str, what: str) -> None:
    if not holds.all():
        raise InputError(f"{what}: row {int(np.flatnonzero(~holds)[0])}: {name} {problem}")


def _integers(column: Any, name: str, what: str) -> np.ndarray[Any, Any]:
    array = _array(column, name, what)
    if array.dtype.kind not in "iu":
        raise InputError(f"{what}: {name} is {array.dtype}, it should hold whole numbers")
    return array


def _position(column: Any, what: str) -> np.ndarray[Any, Any]:
    array = _array(column, "position", what)
    if array.dtype.kind not in "iuf":
        raise InputError(f"{what}: position is {array.dtype}, it should hold numbers")
    return np.ascontiguousarray(array, dtype=np.float64)


def _window(value: Any, what: str) -> float | None:
    """The one window of a head; null, NaN and numbers up to 0 mean full attention, a fraction is floored."""
    if value is None:
        return None
    if np.ndim(value) == 0 and not _is_arrow(value):
        windows = {_one_window(value)}
    else:
        column = _one_chunk(value).to_pylist() if _is_arrow(value) else list(np.asarray(value))
        windows = {_one_window(entry) for entry in set(column)}
    if len(windows) > 1:
        raise InputError(f"{what}: sliding_window has different values: {sorted(map(str, windows))[:2]}")
    return next(iter(windows), None)


def _one_window(value: Any) -> float | None:
    if value is None or math.isnan(value) or value <= 0:
        return None
    return float(math.floor(value))
