"""Figures of several runs in matplotlib, from the same numbers as those of the program."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ._plot import (
    COLUMN,
    DISTANCES,
    _axes,
    _cells,
    _distance_map,
    _head_map_axes,
    _in_column,
    _index_ticks,
    _indices,
    _least,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ._compare import Comparison, Series
    from ._result import Result


class ComparisonPlots:
    """The figures of two runs. Each draws into `ax`, or into a new figure of the width of a column."""

    def __init__(self, comparison: Comparison, a: Result, b: Result) -> None:
        self._comparison = comparison
        self._a = a
        self._b = b

    @_in_column
    def changes(self, column: str | None = None, *, ax: Axes | None = None) -> Axes:
        """Each head in both runs, with the error of the difference; the dashed line is where nothing moved."""
        rows = self._comparison.heads(column)
        name, level = rows["column"].iloc[0], self._comparison.json["level"]
        rows = rows.dropna(subset=["a", "b"])
        axes = _axes(ax, COLUMN, COLUMN)
        low, high = min(0.0, rows[["a", "b"]].min().min()), max(1.0, rows[["a", "b"]].max().max())
        axes.plot([low, high], [low, high], "--", color="0.6", linewidth=0.8, label="equal")
        moved = rows["q"] < level
        for group, color, word in (
            (rows[~moved], "0.55", "not moved"),
            (rows[moved & (rows["b"] > rows["a"])], "C3", "up"),
            (rows[moved & (rows["b"] <= rows["a"])], "C0", "down"),
        ):
            if len(group):
                axes.errorbar(
                    group["a"],
                    group["b"],
                    yerr=group["se"].fillna(0),
                    fmt="o",
                    markersize=2,
                    elinewidth=0.6,
                    color=color,
                    label=f"{word}: {len(group)}",
                )
        axes.set(
            xlim=(low, high), ylim=(low, high), aspect="equal", xlabel=f"{name} in a", ylabel=f"{name} in b"
        )
        axes.legend(frameon=False)
        return axes

    @_in_column
    def change_map(
        self, column: str | None = None, *, ax: Axes | None = None, cmap: str = "RdBu_r", vmax: float | None = None
    ) -> Axes:
        """The difference of every head, b - a, on a scale around zero. Heads that did not move are paler."""
        rows = self._comparison.heads(column)
        name = rows["column"].iloc[0]
        differences, q = (rows[field].unstack("q_head") for field in ("difference", "q"))
        axes = _head_map_axes(ax, len(differences))
        largest = _largest(differences.to_numpy(), vmax)
        image = axes.imshow(
            np.ma.masked_invalid(differences.to_numpy()),
            cmap=cmap,
            vmin=-largest,
            vmax=largest,
            alpha=np.where(q.to_numpy() < self._comparison.json["level"], 1.0, 0.45),
            aspect="auto",
            interpolation="none",
        )
        _index_ticks(axes, list(differences.columns), list(differences.index))
        axes.set(xlabel="query head", ylabel="layer")
        # The colours of the bar are those of heads that moved.
        from matplotlib.cm import ScalarMappable

        axes.figure.colorbar(ScalarMappable(image.norm, image.cmap), ax=axes, label=f"difference of {name}")
        return axes

    @_in_column
    def curve(
        self,
        *,
        ax: Axes | None = None,
        layer: int | Iterable[int] | None = None,
        head: int | Iterable[int] | None = None,
        pooled: bool = False,
        min_count: int | None = None,
    ) -> Axes:
        """Plasticity by the position of the query: the means of both runs with their bands."""
        axes = _axes(ax, COLUMN, 2.4)
        for run, color, word in ((self._a, "C0", "a"), (self._b, "C3", "b")):
            run.plot.curve(
                ax=axes, layer=layer, head=head, pooled=pooled, min_count=min_count, lines=False, color=color, label=word
            )
        axes.legend(frameon=False)
        return axes

    @_in_column
    def distance(
        self,
        layer: int | Iterable[int] | None = None,
        head: int | Iterable[int] | None = None,
        *,
        ax: Axes | None = None,
        agg: Literal["mean", "median"] = "mean",
        min_count: int | None = None,
        cmap: str = "RdBu_r",
        vmax: float | None = None,
    ) -> Axes:
        """Position-exact plasticity by the distances of the two keys: b - a, where both have it."""
        a, b = (_distance_map(run, layer, head, agg, min_count) for run in (self._a, self._b))
        data = _difference(a, b)
        largest = _largest(data["values"], vmax)
        return _cells(data, DISTANCES, "difference of plasticity", ax, _least(min_count), cmap, -largest, largest)


class SeriesPlots:
    """The figures of a series."""

    def __init__(self, series: Series) -> None:
        self._series = series

    @_in_column
    def series(
        self,
        column: str | None = None,
        *,
        ax: Axes | None = None,
        layer: int | Iterable[int] | None = None,
        head: int | Iterable[int] | None = None,
    ) -> Axes:
        """A line for each head, and the mean over all heads with a band of one standard error to either side."""
        rows = self._series.heads(column)
        name = rows["column"].iloc[0]
        for level, chosen in (("layer", _indices(layer)), ("q_head", _indices(head))):
            if chosen:
                rows = rows[rows.index.get_level_values(level).isin(chosen)]
        axes = _axes(ax, COLUMN, 2.4)
        heads = rows.groupby(level=["layer", "q_head"], sort=False)
        for _, line in heads:
            axes.plot(line["x"], line["value"], color="0.6", linewidth=0.5, alpha=0.4 if len(heads) > 1 else 1.0)
        if layer is None and head is None:
            (summary,) = (entry for entry in self._series.json["columns"] if entry["column"] == name)
            x = np.array(sorted(rows["x"].unique()))
            mean, error = (
                np.array([np.nan if run[field] is None else run[field] for run in summary["runs"]], float)
                for field in ("mean", "se")
            )
            axes.plot(x, mean, "o-", color="C0", markersize=2, linewidth=1.4, label=f"mean of {len(heads)} heads")
            axes.fill_between(x, mean - error, mean + error, color="C0", alpha=0.3, linewidth=0)
            axes.legend(frameon=False)
        axes.set(xlabel=self._series.json["x"], ylabel=name)
        return axes


def _largest(differences: np.ndarray[Any, Any], vmax: float | None) -> float:
    """The end of a scale around zero: `vmax`, otherwise the largest difference; 1 where nothing differs."""
    largest = float(np.nanmax(np.abs(differences), initial=0.0)) if vmax is None else vmax
    return largest if largest > 0 else 1.0


def _difference(a: dict[str, Any], b: dict[str, Any]) -> dict[str, Any]:
    """Two maps of cells as one, of the cells that both have."""
    shared: dict[str, Any] = {"heads": min(a["heads"], b["heads"])}
    places: list[tuple[list[int], list[int]]] = []
    for axis in ("rows", "columns"):
        of_b = {start: place for place, start in enumerate(b[axis]["start"])}
        both = [(place, of_b[start]) for place, start in enumerate(a[axis]["start"]) if start in of_b]
        shared[axis] = {"label": [a[axis]["label"][place] for place, _ in both]}
        # The last start is the end of the last cell.
        places.append(([place for place, _ in both[:-1]], [place for _, place in both[:-1]]))
    (rows_a, rows_b), (columns_a, columns_b) = places
    shared["values"] = b["values"][np.ix_(rows_b, columns_b)] - a["values"][np.ix_(rows_a, columns_a)]
    shared["support"] = None
    if a["support"] is not None and b["support"] is not None:
        shared["support"] = np.minimum(
            a["support"][np.ix_(rows_a, columns_a)], b["support"][np.ix_(rows_b, columns_b)]
        )
    return shared
