"""What goes wrong between the program and a store: retried where it may pass, said plainly where it does not."""

from __future__ import annotations

import pathlib
import threading
import time

import pytest
from conftest import LoopbackStore, analyze, key, root, run, run_json, secret, tables
from fault_proxy import Request


@pytest.mark.parametrize("fault", ["drop", "503", "truncate", "stall"])
def test_failures_that_pass_are_not_seen_in_the_tables(
    store: LoopbackStore, from_disk: dict[str, dict[str, bytes]], tmp_path: pathlib.Path, fault: str
) -> None:
    """The first request for some of the files fails; so does the first listing."""
    failed: set[str] = set()
    some = ("/l00h00q", "/l05h01k") if fault == "stall" else ("h00q", "/l02", "/l07")
    lock = threading.Lock()

    def sometimes(request: Request) -> str | None:
        with lock:
            is_listing = "list-type" in request.query
            chosen = is_listing or any(part in request.path for part in some)
            if not chosen or request.method == "HEAD" or request.path in failed:
                return None
            failed.add(request.path)
            return fault

    store.proxy.stall_s = 8
    store.proxy.fault = sometimes
    analyze(store.address("dumps/minidoc-qwen3"), tmp_path / "out")
    assert len(failed) > 1
    assert tables(tmp_path / "out") == from_disk["minidoc-qwen3"]


@pytest.mark.parametrize("during", ["the footer", "the columns", "the last look"])
def test_a_file_that_is_replaced_meanwhile_is_noticed(
    store: LoopbackStore, tmp_path: pathlib.Path, during: str
) -> None:
    """Another content of the same size, put in place before one of the requests for it is answered."""
    name = "minidoc-qwen3/l03h02q/data.parquet"
    content = (root / "examples" / name).read_bytes()
    other = (root / "examples/minidoc-qwen3/l03h01q/data.parquet").read_bytes()
    other = (other + bytes(len(content)))[: len(content)]
    # When the store is listed, the file is fresh, so that its etag is asked for before the first byte, too.
    when = {"the footer": ("GET", 0), "the columns": ("GET", 1), "the last look": ("HEAD", 1)}[during]

    def replace(request: Request) -> None:
        if "list-type" in request.query:
            store.client.put_object(Bucket="dumps", Key=name, Body=content)
        if request.path == f"/dumps/{name}" and (request.method, request.number) == when:
            store.client.put_object(Bucket="dumps", Key=name, Body=other)

    store.proxy.fault = replace
    try:
        done = analyze(store.address("dumps/minidoc-qwen3"), tmp_path / "out", "--layers", "3", code=1)
    finally:
        store.client.put_object(Bucket="dumps", Key=name, Body=content)
    failed = run_json(tmp_path / "out")["heads"]["failed"]
    assert [(head["layer"], head["q_head"]) for head in failed] == [(3, 2)]
    assert failed[0]["file"] == f"s3://dumps/{name}"
    assert failed[0]["error"].startswith("the file was replaced or changed after the run began") or (
        during == "the footer"
    ), failed
    assert f"s3://dumps/{name}" in done.stderr


def test_a_store_that_is_down_is_named_within_seconds(tmp_path: pathlib.Path) -> None:
    begin = time.monotonic()
    options = "endpoint_override=127.0.0.1:9&scheme=http&region=us-east-1"
    address = f"s3://{key}:{secret.replace('/', '%2F')}@dumps/minidoc-qwen3?{options}"
    done = analyze(address, tmp_path / "out", code=5, credentials=False)
    assert time.monotonic() - begin < 30
    assert done.stderr.startswith("attention-plasticity: s3://dumps/minidoc-qwen3: ")
    assert done.stderr.rstrip().endswith("check the address and the network, and try again")
    assert secret not in done.stderr and key not in done.stderr


