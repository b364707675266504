"""SmolLM2-135M-Instruct from a file to its report, with one command."""

from __future__ import annotations

import csv
import re

import pytest

from conftest import run


@pytest.fixture(scope="module")
def studied(smollm2, tmp_path_factory):
    """The folder of a study of three documents of 768 tokens, as labels need them."""
    out = tmp_path_factory.mktemp("study") / "smollm2"
    words = ["study", "--model", smollm2, "--texts", "sample", "--max_length", 768, "--long_texts", "chunk"]
    words += ["--max_documents", 3, "--rows_per_bucket", 16, "--threads", 1, "-o", out]
    done = run(*words)
    assert done.returncode == 0, done.stderr
    return out, done


def test_a_study_needs_no_flag_for_the_rotation(studied):
    out, done = studied
    assert "rotation" not in done.stderr
    with open(out / "head_metrics.csv", newline="") as file:
        assert len(list(csv.DictReader(file))) == 270
    assert (out / "report.html").stat().st_size > 100_000


def test_plasticity_tells_induction_heads_from_positional_ones(studied):
    out, _ = studied
    words = ["validate", "--metrics", out, "--labels", out / "head_labels.csv"]
    words += ["--positive", "induction>0.1", "--negative", "previous_token>0.25"]
    done = run(*words)
    assert done.returncode == 0, done.stderr
    *_, names, auc = done.stdout.splitlines()
    assert dict(zip(names.split(), re.findall(r"(\d\.\d\d) \[", auc)))["ap_exact"] == "1.00", done.stdout
