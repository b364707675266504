#!/usr/bin/env python3
"""What the Ray engine costs: a run on a cluster of this machine against the plain run, and over nodes.

    tools/test_ray.sh --bench [--rounds 5] [--layers 40] [--nodes 1,2,4]

240 heads of 28,000 rows (40 layers of 6 query heads and 2 key heads) with two CPUs. The cluster is up and its workers
are warm: the first run on it is not counted. Plain and Ray take turns, so that what else the machine does hits both;
the ratios are those of their best rounds. Processor seconds are those of all processes, Ray's own included: the figure to
use on a busy machine. `--nodes` measures, after that, the same CPUs as so many nodes of one CPU each.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

import dumps

import attention_plasticity as ap
from attention_plasticity._program import program

TARGET = 1.25
CPUS = 2


def cpu_seconds() -> float:
    """Processor seconds so far of this process and all that it has started, Ray's own included."""
    parents, used = {}, {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has just ended
        parents[int(entry.name)] = int(fields[1])
        used[int(entry.name)] = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    ours = {os.getpid()}
    while more := {process for process, parent in parents.items() if parent in ours} - ours:
        ours |= more
    return sum(used[process] for process in ours)


def seconds(call):
    """Seconds and processor seconds of a call, and what it returned."""
    start, cpu = time.perf_counter(), cpu_seconds()
    result = call()
    return (time.perf_counter() - start, cpu_seconds() - cpu), result


def turns(calls, rounds):
    """The seconds of each call, in turns, and what each returned."""
    times = {name: [] for name in calls}
    results = {}
    for _ in range(rounds):
        for name, call in calls.items():
            took, results[name] = seconds(call)
            times[name].append(took)
    return times, results


def best(times, which):
    return min(taken[which] for taken in times)


def row(name, times):
    print(f"{name:<28} best {best(times, 0):7.2f} s, {best(times, 1):7.2f} CPU s   rounds "
          f"{'  '.join(f'{wall:.2f} ({cpu:.2f})' for wall, cpu in times)}", flush=True)


def over_nodes(counts, dump, rounds):
    from ray.cluster_utils import Cluster

    for count in counts:
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
        for _ in range(count - 1):
            cluster.add_node(num_cpus=1)
        from attention_plasticity._ray.engine import RayEngine

        with RayEngine(cluster.address):
            times, _ = turns({"run": lambda: ap.analyze(dump, engine="ray", progress=False)}, rounds + 1)
        cluster.shutdown()
        row(f"{count} node{'s' if count > 1 else ''} of one CPU", times["run"][1:])


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--layers", type=int, default=40, help="of 6 heads each")
    options.add_argument("--nodes", default="", help="such as 1,2,4")
    chosen = options.parse_args()

    import ray

    shape = dumps.Dump(f"ray-{chosen.layers}", layers=chosen.layers, q_heads=6, k_heads=2, rows=28_000, dim=64)
    dump = dumps.make(shape, program(), Path("build/bench/dumps"))
    print(f"{shape}, {CPUS} CPUs of {os.cpu_count()}", flush=True)
    ray.init(address="local", num_cpus=CPUS, include_dashboard=False, log_to_driver=False)
    on_ray = lambda: ap.analyze(dump, engine="ray", progress=False)  # noqa: E731
    cold, first = seconds(on_ray)
    plain = lambda: ap.analyze(dump, max_workers=CPUS, progress=False)  # noqa: E731
    times, results = turns({"plain": plain, "Ray": on_ray}, chosen.rounds)
    ray.shutdown()
    for name, taken in times.items():
        row(name, taken)
    one = [seconds(lambda: ap.analyze(dump, max_workers=1, progress=False))[0]]
    row("plain, one worker", one)
    print(f"first run on Ray, workers cold: {cold[0]:.2f} s")
    assert first == results["plain"] == results["Ray"], "the results differ"
    ratio, of_cpu = (best(times["Ray"], which) / best(times["plain"], which) for which in (0, 1))
    print(f"Ray takes {ratio:.3f} times the seconds of the plain run, and {of_cpu:.3f} times its processor seconds; "
          f"at most {TARGET} is wanted")
    if chosen.nodes:
        over_nodes([int(count) for count in chosen.nodes.split(",")], dump, max(1, chosen.rounds // 2))
    return 0 if ratio <= TARGET else 1


if __name__ == "__main__":
    sys.exit(main())
