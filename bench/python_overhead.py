"""What a call from Python costs: CPU seconds of ap.analyze against those of the program on the embedded SmolLM2 dump.

Run it where the package is installed: python bench/python_overhead.py. Imports are not counted; each figure is the least of
seven runs with one worker.
"""

from __future__ import annotations

import resource
import subprocess
import tempfile
from pathlib import Path

import attention_plasticity as ap
from attention_plasticity._program import program

DUMP = Path(__file__).parents[1] / "examples" / "smollm2-135m"


def cpu_seconds(who: int) -> float:
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    ap.analyze(DUMP, layers=1)
    of_package, of_program = [], []
    for _ in range(7):
        before = cpu_seconds(resource.RUSAGE_SELF)
        ap.analyze(DUMP, max_workers=1)
        of_package.append(cpu_seconds(resource.RUSAGE_SELF) - before)
        before = cpu_seconds(resource.RUSAGE_CHILDREN)
        with tempfile.TemporaryDirectory() as folder:
            words = ["analyze", "--dataset_local_root", DUMP, "-o", folder, "--max_workers", "1", "--quiet"]
            subprocess.run([program(), *words], check=True)
        of_program.append(cpu_seconds(resource.RUSAGE_CHILDREN) - before)
    package, alone = min(of_package), min(of_program)
    print(f"package {package:.3f} s, program {alone:.3f} s, ratio {package / alone:.2f} (at most 1.15)")


if __name__ == "__main__":
    main()
