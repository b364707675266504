"""Plans, validation and reports are those of the program."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest

import attention_plasticity as ap

from conftest import DUMPS, csv_columns, dump, numbers, run_program

CONDITIONS = {"positive": "induction>0.1", "negative": "previous_token>0.25"}


@pytest.mark.parametrize(("name", "format"), [("minidoc-qwen3", "tsv"), ("minidoc-qwen3", "json"), ("smollm2-135m", "scores")])
def test_plans_are_those_of_the_program(name, format, results, program_runs, tmp_path):
    expected = run_program("plan", program_runs[name], "--keep", "0.5", "--missing", "full", "--format", format)
    plan = ap.plan(results[name], keep=0.5, missing="full")
    assert plan.text(format) == expected
    assert plan.to_file(tmp_path / f"plan.{format}", format).read_text() == expected


def test_plans_can_be_scored_by_labels_and_by_mean_ranks(results, program_runs):
    name, column = "minidoc-qwen3", "ap_exact,-previous_token"
    labels = dump(name) / "head_labels.csv"
    expected = run_program("plan", program_runs[name], "--keep", "0.5", "--labels", labels, f"--column={column}")
    for given in (labels, pd.read_csv(labels)):
        assert ap.plan(results[name], keep=0.5, column=column, labels=given).text("json") == expected


def test_a_plan_is_a_table(results, tmp_path):
    plan = ap.plan(results["minidoc-qwen3"], keep=0.5)
    assert plan.heads.index.names == ["layer", "kv_head"]
    assert plan.heads["kind"].value_counts().to_dict() == {"full": 7, "window": 7, "sliding": 6}
    assert plan.window == 64 and plan.sinks == 4
    assert 0 < plan.saved(4096) < plan.saved(131072) < 1
    assert plan.to_file(tmp_path / "plan.tsv").read_text() == plan.text("tsv")
    assert "7 full" in repr(plan)
    assert pickle.loads(pickle.dumps(plan)) == plan
    assert plan != ap.plan(results["minidoc-qwen3"], keep=0.25)


def test_plans_are_refused_as_by_the_program(results):
    with pytest.raises(ap.ConfigError):
        ap.plan(results["minidoc-qwen3"])
    with pytest.raises(ap.ConfigError, match="did you mean ap_exact?"):
        ap.plan(results["minidoc-qwen3"], keep=0.5, column="ap_exakt")
    with pytest.raises(ap.ConfigError, match="`format`"):
        ap.plan(results["minidoc-qwen3"], keep=0.5).text("yaml")


@pytest.mark.parametrize("name", DUMPS)
def test_validation_is_that_of_the_program(name, results, program_runs):
    labels = dump(name) / "head_labels.csv"
    flags = [word for field, value in CONDITIONS.items() for word in (f"--{field}", value)]
    words = ["validate", "--metrics", program_runs[name], "--labels", labels, *flags]
    expected = csv_columns(run_program(*words, "--csv"))
    for given in (labels, pd.read_csv(labels), pd.read_csv(labels).set_index(["layer", "q_head"])):
        validation = ap.validate(results[name], given, **CONDITIONS)
        assert list(validation.table.columns) == list(expected)
        for column in ("statistic", "label", "measure"):
            assert validation.table[column].tolist() == expected[column]
        for column in ("value", "low", "high", "heads"):
            np.testing.assert_array_equal(validation.table[column], numbers(expected[column]))
    assert repr(validation) == run_program(*words)
    assert ap.validate(program_runs[name], labels, bootstrap=0).table["low"].isna().all()


def test_conditions_go_together(results):
    with pytest.raises(ap.ConfigError, match="`positive` and `negative` go together"):
        ap.validate(results["minidoc-qwen3"], dump("minidoc-qwen3") / "head_labels.csv", positive="induction>0.1")


def test_the_report_is_that_of_the_program(program_runs, tmp_path):
    name = "smollm2-135m"
    labels = dump(name) / "head_labels.csv"
    run_program("report", program_runs[name], "--labels", labels, "-o", tmp_path / "program.html")
    page = ap.load(program_runs[name]).report(tmp_path / "package.html", labels=labels)
    assert page.read_bytes() == (tmp_path / "program.html").read_bytes()
    assert len(ap.load(program_runs[name]).report(tmp_path / "frame.html", labels=pd.read_csv(labels)).read_bytes()) > 100_000


def test_folders_that_nobody_named_are_not_told_of(results, tmp_path):
    result = results["smollm2-135m"]
    labels = pd.read_csv(dump("smollm2-135m") / "head_labels.csv")
    with pytest.warns(ap.PlasticityWarning, match="^labels.csv: 270 heads labelled"):
        page = result.report(tmp_path / "memory.html", labels=labels).read_text()
    assert result._path().name not in page
    assert '"labels_file":"labels"' in page
    assert '"source":null' in page
    with pytest.raises(ap.InputError) as error:
        ap.plan(result, keep=0.5)
    assert str(error.value).startswith("head_metrics.csv: 89 of 90 KV heads")
    assert ap.validate(result, labels, bootstrap=0).json["metrics"] == "head_metrics.csv"
    # What somebody named is told of.
    result.save(tmp_path / "run")
    assert f'"source":"{tmp_path / "run"}"' in ap.load(tmp_path / "run").report(tmp_path / "named.html").read_text()
