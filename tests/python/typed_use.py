"""A user's file that uses the whole package; type checkers read it in their strict modes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

import attention_plasticity as ap


def study(folder: Path, labels: pd.DataFrame) -> float:
    result: ap.Result = ap.analyze(folder, layers=[0, 1], num_triples=1000, rope_theta=1e4, method="full", progress=False)
    heads: pd.DataFrame = result.heads
    ap_exact: float = heads["ap_exact"].mean()
    result.table("distance").head()
    print(result.table("distance", format="arrow").num_rows)
    print(result.table("distance", format="polars").height)
    mean, error = result.model_mean("ap_exact")
    one = result[4, 2]
    print(one["ap_exact"], len(result), (4, 2) in result, result == result, list(result), result.failures)
    axes = result.plot.heads("ap_exact")
    result.plot.distance(layer=4, head=2, ax=axes)
    result.plot.curve().set_title("curves")
    result.save("out/run", overwrite=True)
    again = ap.load("out/run")
    page: Path = again.report("report.html", labels=labels)
    plan = ap.plan(result, keep=0.5)
    plan.to_file("plan.tsv")
    saved: float = plan.saved(4096)
    comparison: ap.Comparison = ap.compare(result, "out/other", columns=["ap_exact"], level=0.01)
    print(comparison.moved()["q"], comparison.table["difference"], comparison.json, comparison.caveats)
    comparison.plot.changes("ap_exact", ax=axes).set_title("changes")
    comparison.plot.change_map()
    comparison.plot.curve(layer=1)
    comparison.plot.distance(layer=[1, 2])
    steps: ap.Series = ap.series([result, folder], x={"step": [0, 500]}, threshold=0.4)
    steps.plot.series(head=1)
    files: list[Path] = steps.save("out/series")
    print(files, len(ap.merge([folder / "1", folder / "2"])))
    validation = ap.validate(result, labels, positive="induction>0.1", negative="previous_token>0.25")
    print(page, validation.table["value"], mean + error)
    return ap_exact + saved


def arrays() -> float:
    vectors = np.zeros((4, 2), np.float32)
    rows = ap.Rows(vectors, position=np.arange(4), bucket=np.zeros(4, int), example_id=np.zeros(4, int))
    head: ap.HeadResult = ap.analyze_head(rows, rows, layer=3, rope="none", num_triples=16)
    overall: float = head.plasticity.overall
    exact = head.exact
    try:
        ap.analyze({(0, 0): (rows, rows), (0, 1, 0): (rows, rows)}, seed=1)
    except ap.Interrupted as interrupted:
        print(interrupted.result)
    except ap.InputError as error:
        print(error.exit_code, error.file)
    return overall + (0 if exact is None else exact.overall) + head.metrics()["ap_overall"]
