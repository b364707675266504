"""Known roles of heads, from a file or a data frame."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ._temporary import passing_folder

if TYPE_CHECKING:
    import pandas as pd


def is_frame(labels: Any) -> bool:
    """Whether labels are a data frame. pandas, which takes long to import, is not imported for the question."""
    return hasattr(labels, "to_csv")


def labels_csv(labels: pd.DataFrame) -> str:
    """A data frame with layer and q_head (or head, or k_head), as columns or as index, as the text of a file."""
    named = labels if "layer" in labels.columns else labels.reset_index()
    return str(named.to_csv(index=False))


@contextmanager
def as_labels_file(labels: str | os.PathLike[str] | pd.DataFrame | None) -> Iterator[Path | None]:
    """The path of a file with the labels, for as long as it is needed."""
    if not is_frame(labels):
        yield None if labels is None else Path(os.fsdecode(cast("str", labels)))
        return
    with passing_folder() as folder:
        file = folder / "labels.csv"
        file.write_text(labels_csv(cast("pd.DataFrame", labels)))
        yield file
