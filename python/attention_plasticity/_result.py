"""What an analysis measured, and the files of a run."""

from __future__ import annotations

import html
import json
import math
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast, overload

import numpy as np

from . import _core
from ._errors import ConfigError, InputError
from ._labels import as_labels_file
from ._printable import printable_text
from ._progress import Progress, warn
from ._temporary import is_own, temporary_folder

if TYPE_CHECKING:
    import pandas as pd
    import polars
    import pyarrow

    from ._plot import Plots

TABLES: dict[str, str] = {table["name"]: table["file"] for table in _core.schema()}
METRICS: list[str] = [
    column["name"] for table in _core.schema() if table["name"] == "metrics" for column in table["columns"]
]
HEADLINES = ("ap_exact", "ap_overall")

Columns = dict[str, "np.ndarray[Any, Any]"]


class _SavedRun:
    """A run whose files are on disk; they are read when they are asked for.

    Another run may replace them meanwhile. Then every further use raises InputError: figures of two runs never mix.
    """

    def __init__(self, results: Path) -> None:
        from . import _runs

        self.results = results
        self.found: dict[str, Any] = _runs.result_files(results)
        self.run_json: dict[str, Any] = json.loads(self.found["run_text"]) if self.found["run_text"] else {}
        self._state = self._state_now()

    def _state_now(self) -> Any:
        """What tells one run from another: run.json, which has the digests of all tables, else the times of the files."""
        try:
            if self.found["run"]:
                return self.found["run"].read_bytes()
            return [(status.st_ino, status.st_mtime_ns, status.st_size) for status in map(os.stat, self.files())]
        except OSError:
            return None

    def require_unchanged(self) -> None:
        now = self._state_now()
        if now is None or now != self._state:
            raise InputError("these results were replaced after they were loaded; load them again", str(self.results))

    def columns(self, name: str) -> Columns | None:
        from . import _runs

        self.require_unchanged()
        if name not in self.found["tables"]:
            return None
        partial = self.results if self.results.name.endswith(".csv") else self.found["folder"]
        columns = _runs.read_columns(partial, name)
        if self.run_json.get("config", {}).get("compat") == "python":
            # The names of the Python toolkit, as the run wrote them.
            with open(self.found["tables"][name]) as file:
                columns = dict(zip(file.readline().rstrip().split(","), columns.values()))
        self.require_unchanged()
        return columns

    def files(self) -> list[Path]:
        tables: list[Path] = list(self.found["tables"].values())
        return tables + ([self.found["run"]] if self.found["run"] else [])

    @property
    def model_name(self) -> str:
        return str(self.run_json.get("model", {}).get("name") or "unknown model")

    @property
    def interrupted(self) -> bool:
        return ".partial." in self.results.name

    @property
    def failures(self) -> list[tuple[Any, ...]]:
        failed = self.run_json.get("heads", {}).get("failed", [])
        return [(head["layer"], head["q_head"], None, head["file"], head["error"]) for head in failed]

    def model_mean(self, column: str) -> tuple[float, float] | None:
        summary = self.run_json.get("summary", {}).get(column)
        return None if summary is None else (_number(summary["mean"]), _number(summary["se"]))

    def save(self, folder: Path, overwrite: bool) -> list[Path]:
        from . import _runs

        self.require_unchanged()
        return list(_runs.copy_results(self.results, folder, overwrite))


class _MeasuredRun:
    """A run in memory."""

    def __init__(self, run: Any) -> None:
        self._run = run
        self.model_name = str(run.model_name)
        self.interrupted = bool(run.interrupted)
        self.failures: list[tuple[Any, ...]] = run.failures

    def columns(self, name: str) -> Columns | None:
        return cast("Columns", self._run.table(name))

    def model_mean(self, column: str) -> tuple[float, float] | None:
        _, mean, error = self._run.model_mean(column)
        return mean, error

    def save(self, folder: Path, overwrite: bool) -> list[Path]:
        return [Path(path) for path in self._run.save(folder, overwrite)]


