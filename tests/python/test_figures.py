"""Figures show the numbers of the tables."""

from __future__ import annotations

import builtins

import matplotlib.pyplot as plt
import numpy as np
import pytest

import attention_plasticity as ap


@pytest.fixture
def result(results):
    yield results["minidoc-qwen3"]
    plt.close("all")


def test_heads_are_a_map_of_the_table(result):
    axes = result.plot.heads("ap_overall")
    shown = axes.images[0].get_array()
    expected = result.heads["ap_overall"].unstack("q_head").to_numpy()
    np.testing.assert_array_equal(shown, expected)
    assert axes.get_xlabel() == "query head" and axes.get_ylabel() == "layer"
    assert len(axes.lines) == 3  # layers with a window


def test_heads_that_were_not_captured_stay_blank(results):
    axes = results["smollm2-135m"].plot.heads()
    assert axes.images[0].get_array().count() == 40
    plt.close("all")


def test_the_curve_of_one_head_is_its_table_by_time(result):
    axes = result.plot.curve(layer=4, head=2)
    times = result.table("time").query("layer == 4 and q_head == 2")
    np.testing.assert_array_equal(axes.lines[-1].get_ydata(), times["ap_exact"])
    band = axes.collections[0].get_paths()[0].vertices
    assert band[:, 1].max() >= (times["ap_exact"] + times["ap_exact_se"]).max()
    assert axes.get_xlabel() == "position of the query (tokens)"


def test_the_curve_of_all_heads_has_a_line_for_each_and_a_band(result):
    axes = result.plot.curve()
    assert len(axes.lines) == 61
    assert len(axes.collections) == 1
    assert result.plot.curve(pooled=True).get_ylabel() == "pooled plasticity"


def test_distances_of_one_head_are_its_table(result):
    axes = result.plot.distance(4, 2, min_count=0)
    shown = axes.collections[0].get_array()
    table = result.table("distance").query("layer == 4 and q_head == 2")
    np.testing.assert_array_equal(np.sort(shown.compressed()), np.sort(table["plasticity"]))
    few = result.plot.distance(4, 2, min_count=100)
    assert few.collections[0].get_array().count() == (table["n_triples"] >= 100).sum()
    assert len(few.collections) == 2  # the hatching


def test_heatmaps_and_components_are_drawn(result):
    cells = result.plot.heatmap(layer=range(3), agg="median")
    assert "query (tokens)" in cells.get_ylabel()
    bars = result.plot.components(limit=10)
    assert len(bars.patches) == 10


def test_figures_draw_into_given_axes_and_fit_a_column(result):
    figure, axes = plt.subplots(1, 2)
    assert result.plot.heads(ax=axes[0]) is axes[0]
    assert result.plot.curve(ax=axes[1]) is axes[1]
    for draw in (result.plot.heads, result.plot.curve, result.plot.distance, result.plot.heatmap, result.plot.components):
        own = draw().figure
        assert own.get_figwidth() <= 3.5
        own.canvas.draw()
        outer = own.get_tightbbox()
        assert outer.x0 >= -0.02 and outer.x1 <= own.get_figwidth() + 0.02, draw


def test_wrong_heads_are_refused(result):
    with pytest.raises(ap.ConfigError):
        result.plot.curve(layer=99)
    with pytest.raises(ap.ConfigError, match="did you mean ap_exact?"):
        result.plot.heads("ap_exakt")


def test_without_matplotlib_figures_say_what_to_install(result, monkeypatch):
    real = builtins.__import__

    def without(name, *rest, **options):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"pip install 'attention-plasticity\[figures\]'"):
        result.plot.heads()


def test_labels_of_maps_stand_apart(results):
    axes = results["smollm2-135m"].plot.distance()
    axes.figure.draw_without_rendering()
    for axis in (axes.xaxis, axes.yaxis):
        boxes = [label.get_window_extent() for label in axis.get_ticklabels()]
        assert len(boxes) > 4
        assert not any(first.overlaps(second) for first, second in zip(boxes, boxes[1:]))


def test_numbers_of_numpy_choose_heads(result):
    layer, head = result.heads["ap_exact"].idxmax()
    axes = result.plot.distance(np.int64(layer), np.int64(head))
    assert len(axes.collections) >= 1
    result.plot.curve(layer=np.arange(2), head=(np.int32(0),))
    for wrong in ("4", 1.5, [0.5]):
        with pytest.raises(ap.ConfigError, match="whole number"):
            result.plot.curve(layer=wrong)


def test_cells_with_little_data_are_hatched(result):
    def darkest(min_count):
        axes = result.plot.distance(4, 2, min_count=min_count)
        axes.figure.canvas.draw()
        box = axes.get_window_extent()
        pixels = np.asarray(axes.figure.canvas.buffer_rgba())[..., :3]
        height = len(pixels)
        inside = pixels[int(height - box.y1) + 3 : int(height - box.y0) - 3, int(box.x0) + 3 : int(box.x1) - 3]
        return inside.reshape(-1, 3)

    # With so much data asked for no cell has a colour, and all that is drawn inside the axes is hatching.
    pixels = darkest(10**9)
    grey = (np.ptp(pixels, axis=1) < 8) & (pixels[:, 0] < 200)
    assert 0.05 < grey.mean() < 0.6


@pytest.mark.parametrize("name", ["minidoc-qwen3", "smollm2-135m"])
def test_nothing_of_a_figure_is_cut_off(name, results):
    plots = results[name].plot
    for draw in (plots.heads, plots.curve, plots.distance, plots.heatmap, plots.components):
        figure = draw().figure
        figure.canvas.draw()
        outer, width, height = figure.get_tightbbox(), *figure.get_size_inches()
        # In inches; letters at the edge itself are cut.
        margin = min(outer.x0, outer.y0, width - outer.x1, height - outer.y1)
        assert margin > 0.03, (draw, outer)
    plt.close("all")
