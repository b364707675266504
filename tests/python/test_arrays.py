"""Heads in memory give what the dump with the same rows gives."""

from __future__ import annotations

import pickle
import weakref
from collections.abc import Iterator, Mapping

import numpy as np
import polars
import pyarrow as pa
import pytest

import attention_plasticity as ap
from attention_plasticity import _core

from conftest import DUMPS, array_options, dump, head_tables, paired
from dlpack_bfloat16 import Tensor


def numpy_columns(table: pa.Table) -> dict[str, np.ndarray]:
    columns = {name: table.column(name).combine_chunks() for name in table.column_names}
    vectors = columns["vector"].flatten().to_numpy()
    rows = {name: columns[name].to_numpy() for name in ("bucket", "example_id", "position")}
    window = columns["sliding_window"].to_pylist()[0] if "sliding_window" in columns else None
    return {**rows, "vector": vectors.reshape(len(table), -1), "sliding_window": window}


def as_rows(columns: dict[str, np.ndarray], kind: type[ap.Rows] = ap.Rows, **other: object) -> ap.Rows:
    named = {**columns, **other}
    return kind(
        named["vector"],
        position=named["position"],
        bucket=named["bucket"],
        example_id=named["example_id"],
        sliding_window=named["sliding_window"],
    )


class Exporter:
    """An array of a library of which only DLPack is known."""

    def __init__(self, array: np.ndarray) -> None:
        self._array = array
        self.shape = array.shape

    def __dlpack__(self, **options: object) -> object:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array.__dlpack_device__()


@pytest.mark.parametrize("name", DUMPS)
def test_arrow_tables_agree_with_the_folder(name, results):
    assert ap.analyze(paired(name, head_tables(name)), **array_options(name)) == results[name]


@pytest.mark.parametrize("name", DUMPS)
def test_numpy_arrays_agree_with_the_folder(name, results):
    rows = {head: numpy_columns(table) for head, table in head_tables(name).items()}
    assert ap.analyze(paired(name, rows), **array_options(name)) == results[name]


def test_tensors_agree_with_the_folder(results):
    rows = {}
    for head, table in head_tables("minidoc-qwen3").items():
        columns = numpy_columns(table)
        rows[head] = as_rows(columns, vector=Exporter(columns["vector"]))
    heads = paired("minidoc-qwen3", rows)
    assert ap.analyze(heads, **array_options("minidoc-qwen3")) == results["minidoc-qwen3"]


def test_polars_frames_agree_with_the_folder(results):
    rows = {head: polars.from_arrow(table) for head, table in head_tables("minidoc-qwen3").items()}
    heads = paired("minidoc-qwen3", rows)
    assert ap.analyze(heads, **array_options("minidoc-qwen3")) == results["minidoc-qwen3"]


def test_any_number_of_workers_gives_the_same(results):
    heads = paired("minidoc-qwen3", head_tables("minidoc-qwen3"))
    for workers in (1, 3):
        run = ap.analyze(heads, max_workers=workers, **array_options("minidoc-qwen3"))
        assert run == results["minidoc-qwen3"]


def write_dump(root, rows):
    import pyarrow.parquet as pq

    for (layer, head, side), table in rows.items():
        folder = root / f"l{layer:02}h{head:02}{side}"
        folder.mkdir()
        pq.write_table(table, folder / "data.parquet")


def test_heads_with_other_examples_agree_with_the_folder(tmp_path):
    rows = {head: table for head, table in head_tables("minidoc-qwen3").items() if head[0] < 2}
    rows[0, 0, "q"] = rows[0, 0, "q"].filter(pa.compute.field("example_id") != rows[0, 0, "q"]["example_id"][0])
    write_dump(tmp_path, rows)
    options = array_options("minidoc-qwen3")
    of_arrays = ap.analyze(paired("minidoc-qwen3", rows), **options)
    of_folder = ap.analyze(tmp_path, **options)
    assert of_arrays == of_folder
    assert of_arrays.model_mean("ap_exact") == of_folder.model_mean("ap_exact")


