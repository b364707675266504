"""Results that go to a store: old or new for a reader who goes by run.json."""

from __future__ import annotations

import hashlib
import json
import pathlib

import pytest
from conftest import LoopbackStore, analyze, root, run
from fault_proxy import Request


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


def test_a_dry_run_makes_nothing_and_names_the_store(store: LoopbackStore, out: str, tmp_path: pathlib.Path) -> None:
    done = analyze(store.address("dumps/minidoc-qwen3"), out, "--dry-run")
    assert not (tmp_path / "cache").exists() and not stored(store)
    assert f"output_dir: {out}\n" in done.stdout.replace('"', "")
    assert "# writes: s3://dumps/results/head_metrics.*.csv\n" in done.stdout
    assert "# writes: s3://dumps/results/run.json\n" in done.stdout
    assert str(tmp_path) not in done.stdout
    files = list((root / "examples/minidoc-qwen3").rglob("*.parquet"))
    size = sum(file.stat().st_size for file in files) / 2**20
    assert f"# to read: at most {size:.1f} MiB in {len(files)} files\n" in done.stdout
    assert "memory for the largest head: about 0.0 MiB" not in done.stdout


def test_a_dry_run_tells_of_results_of_another_dump(out: str) -> None:
    analyze(root / "examples/minidoc-qwen3", out, "--layers", "0")
    done = analyze(root / "examples/smollm2-135m", out, "--dry-run", code=2)
    assert "s3://dumps/results/run.json: these are the results of" in done.stderr


def test_a_complete_run_in_the_store_is_known_by_resume(
    store: LoopbackStore, out: str, tmp_path: pathlib.Path
) -> None:
    analyze(root / "examples/minidoc-qwen3", out, "--layers", "0-1")
    before = stored(store)
    store.proxy.reset()
    again = analyze(root / "examples/minidoc-qwen3", out, "--layers", "0-1", "--resume")
    assert "s3://dumps/results/run.json: this run is complete" in again.stderr
    assert stored(store) == before
    assert not [one for one in store.proxy.requests if one.method in ("PUT", "DELETE")]
    assert not list((tmp_path / "cache").rglob("*.json"))
    table = next(name for name in before if name.startswith("head_metrics"))
    store.client.delete_object(Bucket="dumps", Key=f"results/{table}")
    assert "this run is complete" not in analyze(root / "examples/minidoc-qwen3", out, "--layers", "0-1", "--resume").stderr
    assert usual_names(stored(store)) == usual_names(before)


def test_a_complete_shard_in_the_store_is_known_by_resume(store: LoopbackStore, out: str) -> None:
    words = (root / "examples/minidoc-qwen3", out, "--layers", "0", "--shard", "1/1")
    analyze(*words)
    again = analyze(*words, "--resume")
    assert "s3://dumps/results/shard.json: this run is complete" in again.stderr


def test_results_go_to_a_new_folder(from_disk: dict[str, dict[str, bytes]], tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "new" / "results"
    analyze(root / "examples/minidoc-qwen3", f"file://{folder}")
    files = {file.name: file.read_bytes() for file in folder.iterdir()}
    assert usual_names(files) == from_disk["minidoc-qwen3"]


@pytest.mark.parametrize("words", [["report"], ["compare", "x"], ["plot"], ["merge", "out"], ["validate"], ["plan", "--plan"],
                                   ["analyze", "--labels"], ["inspect", "--config"], ["nothing"], ["sweep"]])
def test_no_subcommand_shows_credentials(words: list[str]) -> None:
    """Wherever an address is passed, whether it is taken there or not."""
    address = "s3://HIDDENKEY:HIDDENSECRET@dumps/x?endpoint_override=127.0.0.1:9&scheme=http&token=HIDDENTOKEN"
    done = run(*words, address, credentials=False)
    assert done.returncode != 0
    assert "HIDDEN" not in done.stdout + done.stderr


def test_a_run_json_of_somebody_else_costs_no_other_file(tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "results"
    analyze(root / "examples/minidoc-qwen3", f"file://{folder}", "--layers", "0")
    (folder / "other.txt").write_text("not a table")
    record = json.loads((folder / "run.json").read_text())
    for digest in ("", "0" * 64, "other" + "0" * 59):
        record["tables"].append({"file": "other.txt", "sha256": digest})
    (folder / "run.json").write_text(json.dumps(record))
    run("analyze", "--dataset_local_root", root / "examples/minidoc-qwen3", "-o", f"file://{folder}", "--layers", "1")
    assert (folder / "other.txt").read_text() == "not a table"


def test_a_run_json_that_is_too_large_is_not_replaced(tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "results"
    folder.mkdir()
    with (folder / "run.json").open("wb") as file:
        file.truncate(600 << 20)
    done = analyze(root / "examples/minidoc-qwen3", f"file://{folder}", "--layers", "0", code=3)
    assert "is larger than 512.0 MiB" in done.stderr
    assert (folder / "run.json").stat().st_size == 600 << 20


def test_of_two_writers_at_once_the_later_run_json_counts(
    store: LoopbackStore, out: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One run removes the tables of its predecessor while another, with the predecessor's tables, has just ended."""
    example = root / "examples/minidoc-qwen3"
    analyze(example, out, "--layers", "0")
    others: list[str] = []

    def other_machine(request: Request) -> None:
        if request.method == "DELETE" and not others:
            others.append("begun")
            with monkeypatch.context() as elsewhere:
                elsewhere.setenv("XDG_CACHE_HOME", str(tmp_path / "elsewhere"))
                analyze(example, out, "--layers", "0")
            others.append("ended")

    store.proxy.fault = other_machine
    analyze(example, out, "--layers", "1")
    assert others == ["begun", "ended"]
    files = stored(store)
    record = json.loads(files["run.json"])
    assert record["config"]["layers"] == [0]
    for table in record["tables"]:
        assert hashlib.sha256(files[table["file"].removeprefix(f"{out.split('?')[0]}/")]).hexdigest() == table["sha256"]
