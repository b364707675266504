"""A real model from one command: SmolLM2-135M-Instruct, dequantised from the GGUF file of a wheel."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import attention_plasticity as ap

SOURCE = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def studied(smollm2, tmp_path_factory):
    out = tmp_path_factory.mktemp("study") / "smollm2"
    command = Path(sys.executable).with_name("attention-plasticity")
    words = ["study", "--model", smollm2, "--texts", "sample", "--max_length", "1024", "--long_texts", "chunk"]
    done = subprocess.run([command, *words, "--max_documents", "6", "--rows_per_bucket", "16", "-o", out],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""  # the rotation of the config agrees with the vectors
    return ap.load(out), out


def test_plasticity_tells_induction_heads_from_positional_ones(studied):
    result, out = studied
    assert len(result) == 270
    found = ap.validate(result, out / "head_labels.csv", positive="induction>0.1", negative="previous_token>0.25",
                        columns=["ap_exact"], bootstrap=0)
    auc = found.table[found.table["statistic"] == "auc"]["value"]
    assert auc.iloc[0] >= 0.99


def test_labels_are_those_of_the_model_before_quantisation(studied):
    """The labels of the example dump come from the model's float weights, and from other texts."""
    import pandas as pd

    known = pd.read_csv(SOURCE / "examples" / "smollm2-135m" / "head_labels.csv").set_index(["layer", "q_head"])
    mine = pd.read_csv(studied[1] / "head_labels.csv").set_index(["layer", "q_head"]).loc[known.index]
    for column in ("induction", "previous_token"):
        assert np.corrcoef(known[column], mine[column])[0, 1] > 0.95, column


def test_the_report_knows_the_labels(studied):
    assert (studied[1] / "report.html").stat().st_size > 100_000