def test_the_rotation_is_inferred_as_from_a_folder(tmp_path, results):
    rows = {head: table for head, table in head_tables("minidoc-qwen3").items() if head[0] < 4}
    write_dump(tmp_path, rows)
    sizes = {"num_q_heads": 6, "num_k_heads": 2}
    of_arrays = ap.analyze(paired("minidoc-qwen3", rows), **sizes)
    of_folder = ap.analyze(tmp_path, **sizes)
    assert of_arrays == of_folder
    assert of_arrays.run_json["rotation"] == of_folder.run_json["rotation"]
    assert of_arrays.run_json["rotation"]["source"] == "inferred"
    assert abs(of_arrays[3, 1]["ap_exact"] - results["minidoc-qwen3"][3, 1]["ap_exact"]) < 0.01


def test_vectors_that_contradict_the_rotation_are_told(tmp_path):
    rows = {head: table for head, table in head_tables("minidoc-qwen3").items() if head[0] < 2}
    write_dump(tmp_path, rows)
    wrong = {"num_q_heads": 6, "num_k_heads": 2, "rope": "none"}
    told = []
    for source in (tmp_path, paired("minidoc-qwen3", rows)):
        with pytest.warns(ap.PlasticityWarning, match="the vectors contradict the rotation") as caught:
            ap.analyze(source, **wrong)
        told.append([str(warning.message) for warning in caught])
        with pytest.raises(ap.ConfigError, match="the vectors contradict the rotation"):
            ap.analyze(source, rotation_check="error", **wrong)
    assert told[0] == told[1]


def test_memory_is_limited(results):
    heads = paired("minidoc-qwen3", head_tables("minidoc-qwen3"))
    limited = ap.analyze(heads, memory_limit="64MB", max_workers=3, **array_options("minidoc-qwen3"))
    assert limited == results["minidoc-qwen3"]
    with pytest.raises(ap.InputError, match="every head failed.*of memory, and `memory_limit` is 1.0 MiB"):
        ap.analyze(heads, memory_limit="1MiB", layers=0, **array_options("minidoc-qwen3"))


def test_rows_with_nan_are_dropped_once(results):
    tables = head_tables("minidoc-qwen3")
    rows = {head: numpy_columns(tables[head]) for head in ((3, 0, "q"), (3, 1, "q"), (3, 0, "k"))}
    rows[3, 0, "k"]["vector"] = rows[3, 0, "k"]["vector"].copy()
    rows[3, 0, "k"]["vector"][5, 0] = np.nan
    heads = {(3, head, 0): (rows[3, head, "q"], rows[3, 0, "k"]) for head in (0, 1)}
    with pytest.raises(ap.InputError, match="row 5 of the keys"):
        ap.analyze(heads, **array_options("minidoc-qwen3"))
    with pytest.warns(ap.PlasticityWarning) as caught:
        run = ap.analyze(heads, non_finite="drop", **array_options("minidoc-qwen3"))
    assert [str(warning.message) for warning in caught] == [
        "layer 3 k_head 0: dropped 1 of 1042 rows with NaN or infinity"
    ]
    assert len(run) == 2 and abs(run[3, 1]["ap_exact"] - results["minidoc-qwen3"][3, 1]["ap_exact"]) < 0.01


def one_head() -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    tables = head_tables("minidoc-qwen3")
    return numpy_columns(tables[3, 1, "q"]), numpy_columns(tables[3, 0, "k"])


ROTATION = {"rope_config": dump("minidoc-qwen3") / "config.json"}


def test_one_head_has_the_figures_of_the_run(results):
    queries, keys = one_head()
    head = ap.analyze_head(queries, keys, layer=3, q_head=1, k_head=0, **ROTATION)
    expected = results["minidoc-qwen3"][3, 1]
    measured = head.metrics()
    assert (measured.pop("layer"), measured.pop("q_head")) == (3, 1)
    assert measured == expected.to_dict()
    assert head.exact.overall == expected["ap_exact"]
    assert head.head.k_head == 0
    assert len(head.component_weight) == head.width == 64


def test_rows_may_have_gaps(results):
    queries, keys = one_head()
    wide = np.zeros((len(queries["vector"]), 80), np.float32)
    wide[:, :64] = queries["vector"]
    transposed = np.asfortranarray(keys["vector"])
    head = ap.analyze_head(
        as_rows(queries, vector=wide[:, :64]), as_rows(keys, vector=transposed), layer=3, q_head=1, k_head=0, **ROTATION
    )
    assert head.exact.overall == results["minidoc-qwen3"][3, 1]["ap_exact"]


