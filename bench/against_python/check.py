"""Compares tables of run.py with those of `analyze --compat python`: check.py OURS THEIRS

Heads that OURS leaves out do not count. Numbers must agree to 1e-9. The p of a Kolmogorov-Smirnov test must agree to
1e-5, which is SciPy's own accuracy. R² near 0 is a difference of nearly equal numbers and must agree to 1e-12 absolute.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd

KEYS = ["layer", "q_head", "k_head", "q_bucket", "k_bucket", "component"]


def tolerances(column):
    """The relative and the absolute tolerance of a column."""
    if column.endswith("ks_p"):
        return 1e-5, 0.0
    return 1e-9, 1e-12 if column.startswith("component") else 0.0


def compare(name, ours, theirs):
    keys = [key for key in KEYS if key in ours]
    theirs = theirs.merge(ours[KEYS[:3]].drop_duplicates())
    if set(ours.columns) != set(theirs.columns):
        sys.exit(f"{name}: columns differ: {sorted(set(ours.columns) ^ set(theirs.columns))}")
    if len(ours) != len(theirs):
        sys.exit(f"{name}: {len(ours)} rows here, {len(theirs)} there")
    both = ours.merge(theirs, on=keys, how="left", suffixes=("", "_theirs"), validate="one_to_one")
    for column in ours.columns.difference(keys):
        a, b = both[column].to_numpy(dtype=float), both[column + "_theirs"].to_numpy(dtype=float)
        relative, absolute = tolerances(column)
        wrong = ~np.isclose(a, b, rtol=relative, atol=absolute, equal_nan=True)
        if wrong.any():
            row = both.loc[wrong].iloc[0]
            place = ", ".join(f"{key} {int(row[key])}" for key in keys)
            sys.exit(f"{name}: {column} differs in {wrong.sum()} rows, first at {place}: "
                     f"{row[column]} here, {row[column + '_theirs']} there")
    print(f"{name}: {len(ours)} rows agree")


def main():
    ours, theirs = map(Path, sys.argv[1:])
    for name in ("head_metrics.csv", "head_bucket_plasticity.csv", "head_component_weights.csv"):
        compare(name, pd.read_csv(ours / name), pd.read_csv(theirs / name))


if __name__ == "__main__":
    main()
