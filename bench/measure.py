"""Runs programs and measures their time and memory."""

import os
import sys
import tempfile
import time
from dataclasses import dataclass, field

MOST_ROUNDS = 15


@dataclass
class Cost:
    """One way to run a program, measured several times."""

    run: str
    workers: int
    command: list
    seconds: list = field(default_factory=list)
    cpu_seconds: list = field(default_factory=list)
    peak_bytes: int = 0

    @property
    def best(self):
        return min(self.seconds)

    @property
    def best_cpu(self):
        """Processor seconds of all threads; a busy machine stretches them far less than `best`."""
        return min(self.cpu_seconds)

    @property
    def spread(self):
        """How much longer the slowest round took than the fastest, as a share."""
        return max(self.seconds) / self.best - 1

    def measure(self):
        seconds, usage = run(self.command)
        self.seconds.append(seconds)
        self.cpu_seconds.append(usage.ru_utime + usage.ru_stime)
        self.peak_bytes = max(self.peak_bytes, usage.ru_maxrss * 1024)

    def as_json(self):
        return {"run": self.run, "workers": self.workers, "seconds": self.seconds, "best": self.best,
                "spread": self.spread, "cpu_seconds": self.cpu_seconds, "best_cpu": self.best_cpu,
                "peak_bytes": self.peak_bytes}


def run(command):
    """Seconds from start to end of a program, and the resources that it used. Ends the bench when the program fails.

    The peak memory of a child is never below that of this process at the child's start, about 15 MiB."""
    command = [str(part) for part in command]
    with tempfile.TemporaryFile() as errors, open(os.devnull, "rb+") as nothing:
        start = time.perf_counter()
        child = os.posix_spawn(command[0], command, os.environ,
                               file_actions=[(os.POSIX_SPAWN_DUP2, nothing.fileno(), 0),
                                             (os.POSIX_SPAWN_DUP2, nothing.fileno(), 1),
                                             (os.POSIX_SPAWN_DUP2, errors.fileno(), 2)])
        _, status, usage = os.wait4(child, 0)
        seconds = time.perf_counter() - start
        if status != 0:
            errors.seek(0)
            sys.exit(f"bench: {' '.join(command)} failed: {errors.read().decode(errors='replace')[-2000:]}")
    return seconds, usage


def interleave(costs, rounds, least_seconds):
    """Measures all costs in turn, so that a slow spell of the machine affects all of them. A cost that is listed twice
    is measured twice in a round. There are at least `rounds` rounds, and more until `least_seconds` have passed."""
    begin = time.perf_counter()
    done = 0
    while done < rounds or (done < MOST_ROUNDS and time.perf_counter() - begin < least_seconds):
        for cost in costs:
            cost.measure()
        done += 1
