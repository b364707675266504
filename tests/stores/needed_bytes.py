"""Prints, as JSON, the bytes of each head file below a folder that a run needs: its footer and the columns of a head."""

import json
import pathlib
import sys

import pyarrow.parquet as pq

columns = {"bucket", "example_id", "position", "vector", "sliding_window"}
folder = pathlib.Path(sys.argv[1])
needed = {}
for file in folder.glob("*/data.parquet"):
    footer = pq.read_metadata(file)
    wanted = columns if file.parent.name.endswith("q") else columns - {"sliding_window"}
    needed[str(file.relative_to(folder))] = footer.serialized_size + 8 + sum(
        chunk.total_compressed_size
        for group in range(footer.num_row_groups)
        for chunk in map(footer.row_group(group).column, range(footer.num_columns))
        if chunk.path_in_schema.split(".")[0] in wanted
    )
print(json.dumps(needed))
