"""What is done with a result: cache plans, and validation by known roles of heads."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

from ._csv import frame_of_csv
from ._files import write_text
from ._labels import as_labels_file, is_frame, labels_csv
from ._printable import printable_lines
from ._progress import warn
from ._result import Result, as_result
from ._temporary import passing_folder, without_own_folders

if TYPE_CHECKING:
    import pandas as pd


class Plan:
    """Which KV heads keep their whole cache, and which need only the first tokens and a window of the last."""

    def __init__(self, plan: Any) -> None:
        self._plan = plan

    @property
    def heads(self) -> pd.DataFrame:
        """The kind (full, window or sliding), score and window of every KV head, by layer and kv_head."""
        import pandas as pd

        names = ["layer", "kv_head", "kind", "score", "window"]
        return pd.DataFrame(self._plan.heads(), columns=names).set_index(["layer", "kv_head"])

    @property
    def model(self) -> str | None:
        """The model's name."""
        return None if self._plan.model is None else str(self._plan.model)

    @property
    def window(self) -> int:
        """Last tokens that a windowed head keeps."""
        return int(self._plan.window)

    @property
    def sinks(self) -> int:
        """First tokens that it keeps."""
        return int(self._plan.sinks)

    def saved(self, tokens: int) -> float:
        """The share of the cache that the plan saves at a context of this many tokens."""
        return float(self._plan.saved(tokens))

    def text(self, format: Literal["json", "tsv", "scores"] = "json") -> str:
        """The plan as the text of a file."""
        return str(self._plan.text(format))

    def to_file(
        self, file: str | os.PathLike[str], format: Literal["json", "tsv", "scores"] | None = None
    ) -> Path:
        """Writes the plan; without a format, tsv for a name that ends in .tsv and otherwise json."""
        path = Path(os.fsdecode(file))
        chosen = format or ("tsv" if path.suffix.lower() == ".tsv" else "json")
        write_text(path, self.text(chosen))
        return path

    def __eq__(self, other: object) -> bool:
        return self.text() == other.text() if isinstance(other, Plan) else NotImplemented

    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def __reduce__(self) -> Any:
        return _restored_plan, (self.text(),)

    def __repr__(self) -> str:
        kinds = self.heads["kind"].value_counts()
        counts = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
        saved = ", ".join(f"{100 * self.saved(tokens):.1f}% at {tokens}" for tokens in (4096, 32768, 131072))
        return f"<Plan {len(self.heads)} KV heads: {counts}; cache saved: {saved} tokens>"


def plan(
    results: Result | str | os.PathLike[str],
    *,
    keep: float | None = None,
    threshold: float | None = None,
    column: str | None = None,
    group: Literal["max", "mean"] | None = None,
    window: int | None = None,
    sinks: int | None = None,
    missing: Literal["error", "full"] | None = None,
    labels: str | os.PathLike[str] | pd.DataFrame | None = None,
) -> Plan:
    """Plans which KV heads keep their whole cache.

    Give one of `keep` and `threshold`. None: the default of the program.

    Args:
        results: a result, or its folder.
        keep: the share of the KV heads that stay full.
        threshold: the least score of those.
        column: what scores the query heads: a column of the metrics or of `labels`, with a minus sign before it to reverse
            the order, or several, separated by commas, for the mean of their ranks.
        group: how the score of a KV head is made from those of its query heads.
        window: last tokens that the other KV heads keep.
        sinks: first tokens that they keep.
        missing: what to do about a KV head without a score.
        labels: a file, or a data frame with layer and q_head.
    """
    from . import _runs

    given: dict[str, Any] = {"column": column, "group": group, "window": window, "sinks": sinks, "missing": missing}
    options = {**_runs.plan_defaults(), **{name: value for name, value in given.items() if value is not None}}
    with as_labels_file(labels) as file:
        found = _runs.plan_cache(as_result(results)._path(), keep=keep, threshold=threshold, labels=file, **options)
    return Plan(found)


def read_plan(file: str | os.PathLike[str]) -> Plan:
    """The plan that `Plan.to_file` or the program wrote, in json."""
    from . import _runs

    return Plan(_runs.read_plan(os.fsdecode(file)))


def _restored_plan(text: str) -> Plan:
    with passing_folder() as folder:
        file = folder / "plan.json"
        file.write_text(text, encoding="utf-8")
        return read_plan(file)


class Validation:
    """How well measures agree with labels of heads: rank correlations, and areas under the ROC curve."""

    def __init__(self, found: dict[str, Any]) -> None:
        self._text: str = printable_lines(found["text"])
        self.json: dict[str, Any] = json.loads(without_own_folders(found["json"]))
        self.table: pd.DataFrame = frame_of_csv(found["csv"])

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        return str(self.table.to_html(index=False))


def validate(
    results: Result | str | os.PathLike[str],
    labels: str | os.PathLike[str] | pd.DataFrame,
    *,
    positive: str | None = None,
    negative: str | None = None,
    columns: Sequence[str] = (),
    bootstrap: int | None = None,
    confidence: float | None = None,
    seed: int | None = None,
) -> Validation:
    """Compares measured heads with known labels.

    Args:
        results: a result, or its folder.
        labels: a file, or a data frame with layer and q_head.
        positive: heads that should rank above the negative ones, such as induction>0.1; a comma means or.
        negative: heads that should rank below.
        columns: the measures; none: those that plasticity is judged by.
        bootstrap: resamples behind an interval; 0: no intervals.
        confidence: of these intervals.
        seed: of the resamples.
    """
    from . import _runs

    text = labels_csv(cast("pd.DataFrame", labels)) if is_frame(labels) else None
    file = "labels" if text is not None else os.fsdecode(cast("str", labels))
    given: dict[str, Any] = {"bootstrap": bootstrap, "confidence": confidence, "seed": seed}
    found = _runs.validate(
        as_result(results)._path(),
        text,
        file,
        positive,
        negative,
        list(columns),
        **{name: value for name, value in given.items() if value is not None},
    )
    for note in found["notes"]:
        warn(note)
    return Validation(found)
