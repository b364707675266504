"""Figures in matplotlib, from the same numbers as the figures of the program."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

import numpy as np

from ._errors import ConfigError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ._result import Result

# The width of a column of a paper, in inches.
COLUMN = 3.4
# The axes of a map of distances: columns, rows.
DISTANCES = ("distance of the nearer key (tokens)", "distance of the farther key (tokens)")

_Draw = TypeVar("_Draw", bound=Callable[..., Any])


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError(
            "figures need matplotlib, which is not installed: pip install 'attention-plasticity[figures]'"
        ) from None
    return plt


def _in_column(draw: _Draw) -> _Draw:
    """A figure of its own gets the letters of a paper's column; axes of the user keep theirs."""

    @functools.wraps(draw)
    def drawn(self: Plots, *chosen: Any, ax: Axes | None = None, **options: Any) -> Axes:
        if ax is not None:
            return cast("Axes", draw(self, *chosen, ax=ax, **options))
        with _pyplot().rc_context({"font.size": 7, "axes.titlesize": 8}):
            return cast("Axes", draw(self, *chosen, **options))

    return cast("_Draw", drawn)


def _axes(ax: Axes | None, width: float, height: float, layout: str = "constrained") -> Axes:
    if ax is not None:
        return ax
    _, new = _pyplot().subplots(figsize=(width, height), layout=layout)
    return cast("Axes", new)


def _indices(selection: int | Iterable[int] | None) -> list[int]:
    if selection is None:
        return []
    try:
        several = [selection] if isinstance(selection, Integral) else selection
        return [operator.index(index) for index in cast("Iterable[int]", several)]
    except TypeError:
        raise ConfigError(f"{selection!r}: layers and heads are chosen by a whole number, or by several") from None


def _least(min_count: int | None) -> int:
    """Data below which a cell or a point counts as little; None: as the program has it."""
    from . import _runs

    return _runs.min_count if min_count is None else min_count


def _head_map_axes(ax: Axes | None, layers: int) -> Axes:
    """Axes for a map of heads, taller for more layers."""
    return _axes(ax, COLUMN, min(max(1.2 + 0.11 * layers, 2.2), 9.0))


def _distance_map(
    result: Result,
    layer: int | Iterable[int] | None,
    head: int | Iterable[int] | None,
    agg: Literal["mean", "median"],
    min_count: int | None,
) -> dict[str, Any]:
    """Position-exact plasticity by the distances of the two keys, of the chosen heads of a run."""
    from . import _runs

    return cast("dict[str, Any]", _runs.distance_map(result._path(), _indices(layer), _indices(head), agg, _least(min_count)))


