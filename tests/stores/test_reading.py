"""Dumps in an S3 store on loopback: the same results as from disk, at what cost in bytes and requests."""

from __future__ import annotations

import json
import pathlib
import subprocess
import time

import pytest
from conftest import LoopbackStore, analyze, key, root, run, run_json, secret, tables, upload


def needed_bytes(folder: pathlib.Path) -> dict[str, int]:
    command = [root / ".venv/bin/python", pathlib.Path(__file__).with_name("needed_bytes.py"), folder]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)


def check_cost(store: LoopbackStore, folder: pathlib.Path, prefix: str) -> None:
    needed = needed_bytes(folder)
    asked = store.of_files()
    assert set(asked) == {f"/dumps/{prefix}/{file}" for file in needed}
    for file, bytes_needed in needed.items():
        requests = asked[f"/dumps/{prefix}/{file}"]
        assert len(requests) <= 4, (file, [(one.method, one.range) for one in requests])
        assert sum(one.sent for one in requests) <= 1.2 * bytes_needed, file


@pytest.mark.parametrize(("dump", "workers"), [("minidoc-qwen3", 1), ("minidoc-qwen3", 3), ("smollm2-135m", 2)])
def test_tables_are_those_of_the_dump_on_disk(
    store: LoopbackStore, from_disk: dict[str, dict[str, bytes]], tmp_path: pathlib.Path, dump: str, workers: int
) -> None:
    analyze(store.address(f"dumps/{dump}"), tmp_path / "out", "--max_workers", workers)
    assert tables(tmp_path / "out") == from_disk[dump]


@pytest.mark.parametrize("dump", ["minidoc-qwen3", "smollm2-135m"])
def test_a_file_costs_at_most_four_requests_and_a_fifth_more_than_its_needed_bytes(
    store: LoopbackStore, tmp_path: pathlib.Path, dump: str
) -> None:
    analyze(store.address(f"dumps/{dump}"), tmp_path / "out")
    check_cost(store, root / "examples" / dump, dump)


def test_a_large_column_that_no_head_needs_does_not_travel(store: LoopbackStore, tmp_path: pathlib.Path) -> None:
    command = [root / ".venv/bin/python", pathlib.Path(__file__).with_name("widen_dump.py")]
    subprocess.run([*command, root / "examples/minidoc-qwen3", tmp_path / "wide"], check=True)
    upload(store.client, tmp_path / "wide", "dumps", "wide")
    analyze(tmp_path / "wide", tmp_path / "disk")
    time.sleep(6)  # a file that was written just before costs one request more
    analyze(store.address("dumps/wide"), tmp_path / "out")
    assert tables(tmp_path / "out") == tables(tmp_path / "disk")
    check_cost(store, tmp_path / "wide", "wide")


def test_run_json_names_the_store_and_the_etag_of_every_file(store: LoopbackStore, tmp_path: pathlib.Path) -> None:
    analyze(store.address("dumps/minidoc-qwen3"), tmp_path / "out")
    described = run_json(tmp_path / "out")["input"]
    assert described["kind"] == "store"
    assert described["root"] == store.address("dumps/minidoc-qwen3")
    assert described["folder"] == "s3://dumps/minidoc-qwen3"
    for file in described["files"]:
        head = store.client.head_object(Bucket="dumps", Key=f"minidoc-qwen3/{file['file']}")
        assert (file["etag"], file["bytes"]) == (head["ETag"], head["ContentLength"])
        assert file["xxh128"] is None


def test_inspect_shows_what_it_shows_on_disk(store: LoopbackStore) -> None:
    shown = run("inspect", store.address("dumps/minidoc-qwen3"), "--json")
    assert shown.returncode == 0, shown.stderr
    folder = root / "examples/minidoc-qwen3"
    on_disk = run("inspect", folder, "--json").stdout
    assert shown.stdout == on_disk.replace(str(folder), "s3://dumps/minidoc-qwen3")


def test_credentials_in_an_address_are_used_and_nowhere_seen(store: LoopbackStore, tmp_path: pathlib.Path) -> None:
    spelled = secret.replace("/", "%2F").replace("+", "%2B")
    address = store.address("dumps/minidoc-qwen3", f"{key}:{spelled}@")
    seen = [analyze(address, tmp_path / "out", "--layers", "0", credentials=False)]
    seen.append(run("analyze", "--dataset_local_root", address, "-o", tmp_path / "dry", "--dry-run", credentials=False))
    seen.append(run("inspect", address.replace("dumps", "none"), credentials=False))
    texts = [done.stdout + done.stderr for done in seen]
    texts += [file.read_text(errors="replace") for file in tmp_path.rglob("*") if file.is_file()]
    for hidden in (key, secret, spelled):
        assert not [text for text in texts if hidden in text]


def test_memory_stays_within_its_limit(
    store: LoopbackStore, from_disk: dict[str, dict[str, bytes]], tmp_path: pathlib.Path
) -> None:
    analyze(store.address("dumps/smollm2-135m"), tmp_path / "out", "--memory_limit", "64MiB")
    assert tables(tmp_path / "out") == from_disk["smollm2-135m"]


def test_shards_of_a_store_merge_to_the_run(
    store: LoopbackStore, from_disk: dict[str, dict[str, bytes]], tmp_path: pathlib.Path
) -> None:
    for number in (1, 2):
        analyze(store.address("dumps/minidoc-qwen3"), tmp_path / f"shard-{number}", "--shard", f"{number}/2")
    merged = run("merge", tmp_path / "merged", tmp_path / "shard-1", tmp_path / "shard-2")
    assert merged.returncode == 0, merged.stderr
    assert tables(tmp_path / "merged") == from_disk["minidoc-qwen3"]


def test_a_complete_run_is_known_by_resume(store: LoopbackStore, tmp_path: pathlib.Path) -> None:
    address = store.address("dumps/minidoc-qwen3")
    analyze(address, tmp_path / "out", "--layers", "0-1")
    store.proxy.reset()
    again = analyze(address, tmp_path / "out", "--layers", "0-1", "--resume")
    assert "this run is complete" in again.stderr
    assert not store.of_files()
