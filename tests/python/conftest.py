"""What the tests of the Python package share. They run where the wheel is installed: tools/test_python.sh."""

from __future__ import annotations

import csv
import io
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import attention_plasticity as ap
from attention_plasticity._program import program

SOURCE = Path(__file__).parents[2]
DUMPS = ("minidoc-qwen3", "smollm2-135m")
# Query heads and key heads of a layer.
SIZES = {"minidoc-qwen3": (6, 2), "smollm2-135m": (9, 3)}

os.environ.setdefault("MPLBACKEND", "Agg")

# A sanitizer keeps freed memory for a while, and is no part of what other programs expect.
not_sanitized = pytest.mark.skipif("AP_SANITIZED" in os.environ, reason="a sanitizer has its own memory")


def dump(name: str) -> Path:
    return SOURCE / "examples" / name


def run_program(*words: str | Path) -> str:
    done = subprocess.run([program(), *map(str, words)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def csv_columns(text: str) -> dict[str, list[str]]:
    """The fields of a CSV file by column, as they are written."""
    header, *rows = csv.reader(io.StringIO(text))
    return {name: [row[place] for row in rows] for place, name in enumerate(header)}


def numbers(fields: list[str]) -> list[float]:
    return [float(field or "nan") for field in fields]


def head_tables(name: str) -> dict[tuple[int, int, str], Any]:
    """The Arrow table of every file of a dump, by layer, head, and q or k."""
    tables = {}
    for folder in sorted(dump(name).glob("l*h*[qk]")):
        layer, head, side = re.fullmatch(r"l(\d+)h(\d+)([qk])", folder.name).groups()  # type: ignore[union-attr]
        tables[int(layer), int(head), side] = pq.read_table(folder / "data.parquet")
    return tables


def paired(name: str, rows: dict[tuple[int, int, str], Any]) -> dict[tuple[int, int], tuple[Any, Any]]:
    """Queries and keys of every query head."""
    group = SIZES[name][0] // SIZES[name][1]
    return {
        (layer, head): (queries, rows[layer, head // group, "k"])
        for (layer, head, side), queries in rows.items()
        if side == "q"
    }


def array_options(name: str) -> dict[str, Any]:
    """What a dump says itself, and arrays do not."""
    num_q_heads, num_k_heads = SIZES[name]
    return {"num_q_heads": num_q_heads, "num_k_heads": num_k_heads, "rope_config": dump(name) / "config.json"}


@pytest.fixture(scope="session")
def program_runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The program's results of both dumps."""
    folders = {}
    for name in DUMPS:
        folders[name] = tmp_path_factory.mktemp("program") / name
        run_program("analyze", "--dataset_local_root", dump(name), "-o", folders[name], "--quiet")
    return folders


@pytest.fixture(scope="session")
def results() -> dict[str, ap.Result]:
    """The package's results of both dumps."""
    return {name: ap.analyze(dump(name)) for name in DUMPS}