def half_of(columns: dict[str, np.ndarray]) -> tuple[ap.Rows, ap.Rows]:
    half = columns["vector"].astype(np.float16)
    return as_rows(columns, vector=half), as_rows(columns, vector=half.astype(np.float32))


def brain_bits(columns: dict[str, np.ndarray]) -> np.ndarray:
    return (np.ascontiguousarray(columns["vector"]).view(np.uint32) >> 16).astype(np.uint16)


def test_float16_is_widened():
    (queries, wide_queries), (keys, wide_keys) = (half_of(columns) for columns in one_head())
    narrow = ap.analyze_head(queries, keys, **ROTATION)
    assert narrow.metrics() == ap.analyze_head(wide_queries, wide_keys, **ROTATION).metrics()


def test_every_float16_becomes_the_same_float32():
    bits = np.arange(2**16, dtype=np.uint16)
    half = bits.view(np.float16).reshape(-1, 4)
    widened = _core.float32_rows(half)
    np.testing.assert_array_equal(widened.view(np.uint32) & 0xFFBFFFFF, half.astype(np.float32).view(np.uint32) & 0xFFBFFFFF)


def test_bfloat16_is_widened():
    import ml_dtypes

    queries, keys = one_head()
    wide = [as_rows(side, vector=(brain_bits(side).astype(np.uint32) << 16).view(np.float32)) for side in (queries, keys)]
    expected = ap.analyze_head(*wide, **ROTATION).metrics()
    typed = [as_rows(side, vector=brain_bits(side).view(ml_dtypes.bfloat16)) for side in (queries, keys)]
    assert ap.analyze_head(*typed, **ROTATION).metrics() == expected
    tensors = [Tensor(brain_bits(side)) for side in (queries, keys)]
    exported = [as_rows(side, vector=tensor) for side, tensor in zip((queries, keys), tensors)]
    assert ap.analyze_head(*exported, **ROTATION).metrics() == expected
    assert [tensor.released for tensor in tensors] == [1, 1]


def test_float32_is_borrowed():
    vectors = np.ones((5, 4), np.float32)
    assert np.shares_memory(_core.float32_rows(vectors), vectors)
    assert np.shares_memory(np.from_dlpack(_core.float32_rows(Exporter(vectors))), vectors)
    listed = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), 4)
    from attention_plasticity._rows import _vector_array

    assert _vector_array(listed, "queries").ctypes.data == listed.values.buffers()[1].address
    assert _vector_array(listed[1:], "queries").ctypes.data == listed.values.buffers()[1].address + 16


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"vector": np.zeros((3, 4))}, "float64.*float32"),
        ({"vector": np.zeros((3, 4), np.int32)}, "float32, float16 or bfloat16"),
        ({"vector": np.zeros(3, np.float32)}, "1 dimensions"),
        ({"vector": {1, 2, 3}}, "set is no array in the memory of the CPU"),
        ({"position": np.arange(4)}, "position has 4 rows, the vectors have 3"),
        ({"bucket": np.arange(2)}, "bucket has 2 rows, the vectors have 3"),
        ({"bucket": np.zeros(3)}, "bucket is float64, it should hold whole numbers"),
        ({"bucket": np.array([0, -1, 0])}, "row 1 of the queries: the bucket is negative"),
        ({"example_id": np.array([0, 1, -1])}, "row 2: example_id is negative"),
        ({"position": np.array([0, np.nan, 1])}, "row 1 of the queries: the position is negative or not finite"),
        ({"sliding_window": [4, 5, 5]}, "sliding_window has different values"),
        ({"vector": np.full((3, 4), np.inf, np.float32)}, "row 0 of the queries: the vector has a NaN or an infinity"),
    ],
)
def test_rows_that_cannot_be_used_are_refused(change, message):
    columns = {
        "vector": np.ones((3, 4), np.float32),
        "position": np.arange(3),
        "bucket": np.zeros(3, np.int64),
        "example_id": np.zeros(3, np.int64),
        "sliding_window": None,
    }
    with pytest.raises(ap.InputError, match=message) as caught:
        ap.analyze_head(as_rows({**columns, **change}), columns)
    assert caught.value.exit_code == 3


