"""Tables that the library writes as text."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

_WHOLE = frozenset({"layer", "q_head", "k_head", "heads", "run", "crossing"})
_WORDS = frozenset({"column", "statistic", "label", "measure"})


def frame_of_csv(text: str) -> pd.DataFrame:
    """A CSV text as a data frame; an empty number is NaN.

    Not by pandas, whose reader rounds numbers differently from version to version.
    """
    import pandas as pd

    names, *rows = csv.reader(io.StringIO(text))
    columns: dict[str, list[str] | list[int] | list[float]] = {}
    for name, fields in zip(names, zip(*rows) if rows else [()] * len(names)):
        if name in _WORDS:
            columns[name] = list(fields)
        elif name in _WHOLE:
            columns[name] = [int(field) for field in fields]
        else:
            columns[name] = [float(field or "nan") for field in fields]
    return pd.DataFrame(columns)