class Result:
    """What was measured of the heads of a model.

    `heads` is the table of all heads; `table(name)` gives any table; `result[layer, head]` the figures of one head.
    Results are equal when all their tables are, to the last bit.
    """

    def __init__(self) -> None:
        raise TypeError("results come from analyze() and load()")

    @classmethod
    def _make(cls, run: _MeasuredRun | _SavedRun | None) -> Result:
        self = object.__new__(cls)
        self._run = cast("_MeasuredRun | _SavedRun", run)
        self._saved = run if isinstance(run, _SavedRun) else None
        self._cache = {}
        self._heads = None
        return self

    _run: _MeasuredRun | _SavedRun
    _saved: _SavedRun | None
    _cache: dict[str, Columns | None]
    _heads: pd.DataFrame | None

    @classmethod
    def _of_run(cls, run: Any) -> Result:
        return cls._make(_MeasuredRun(run))

    # What it holds

    @property
    def model_name(self) -> str:
        """The model's name, from the dump or its address."""
        return self._run.model_name

    @property
    def interrupted(self) -> bool:
        """Whether the analysis was stopped before all heads were measured."""
        return self._run.interrupted

    @property
    def failures(self) -> pd.DataFrame:
        """The heads that could not be measured, and why."""
        import pandas as pd

        return pd.DataFrame(self._run.failures, columns=["layer", "q_head", "k_head", "file", "message"])

    @property
    def tables(self) -> list[str]:
        """The names of the tables that were measured."""
        return [name for name in TABLES if self._columns(name)]

    @property
    def run_json(self) -> dict[str, Any]:
        """What the run was: program, input, model, configuration, means. docs/formats.md describes it."""
        return self._files().run_json

    @property
    def heads(self) -> pd.DataFrame:
        """The measures of every head (the table metrics), by layer and q_head."""
        if self._heads is None:
            self._heads = self.table("metrics").set_index(["layer", "q_head"])
        return self._heads

    @overload
    def table(self, name: str, format: Literal["pandas"] = "pandas") -> pd.DataFrame: ...
    @overload
    def table(self, name: str, format: Literal["arrow"]) -> pyarrow.Table: ...
    @overload
    def table(self, name: str, format: Literal["polars"]) -> polars.DataFrame: ...
    def table(self, name: str, format: str = "pandas") -> Any:
        """A table by its short name; `ap.tables()` describes them all. A value that does not exist is NaN."""
        columns = self._columns(name)
        if columns is None or not columns:
            raise InputError(f"this result has no table {name}; it has {', '.join(self.tables)}")
        if format == "pandas":
            import pandas as pd

            return pd.DataFrame(columns)
        if format in ("arrow", "polars"):
            import pyarrow as pa

            table = pa.table({column: pa.array(values) for column, values in columns.items()})
            if format == "arrow":
                return table
            try:
                import polars
            except ImportError:
                raise ImportError(
                    "tables of polars need polars, which is not installed: pip install 'attention-plasticity[polars]'"
                ) from None
            return polars.from_arrow(table)
        raise ConfigError(f"{format}: the formats are pandas, arrow and polars")

    def model_mean(self, column: str) -> tuple[float, float]:
        """The mean of a column over the heads that have a value, and its standard error (NaN: it is not known)."""
        if (mean := self._run.model_mean(column)) is not None:
            return mean
        if column in self.heads.columns:
            return float(self.heads[column].mean()), math.nan
        if column in METRICS:
            return math.nan, math.nan
        raise ConfigError(f"head_metrics.csv has no column {column}")

    def __len__(self) -> int:
        columns = self._columns("metrics")
        return len(next(iter(columns.values()))) if columns else 0

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return iter([(int(layer), int(head)) for layer, head in self.heads.index])

    def __contains__(self, head: object) -> bool:
        # An index of two levels also knows whole layers, which are no heads.
        return isinstance(head, tuple) and len(head) == 2 and head in self.heads.index

    def __getitem__(self, head: tuple[int, int]) -> pd.Series[Any]:
        """The measures of one head: result[layer, q_head]."""
        try:
            layer, q_head = head
            return cast("pd.Series[Any]", self.heads.loc[(layer, q_head)])
        except (KeyError, TypeError, ValueError):
            raise KeyError(f"{head!r}: there is no such head; heads are (layer, q_head)") from None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Result):
            return NotImplemented
        return all(_same(self._columns(name), other._columns(name)) for name in TABLES)

    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    # Files

    def save(self, folder: str | os.PathLike[str], *, overwrite: bool = False) -> list[Path]:
        """Writes the tables and run.json into a folder, as the program does, and returns their paths.

        Raises ConfigError when the folder holds the results of another dump or model, unless `overwrite` is True.
        """
        return self._run.save(Path(os.fsdecode(folder)), overwrite)

    def report(
        self,
        output: str | os.PathLike[str],
        *,
        labels: str | os.PathLike[str] | pd.DataFrame | None = None,
        min_count: int | None = None,
    ) -> Path:
        """Writes one HTML page that shows everything; it opens from disk. `labels` are known roles of heads."""
        from . import _runs

        page = Path(os.fsdecode(output))
        with as_labels_file(labels) as file:
            least = _runs.min_count if min_count is None else min_count
            results = self._path()
            labels_name = "labels" if file is not None and is_own(file) else None
            _, notes = _runs.write_report(results, page, file, least, is_own(results), labels_name)
            for note in notes:
                warn(note)
        return page

    @property
    def plot(self) -> Plots:
        """Figures: result.plot.heads(), .curve(), .distance(), .heatmap(), .components(). Needs matplotlib."""
        from ._plot import Plots

        return Plots(self)

    def _columns(self, name: str) -> Columns | None:
        if name not in self._cache:
            self._cache[name] = self._run.columns(name) or None
        return self._cache[name]

    def _files(self) -> _SavedRun:
        """The files of the run; those of a run in memory are written into a folder of their own when first needed."""
        if self._saved is None:
            folder = temporary_folder(self)
            files = self._run.save(folder, True)
            self._saved = _SavedRun(files[0] if self._run.interrupted else folder)
        return self._saved

    def _set_saved(self, run: _SavedRun) -> None:
        self._run = self._saved = run

    def _path(self) -> Path:
        folder = self._files()
        folder.require_unchanged()
        return folder.results

    def __getstate__(self) -> dict[str, Any]:
        folder = self._files()
        files = {path.name: path.read_bytes() for path in folder.files()}
        folder.require_unchanged()
        return {"files": files, "given": folder.results.name if folder.results.suffix == ".csv" else ""}

    def __reduce__(self) -> Any:
        return _restored, (self.__getstate__(),)

    # How it looks

    def __repr__(self) -> str:
        lines = [self._headline()]
        columns = [name for name in HEADLINES if name in self.heads.columns]
        for name in columns:
            mean, error = self.model_mean(name)
            lines.append(f"  {name}: mean {mean:.4f}" + (f" ± {error:.4f}" if error == error else ""))
        if columns:
            ranked = self.heads[columns[0]].dropna().sort_values(ascending=False, kind="stable")
            for word, some in (("most", ranked.head(5)), ("least", ranked.tail(5)[::-1])):
                named = zip(cast("Iterable[tuple[int, int]]", some.index), some)
                heads = ", ".join(f"{layer}-{head} {value:.3f}" for (layer, head), value in named)
                lines.append(f"  {word} plastic (layer-head {columns[0]}): {heads}")
        lines.append(f"  tables: {', '.join(self.tables)}")
        return "\n".join(lines)

    def _headline(self) -> str:
        failed = len(self.failures)
        text = f"{printable_text(self.model_name)}: {len(self)} heads" + (f", {failed} failed" if failed else "")
        return f"<Result {text}{', interrupted' if self.interrupted else ''}>"

    def _repr_html_(self) -> str:
        from ._html import head_map_svg

        described = self.heads[[name for name in HEADLINES if name in self.heads.columns]].describe().T
        table = described.astype({"count": int}).to_html(float_format="{:.4f}".format)
        return f"<b>{html.escape(self._headline()[1:-1])}</b>{table}{head_map_svg(self)}"


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)