def test_arrow_rows_that_cannot_be_used_are_refused():
    good = {"position": [0.0, 1.0], "bucket": [0, 0]}
    float_lists = pa.list_(pa.float32())
    for table, message in [
        (pa.table({**good, "vector": pa.array([[1, 2], None], float_lists)}), "row 1: the vector is null"),
        (pa.table({**good, "vector": pa.array([[1, 2], [1]], float_lists)}), "vectors have 2 and 1 components"),
        (pa.table({**good, "vector": pa.array([[1, None], [1, 2]], float_lists)}), "a component of a vector is null"),
        (pa.table({**good, "vector": [1.0, 2.0]}), "should be lists of numbers"),
        (pa.table({**good, "bucket": pa.array([0, None]), "vector": pa.array([[1], [2]], float_lists)}), "bucket is null"),
        (pa.table({"position": [0.0]}), "no column vector and no column bucket"),
    ]:
        with pytest.raises(ap.InputError, match=message):
            ap.analyze_head(table, table)


def test_heads_are_named_by_their_numbers():
    queries, keys = one_head()
    with pytest.raises(ap.ConfigError, match="no head"):
        ap.analyze({3: (queries, keys)})
    with pytest.raises(ap.ConfigError, match="have the same keys; pass `num_q_heads`"):
        ap.analyze({(0, 0): (queries, keys), (0, 1): (queries, keys)})
    with pytest.raises(ap.ConfigError, match="given twice, as different objects"):
        ap.analyze({(0, 0, 0): (queries, keys), (0, 1, 0): (queries, dict(keys))})
    with pytest.raises(ap.ConfigError, match="`num_layers`: 2 is less than"):
        ap.analyze({(2, 0): (queries, keys)}, num_layers=2)
    run = ap.analyze({(3, 1, 0): (queries, keys)}, **ROTATION)
    assert run.run_json["input"]["kind"] == "arrays"
    assert run[3, 1]["ap_exact"] == ap.analyze_head(queries, keys, layer=3, q_head=1, k_head=0, **ROTATION).exact.overall


def test_a_broken_head_costs_only_itself():
    queries, keys = one_head()
    broken = {**queries, "vector": queries["vector"].copy()}
    broken["vector"][7, 3] = np.nan
    heads = {(0, 0, 0): (queries, keys), (0, 1, 0): (broken, keys)}
    with pytest.warns(ap.PlasticityWarning, match="1 head of 2 failed"):
        run = ap.analyze(heads, **ROTATION)
    assert len(run) == 1
    assert run.failures["message"].tolist() == ["row 7 of the queries: the vector has a NaN or an infinity in it"]
    with pytest.warns(ap.PlasticityWarning, match="dropped 1 of 1066 rows with NaN or infinity"):
        dropped = ap.analyze(heads, non_finite="drop", **ROTATION)
    assert dropped[0, 1]["n_q_tokens"] == len(queries["vector"]) - 1
    with pytest.raises(ap.InputError, match="every head failed"):
        ap.analyze({(0, 1, 0): (broken, keys)}, **ROTATION)


def test_rows_without_examples_are_told_of():
    queries, keys = ({name: column for name, column in side.items() if name != "example_id"} for side in one_head())
    with pytest.warns(ap.PlasticityWarning) as warned:
        ap.analyze({(0, 0): (queries, keys)}, **ROTATION)
    texts = [str(warning.message) for warning in warned]
    assert any("no example_id" in text for text in texts)
    assert any("no head has any plasticity" in text for text in texts)
    assert all(warning.filename == __file__ for warning in warned)


class WatchedRows(ap.Rows):
    """Rows of which one can tell whether they still exist."""

    __slots__ = ("__weakref__",)


