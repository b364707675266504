"""Results behave as values."""

from __future__ import annotations

import os
import pickle
import sys
from pathlib import Path

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
    with pytest.raises(ap.ConfigError, match="these are the results of .*, and this run is of"):
        pickle.loads(pickle.dumps(result)).save(tmp_path / "copy")


def test_what_cannot_be_loaded_is_refused(tmp_path):
    with pytest.raises(ap.InputError):
        ap.load(tmp_path / "nothing")
    with pytest.raises(ap.InputError), pytest.warns(ap.PlasticityWarning, match="there is no such file"):
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
    for name, field in fields.items():
        assert (f" {name} (" in ap.analyze.__doc__) == (field["group"] != "The outputs")
    assert " num_triples (" in ap.analyze_head.__doc__ and " max_workers (" not in ap.analyze_head.__doc__


def test_figures_of_two_runs_never_mix(result, results, tmp_path):
    result.save(tmp_path)
    loaded = ap.load(tmp_path)
    assert loaded.heads.equals(result.heads)
    result.save(tmp_path)
    assert loaded.table("time").equals(result.table("time"))
    results["smollm2-135m"].save(tmp_path, overwrite=True)
    for use in (
        lambda: loaded.table("distance"),
        lambda: loaded.plot.heads(),
        lambda: loaded.save(tmp_path / "copy"),
        lambda: pickle.dumps(loaded),
        lambda: ap.plan(loaded, keep=0.5),
    ):
        with pytest.raises(ap.InputError, match="were replaced after they were loaded; load them again"):
            use()
    assert loaded.heads.equals(result.heads)


def test_tables_without_a_record_of_their_run_never_mix(result, results, tmp_path):
    result.save(tmp_path)
    (tmp_path / "run.json").unlink()
    with pytest.warns(ap.PlasticityWarning, match="nothing tells whether the tables beside it are of one run"):
        loaded = ap.load(tmp_path)
    assert loaded == result
    loaded = pickle.loads(pickle.dumps(loaded))
    assert loaded == result
    with pytest.warns(ap.PlasticityWarning):
        loaded = ap.load(tmp_path)
    results["smollm2-135m"].save(tmp_path, overwrite=True)
    with pytest.raises(ap.InputError, match="were replaced"):
        loaded.table("distance")


def test_a_table_that_is_left_out_is_told_of(result, tmp_path):
    result.save(tmp_path)
    changed = tmp_path / "head_time_plasticity.csv"
    changed.write_text(changed.read_text().replace("1", "2"))
    with pytest.warns(ap.PlasticityWarning, match="its SHA-256 is not the one in run.json"):
        loaded = ap.load(tmp_path)
    assert "time" not in loaded.tables
    with pytest.warns(ap.PlasticityWarning, match="its SHA-256 is not the one in run.json"):
        loaded.report(tmp_path / "report.html")


def test_loaded_results_are_saved_by_the_rules_of_measured_ones(result, tmp_path):
    copy = pickle.loads(pickle.dumps(result))
    other = ap.analyze(dump("minidoc-qwen3"), layers=0)
    (tmp_path / "file").write_text("")
    for saved in (result, copy):
        for place in (tmp_path / "file", tmp_path / "file" / "folder"):
            with pytest.raises(ap.OutputError):
                saved.save(place)
        # Another run of the same dump is replaced, with all that it left.
        folder = tmp_path / ("copy" if saved is copy else "run")
        other.save(folder)
        (folder / "head_metrics.partial.csv").write_text("")
        written = saved.save(folder)
        assert ap.load(folder) == result
        assert sorted(written) == sorted(folder.iterdir())
    with pytest.raises(ap.OutputError):
        (tmp_path / "blocked" / "run.json").mkdir(parents=True)
        copy.save(tmp_path / "blocked")
    assert [path.name for path in (tmp_path / "blocked").iterdir()] == ["run.json"]


def test_two_writers_of_one_folder_do_not_meet(result, tmp_path):
    import fcntl

    copy = pickle.loads(pickle.dumps(result))
    copy.save(tmp_path)
    handle = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        for saved in (result, copy):
            with pytest.raises(ap.OutputError, match="writing"):
                saved.save(tmp_path)
    finally:
        os.close(handle)


def test_an_unknown_column_has_one_error(result):
    from conftest import array_options, head_tables, paired

    heads = paired("minidoc-qwen3", head_tables("minidoc-qwen3"))
    arrays = ap.analyze(heads, layers=0, **array_options("minidoc-qwen3"))
    for one in (result, arrays, pickle.loads(pickle.dumps(result))):
        with pytest.raises(ap.ConfigError, match="head_metrics.csv has no column ap_exakt"):
            one.model_mean("ap_exakt")


def test_a_layer_is_no_head(result):
    assert 4 not in result and (4,) not in result and "heads" not in result and (4, 2, 0) not in result
    assert (np.int64(4), np.int64(2)) in result


def test_without_polars_tables_say_what_to_install(result, monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ImportError, match=r"pip install 'attention-plasticity\[polars\]'"):
        result.table("distance", format="polars")


def test_words_that_are_no_choice_are_named_with_their_option(result):
    for option, use in (
        ("group", lambda: ap.plan(result, keep=0.5, group="least")),
        ("missing", lambda: ap.plan(result, keep=0.5, missing="skip")),
        ("agg", lambda: result.plot.distance(agg="sum")),
        ("format", lambda: ap.plan(result, keep=0.5).text("yaml")),
    ):
        with pytest.raises(ap.ConfigError, match=f"`{option}`: "):
            use()


def test_results_may_have_names_that_are_not_utf8(result, tmp_path):
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    pickle.loads(pickle.dumps(result)).save(folder)
    loaded = ap.load(folder)
    assert loaded == result and loaded.heads.equals(result.heads)


def test_the_umask_of_the_process_stays(result, tmp_path, monkeypatch):
    before = os.umask(0o027)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(os, "umask", lambda mask: pytest.fail("another thread might make a file just then"))
            file = ap.plan(result, keep=0.5).to_file(tmp_path / "plan.json")
    finally:
        os.umask(before)
    assert file.stat().st_mode & 0o777 == 0o640
