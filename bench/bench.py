"""Measures `analyze` on synthetic dumps, and compares it with only reading them and with NumPy. tools/bench.sh builds
what is needed and starts this script; docs/performance.md explains the columns."""

import argparse
import json
import os
import platform
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path

import dumps
import measure
import targets

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build/bench"
PROGRAMS = ROOT / "build/release"
PROGRAM = PROGRAMS / "attention-plasticity"
RUNS = {"compat": ["--compat", "python"], "default": ["--no-standard_errors"], "everything": []}
NAMES = {"floor": "decoding to tables (floor)", "columns": "decoding to kept memory",
         "compat": "compat python", "default": "default, exact, no errors",
         "everything": "everything, with errors", "numpy": "NumPy, SciPy, pandas",
         "one head": "one head, everything"}


def say(text):
    print(text, flush=True)


def analyze(dump_folder, out, workers, flags):
    return [PROGRAM, "analyze", "--dataset_local_root", dump_folder, "--output_dir", FOLDER / "out" / out, "--quiet",
            "--max_workers", workers, *flags]


def costs_of(dump, folder):
    """Two ways of decoding and the three kinds of run, with 1 and 2 workers; for the small dump also a single head."""
    costs = []
    for workers in (1, 2):
        for run, how in (("floor", "tables"), ("columns", "columns")):
            costs.append(measure.Cost(run, workers, [PROGRAMS / "decode_floor", folder, workers, how]))
        for run, flags in RUNS.items():
            costs.append(measure.Cost(run, workers, analyze(folder, f"{dump.name}-{run}-{workers}", workers, flags)))
    if dump.name == "small":
        costs.append(measure.Cost("one head", 1, analyze(folder, "one-head", 1, ["--layers", "0", "--q_heads", "0"])))
    return costs


def numpy_costs(dump, folder):
    return [measure.Cost("numpy", processes,
                         [ROOT / ".venv/bin/python", ROOT / "bench/against_python/run.py", folder,
                          FOLDER / "out" / f"{dump.name}-numpy-{processes}", "--processes", processes])
            for processes in (1, 2)]


def check_numpy(dump):
    """Ends the bench unless both programs computed the same numbers."""
    for processes in (1, 2):
        out = FOLDER / "out"
        measure.run([ROOT / ".venv/bin/python", ROOT / "bench/against_python/check.py",
                     out / f"{dump.name}-numpy-{processes}", out / f"{dump.name}-compat-{processes}"])


def print_costs(dump, costs):
    by_key = {(cost.run, cost.workers): cost for cost in costs}
    say(f"\n{dump}\n")
    say(f"  {'run':<28} {'workers':>7} {'seconds':>9} {'spread':>7} {'CPU s':>8} {'peak MiB':>9} "
        f"{'of the floor':>13} {'in CPU':>8} {'of kept memory':>15} {'2 against 1':>12}")
    for cost in sorted(costs, key=lambda cost: list(NAMES).index(cost.run)):
        floor = by_key[("floor", cost.workers)]
        columns = by_key[("columns", cost.workers)]
        ratio = f"{cost.best / floor.best:.1f}x" if cost.run in RUNS else ""
        cpu_ratio = f"{cost.best_cpu / floor.best_cpu:.1f}x" if cost.run in RUNS else ""
        columns_ratio = f"{cost.best_cpu / columns.best_cpu:.1f}x" if cost.run in RUNS else ""
        one = by_key.get((cost.run, 1))
        gain = f"{one.best / cost.best:.2f}x" if cost.workers == 2 and one else ""
        say(f"  {NAMES[cost.run]:<28} {cost.workers:>7} {cost.best:>9.3f} {cost.spread:>7.0%} "
            f"{cost.best_cpu:>8.3f} {cost.peak_bytes / 2**20:>9.0f} {ratio:>13} {cpu_ratio:>8} {columns_ratio:>15} "
            f"{gain:>12}".rstrip())
    numpy = by_key.get(("numpy", 1))
    if numpy:
        faster = ", ".join(f"{by_key['numpy', w].best / by_key['compat', w].best:.0f}x with {w}" for w in (1, 2))
        say(f"  compat python is faster than NumPy by {faster} workers; both gave the same numbers")


