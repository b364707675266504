#!/usr/bin/env python3
"""How long a run from an object store takes, against the same run from disk.

    tools/test_stores.sh --bench [--layers 40] [--rows 6000] [--triples 30000] [--latency 0.05] [--rounds 2]

A synthetic dump (by default 120 heads) is put into an S3 server on loopback, behind the proxy of tests/stores that delays
each request. Disk, store, and store with latency take turns, so that what else the machine does hits all of them; the
ratios are those of their best rounds. The server and the proxy run on the same cores. Fails when the tables differ.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import dumps

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/stores"))

from conftest import key, program, secret, started_store, tables, upload  # noqa: E402

TARGET = 3


def seconds_of_run(dump: object, out: Path, triples: int) -> float:
    shutil.rmtree(out, ignore_errors=True)
    command = [program, "analyze", "--dataset_local_root", dump, "-o", out, "--num_triples", triples, "--quiet"]
    environment = {**os.environ, "AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret}
    start = time.perf_counter()
    subprocess.run([str(word) for word in command], env=environment, check=True)
    return time.perf_counter() - start


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--layers", type=int, default=40, help="of 3 query heads and 1 key head each")
    options.add_argument("--rows", type=int, default=6_000)
    options.add_argument("--triples", type=int, default=30_000, help="of each head: more take longer")
    options.add_argument("--latency", type=float, default=0.05, help="seconds before each request is passed on")
    options.add_argument("--rounds", type=int, default=2)
    chosen = options.parse_args()

    shape = dumps.Dump(f"store-{chosen.layers}-{chosen.rows}", layers=chosen.layers, q_heads=3, k_heads=1,
                       rows=chosen.rows, dim=64)
    folder = ROOT / "build/bench"
    dump = dumps.make(shape, program, folder / "dumps")
    server, store = started_store()
    upload(store.client, dump, "dumps", shape.name)
    time.sleep(6)  # a file that was written just before costs one request more
    address = store.address(f"dumps/{shape.name}")
    latency = f"store, {1000 * chosen.latency:.0f} ms of latency"
    ways = {"disk": (dump, 0.0), "store": (address, 0.0), latency: (address, chosen.latency)}
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(chosen.rounds):
        for number, (name, (source, delay)) in enumerate(ways.items()):
            store.proxy.reset()
            store.proxy.latency_s = delay
            times[name].append(seconds_of_run(source, folder / f"store-run-{number}", chosen.triples))
            assert tables(folder / f"store-run-{number}") == tables(folder / "store-run-0"), "the tables differ"
    store.proxy.close()
    server.stop()
    print(f"{shape}, {os.cpu_count()} cores")
    for name, taken in times.items():
        print(f"{name:<28} best {min(taken):7.2f} s   {min(taken) / min(times['disk']):.2f} times the run from disk")
    ratio = min(times[latency]) / min(times["disk"])
    print(f"at most {TARGET} times is wanted, of a run that takes at least 10 s from disk")
    return 0 if ratio <= TARGET else 1


if __name__ == "__main__":
    sys.exit(main())
