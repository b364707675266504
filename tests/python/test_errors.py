"""Failures are exceptions with the program's text and exit code."""

from __future__ import annotations

import subprocess

import pytest

import attention_plasticity as ap
from attention_plasticity._program import program

from conftest import dump

ROOT = dump("minidoc-qwen3")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_wrokers": 2}, "`max_wrokers`: unknown key; did you mean max_workers?"),
        ({"p_alpha": 2}, "`p_alpha`: 2 is out of range; it must lie between 0 and 1 (exclusive)"),
        ({"layers": "0-99"}, "`layers`: 99 is out of range; the model has 10 layers, 0 to 9"),
        ({"method": "diag"}, "`method`: "),
        ({"output_dir": "out"}, "`output_dir`: analyze() writes no files; use result.save(folder)"),
        ({"dataset_name": "a/b"}, "`dataset_name`: the dump is given already"),
        ({"seed": object()}, "`seed`: object is no value of an option"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(ap.ConfigError) as caught:
        ap.analyze(ROOT, **options)
    assert message in str(caught.value)
    assert caught.value.exit_code == 2
    assert isinstance(caught.value, ap.Error) and isinstance(caught.value, ValueError)


def test_a_configuration_file_is_named_with_its_line(tmp_path):
    config = tmp_path / "run.yaml"
    config.write_text(f"dataset_local_root: {ROOT}\nnum_tripels: 10\n")
    with pytest.raises(ap.ConfigError, match=r"run.yaml:2.*num_triples"):
        ap.analyze(config)


def test_a_missing_dump_is_an_input_error(tmp_path):
    with pytest.raises(ap.InputError) as caught:
        ap.analyze(tmp_path)
    program_says = subprocess.run(
        [program(), "analyze", "--dataset_local_root", tmp_path, "-o", tmp_path / "out"],
        capture_output=True, text=True, check=False,
    )
    assert program_says.returncode == caught.value.exit_code == 3
    assert str(caught.value) in program_says.stderr
    with pytest.raises(ap.InputError, match="there is no such folder"):
        ap.analyze(tmp_path / "no" / "such" / "folder")
    with pytest.raises(ap.ConfigError, match="needs a dump"):
        ap.analyze()


def test_the_hub_without_a_network_is_a_network_error(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ap.NetworkError) as caught:
        ap.analyze("org/name")
    assert caught.value.exit_code == 5


def test_an_output_that_cannot_be_written_is_an_output_error(results, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ap.OutputError) as caught:
        results["minidoc-qwen3"].save(tmp_path / "file" / "folder")
    assert caught.value.exit_code == 6


def test_a_broken_file_costs_its_head_only(tmp_path):
    import shutil

    root = shutil.copytree(ROOT, tmp_path / "dump")
    (root / "l00h03q" / "data.parquet").write_bytes(b"PAR1 and no more")
    with pytest.warns(ap.PlasticityWarning, match="1 head of 6 failed"):
        run = ap.analyze(root, layers=0)
    assert len(run) == 5
    failure = run.failures.iloc[0]
    assert (failure["layer"], failure["q_head"]) == (0, 3)
    assert failure["file"].endswith("l00h03q/data.parquet")
    copy = ap.load(run.save(tmp_path / "out")[0].parent)
    assert copy.failures["message"].tolist() == run.failures["message"].tolist()


def test_errors_can_be_pickled():
    import pickle

    error = pickle.loads(pickle.dumps(ap.InputError("no rows", "a.parquet")))
    assert (str(error), error.file, error.exit_code) == ("a.parquet: no rows", "a.parquet", 3)
    assert pickle.loads(pickle.dumps(ap.Interrupted(None))).result is None


def test_an_interrupted_analysis_can_be_pickled(results):
    import pickle

    stopped = pickle.loads(pickle.dumps(ap.Interrupted(results["minidoc-qwen3"])))
    assert stopped.result == results["minidoc-qwen3"]
    assert str(stopped) == "interrupted; 60 heads are in the result of this exception"


def test_a_dump_whose_name_is_not_utf8_is_refused(tmp_path):
    import os

    folder = os.fsencode(tmp_path) + b"/caf\xe9"
    os.mkdir(folder)
    with pytest.raises(ap.InputError, match="not UTF-8"):
        ap.analyze(os.fsdecode(folder))
    with pytest.raises(ap.ConfigError, match="`dataset_local_root`: .*not UTF-8"):
        ap.analyze(dataset_local_root=os.fsdecode(folder))


def test_another_pyarrow_is_refused_in_plain_words(monkeypatch):
    from attention_plasticity import _arrow

    monkeypatch.setattr(_arrow, "version", lambda name: "21.0.0")
    with pytest.raises(ImportError, match=r"built for pyarrow 22, and pyarrow 21.0.0 is installed: pip install"):
        _arrow.check_pyarrow()


def test_files_that_cannot_be_written_are_output_errors(tmp_path, results):
    (tmp_path / "file").write_text("here before")
    result = results["minidoc-qwen3"]
    plan = ap.plan(result, keep=0.5)
    for write in (
        lambda: plan.to_file(tmp_path / "file" / "plan.tsv"),
        lambda: ap.compare(result, result).save(tmp_path / "file"),
        lambda: result.save(tmp_path / "file"),
        lambda: result.report(tmp_path / "file" / "report.html"),
    ):
        with pytest.raises(ap.OutputError) as caught:
            write()
        assert caught.value.exit_code == 6
        assert caught.value.file.startswith(str(tmp_path))
    assert (tmp_path / "file").read_text() == "here before"
    plan.to_file(tmp_path / "new" / "plan.tsv")
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["plan.tsv"]
