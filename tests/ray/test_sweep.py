"""A sweep on a cluster is a sweep on this machine."""

from __future__ import annotations

from conftest import bytes_of, command

SWEEP = """
output_dir: {output}
num_triples: 500
layers: 0-1
runs:
  - {{name: one, dataset_local_root: {dump}}}
  - {{name: none, dataset_local_root: {dump}/nowhere}}
  - {{name: two, dataset_local_root: {dump}, seed: 2}}
"""


def test_a_sweep_runs_on_a_cluster(cluster, dump, tmp_path):
    def sweep(name: str, *flags: str):
        file = tmp_path / f"{name}.yaml"
        file.write_text(SWEEP.format(output=tmp_path / name, dump=dump))
        return command("sweep", file, *flags)

    here = sweep("here")
    there = sweep("there", "--engine", "ray", "--address", cluster.address)
    assert (here.returncode, there.returncode) == (1, 1), there.stderr
    index: list[str] = [(tmp_path / name / "sweep.csv").read_text() for name in ("here", "there")]
    assert index[0] == index[1]
    assert [line.split(",")[1] for line in index[0].splitlines()[1:]] == ["done", "failed", "done"]
    for run in ("one", "two"):
        assert bytes_of(tmp_path / "here" / run) == bytes_of(tmp_path / "there" / run)
    again = sweep("there", "--engine", "ray", "--address", cluster.address)
    assert "[1/3] one: 16 heads, done before" in again.stderr
    assert "[3/3] two: 16 heads, done before" in again.stderr