class LazyHeads(Mapping):
    """Makes the rows of a head anew each time they are asked for."""

    def __init__(self, name: str) -> None:
        self._heads = paired(name, {head: numpy_columns(table) for head, table in head_tables(name).items()})
        self.made: list[weakref.ref[WatchedRows]] = []
        self.were_kept = True

    def __getitem__(self, head: tuple[int, int]) -> tuple[ap.Rows, ap.Rows]:
        self.were_kept &= all(rows() is not None for rows in self.made)
        queries, keys = self._heads[head]
        both = as_rows(queries, kind=WatchedRows), as_rows(keys, kind=WatchedRows)
        self.made += map(weakref.ref, both)
        return both

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return iter(self._heads)

    def __len__(self) -> int:
        return len(self._heads)


def test_a_mapping_may_make_its_rows_when_asked():
    heads = LazyHeads("minidoc-qwen3")
    run = ap.analyze(heads, layers="0-1", num_triples=64, **ROTATION)
    # Rows are told apart by their ids, and rows that are gone leave theirs to others.
    assert heads.were_kept and len(heads.made) == 24
    kept = {head: heads[head] for head in heads}
    assert run == ap.analyze(kept, layers="0-1", num_triples=64, **ROTATION)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"layers": "3-1"}, "`layers`: "),
        ({"layers": [0, 99]}, "`layers`: 99 is out of range; the model has 10 layers, 0 to 9"),
        ({"q_heads": 6}, "`q_heads`: 6 is out of range; the model has 6 query heads, 0 to 5"),
        ({"layers": ["a"]}, "`layers`: "),
        ({"layers": [1.5]}, "`layers`: 1.5 is no index"),
        ({"num_k_heads": 0}, "`num_k_heads`: 0 is out of range"),
        ({"num_k_heads": 4}, "`num_q_heads`: 6 is not a multiple of num_k_heads, 4"),
    ],
)
def test_wrong_selections_are_refused_as_of_a_folder(options, message):
    heads = paired("minidoc-qwen3", head_tables("minidoc-qwen3"))
    said = []
    for source in (heads, dump("minidoc-qwen3")):
        with pytest.raises(ap.ConfigError) as caught:
            ap.analyze(source, **{**array_options("minidoc-qwen3"), **options})
        said.append(str(caught.value))
    assert message in said[0]
    assert said[0] == said[1]


def test_numbers_of_numpy_select_heads(results):
    heads = paired("minidoc-qwen3", head_tables("minidoc-qwen3"))
    chosen = {"layers": np.int64(1), "q_heads": np.arange(2)}
    run = ap.analyze(heads, **chosen, **array_options("minidoc-qwen3"))
    assert list(run) == [(1, 0), (1, 1)]
    assert run == ap.analyze(dump("minidoc-qwen3"), **chosen)


def test_one_head_is_a_value():
    queries, keys = one_head()
    head = ap.analyze_head(queries, keys, layer=3, q_head=1, k_head=0, **ROTATION)
    same = pickle.loads(pickle.dumps(head))
    assert same == head and same is not head
    assert same.times == head.times and same.exact.distances[0] == head.exact.distances[0]
    assert same != ap.analyze_head(queries, keys, layer=3, q_head=2, k_head=0, **ROTATION) and head != "head"
    assert hash(same.head) == hash(head.head)
    with pytest.raises(TypeError):
        hash(head)
    assert repr(head).startswith(f"HeadResult(layer=3, q_head=1, k_head=0, ap_exact={head.exact.overall!r}, ap_overall=")
    assert repr(head.plasticity) == f"PooledPlasticity(overall={head.plasticity.overall!r}, cells=<{len(head.plasticity.cells)} entries>)"
    # Without a rotation there is no exact plasticity, and NaN is the same as NaN.
    pooled = ap.analyze_head(queries, keys, num_triples=0)
    assert pooled.exact is None and pooled == pickle.loads(pickle.dumps(pooled))


def test_members_of_one_head_are_described_as_columns():
    columns = {column["name"]: column["meaning"] for table in ap.tables()[:1] for column in table["columns"]}
    assert ap.HeadResult.slope_norm.__doc__ == columns["q_beta_norm"] + "."
    for kind in (ap.HeadResult, _core.ExactPlasticity, _core.TimePoint, _core.HeadId):
        for name, member in vars(kind).items():
            assert name.startswith("_") or member.__doc__, (kind, name)
