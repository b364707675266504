"""The targets of the program: mostly ratios of times that were measured in one run with the same number of workers."""

from dataclasses import dataclass

OF_THE_FLOOR = {"compat": 2.0, "default": 3.5, "everything": 8.0}
MEASURED_ON = ["usual", "wide"]
FASTER_THAN_NUMPY = 60
GAIN_OF_TWO_WORKERS = 1.6
SMALL_HEAD_SECONDS = 0.060
LONG_PEAK_BYTES = 1.2 * 2**30


@dataclass
class Target:
    what: str
    value: float
    limit: float
    at_most: bool
    unit: str

    @property
    def met(self):
        return self.value <= self.limit if self.at_most else self.value >= self.limit

    def __str__(self):
        sign = "at most" if self.at_most else "at least"
        return (f"{self.what:<52} {self.value:>9.2f}{self.unit:<4} {sign:>8} {self.limit:>6.2f}{self.unit:<4} "
                f"{'met' if self.met else 'not met'}")

    def as_json(self):
        return {"what": self.what, "value": self.value, "limit": self.limit, "at_most": self.at_most, "met": self.met}


def spelled(workers):
    return "1 worker" if workers == 1 else f"{workers} workers"


def targets(measured):
    """`measured` maps (dump, run, workers) to a cost. Runs that were not measured have no target."""
    found = []

    def add(what, value, limit, at_most, unit="x"):
        found.append(Target(what, value, limit, at_most, unit))

    def seconds(*key):
        return measured[key].best if key in measured else None

    for dump in MEASURED_ON:
        for run, limit in OF_THE_FLOOR.items():
            for workers in (1, 2):
                spent, floor = seconds(dump, run, workers), seconds(dump, "floor", workers)
                if spent and floor:
                    add(f"{dump}: {run}, {spelled(workers)}, of the floor", spent / floor, limit, True)
    for workers in (1, 2):
        spent, numpy = seconds("usual", "compat", workers), seconds("usual", "numpy", workers)
        if spent and numpy:
            add(f"usual: compat, {spelled(workers)}, faster than NumPy", numpy / spent, FASTER_THAN_NUMPY, False)
    for dump in MEASURED_ON:
        for run in OF_THE_FLOOR:
            one, two = seconds(dump, run, 1), seconds(dump, run, 2)
            if one and two:
                add(f"{dump}: {run}, 2 workers against 1", one / two, GAIN_OF_TWO_WORKERS, False)
    one_head = seconds("small", "one head", 1)
    if one_head:
        add("small: one head, start to end", one_head * 1e3, SMALL_HEAD_SECONDS * 1e3, True, " ms")
    peaks = [cost.peak_bytes for (dump, run, _), cost in measured.items() if dump == "long" and run in OF_THE_FLOOR]
    if peaks:
        add("long: peak memory of any run", max(peaks) / 2**30, LONG_PEAK_BYTES / 2**30, True, " GiB")
    return found
