"""Compares the instructions that callgrind counted with bench/instructions.txt: compare_instructions.py COUNTED TRACKED
[--update]. COUNTED is the folder of callgrind's dumps."""

import argparse
import re
import sys
from pathlib import Path

ALLOWED = 1.10
HEADER = """# Instructions of each kernel of bench/kernel_table.cc on 2,800 rows of 64 components, by callgrind, with AVX2.
# `make bench-check` fails when one grows by more than 10 %; `tools/bench_check.sh --update` writes this file anew.
"""


def counted_in(folder):
    counts = {}
    for dump in folder.iterdir():
        text = dump.read_text(errors="replace")
        name = re.search(r"^desc: Trigger: Client Request: (\w+)$", text, re.MULTILINE)
        total = re.search(r"^totals: (\d+)$", text, re.MULTILINE)
        if name and total:
            counts[name[1]] = int(total[1])
    return counts


def tracked_in(file):
    lines = file.read_text().splitlines() if file.exists() else []
    return {name: int(count) for name, count in (line.split() for line in lines if line and not line.startswith("#"))}


def compare(counted, tracked):
    """Prints every kernel. Returns a list of what is wrong."""
    wrong = []
    for name in sorted(counted.keys() | tracked.keys()):
        if name not in counted or name not in tracked:
            wrong.append(f"{name} is {'not tracked' if name in counted else 'tracked but no longer a kernel'}")
            continue
        change = counted[name] / tracked[name]
        print(f"{name:<32} {counted[name]:>14,} {change - 1:>+8.1%}")
        if change > ALLOWED:
            wrong.append(f"{name} takes {change - 1:.1%} more instructions than tracked")
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("counted", type=Path)
    parser.add_argument("tracked", type=Path)
    parser.add_argument("--update", action="store_true")
    arguments = parser.parse_args()
    counted = counted_in(arguments.counted)
    if not counted:
        sys.exit("bench-check: callgrind counted nothing")
    if arguments.update:
        rows = "".join(f"{name} {counted[name]}\n" for name in sorted(counted))
        arguments.tracked.write_text(HEADER + rows)
        print(f"bench-check: {arguments.tracked} now holds these {len(counted)} kernels")
        return
    wrong = compare(counted, tracked_in(arguments.tracked))
    if wrong:
        sys.exit("bench-check: " + "; ".join(wrong) + ". If that is meant, run tools/bench_check.sh --update")
    print("bench-check: passed")


if __name__ == "__main__":
    main()
