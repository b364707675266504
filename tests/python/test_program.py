"""The numbers of the package are those of the program."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import attention_plasticity as ap
from attention_plasticity._program import program

from conftest import DUMPS, csv_columns, dump, numbers, run_program

FILES = {table["name"]: table["file"] for table in ap.tables()}


@pytest.mark.parametrize("name", DUMPS)
def test_tables_equal_those_of_the_program(name, results, program_runs):
    assert set(results[name].tables) == set(FILES)
    for table, file in FILES.items():
        written = csv_columns((program_runs[name] / file).read_text())
        measured = results[name].table(table)
        assert list(measured.columns) == list(written)
        for column, fields in written.items():
            np.testing.assert_array_equal(measured[column].to_numpy(float), numbers(fields), column)


@pytest.mark.parametrize("name", DUMPS)
def test_saved_tables_have_the_bytes_of_the_program(name, results, program_runs, tmp_path):
    saved = {path.name for path in results[name].save(tmp_path / "saved")}
    assert saved == {*FILES.values(), "run.json"}
    for file in FILES.values():
        assert (tmp_path / "saved" / file).read_bytes() == (program_runs[name] / file).read_bytes()


@pytest.mark.parametrize("name", DUMPS)
def test_loaded_results_equal_measured_ones(name, results, program_runs):
    loaded = ap.load(program_runs[name])
    assert loaded == results[name]
    assert loaded.model_name == results[name].model_name
    assert loaded.model_mean("ap_exact") == results[name].model_mean("ap_exact")


def test_a_configuration_file_is_a_source(monkeypatch, results):
    monkeypatch.chdir(dump("minidoc-qwen3").parents[1])
    assert ap.analyze("configs/example-minidoc-qwen3.yaml") == results["minidoc-qwen3"]


def test_options_are_those_of_the_program(tmp_path):
    run_program("analyze", "--dataset_local_root", dump("minidoc-qwen3"), "-o", tmp_path, "--quiet", "--layers", "0-1,4",
                "--compat", "python", "--seed", "7")
    assert ap.analyze(dump("minidoc-qwen3"), layers="0-1,4", compat="python", seed=7) == ap.load(tmp_path)
    assert ap.analyze(dump("minidoc-qwen3"), layers=[0, 1, 4], compat="python", seed=np.int64(7)) == ap.load(tmp_path)


def test_the_command_of_the_package_is_the_program():
    command = Path(sys.executable).with_name("attention-plasticity")
    for words in ([str(command)], [sys.executable, "-m", "attention_plasticity"]):
        version = subprocess.run([*words, "--version"], capture_output=True, text=True, check=True).stdout
        assert version == run_program("--version")
    wrong = subprocess.run([command, "analyse"], capture_output=True, text=True, check=False)
    assert wrong.returncode == 2
    assert "did you mean analyze?" in wrong.stderr
    assert ap.__version__ in version


def test_the_wheel_carries_no_arrow():
    package = Path(ap.__file__).parent
    assert not [file for file in package.rglob("*") if "arrow" in file.name and file.suffix not in (".py", ".pyc")]
    linked = subprocess.run(["ldd", program()], capture_output=True, text=True, check=True).stdout
    assert str(package.parent / "pyarrow") in str(Path(linked.split("libarrow.so")[1].split("=>")[1].split()[0]).resolve())
