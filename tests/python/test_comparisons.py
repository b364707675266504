"""Several runs: comparisons, series and shards are those of the program."""

from __future__ import annotations

import json

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import attention_plasticity as ap

from conftest import csv_columns, dump, numbers, run_program

OPTIONS = ("--dataset_local_root", dump("minidoc-qwen3"), "--layers", "0-2", "--quiet")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """The same dump with three seeds, whose documents are the same."""
    root = tmp_path_factory.mktemp("seeds")
    for seed in (0, 1, 2):
        run_program("analyze", *OPTIONS, "--seed", str(seed), "-o", root / f"seed-{seed}")
    return [root / f"seed-{seed}" for seed in (0, 1, 2)]


@pytest.fixture(scope="module")
def comparison(folders):
    with pytest.warns(ap.PlasticityWarning, match="`seed` is 0 and 1"):
        return ap.compare(folders[0], folders[1])


@pytest.fixture(scope="module")
def series(folders):
    with pytest.warns(ap.PlasticityWarning):
        return ap.series(folders)


def same_table(frame: pd.DataFrame, text: str) -> None:
    written = csv_columns(text)
    assert list(frame.columns) == list(written)
    for name, fields in written.items():
        if name == "column":
            assert frame[name].tolist() == fields
        else:
            np.testing.assert_array_equal(frame[name].to_numpy(float), numbers(fields), name)


def test_comparisons_are_those_of_the_program(folders, comparison, tmp_path):
    shown = run_program("compare", folders[0], folders[1], "--output", tmp_path / "program")
    assert shown.startswith(repr(comparison))
    paths = comparison.save(tmp_path / "package")
    assert [path.name for path in paths] == ["head_differences.csv", "comparison.json"]
    for path in paths:
        assert path.read_bytes() == (tmp_path / "program" / path.name).read_bytes()
    same_table(comparison.table, paths[0].read_text())
    assert comparison.columns == ["ap_exact", "ap_overall"]
    assert json.loads(paths[1].read_text()) == comparison.json


def test_results_in_memory_are_compared(folders, comparison):
    with pytest.warns(ap.PlasticityWarning):
        other = ap.compare(ap.analyze(dump("minidoc-qwen3"), layers="0-2"), ap.load(folders[1]))
    pd.testing.assert_frame_equal(other.table, comparison.table)
    assert "minidoc-qwen3" in repr(other)


def test_a_run_equals_itself(folders):
    nothing = ap.compare(folders[0], folders[0])
    assert (nothing.table["difference"] == 0).all()
    assert nothing.moved().empty


def test_heads_that_moved_are_a_table(comparison):
    every = comparison.heads("ap_overall")
    assert every.index.names == ["layer", "q_head"] and len(every) == 18
    summary = comparison.json["columns"][0]
    assert len(comparison.moved()) == summary["up"] + summary["down"]
    with pytest.raises(ap.ConfigError, match="no differences of q_R2_pos, but of ap_exact, ap_overall"):
        comparison.heads("q_R2_pos")


def test_any_column_can_be_compared(folders):
    with pytest.warns(ap.PlasticityWarning):
        measured = ap.compare(folders[0], folders[1], columns=["q_R2_pos"], level=0.01)
    assert measured.columns == ["q_R2_pos"] and measured.json["level"] == 0.01
    assert measured.table["se"].isna().all()


def test_runs_that_do_not_fit_are_refused(folders, program_runs):
    with pytest.raises(ap.InputError):
        ap.compare(folders[0], program_runs["smollm2-135m"])
    with pytest.raises(ap.ConfigError, match="did you mean ap_exact?"):
        ap.compare(folders[0], folders[1], columns=["ap_exakt"])


def test_series_are_those_of_the_program(folders, series, tmp_path):
    shown = run_program("compare", *folders, "--series", "--output", tmp_path / "program")
    assert shown.startswith(repr(series))
    for path in series.save(tmp_path / "package"):
        assert path.read_bytes() == (tmp_path / "program" / path.name).read_bytes()
    same_table(series.table, (tmp_path / "package" / "head_series.csv").read_text())
    assert series.json["x"] == "seed"


def test_what_orders_a_series_can_be_said(folders):
    with pytest.warns(ap.PlasticityWarning):
        named = ap.series(folders, x={"step": [500, 0, 1000]}, threshold=0.4)
        text = ap.series(folders, x="step=500,0,1000", threshold=0.4)
    pd.testing.assert_frame_equal(named.table, text.table)
    assert named.json == text.json and named.json["x"] == "step" and named.json["threshold"] == 0.4
    assert sorted(named.table["x"].unique()) == [0, 500, 1000]
    with pytest.raises(ap.ConfigError, match="2 values for 3 runs"):
        ap.series(folders, x={"step": [0, 1]})
    with pytest.raises(ap.ConfigError, match="one axis"):
        ap.series(folders, x={})
    with pytest.raises(ap.ConfigError):
        ap.series(folders[:1])


def test_figures_of_two_runs_show_the_table(comparison):
    rows = comparison.heads()
    axes = comparison.plot.changes()
    points = np.concatenate([container.lines[0].get_xydata() for container in axes.containers])
    assert sorted(map(tuple, points)) == sorted(zip(rows["a"], rows["b"]))
    axes = comparison.plot.change_map("ap_overall")
    expected = comparison.heads("ap_overall")["difference"].unstack("q_head").to_numpy()
    np.testing.assert_array_equal(axes.images[0].get_array(), expected)
    low, high = axes.images[0].get_clim()
    assert low == -high
    axes = comparison.plot.curve()
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["a", "b"]
    axes = comparison.plot.distance()
    low, high = axes.collections[0].get_clim()
    assert low == -high
    plt.close("all")


def test_the_figure_of_a_series_shows_the_table(series):
    axes = series.plot.series()
    assert len(axes.lines) == 18 + 1
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), series.heads().loc[(0, 0), "value"])
    means = [run["mean"] for run in series.json["columns"][0]["runs"]]
    np.testing.assert_array_equal(axes.lines[-1].get_ydata(), means)
    assert len(series.plot.series(layer=1, head=[0, 1]).lines) == 2
    plt.close("all")


def test_shards_become_one_result(folders, tmp_path):
    shards = [tmp_path / f"shard-{number}" for number in (1, 2)]
    for number, shard in enumerate(shards, 1):
        run_program("analyze", *OPTIONS, "-o", shard, "--shard", f"{number}/2")
    merged = ap.merge(reversed(shards))
    whole = ap.load(folders[0])
    assert merged == whole
    assert merged.model_mean("ap_exact") == whole.model_mean("ap_exact")
    assert ap.merge(shards, tmp_path / "merged") == whole
    assert ap.load(tmp_path / "merged") == whole
    with pytest.raises(ap.ConfigError):
        ap.merge(shards[:1])
    with pytest.raises(ap.InputError):
        ap.merge([tmp_path])
