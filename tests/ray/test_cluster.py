"""A run on a cluster has the bytes of a run on this machine, whatever happens to nodes and driver."""

from __future__ import annotations

import json
import os
import re
import signal
import socketserver
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import attention_plasticity as ap
from attention_plasticity import _runs
from attention_plasticity._ray.engine import RayEngine

from conftest import COMMAND, bytes_of, command, kept, wait_until


def words(dump: Path, output: Path, cluster, *more: str) -> list[str]:
    return ["analyze", "--dataset_local_root", str(dump), "-o", str(output), "--engine", "ray", "--address",
            cluster.address, "--no-progress", *more]


def ended_heads(lines: str) -> list[str]:
    return re.findall(r"^\[\d+/\d+\] (layer \d+ q_head \d+)", lines, re.M)


class Held:
    """A receiver that holds the run when its fourth part arrives."""

    def __init__(self, receiver: _runs.EngineReceiver, reached: threading.Event, goes_on: threading.Event) -> None:
        self._receiver = receiver
        self._reached = reached
        self._goes_on = goes_on
        self._groups = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._receiver, name)

    def measured(self, part: int, data: bytes) -> None:
        self._groups += 1
        if self._groups == 4:
            self._reached.set()
            self._goes_on.wait(120)
        self._receiver.measured(part, data)


def test_a_node_dies_and_another_comes(cluster, dump, plain, tmp_path, monkeypatch):
    lost = cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    reached, goes_on = threading.Event(), threading.Event()
    measure = RayEngine.__call__
    monkeypatch.setattr(
        RayEngine, "__call__", lambda self, work, receiver: measure(self, work, Held(receiver, reached, goes_on))
    )
    saved_heads = tmp_path / ".attention-plasticity-heads"
    with ThreadPoolExecutor() as threads:
        running = threads.submit(
            ap.analyze, dump, engine="ray", address=cluster.address, saved_heads=saved_heads, progress=False
        )
        assert reached.wait(120)
        assert len(kept(tmp_path)) == 6
        cluster.remove_node(lost, allow_graceful=False)
        cluster.add_node(num_cpus=1)
        goes_on.set()
        result = running.result()
    assert result.failures.empty
    assert len(kept(tmp_path)) == 48
    result.save(tmp_path / "saved")
    assert bytes_of(tmp_path / "saved") == bytes_of(plain)


def test_the_program_runs_on_a_cluster(cluster, dump, plain, tmp_path):
    done = command(*words(dump, tmp_path, cluster))
    assert done.returncode == 0, done.stderr
    assert bytes_of(tmp_path) == bytes_of(plain)
    assert re.search(r"^Ray: \d+ nodes with \d+ CPUs, 24 tasks$", done.stderr, re.M)
    assert len(set(ended_heads(done.stderr))) == 48
    assert not kept(tmp_path)
    assert json.loads((tmp_path / "run.json").read_text())["resources"]["cpu_s"] > 0.5


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_driver_dies_and_another_goes_on(cluster, dump, plain, tmp_path, how):
    driver = subprocess.Popen([COMMAND, *words(dump, tmp_path, cluster)], stderr=subprocess.PIPE, text=True)
    wait_until(lambda: len(kept(tmp_path)) >= 6, "some heads are kept")
    os.kill(driver.pid, how)
    _, lines = driver.communicate(timeout=60)
    assert driver.returncode == (-9 if how == signal.SIGKILL else 130), lines
    before = kept(tmp_path)
    assert 6 <= len(before) < 48
    if how == signal.SIGINT:
        assert "to go on: attention-plasticity analyze" in lines
    done = command(*words(dump, tmp_path, cluster, "--resume"))
    assert done.returncode == 0, done.stderr
    assert f"resuming: {len(before)} of 48 heads are saved" in done.stderr
    again = ended_heads(done.stderr)
    assert len(again) == len(set(again)) == 48 - len(before)
    numbers = (re.findall(r"\d+", head) for head in again)
    assert before.isdisjoint(f"l{int(layer):02}h{int(head):02}.head" for layer, head in numbers)
    assert bytes_of(tmp_path) == bytes_of(plain)