def measure_stages(dump, folder, rounds):
    """Times the stages on the query heads of one key head, so that keys have the same share as in the whole dump."""
    command = [PROGRAMS / "stages", folder, str(dump.q_heads // dump.k_heads), str(rounds)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def print_stages(measured):
    stages = measured["stages"]
    kinds = list(RUNS)
    of_run = {run: [s for s in stages if kinds.index(s["run"]) <= kinds.index(run)] for run in kinds}
    total = {run: sum(s["seconds"] for s in of_run[run]) for run in kinds}
    say(f"\n  {'stage':<36} {'ms a head':>10} " + " ".join(f"{run:>11}" for run in kinds))
    for stage in stages:
        shares = [f"{stage['seconds'] / total[run]:>11.1%}" if stage in of_run[run] else " " * 11 for run in kinds]
        say(f"  {stage['stage']:<36} {stage['seconds'] / measured['heads'] * 1e3:>10.2f} " + " ".join(shares))


def machine():
    model = "unknown"
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), model)
    except OSError:
        pass
    return {"processor": model, "cores": len(os.sched_getaffinity(0)), "system": platform.platform()}


def version():
    told = subprocess.run([PROGRAM, "--version"], check=True, capture_output=True, text=True)
    return told.stdout.strip()


def measure_dump(dump, arguments):
    folder = dumps.make(dump, PROGRAM, FOLDER / "dumps")
    costs = costs_of(dump, folder)
    measure.run(costs[0].command)  # brings the files into the page cache
    floors = {cost.workers: cost for cost in costs if cost.run == "floor"}
    in_turn = [cost for run in costs if run.run != "floor" for cost in (floors[run.workers], run)]
    measure.interleave(in_turn, arguments.rounds, arguments.seconds)
    if dump.name == "usual" and arguments.numpy:
        numpy = numpy_costs(dump, folder)
        measure.interleave(numpy, 1, 0)
        check_numpy(dump)
        costs += numpy
    print_costs(dump, costs)
    stages = measure_stages(dump, folder, arguments.rounds) if arguments.stages else None
    if stages:
        print_stages(stages)
    return costs, stages


def parse_arguments():
    parser = argparse.ArgumentParser(prog="tools/bench.sh")
    parser.add_argument("--dumps", default=",".join(dump.name for dump in dumps.DUMPS), help="measure only these dumps")
    parser.add_argument("--rounds", type=int, default=3, help="least number of measurements")
    parser.add_argument("--seconds", type=float, default=10, help="repeat quick measurements for this long")
    parser.add_argument("--numpy", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--stages", action=argparse.BooleanOptionalAction, default=True)
    arguments = parser.parse_args()
    arguments.dumps = arguments.dumps.split(",")
    unknown = set(arguments.dumps) - {dump.name for dump in dumps.DUMPS}
    if unknown:
        parser.error(f"no such dump: {', '.join(sorted(unknown))}")
    return arguments


def main():
    arguments = parse_arguments()
    here = machine()
    say(f"{version()}; {here['cores']} cores, {here['processor']}")
    measured = {}
    report = {"schema": 1, "date": datetime.now(timezone.utc).isoformat(timespec="seconds"), "version": version(),
              "machine": here, "dumps": []}
    for dump in dumps.DUMPS:
        if dump.name not in arguments.dumps:
            continue
        costs, stages = measure_dump(dump, arguments)
        measured.update({(dump.name, cost.run, cost.workers): cost for cost in costs})
        report["dumps"].append({"name": dump.name, "options": dump.options(),
                                "costs": [cost.as_json() for cost in costs], "stages": stages})
    held_to = targets.targets(measured)
    say("\nTargets\n")
    for target in held_to:
        say(f"  {target}")
    report["targets"] = [target.as_json() for target in held_to]
    file = FOLDER / "bench.json"
    file.write_text(json.dumps(report, indent=1) + "\n")
    say(f"\nAll of it: {file.relative_to(ROOT)}")


if __name__ == "__main__":
    sys.exit(main())