class Plots:
    """The figures of a result. Each draws into `ax`, or into a new figure of the width of a column, and returns the axes.

    `layer` and `head` choose heads: a number, several, or None for all.
    """

    def __init__(self, result: Result) -> None:
        self._result = result

    @_in_column
    def heads(
        self,
        column: str | None = None,
        *,
        ax: Axes | None = None,
        layer: int | Iterable[int] | None = None,
        head: int | Iterable[int] | None = None,
        cmap: str = "viridis",
        vmin: float | None = None,
        vmax: float | None = None,
    ) -> Axes:
        """A map of one measure of every head; None: ap_exact, else ap_overall. Layers with a window are marked."""
        from . import _runs

        data = _runs.head_map(self._result._path(), column, _indices(layer), _indices(head))
        axes = _head_map_axes(ax, len(data["layers"]))
        image = axes.imshow(
            np.ma.masked_invalid(data["values"]), cmap=cmap, vmin=vmin, vmax=vmax, aspect="auto", interpolation="none"
        )
        _index_ticks(axes, data["heads"], data["layers"])
        for window_layer in data["windows"]:
            axes.plot(-0.75, data["layers"].index(window_layer), ">", color="0.4", markersize=3, clip_on=False)
        axes.set(xlabel="query head", ylabel="layer", title=data["title"])
        axes.figure.colorbar(image, ax=axes, label=data["column"])
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
        lines: bool = True,
        color: str = "C0",
        label: str = "mean",
    ) -> Axes:
        """Plasticity by the position of the query: a thin line for each head, and the mean with its band.

        The band is one standard error over documents to either side. `lines` False: the mean alone, in this `color`
        and with this `label`, as when several runs share axes.
        """
        from . import _runs

        least = _least(min_count)
        data = _runs.curves(self._result._path(), _indices(layer), _indices(head), pooled, least)
        axes = _axes(ax, COLUMN, 2.4)
        if lines and len(data["heads"]) > 1:
            for line in data["heads"]:
                axes.plot(line["position"], line["plasticity"], color="0.6", linewidth=0.5, alpha=0.4)
        mean = data["mean"]
        enough = ~(mean["support"] < least)
        position, value, error = (np.where(enough, mean[name], np.nan) for name in ("position", "plasticity", "error"))
        axes.plot(position, value, color=color, linewidth=1.4, label=label)
        axes.fill_between(position, value - error, value + error, color=color, alpha=0.3, linewidth=0)
        if data["is_log"]:
            axes.set_xscale("log", base=2)
        axes.set(
            xlabel="position of the query (tokens)" if data["in_tokens"] else "bucket of the query",
            ylabel="position-exact plasticity" if data["is_exact"] else "pooled plasticity",
            ylim=(0, 1),
        )
        return axes

    plasticity = curve

    @_in_column
    def distance(
        self,
        layer: int | Iterable[int] | None = None,
        head: int | Iterable[int] | None = None,
        *,
        ax: Axes | None = None,
        agg: Literal["mean", "median"] = "mean",
        min_count: int | None = None,
        cmap: str = "magma",
        vmin: float | None = None,
        vmax: float | None = None,
    ) -> Axes:
        """Position-exact plasticity by the distances of the two keys. Cells with little data are hatched."""
        data = _distance_map(self._result, layer, head, agg, min_count)
        return _cells(data, DISTANCES, "position-exact plasticity", ax, _least(min_count), cmap, vmin, vmax)

    @_in_column
    def heatmap(
        self,
        layer: int | Iterable[int] | None = None,
        head: int | Iterable[int] | None = None,
        *,
        ax: Axes | None = None,
        agg: Literal["mean", "median"] = "mean",
        min_count: int | None = None,
        cmap: str = "magma",
        vmin: float | None = None,
        vmax: float | None = None,
    ) -> Axes:
        """Pooled plasticity by the positions of query and keys. Cells with little data are hatched."""
        from . import _runs

        least = _least(min_count)
        data = _runs.bucket_map(self._result._path(), _indices(layer), _indices(head), agg, least)
        unit = "tokens" if data["in_tokens"] else "bucket"
        names = (f"position of the keys ({unit})", f"position of the query ({unit})")
        return _cells(data, names, "pooled plasticity", ax, least, cmap, vmin, vmax)

    @_in_column
    def components(
        self,
        layer: int | Iterable[int] | None = None,
        head: int | Iterable[int] | None = None,
        *,
        ax: Axes | None = None,
        agg: Literal["mean", "median"] = "mean",
        limit: int | None = None,
    ) -> Axes:
        """The share of each component in the linear information about position, pooled over positions."""
        from . import _runs

        data = _runs.component_bars(self._result._path(), _indices(layer), _indices(head), agg, limit)
        axes = _axes(ax, COLUMN, 2.0)
        axes.bar(np.arange(len(data["shares"])), data["shares"], width=1.0, color="C0")
        axes.set(xlabel="component", ylabel="share" if data["heads"] == 1 else f"share, {agg} of {data['heads']} heads")
        return axes


def _index_ticks(axes: Axes, columns: list[int], rows: list[int]) -> None:
    for axis, numbers, most in ((axes.xaxis, columns, 16), (axes.yaxis, rows, 24)):
        step = max(1, -(-len(numbers) // most))
        places = range(0, len(numbers), step)
        axis.set_ticks(list(places), [str(numbers[place]) for place in places])


def _cells(
    data: dict[str, Any],
    names: tuple[str, str],
    measure: str,
    ax: Axes | None,
    least: int,
    cmap: str,
    vmin: float | None,
    vmax: float | None,
) -> Axes:
    values, support = data["values"], data["support"]
    # Square cells make the axes narrower than their place, which the constrained layout does not expect: it cuts labels.
    axes = _axes(ax, COLUMN, 2.6, "compressed")
    little = np.zeros(values.shape, bool) if support is None else (support < least)
    shown = np.ma.masked_invalid(np.where(little, np.nan, values))
    rows, columns = values.shape
    image = axes.pcolormesh(np.arange(columns + 1), np.arange(rows + 1), shown, cmap=cmap, vmin=vmin, vmax=vmax)
    if little.any():
        hatched = np.ma.masked_where(~little, np.zeros(values.shape))
        from matplotlib.colors import ListedColormap

        # Without lines and colours of their own the cells are hatching alone.
        axes.pcolor(
            np.arange(columns + 1),
            np.arange(rows + 1),
            hatched,
            cmap=ListedColormap(["none"]),
            edgecolor="0.5",
            linewidth=0,
            hatch="////",
        )
    # Labels stand side by side below the axes, and above each other beside it.
    for axis, labels, most in ((axes.xaxis, data["columns"]["label"], 7), (axes.yaxis, data["rows"]["label"], 12)):
        step = 1
        while len(labels) / step > most:
            step *= 2
        axis.set_ticks(list(range(0, len(labels), step)), labels[::step])
    axes.set(xlabel=names[0], ylabel=names[1], aspect="equal")
    heads = data["heads"]
    axes.figure.colorbar(image, ax=axes, label=measure if heads == 1 else f"{measure}, {heads} heads")
    return axes