def _same(first: Columns | None, second: Columns | None) -> bool:
    if not first or not second:
        return not first and not second
    return list(first) == list(second) and all(
        np.array_equal(values, second[name], equal_nan=values.dtype.kind == "f") for name, values in first.items()
    )


def _restored(state: dict[str, Any]) -> Result:
    result = Result._make(None)
    folder = temporary_folder(result)
    for name, content in state["files"].items():
        (folder / name).write_bytes(content)
    result._set_saved(_SavedRun(folder / state["given"] if state["given"] else folder))
    return result


def load(results: str | os.PathLike[str]) -> Result:
    """The result that `save` or the program wrote: a folder, or its head_metrics.csv.

    A table that does not belong to the run is left out, with a warning. Tables are read when they are asked for; once
    another run has replaced the files, that raises InputError. Raises InputError when there are no results.
    """
    folder = _SavedRun(Path(os.fsdecode(results)))
    for note in folder.found["notes"]:
        warn(note)
    if "metrics" not in folder.found["tables"]:
        raise InputError(f"there is no {TABLES['metrics']} of a finished run", os.fsdecode(results))
    return Result._make(folder)


def as_result(results: Result | str | os.PathLike[str]) -> Result:
    """A result, or the one in a folder."""
    return results if isinstance(results, Result) else load(results)


def merge(
    shards: Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str] | None = None,
    *,
    overwrite: bool = False,
    progress: bool | None = None,
) -> Result:
    """Merges the shards of a run (`attention-plasticity analyze --shard`), in any order.

    Args:
        shards: their folders.
        output: where the results are written, as the program does; None: `save` writes them.
        overwrite: replace results of another dump or model in `output`.
        progress: as for `analyze`.
    """
    from . import _runs

    result = Result._make(None)
    target = temporary_folder(result) if output is None else Path(os.fsdecode(output))
    folders = [Path(os.fsdecode(shard)) for shard in shards]
    with Progress(progress) as tell:
        raised = _runs.merge_shards(folders, target, overwrite, tell)
    if raised is not None:
        raise raised
    result._set_saved(_SavedRun(target))
    if failed := len(result.failures):
        warn(f"{failed} of {failed + len(result)} heads failed; result.failures says why")
    return result
