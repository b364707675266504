"""A study of a GGUF model, with a dump and without one."""

from __future__ import annotations

import pytest

from conftest import bytes_of, run
from tiny_models import write_model

TABLES = ("head_metrics.csv", "head_groups.csv", "head_bucket_plasticity.csv", "head_time_plasticity.csv",
          "head_distance_plasticity.csv", "head_component_weights.csv", "head_labels.csv")


def study(llama, texts, output, *flags):
    words = ["study", "--model", llama, "--texts", texts, "--output", output, "--threads", 1, "--quiet", *flags]
    return run(*words, "--rows_per_bucket", 16)


@pytest.fixture(scope="module")
def with_dump(llama, texts, tmp_path_factory):
    out = tmp_path_factory.mktemp("study") / "out"
    done = study(llama, texts, out)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    return out


def test_a_study_has_a_dump_tables_labels_and_a_report(with_dump):
    assert (with_dump / "report.html").stat().st_size > 100_000
    assert len(list((with_dump / "dump").glob("l*h*[qk]"))) == 4 * (4 + 2)
    for table in TABLES:
        assert (with_dump / table).stat().st_size > 100


@pytest.mark.parametrize("flags", [(), ("--row_memory", "300KB")])
def test_without_a_dump_the_tables_are_the_same(llama, texts, tmp_path, with_dump, flags):
    done = study(llama, texts, tmp_path / "out", "--no-dump", *flags)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert not (tmp_path / "out" / "dump").exists()
    for table in TABLES:
        assert (tmp_path / "out" / table).read_bytes() == (with_dump / table).read_bytes(), table


def test_flags_of_transformers_are_refused(llama, texts, tmp_path):
    done = study(llama, texts, tmp_path / "out", "--dtype", "float32")
    assert done.returncode == 2
    assert done.stderr == (
        "attention-plasticity: --dtype is for models of transformers, not for a GGUF file that libllama runs\n"
    )


def test_results_of_another_model_are_refused_before_the_texts_are_read(with_dump, texts, tmp_path):
    before = bytes_of(with_dump)
    model = write_model(tmp_path / "other.gguf", "qwen2")
    words = ["study", "--model", model, "--texts", texts, "--output", with_dump, "--threads", 1, "--no-dump"]
    done = run(*words)
    assert done.returncode == 2
    assert "and this run is of " in done.stderr and "other" in done.stderr
    assert "tokens/s" not in done.stderr
    assert bytes_of(with_dump) == before
