"""What tests of captures read back of a dump; tools/test_capture.sh and tools/test_llama.sh put it on the path."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

Columns = dict[str, Any]
Dump = dict[tuple[int, int, str], Columns]


def files_of(dump: Path) -> Dump:
    """The columns of every file of a dump, by layer, head, and q or k."""
    found: Dump = {}
    for folder in sorted(dump.glob("l*h*[qk]")):
        layer, rest = folder.name[1:].split("h")
        table = pq.read_table(folder / "data.parquet")
        columns = {name: table.column(name).to_numpy(zero_copy_only=False) for name in table.column_names}
        columns["vector"] = np.stack(columns["vector"]) if len(table) else np.empty((0, 0), np.float32)
        found[int(layer), int(rest[:-1]), rest[-1]] = columns
    return found
