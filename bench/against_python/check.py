"""Compares tables of run.py with those of `analyze --compat python`: check.py OURS THEIRS

Heads that OURS leaves out do not count. Numbers agree to 1e-9; the p of a Kolmogorov-Smirnov test to 1e-5, which is
SciPy's own accuracy, and R² near 0, a difference of nearly equal numbers, to 1e-12 absolute."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd

KEYS = ["layer", "q_head", "k_head", "q_bucket", "k_bucket", "component"]


def tolerances(column):
    """Relative and absolute."""
    if column.endswith("ks_p"):
        return 1e-5, 0.0
    return 1e-9, 1e-12 if column.startswith("component") else 0.0


def compare(name, ours, theirs):
    keys = [key for key in KEYS if key in ours]
    both = ours.merge(theirs, on=keys, how="left", suffixes=("", "_theirs"), validate="one_to_one")
    for column in ours.columns.difference(keys):
        a, b = both[column].to_numpy(dtype=float), both[column + "_theirs"].to_numpy(dtype=float)
        relative, absolute = tolerances(column)
        wrong = ~np.isclose(a, b, rtol=relative, atol=absolute, equal_nan=True)
        if wrong.any():
            row = both.loc[wrong].iloc[0]
            sys.exit(f"{name}: {column} differs in {wrong.sum()} rows, first at {dict(row[keys].astype(int))}: "
                     f"{row[column]!r} here, {row[column + '_theirs']!r} there")
    if set(ours.columns) != set(theirs.columns):
        sys.exit(f"{name}: columns differ: {sorted(set(ours.columns) ^ set(theirs.columns))}")
    print(f"{name}: {len(ours)} rows agree")


def main():
    ours, theirs = map(Path, sys.argv[1:])
    for file in sorted(ours.glob("*.csv")):
        compare(file.name, pd.read_csv(file), pd.read_csv(theirs / file.name))


if __name__ == "__main__":
    main()