def test_a_store_that_goes_down_ends_the_run_and_keeps_what_was_measured(
    store: LoopbackStore, from_disk: dict[str, dict[str, bytes]], tmp_path: pathlib.Path
) -> None:
    store.proxy.fault = lambda request: "drop" if "/l09" in request.path else None
    done = analyze(store.address("dumps/minidoc-qwen3"), tmp_path / "out", code=5)
    assert "s3://dumps/minidoc-qwen3/l09" in done.stderr
    store.proxy.reset()
    analyze(store.address("dumps/minidoc-qwen3"), tmp_path / "out", "--resume")
    # Kept heads are not measured again. Of few files a sample is, by which the rotation is checked.
    assert not [path for path in store.of_files() if "/l00h01q" in path]
    assert tables(tmp_path / "out") == from_disk["minidoc-qwen3"]


def test_no_bucket_no_access_and_no_heads_have_their_codes(store: LoopbackStore, tmp_path: pathlib.Path) -> None:
    done = analyze(store.address("none/dump"), tmp_path / "out", code=4)
    assert "s3://none/dump: " in done.stderr and "check the bucket's name" in done.stderr
    done = analyze(store.address("dumps/nothing"), tmp_path / "out", code=3)
    assert "s3://dumps/nothing: there is no such folder in the store, or it is empty" in done.stderr
    store.client.put_object(Bucket="dumps", Key="text/notes.txt", Body=b"none")
    done = analyze(store.address("dumps/text"), tmp_path / "out", code=3)
    assert "s3://dumps/text: holds no heads" in done.stderr
    store.proxy.fault = lambda request: "403"
    done = analyze(store.address("dumps/minidoc-qwen3"), tmp_path / "out", code=4)
    assert "s3://dumps/minidoc-qwen3: " in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("address", "codes", "words"),
    [
        ("gs://anonymous@dumps/x?scheme=http&endpoint_override=127.0.0.1:9&retry_limit_seconds=1", {5}, "gs://dumps/x"),
        ("abfs://box:c2VjcmV0@127.0.0.1:9/x", {4}, "abfs://box@127.0.0.1:9/x"),
        ("abfs://:bad key@%%/x", {2, 4, 5}, "abfs"),
        ("hdfs://nobody:1/x", {2, 5}, "hdfs://nobody:1/x"),
        ("ftp://host/x", {2}, "ftp:// is no object store that can be used"),
        ("s3://", {2, 4, 5}, "s3://"),
    ],
)
def test_other_stores_say_why_they_cannot_be_read(
    tmp_path: pathlib.Path, address: str, codes: set[int], words: str
) -> None:
    done = run("analyze", "--dataset_local_root", address, "-o", tmp_path / "out")
    assert done.returncode in codes, done.stderr
    assert words in done.stderr
    # The client of Azure asks a program for credentials, which may not be there.
    ours = [line for line in done.stderr.splitlines() if "az: not found" not in line]
    assert len(ours) == 1 and "c2VjcmV0" not in done.stderr and "bad key" not in done.stderr


def test_an_interrupt_ends_a_run_that_waits_for_the_store(store: LoopbackStore, tmp_path: pathlib.Path) -> None:
    import os
    import signal
    import subprocess

    from conftest import program

    store.proxy.fault = lambda request: time.sleep(1) if request.path.endswith(".parquet") else None
    environment = {"AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret, "PATH": os.environ["PATH"]}
    command = [program, "analyze", "--dataset_local_root", store.address("dumps/minidoc-qwen3"), "-o", tmp_path / "out"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as started:
        time.sleep(3)
        started.send_signal(signal.SIGINT)
        started.communicate(timeout=60)
        assert started.returncode == 130


def test_names_of_files_in_a_store_are_printable(store: LoopbackStore, tmp_path: pathlib.Path) -> None:
    """Whoever may write to a bucket chooses the names, which must not reach a terminal raw."""
    name = "dump\u202e/l00h00q/data.parquet"
    store.client.put_object(Bucket="dumps", Key=f"hostile/{name}", Body=b"none")
    file = tmp_path / f"dumps/\x1b[31m{name}"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"none")
    for address in (store.address("dumps/hostile"), f"file://{tmp_path}/dumps"):
        for done in (analyze(address, tmp_path / "out", code=3), run("inspect", address)):
            assert done.returncode == 3
            assert "\\u202e" in done.stderr, done.stderr
            assert "\u202e" not in done.stderr + done.stdout and "\x1b" not in done.stderr + done.stdout
