"""Several runs side by side: what moved from one to the next, and is it more than noise?"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._csv import frame_of_csv
from ._errors import ConfigError
from ._files import write_text
from ._printable import printable_lines
from ._progress import warn
from ._result import Result, as_result

if TYPE_CHECKING:
    import pandas as pd

    from ._comparison_plot import ComparisonPlots, SeriesPlots

_log = logging.getLogger("attention_plasticity")


class _Findings:
    """The table and the summary of several runs, which are the files that the program writes."""

    _FILES: tuple[str, str]

    def __init__(self, found: dict[str, Any], runs: Sequence[Result]) -> None:
        self._texts: tuple[str, str] = (found["csv"], found["json"])
        self._text: str = printable_lines(found["text"])
        self._runs = list(runs)
        self.table: pd.DataFrame = frame_of_csv(found["csv"])
        self.json: dict[str, Any] = json.loads(found["json"])
        self.caveats: list[str] = list(found["caveats"])

    @property
    def columns(self) -> list[str]:
        """The measures that were compared."""
        return [str(name) for name in self.table["column"].unique()]

    def heads(self, column: str | None = None) -> pd.DataFrame:
        """The rows of one measure, by layer and q_head; None: the first measure."""
        name = self.columns[0] if column is None else column
        if name not in self.columns:
            raise ConfigError(f"there are no differences of {name}, but of {', '.join(self.columns)}")
        return self.table[self.table["column"] == name].set_index(["layer", "q_head"])

    def save(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Writes the table and the summary, as the program does, and returns their paths."""
        paths = [Path(os.fsdecode(folder)) / name for name in self._FILES]
        for path, text in zip(paths, self._texts):
            write_text(path, text)
        return paths

    def __repr__(self) -> str:
        return self._text


class Comparison(_Findings):
    """The difference between two runs, head by head, with its error.

    `table` has a row for each measure and head, the columns of head_differences.csv; `heads(column)` those of one
    measure. `json` is the summary, `caveats` what makes the runs differ besides their models.
    """

    _FILES = ("head_differences.csv", "comparison.json")

    def moved(self, column: str | None = None) -> pd.DataFrame:
        """The heads that moved at the level of the comparison, the surest first."""
        heads = self.heads(column)
        return heads[heads["q"] < self.json["level"]].sort_values(["q", "p"], kind="stable")

    @property
    def plot(self) -> ComparisonPlots:
        """Figures: .changes(), .change_map(), .curve(), .distance(). Needs matplotlib."""
        from ._comparison_plot import ComparisonPlots

        return ComparisonPlots(self, self._runs[0], self._runs[1])


class Series(_Findings):
    """Heads through several runs in an order, such as the checkpoints of a training.

    `table` has a row for each measure, head and run, the columns of head_series.csv; `json` is the summary.
    """

    _FILES = ("head_series.csv", "series.json")

    @property
    def plot(self) -> SeriesPlots:
        """Figures: .series(). Needs matplotlib."""
        from ._comparison_plot import SeriesPlots

        return SeriesPlots(self)


def _named(run: Any) -> tuple[Result, tuple[Path, str]]:
    """A run, its files, and what it is called."""
    result = as_result(run)
    return result, (result._path(), result.model_name if isinstance(run, Result) else os.fsdecode(run))


def _given(**options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _tell(found: dict[str, Any]) -> None:
    for caveat in found["caveats"]:
        warn(caveat)
    for note in found["notes"]:
        _log.info("%s", note)


def compare(
    a: Result | str | os.PathLike[str],
    b: Result | str | os.PathLike[str],
    *,
    columns: Sequence[str] = (),
    level: float | None = None,
) -> Comparison:
    """Compares two runs, head by head: b - a, with errors that are paired where both measured the same documents.

    Args:
        a: a result, or its folder.
        b: likewise.
        columns: measures of `result.heads`; none: those that have errors.
        level: a head moved when its q is below this.

    Raises InputError when the runs cannot be compared, such as models of other shapes. What else differs is a warning.
    """
    from . import _runs

    (first, first_files), (second, second_files) = _named(a), _named(b)
    found = _runs.compare_runs(first_files, second_files, list(columns), **_given(level=level))
    _tell(found)
    return Comparison(found, (first, second))


def series(
    runs: Sequence[Result | str | os.PathLike[str]],
    *,
    x: str | os.PathLike[str] | Mapping[str, Sequence[float]] | None = None,
    columns: Sequence[str] = (),
    level: float | None = None,
    threshold: float | None = None,
) -> Series:
    """Follows heads through runs in an order. Each run is compared with the one before.

    Args:
        runs: results, or their folders.
        x: what orders them: {"step": [0, 500, 1000]} in the order of `runs`, "step=0,500,1000", or a CSV file with the
            columns results and a number; None: the number in which the names of the folders differ, else their order.
        columns: as for `compare`.
        level: as for `compare`.
        threshold: the value whose crossing is told, head by head.
    """
    from . import _runs

    read = [_named(run) for run in runs]
    axis = None
    if isinstance(x, Mapping):
        if len(x) != 1:
            raise ConfigError("`x`: should name one axis, such as {'step': [0, 500, 1000]}")
        ((name, values),) = x.items()
        axis = (name, [float(value) for value in values])
        if len(axis[1]) != len(read):
            raise ConfigError(f"`x`: has {len(axis[1])} values for {len(read)} runs")
    text = None if x is None or axis is not None else os.fsdecode(x)
    found = _runs.series_of_runs(
        [files for _, files in read], text, axis, list(columns), **_given(level=level, threshold=threshold)
    )
    _tell(found)
    return Series(found, [result for result, _ in read])
