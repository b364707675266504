"""capture, study and evaluate as commands of the installed package."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import attention_plasticity as ap

COMMAND = Path(sys.executable).with_name("attention-plasticity")


def run(*words, code=0, cwd=None):
    done = subprocess.run([COMMAND, *map(str, words)], capture_output=True, text=True, check=False, cwd=cwd)
    assert done.returncode == code, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    file = tmp_path_factory.mktemp("texts") / "docs.jsonl"
    words = "the quick brown fox jumps over the lazy dog and runs into the wide green wood ".split()
    lines = [" ".join(words[(3 * i + j * j) % len(words)] for j in range(90)) for i in range(6)]
    file.write_text("\n".join(json.dumps({"text": line}) for line in lines))
    return file


def test_study_then_evaluate(model_folder, texts, tmp_path):
    out = tmp_path / "mine"
    flags = ["--bucket_size", "64", "--rows-per-bucket", "8", "--batch_size", "2"]
    done = run("study", "--model", model_folder, "--texts", texts, "-o", out, *flags)
    assert "small-llama: 16 heads" in done.stdout
    names = {path.name for path in out.iterdir()}
    assert {"dump", "head_metrics.csv", "run.json", "head_labels.csv", "report.html"} <= names
    assert "warning: fewer than 2 documents have 768 tokens" in done.stderr
    result = ap.load(out)
    assert result == ap.analyze(out / "dump")
    page = (out / "report.html").read_text()
    assert f'"source":"{out}"' in page and "induction" in page
    again = run("study", "--model", model_folder, "--texts", texts, "-o", out, *flags)
    assert again.stdout == done.stdout

    run("plan", out, "--keep", "0.5", "--window", "8", "--sinks", "1", "-o", tmp_path / "plan.json")
    priced = run("evaluate", "--model", model_folder, "--texts", texts, "--plan", tmp_path / "plan.json", "--results", out,
                 "--labels", out / "head_labels.csv", "--rankings", "ap_exact,induction,random", "--shares", "0.5",
                 "--random_seeds", "1", "-o", tmp_path / "losses.json")
    rows = json.loads((tmp_path / "losses.json").read_text())["rows"]
    assert [row["ranking"] for row in rows] == ["all kept", "all cut", "plan", "ap_exact", "induction", "random 0"]
    by_name = {row["ranking"]: row["loss"] for row in rows}
    assert by_name["plan"] == by_name["ap_exact"]
    assert "plan" in priced.stdout and "50.0%" in priced.stdout


def test_capture_and_analyze(model_folder, texts, tmp_path):
    done = run("capture", "--model", model_folder, "--texts", texts, "--output", tmp_path / "dump", "--bucket_size", "64",
               "--layers", "0-1", "--max_length", "256", "--dtype", "bfloat16", "--no-labels")
    assert "6 documents of small-llama" in done.stdout
    assert done.stderr == ""
    run("analyze", "--dataset_local_root", tmp_path / "dump", "-o", tmp_path / "out", "--quiet")
    assert len(ap.load(tmp_path / "out")) == 8
    assert run("capture", "--model", model_folder, "--texts", texts, "--output", tmp_path / "quiet", "--bucket_size", "64",
               "--quiet").stdout == ""


def test_messages_name_flags(model_folder, texts, tmp_path):
    def complaint(*words, code):
        return run("capture", "--model", model_folder, "--texts", texts, "-o", tmp_path / "dump", *words, code=code).stderr

    assert complaint("--device", "gpu", code=2) == (
        "attention-plasticity: --device gpu is no device of torch; say cpu, cuda, cuda:1 or mps\n"
    )
    assert "the model takes 512 tokens" in complaint("--max_length", "1000", code=2)
    assert "--text_field" in complaint("--text_field", "body", code=3)
    assert "did you mean --bucket_size?" in complaint("--bucket_sise", "3", code=2)
    assert not (tmp_path / "dump").exists()


def test_help_is_that_of_the_program():
    for name in ("capture", "study", "evaluate"):
        text = run(name, "--help").stdout
        assert f"Usage: attention-plasticity {name} [--flag value]..." in text
        assert "--trust_remote_code" in text
        assert run("help", name).stdout == text


def test_every_flag_is_an_option_of_its_function():
    """The program reads the flags; this is what they become."""
    engine = {field["name"] for field in __import__("attention_plasticity._capture", fromlist=["x"]).fields()}
    functions = {"capture": ap.capture, "study": ap.capture, "evaluate": ap.evaluate_plan}
    for name, function in functions.items():
        flags = set(re.findall(r"^ +(?:-\w, )?--(\w+)", run(name, "--help").stdout, re.MULTILINE))
        known = set(inspect.signature(function).parameters) | (engine if function is ap.capture else {"output"})
        assert {"model", "texts", "max_length", "output", "quiet"} <= flags
        # Flags of the way by libllama, which is the program's own.
        native = {"backend", "exact", "threads", "gpu_layers", "dump", "row_memory"}
        assert flags - known - native == {"quiet"}, name


def test_defaults_in_the_help_are_those_of_the_functions():
    text = " ".join(run("evaluate", "--help").stdout.split())
    signature = inspect.signature(ap.evaluate_plan).parameters
    for name in ("text_field", "text_split", "long_texts", "batch_size", "random_seeds"):
        assert re.search(rf"--{name} [^(]*\(default: {signature[name].default}\)", text), name
    assert "(default: " + ",".join(map(str, signature["shares"].default)) + ")" in text
