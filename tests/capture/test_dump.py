"""Dumps: batches, parts of a model, memory and folder, interruption."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
import torch

import attention_plasticity as ap
from attention_plasticity import _capture
from attention_plasticity._transformers import capturing

from conftest import documents, hooked, small_model
from dump_columns import files_of

SMALL = {"bucket_size": 32, "rows_per_bucket": 8}


def contents(dump: Path) -> dict[str, bytes]:
    return {str(file.relative_to(dump)): file.read_bytes() for file in sorted(dump.rglob("*")) if file.is_file()}


def test_arrays_in_memory_give_the_figures_of_the_folder(model, tmp_path):
    texts = documents()
    in_folder = ap.capture(model, None, texts, output=tmp_path / "dump", **SMALL)
    in_memory = ap.capture(model, None, texts, **SMALL)
    assert in_memory.path is None and in_folder.path == tmp_path / "dump"
    assert in_memory.documents == in_folder.documents == len(texts)
    first, second = ap.analyze(in_folder, num_triples=500), ap.analyze(in_memory, num_triples=500)
    assert first == second
    assert ap.analyze(tmp_path / "dump", num_triples=500) == first


def test_positions_are_those_of_the_engine(model, tmp_path):
    texts = documents()
    files = files_of(ap.capture(model, None, texts, output=tmp_path / "dump", sampling="log_uniform", **SMALL).path)
    settings = [("sampling", "log_uniform"), ("bucket_size", "32"), ("rows_per_bucket", "8")]
    for (layer, _, side), columns in files.items():
        for number, ids in enumerate(texts):
            positions, buckets = _capture.sampled_positions(len(ids), number, layer, side, settings)
            mine = columns["example_id"] == number
            np.testing.assert_array_equal(columns["position"][mine], positions)
            np.testing.assert_array_equal(columns["bucket"][mine], buckets)


@pytest.mark.parametrize("sampling", ["uniform", "all"])
def test_layers_and_heads_are_parts_of_the_whole(model, tmp_path, sampling):
    texts = documents((80, 70))
    options = {"bucket_size": 32, "sampling": sampling}
    whole = files_of(ap.capture(model, None, texts, output=tmp_path / "whole", **options).path)
    part = files_of(ap.capture(model, None, texts, output=tmp_path / "part", layers=[1, 2], heads=[2, 3], **options).path)
    assert set(part) == {(layer, head, "q") for layer in (1, 2) for head in (2, 3)} | {(1, 1, "k"), (2, 1, "k")}
    for name, columns in part.items():
        for column, values in columns.items():
            np.testing.assert_array_equal(values, whole[name][column])


def test_the_model_stops_after_the_last_layer_that_is_wanted(tmp_path):
    model = small_model()
    called = []
    for layer, block in enumerate(model.model.layers):
        block.mlp.register_forward_hook(lambda *_, layer=layer: called.append(layer))
    ap.capture(model, None, documents((64, 64)), output=tmp_path / "dump", layers=0, bucket_size=32)
    # The two tokens that show the shapes pass through the whole model; the documents stop before the first MLP.
    assert called == [0, 1, 2, 3]


def test_bfloat16_and_training_mode(tmp_path):
    model = small_model().to(torch.bfloat16).train()
    texts = documents((64, 64))
    files = files_of(ap.capture(model, None, texts, output=tmp_path / "dump", sampling="all", bucket_size=32).path)
    assert model.training
    seen, _ = hooked(model.eval(), torch.from_numpy(texts[1])[None])
    columns = files[3, 1, "k"]
    assert columns["vector"].dtype == np.float32
    np.testing.assert_array_equal(columns["vector"][columns["example_id"] == 1], seen[3][1][0, 1].float().numpy())


def test_the_dump_says_what_it_is(model_folder, tmp_path):
    (tmp_path / "text.txt").write_text("Some words. " * 40)
    dump = ap.capture(model_folder, None, tmp_path / "text.txt", output=tmp_path / "dump", **SMALL)
    config = json.loads((dump.path / "config.json").read_text())
    assert config["num_hidden_layers"] == 4 and config["rope_parameters"]["rope_theta"] == 10000
    state = json.loads((dump.path / "_saver_state.json").read_text())["model_metadata"]
    assert state["sampling_strategy"] == "uniform" and state["sampling_bucket_size"] == 32
    assert dump.model_name == "small-llama"


def test_a_capture_goes_on_where_it_stopped(model, tmp_path, monkeypatch):
    texts = documents()
    whole = ap.capture(model, None, texts, output=tmp_path / "whole", **SMALL)
    read = []
    run = capturing.run

    def failing(loaded, tokens, watcher):
        read.append(tokens.shape[1])
        if len(read) == 4:
            raise RuntimeError("the machine is gone")
        return run(loaded, tokens, watcher)

    monkeypatch.setattr(capturing, "run", failing)
    with pytest.raises(RuntimeError, match="the machine is gone"):
        ap.capture(model, None, texts, output=tmp_path / "part", **SMALL)
    assert not list((tmp_path).glob("part/l*"))  # nothing that could be taken for a dump
    read.clear()
    monkeypatch.setattr(capturing, "run", lambda *given: read.append(given[1].shape[1]) or run(*given))
    part = ap.capture(model, None, texts, output=tmp_path / "part", **SMALL)
    assert read == [len(ids) for ids in texts[3:]]
    assert contents(part.path) == contents(whole.path)
    read.clear()
    ap.capture(model, None, texts, output=tmp_path / "part", **SMALL)  # it is there already
    assert read == []


def test_other_texts_do_not_go_on(model, tmp_path):
    ap.capture(model, None, documents(), output=tmp_path / "dump", **SMALL)
    before = contents(tmp_path / "dump")
    with pytest.raises(ap.Error, match="overwrite"):
        ap.capture(model, None, documents(seed=1), output=tmp_path / "dump", **SMALL)
    assert contents(tmp_path / "dump") == before
    ap.capture(model, None, documents(seed=1), output=tmp_path / "dump", overwrite=True, **SMALL)
    assert contents(tmp_path / "dump") != before


KILLED = """
    import sys, time
    sys.path.insert(0, {here!r})
    from conftest import documents, small_model
    from attention_plasticity._transformers import capturing
    run = capturing.run
    def slow(*given):
        print("document", flush=True)
        time.sleep(0.1)
        return run(*given)
    capturing.run = slow
    capturing.capture(small_model(), None, documents((128,) * 40), output={output!r}, bucket_size=32, rows_per_bucket=8)
