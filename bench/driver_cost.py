#!/usr/bin/env python3
"""What a head costs the driver of a run whose heads are measured elsewhere: preparing, taking in, writing.

    build/ray_test-pythonX.Y/bin/python bench/driver_cost.py DUMP

The heads are measured once, and what the workers returned is then handed to a second run as fast as it takes it.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from attention_plasticity import _runs


def main(dump: str) -> None:
    options = [("dataset_local_root", dump)]
    found: list[bytes] = []

    def measure(work, receiver):
        worker = _runs.HeadWorker(work.manifest)
        for group, (heads, _) in enumerate(work.groups):
            found.append(worker.measure(heads))
            receiver.measured(group, found[-1])

    times = {}

    def replay(work, receiver):
        times["prepared"] = time.perf_counter()
        times["manifest"] = len(work.manifest)
        for group, data in enumerate(found):
            receiver.measured(group, data)
        times["taken"] = time.perf_counter()

    _runs.run_dump(None, options, None, None, measure, lambda *_: None)
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        run, _ = _runs.run_dump(None, options, None, Path(folder) / "saved", replay, lambda *_: None)
        concluded = time.perf_counter()
        run.save(Path(folder) / "out", False)
        saved = time.perf_counter()
    heads = len(run)
    print(f"{heads} heads: {sum(map(len, found)) / heads / 1024:.1f} KiB a head from workers, "
          f"{times['manifest'] / heads:.0f} bytes a head in the manifest")
    for name, begin, end in (("preparing (footers)", start, times["prepared"]),
                             ("taking in and keeping", times["prepared"], times["taken"]),
                             ("concluding", times["taken"], concluded), ("writing the tables", concluded, saved)):
        print(f"{name:<24}{1000 * (end - begin) / heads:8.3f} ms a head")


if __name__ == "__main__":
    main(sys.argv[1])
