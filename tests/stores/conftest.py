"""A store on loopback with the example dumps, and the program."""

from __future__ import annotations

import json
import logging
import os
import pathlib
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

import boto3
import pytest
from fault_proxy import FaultProxy, Request
from moto.server import ThreadedMotoServer

root = pathlib.Path(__file__).resolve().parents[2]
program = pathlib.Path(os.environ.get("AP_PROGRAM", root / "build/release/attention-plasticity"))
key, secret = "TESTKEYID", "test/secret+key"


def upload(client: object, folder: pathlib.Path, bucket: str, below: str) -> None:
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            client.put_object(Bucket=bucket, Key=f"{below}/{file.relative_to(folder)}", Body=file.read_bytes())


@dataclass
class LoopbackStore:
    """An S3 server, the proxy before it, and a client that goes past the proxy."""

    proxy: FaultProxy
    client: object

    def address(self, path: str, credentials: str = "") -> str:
        options = f"endpoint_override=127.0.0.1:{self.proxy.port}&scheme=http&region=us-east-1"
        return f"s3://{credentials}{path}?{options}"

    def of_files(self) -> dict[str, list[Request]]:
        """The requests for head files, by the path of the file."""
        found: dict[str, list[Request]] = {}
        for request in self.proxy.requests:
            if request.path.endswith(".parquet"):
                found.setdefault(request.path, []).append(request)
        return found


def started_store() -> tuple[ThreadedMotoServer, LoopbackStore]:
    """A server with the empty bucket `dumps`, which runs until it is stopped, and the store that it serves."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # not every request in the output
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    port = server.get_host_and_port()[1]
    client = boto3.client(
        "s3", endpoint_url=f"http://127.0.0.1:{port}", region_name="us-east-1", aws_access_key_id=key,
        aws_secret_access_key=secret,
    )
    client.create_bucket(Bucket="dumps")
    return server, LoopbackStore(FaultProxy(port), client)


@pytest.fixture(scope="session")
def server() -> Iterator[LoopbackStore]:
    moto, store = started_store()
    for dump in ("minidoc-qwen3", "smollm2-135m"):
        upload(store.client, root / "examples" / dump, "dumps", dump)
    yield store
    store.proxy.close()
    moto.stop()


@pytest.fixture
def store(server: LoopbackStore) -> LoopbackStore:
    server.proxy.reset()
    return server


def run(*arguments: object, credentials: bool = True) -> subprocess.CompletedProcess[str]:
    """The program, with credentials as S3's own tools find them, and hardly any other environment."""
    environment = {name: os.environ[name] for name in ("PATH", "XDG_CACHE_HOME") if name in os.environ}
    environment |= {"HOME": "/nonexistent", "AWS_EC2_METADATA_DISABLED": "true"}
    if credentials:
        environment |= {"AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret}
    return subprocess.run(
        [program, *map(str, arguments)], env=environment, capture_output=True, text=True, timeout=120, check=False
    )


def analyze(dump: object, out: pathlib.Path, *flags: object, code: int = 0, **how: bool) -> subprocess.CompletedProcess[str]:
    done = run("analyze", "--dataset_local_root", dump, "-o", out, *flags, **how)
    assert done.returncode == code, done.stderr
    return done


def tables(folder: pathlib.Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.glob("*.csv")}


def run_json(folder: pathlib.Path) -> dict:
    return json.loads((folder / "run.json").read_text())


@pytest.fixture(scope="session")
def from_disk(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, bytes]]:
    """The tables of the example dumps on disk."""
    found = {}
    for dump in ("minidoc-qwen3", "smollm2-135m"):
        out = tmp_path_factory.mktemp("disk") / dump
        analyze(root / "examples" / dump, out, "--quiet")
        found[dump] = tables(out)
    return found
