"""What the tests of the Ray engine share: dumps, clusters of this machine, and runs to compare with."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from ray.cluster_utils import Cluster

# As users start it: the entry point of the package.
COMMAND = Path(sys.executable).with_name("attention-plasticity")


def command(*words: str | Path, **how: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COMMAND, *map(str, words)], capture_output=True, text=True, check=False, **how)


def bytes_of(folder: Path) -> dict[str, bytes]:
    """The tables of a run, and what run.json says of it apart from where it is and what it cost."""
    files = {path.name: path.read_bytes() for path in sorted(folder.glob("*.csv"))}
    record = json.loads((folder / "run.json").read_text().replace(f"{folder}/", "").replace(str(folder), "out"))
    record.pop("resources")
    files["run.json"] = json.dumps(record, indent=1).encode()
    return files


def kept(folder: Path) -> set[str]:
    """The heads that a run has kept so far."""
    return {path.name for path in (folder / ".attention-plasticity-heads").glob("*.head")}


def wait_until(holds: Callable[[], bool], what: str, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, f"waited in vain until {what}"
        time.sleep(0.02)


@pytest.fixture(scope="session")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """48 heads in 24 KV groups, long enough that a node can be killed in the middle of a run."""
    folder = tmp_path_factory.mktemp("ray") / "dump"
    sizes = {"layers": 6, "q_heads": 8, "k_heads": 4, "rows": 12000, "dim": 64, "examples": 12}
    done = command("synth", folder, "--rope_theta", "10000", *(f"--{name}={size}" for name, size in sizes.items()))
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="session")
def plain(dump: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of a run without Ray."""
    folder = tmp_path_factory.mktemp("plain")
    done = command("analyze", "--dataset_local_root", dump, "-o", folder, "--quiet")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """Three nodes of one CPU."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    nodes.add_node(num_cpus=1)
    nodes.add_node(num_cpus=1)
    yield nodes
    nodes.shutdown()
