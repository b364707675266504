"""From a model to its report in one call."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from .._analyze import analyze
from .._errors import ConfigError
from .._files import write_text
from .._result import Result, load
from .capturing import LABELS_FILE, capture

# Below the folder of a study.
DUMP_FOLDER = "dump"
REPORT_FILE = "report.html"


def study(
    model: Any,
    tokenizer: Any = None,
    texts: Any = None,
    *,
    output: str | os.PathLike[str],
    analysis: dict[str, Any] | None = None,
    progress: bool | None = None,
    **options: Any,
) -> Result:
    """Captures a model, labels its heads, analyses them and writes a report.

    Args:
        model: as for `capture`.
        tokenizer: as for `capture`.
        texts: as for `capture`.
        output: a folder, which then holds the dump (dump/), the tables and run.json, head_labels.csv and report.html.
        analysis: options of `analyze`.
        progress: as for `analyze`.
        **options: all other options of `capture`.

    A study that was interrupted goes on where it stopped when it is called again.
    """
    folder = Path(os.fsdecode(output))
    if "labels" in options:
        raise ConfigError("`labels`: a study always labels the heads")
    overwrite = bool(options.get("overwrite", False))
    dump = capture(model, tokenizer, texts, output=folder / DUMP_FOLDER, labels=True, progress=progress, **options)
    result = analyze(dump, progress=progress, **(analysis or {}))
    result.save(folder, overwrite=overwrite)
    labels = folder / LABELS_FILE
    assert dump.path is not None
    found = dump.path / LABELS_FILE
    write_text(labels, found.read_text(encoding="utf-8"))
    # From the files, so that the page names their folder.
    load(folder).report(folder / REPORT_FILE, labels=labels)
    return result
