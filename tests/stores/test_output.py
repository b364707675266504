"""Results that go to a store: old or new for a reader who goes by run.json."""

from __future__ import annotations

import hashlib
import json
import pathlib

import pytest
from conftest import LoopbackStore, analyze, root, run


@pytest.fixture
def out(store: LoopbackStore) -> str:
    """An address of its own, empty."""
    listed = store.client.list_objects_v2(Bucket="dumps", Prefix="results/").get("Contents", [])
    for one in listed:
        store.client.delete_object(Bucket="dumps", Key=one["Key"])
    return store.address("dumps/results")


def stored(store: LoopbackStore) -> dict[str, bytes]:
    listed = store.client.list_objects_v2(Bucket="dumps", Prefix="results/").get("Contents", [])
    return {
        one["Key"].removeprefix("results/"): store.client.get_object(Bucket="dumps", Key=one["Key"])["Body"].read()
        for one in listed
        if not one["Key"].endswith("/")  # what S3's clients take for a folder
    }


def usual_names(files: dict[str, bytes]) -> dict[str, bytes]:
    return {name.split(".")[0] + ".csv": text for name, text in files.items() if name.endswith(".csv")}


@pytest.fixture(autouse=True)
def cache(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_tables_and_run_json_are_those_of_a_run_on_disk(
    store: LoopbackStore, out: str, from_disk: dict[str, dict[str, bytes]], tmp_path: pathlib.Path
) -> None:
    done = analyze(root / "examples/minidoc-qwen3", out)
    assert "s3://dumps/results/run.json" in done.stdout
    files = stored(store)
    assert usual_names(files) == from_disk["minidoc-qwen3"]
    record = json.loads(files["run.json"])
    assert record["config"]["output_dir"] == out
    for table in record["tables"]:
        name = table["file"].removeprefix("s3://dumps/results/")
        assert hashlib.sha256(files[name]).hexdigest() == table["sha256"]
    assert not list((tmp_path / "cache").rglob("*.csv"))
    folder = tmp_path / "copied"
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_bytes(text)
    assert run("report", folder).returncode == 0


def test_run_json_is_put_last(store: LoopbackStore, out: str) -> None:
    analyze(root / "examples/minidoc-qwen3", out, "--layers", "0")
    put = [one.path for one in store.proxy.requests if one.method == "PUT"]
    assert len(put) > 3 and put[-1].endswith("/run.json") and sum(one.endswith("run.json") for one in put) == 1


def test_a_put_that_fails_leaves_the_earlier_results(store: LoopbackStore, out: str, tmp_path: pathlib.Path) -> None:
    analyze(root / "examples/minidoc-qwen3", out, "--layers", "0")
    before = stored(store)
    store.proxy.fault = lambda request: "403" if request.method == "PUT" and "weights" in request.path else None
    done = analyze(root / "examples/minidoc-qwen3", out, "--layers", "1", code=6)
    assert "could not be put" in done.stderr and "go on with --resume" in done.stderr
    now = stored(store)
    assert {name: now[name] for name in before} == before
    store.proxy.reset()
    analyze(root / "examples/minidoc-qwen3", out, "--layers", "1", "--resume")
    record = json.loads(stored(store)["run.json"])
    assert record["config"]["layers"] == [1]


def test_tables_of_the_run_that_is_replaced_go(store: LoopbackStore, out: str) -> None:
    analyze(root / "examples/minidoc-qwen3", out, "--layers", "0")
    analyze(root / "examples/minidoc-qwen3", out, "--layers", "1")
    files = stored(store)
    record = json.loads(files["run.json"])
    assert {table["file"] for table in record["tables"]} == {
        f"s3://dumps/results/{name}" for name in files if name != "run.json"
    }


def test_results_of_another_dump_are_not_replaced_unasked(store: LoopbackStore, out: str) -> None:
    analyze(root / "examples/minidoc-qwen3", out, "--layers", "0")
    before = stored(store)
    done = analyze(root / "examples/smollm2-135m", out, code=2)
    assert "these are the results of" in done.stderr
    assert stored(store) == before


def test_other_subcommands_say_that_they_write_to_disk(out: str, tmp_path: pathlib.Path) -> None:
    analyze(root / "examples/minidoc-qwen3", tmp_path / "shard", "--layers", "0", "--shard", "1/1")
    done = run("merge", out, tmp_path / "shard")
    assert done.returncode == 2
    assert "only the subcommand analyze writes to an object store" in done.stderr


def test_the_dump_and_the_results_may_both_be_in_stores(
    store: LoopbackStore, out: str, from_disk: dict[str, dict[str, bytes]]
) -> None:
    analyze(store.address("dumps/minidoc-qwen3"), out)
    assert usual_names(stored(store)) == from_disk["minidoc-qwen3"]