"""


def test_a_killed_capture_leaves_no_dump_and_goes_on(tmp_path):
    model = small_model()
    output = tmp_path / "dump"
    code = textwrap.dedent(KILLED.format(here=str(Path(__file__).parent), output=str(output)))
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    for _ in range(12):
        process.stdout.readline()
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert not list(output.glob("l*"))
    texts = documents((128,) * 40)
    resumed = ap.capture(model, None, texts, output=output, **SMALL)
    whole = ap.capture(model, None, texts, output=tmp_path / "whole", **SMALL)
    assert contents(resumed.path) == contents(whole.path)


def peak_of(code: str) -> int:
    """The peak memory of a Python process, in bytes."""
    code = f"import resource\n{textwrap.dedent(code)}\nprint(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return int(done.stdout.split()[-1])


def test_memory_does_not_grow_with_the_documents(tmp_path):
    peaks = []
    for count in (10, 200):
        peaks.append(
            peak_of(f"""
                import sys
                sys.path.insert(0, {str(Path(__file__).parent)!r})
                from conftest import documents, small_model
                import attention_plasticity as ap
                ap.capture(small_model(), None, documents((512,) * {count}), output={str(tmp_path / str(count))!r},
                           sampling="all")
            """)
        )
    # 200 documents are 315 MB of vectors.
    assert peaks[1] - peaks[0] < 200 << 20
