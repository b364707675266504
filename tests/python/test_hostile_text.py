"""Text of strangers commands no terminal and no page."""

from __future__ import annotations

import json
import logging
import shutil

import numpy as np
import pandas as pd
import pytest

import attention_plasticity as ap
from attention_plasticity._printable import printable_lines, printable_text
from attention_plasticity._progress import Progress

from conftest import dump

HOSTILE = "\x1b]0;pwned\x07\x1b[2J<script>alert(1)</script>\x9b31m\u202e$\\frac"


def assert_printable(text: str) -> None:
    assert printable_lines(text) == text


@pytest.fixture
def hostile_run(tmp_path):
    folder = tmp_path / "dump"
    shutil.copytree(dump("minidoc-qwen3"), folder, ignore=shutil.ignore_patterns("l0[1-9]*"))
    state = folder / "_saver_state.json"
    state.write_text(json.dumps({**json.loads(state.read_text()), "model_name": HOSTILE}))
    return ap.analyze(folder, layers=0, num_triples=100)


def test_text_is_shown_as_the_program_shows_it():
    assert printable_text("a\x1b[2J\n\u202e") == r"a\x1b[2J\n\u202e"
    assert printable_lines("a\nb\x07") == "a\nb\\x07"
    assert printable_text("layer 3 ± µ 漢") == "layer 3 ± µ 漢"
    assert printable_text(b"\xff.csv".decode("utf-8", "surrogateescape")) == r"\xff.csv"
    assert printable_text("\ud800") == r"\ud800"


def test_errors_are_one_printable_line():
    error = ap.InputError(f"no\n{HOSTILE}", f"file{HOSTILE}")
    assert_printable(str(error))
    assert_printable(error.message)
    assert "\n" not in str(error)
    assert error.file == f"file{HOSTILE}"  # which can be opened
    with pytest.raises(ap.InputError) as caught:
        ap.analyze(f"/none/{HOSTILE}")
    assert_printable(str(caught.value))


def test_warnings_and_notes_are_printable(caplog):
    tell = Progress(False)
    with pytest.warns(ap.PlasticityWarning) as warned:
        tell("warning", HOSTILE)
    assert_printable(str(warned[0].message))
    with caplog.at_level(logging.INFO, "attention_plasticity"):
        tell("note", HOSTILE)
    assert_printable(caplog.records[0].getMessage())


def test_results_show_names_as_text(hostile_run, tmp_path):
    assert hostile_run.model_name == HOSTILE
    assert_printable(repr(hostile_run))
    assert "<script>" not in hostile_run._repr_html_()
    assert "\x1b" not in hostile_run._repr_html_()
    hostile_run.plot.heads("ap_exact").figure.savefig(tmp_path / "heads.png")
    page = hostile_run.report(tmp_path / "report.html").read_text()
    assert "<script>alert" not in page and "\x1b" not in page


def test_findings_show_names_as_text(hostile_run):
    labels = pd.DataFrame({"layer": 0, "q_head": np.arange(6), HOSTILE: np.arange(6.0), "=cmd()": np.arange(6.0)})
    validation = ap.validate(hostile_run, labels)
    assert_printable(repr(validation))
    assert "<script>" not in validation._repr_html_()
    difference = ap.compare(hostile_run, hostile_run)
    assert_printable(repr(difference))
    assert_printable(repr(ap.series([hostile_run, hostile_run], x={"step": [0, 1]})))