def test_a_head_that_fails_costs_itself(cluster, dump, tmp_path):
    broken = tmp_path / "dump"
    subprocess.run(["cp", "-r", dump, broken], check=True)
    file = broken / "l01h03q" / "data.parquet"
    file.write_bytes(file.read_bytes()[:-100])
    chosen = ["--layers", "1", "--dataset_local_root", "dump"]
    here = command("analyze", *chosen, "-o", "here", "--quiet", cwd=tmp_path)
    there = command("analyze", *chosen, "-o", "there", "--quiet", "--engine", "ray", "--address", cluster.address,
                    cwd=tmp_path)
    assert (here.returncode, there.returncode) == (1, 1)
    assert here.stderr.split("]", 1)[1] == there.stderr.split("]", 1)[1]  # without how many had ended before
    for folder in ("here", "there"):
        text = (tmp_path / folder / "run.json").read_text()
        (tmp_path / folder / "run.json").write_text(text.replace(f'"{folder}', '"out'))
    assert bytes_of(tmp_path / "here") == bytes_of(tmp_path / "there")


def test_a_dump_that_nodes_do_not_see(cluster, dump):
    # A path that only this process resolves.
    folder = os.open(dump, os.O_RDONLY)
    try:
        with pytest.raises(ap.InputError, match=r"^node .*: this machine does not see the dump; .* object store$") as told:
            # InputError.__str__ begins with its file.
            try:
                ap.analyze(f"/proc/{os.getpid()}/../self/fd/{folder}", engine="ray", address=cluster.address)
            except ap.InputError as error:
                assert error.file.startswith("/proc/")
                raise ap.InputError(error.message) from error
        assert told.value.exit_code == 3
    finally:
        os.close(folder)


class Altered:
    """The work of a run that another version has prepared."""

    def __init__(self, work: _runs.EngineWork) -> None:
        manifest = json.loads(work.manifest)
        manifest["program"]["version"] = "0.0.1"
        self.manifest = json.dumps(manifest)
        self.groups = work.groups
        self.most_at_a_time = 2


def test_another_version_of_the_package_is_refused(cluster, dump):
    options = [("dataset_local_root", str(dump)), ("layers", "0")]
    with RayEngine(cluster.address) as engine:
        with pytest.raises(ap.ConfigError, match=r"node .*another version than is installed here: the program's version was "
                                                 r"0\.0\.1 and is .* install the same one on all machines"):
            _runs.run_dump(None, options, None, None, lambda work, receiver: engine(Altered(work), receiver),
                           lambda *_: None)


def test_an_address_without_a_cluster(dump, tmp_path):
    done = command("analyze", "--dataset_local_root", dump, "-o", tmp_path, "--engine", "ray", "--address",
                   "127.0.0.1:1")
    assert done.returncode == 5, done.stderr
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("attention-plasticity: there is no Ray cluster at --address 127.0.0.1:1 that can be used: ")
    assert last.endswith("; `ray start --head` starts one")
    assert not list(tmp_path.iterdir())


def test_a_task_that_no_node_has_the_memory_for(cluster, dump):
    with RayEngine(cluster.address) as engine:
        told: list[tuple[str, str]] = []

        class Work:
            manifest, groups, most_at_a_time = "{}", [([(0, 0, 0)], 1 << 50)], None

        class Receiver:
            def note(self, line): told.append(("note", line))
            def warning(self, line): told.append(("warning", line))
            def stopped(self): return True

        engine(Work(), Receiver())
    assert told[1][0] == "warning"
    assert told[1][1].startswith("a task needs 1048576.2 GiB of memory, and the largest node offers ")


class Counting(socketserver.ThreadingTCPServer):
    """Closes every connection, and counts them."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), socketserver.BaseRequestHandler)
        self.connections = 0
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def finish_request(self, request, client_address) -> None:
        self.connections += 1


class Elsewhere:
    """The work of a run whose dump is in a store that workers do not reach."""

    def __init__(self, work: _runs.EngineWork, dump: str, address: str) -> None:
        self.manifest = work.manifest.replace(dump, address)
        self.groups = work.groups[:1]
        self.most_at_a_time = 1


def test_a_store_that_a_worker_does_not_reach_is_tried_again(cluster, dump, monkeypatch):
    monkeypatch.setattr("attention_plasticity._ray.engine._RETRIES", 1)
    options = [("dataset_local_root", f"file://{dump}"), ("layers", "0")]
    with Counting() as store, RayEngine(cluster.address) as engine:
        place = f"127.0.0.1:{store.server_address[1]}"
        address = f"s3://KEY:SECRET@bucket/dump?endpoint_override={place}&scheme=http&region=us-east-1"

        def by(work: _runs.EngineWork, receiver: _runs.EngineReceiver) -> None:
            engine(Elsewhere(work, f"file://{dump}", address), receiver)

        with pytest.raises(ap.NetworkError, match=r"node .*; check the address and the network, and try again"):
            _runs.run_dump(None, options, None, None, by, lambda *_: None)
        store.shutdown()
        assert store.connections > 4  # the client itself tries four times
