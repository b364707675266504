"""The map of heads as a drawing inside a page, without any library."""

from __future__ import annotations

import html
import math
from bisect import bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._result import Result

_CELL = 12
_MARGIN = 24


def _ticks(count: int, most: int) -> range:
    return range(0, count, max(1, -(-count // most)))


def _color(share: float, anchors: list[str]) -> str:
    place = min(max(share, 0.0), 1.0) * (len(anchors) - 1)
    return anchors[min(int(place + 0.5), len(anchors) - 1)]


def head_map_svg(result: Result) -> str:
    """A square for each head: layers from top to bottom, heads from left to right."""
    from . import _runs

    figure = _runs.head_map(result._path(), None, [], [])
    anchors = _runs.colors("viridis")
    values = figure["values"]
    known = sorted(value for value in values.ravel().tolist() if not math.isnan(value))
    if not known:
        return ""
    low, high = known[0], known[-1]
    squares = []
    for row, layer in enumerate(figure["layers"]):
        for column, head in enumerate(figure["heads"]):
            value = values[row, column]
            if math.isnan(value):
                continue
            share = (value - low) / (high - low) if high > low else 0.5
            rank = len(known) - bisect_right(known, value) + 1
            squares.append(
                f'<rect x="{_MARGIN + column * _CELL}" y="{_MARGIN + row * _CELL}" width="{_CELL - 1}" height="{_CELL - 1}" '
                f'fill="{_color(share, anchors)}"><title>layer {layer}, head {head}: {value:.4f} '
                f"(rank {rank})</title></rect>"
            )
    width, height = _MARGIN + len(figure["heads"]) * _CELL, _MARGIN + len(figure["layers"]) * _CELL
    labels = [
        f'<text x="{_MARGIN - 3}" y="{_MARGIN + (row + 0.8) * _CELL:.0f}" text-anchor="end">{figure["layers"][row]}</text>'
        for row in _ticks(len(figure["layers"]), 24)
    ] + [
        f'<text x="{_MARGIN + (column + 0.45) * _CELL:.0f}" y="{_MARGIN - 4}" text-anchor="middle">'
        f"{figure['heads'][column]}</text>"
        for column in _ticks(len(figure["heads"]), 16)
    ]
    caption = f"{figure['column']} from {low:.3f} (dark) to {high:.3f} (light); layers down, heads across"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" role="img" '
        f'font-family="sans-serif" font-size="9" fill="currentColor">{"".join(labels + squares)}</svg>'
        f"<div><small>{html.escape(caption)}</small></div>"
    )
