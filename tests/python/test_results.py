"""Results behave as values."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars
import pyarrow as pa
import pytest

import attention_plasticity as ap

from conftest import dump


@pytest.fixture
def result(results):
    return results["minidoc-qwen3"]


def test_heads_are_indexed_by_layer_and_head(result):
    assert result.heads.index.names == ["layer", "q_head"]
    assert result[4, 2]["ap_exact"] == result.heads.loc[(4, 2), "ap_exact"]
    assert (4, 2) in result and (40, 2) not in result
    assert len(result) == len(list(result)) == 60
    for unknown in ((40, 2), 3, "heads"):
        with pytest.raises(KeyError, match="no such head"):
            result[unknown]


def test_heads_join_with_labels(result):
    labels = pd.read_csv(dump("minidoc-qwen3") / "head_labels.csv").set_index(["layer", "q_head"])
    joined = result.heads.join(labels[["induction"]])
    assert joined["ap_exact"].rank().corr(joined["induction"].rank()) == pytest.approx(0.8359, abs=1e-4)


def test_tables_come_in_three_kinds(result):
    frame = result.table("distance")
    arrow = result.table("distance", format="arrow")
    assert isinstance(arrow, pa.Table)
    assert isinstance(result.table("distance", format="polars"), polars.DataFrame)
    for column in frame:
        np.testing.assert_array_equal(arrow[column].to_numpy(), frame[column].to_numpy())
    with pytest.raises(ap.ConfigError, match="formats are pandas, arrow and polars"):
        result.table("distance", format="csv")
    with pytest.raises(ap.ConfigError, match="did you mean distance?"):
        result.table("distances")


def test_equality_is_to_the_last_bit(result):
    other = ap.analyze(dump("minidoc-qwen3"), seed=1)
    assert result == result and result != other and result != "result"
    with pytest.raises(TypeError):
        hash(result)


def test_pickled_results_are_the_same(result):
    copy = pickle.loads(pickle.dumps(result))
    assert copy == result
    assert copy.model_name == result.model_name
    assert repr(copy) == repr(result)
    assert pickle.loads(pickle.dumps(copy)) == result


def test_a_result_shows_itself_on_one_screen(result):
    lines = repr(result).splitlines()
    assert lines[0] == "<Result minidoc-qwen3: 60 heads>"
    assert len(lines) < 24
    assert max(map(len, lines)) <= 120
    page = result._repr_html_()
    assert page.count("<rect") == 60
    # The head with the largest value has the last colour of the map, and that with the least the first.
    assert result.heads["ap_exact"].idxmax() == (4, 2) and result.heads["ap_exact"].idxmin() == (2, 0)
    assert 'fill="#fde725"><title>layer 4, head 2: 0.9045 (rank 1)' in page
    assert 'fill="#440154"><title>layer 2, head 0: 0.1283 (rank 60)' in page
    assert "ap_exact" in page and "http" not in page.replace("http://www.w3.org/2000/svg", "")


def test_results_are_not_replaced_by_others(result, results, tmp_path):
    result.save(tmp_path)
    result.save(tmp_path)
    with pytest.raises(ap.ConfigError, match="overwrite"):
        results["smollm2-135m"].save(tmp_path)
    results["smollm2-135m"].save(tmp_path, overwrite=True)
    loaded = ap.load(tmp_path)
    assert loaded == results["smollm2-135m"]
    loaded.save(tmp_path / "copy")
    assert ap.load(tmp_path / "copy") == loaded
    with pytest.raises(ap.ConfigError, match="other results"):
        pickle.loads(pickle.dumps(result)).save(tmp_path / "copy")


def test_what_cannot_be_loaded_is_refused(tmp_path):
    with pytest.raises(ap.InputError):
        ap.load(tmp_path / "nothing")
    with pytest.raises(ap.InputError):
        ap.load(tmp_path)


def test_results_are_made_by_analyses_only():
    with pytest.raises(TypeError, match="analyze"):
        ap.Result()


def test_tables_and_options_are_described():
    described = {table["name"]: table for table in ap.tables()}
    assert [column["name"] for column in described["metrics"]["columns"]][:3] == ["layer", "q_head", "k_head"]
    fields = {field["name"]: field for field in ap.options()}
    assert fields["num_triples"]["default"] == "4096"
    assert fields["max_workers"]["default"] is None
    for name in fields:
        assert f" {name} (" in ap.analyze.__doc__
    assert " num_triples (" in ap.analyze_head.__doc__ and " max_workers (" not in ap.analyze_head.__doc__
