"""Whatever the architecture, the dump holds what its layers compare, and the model does not notice."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch

import attention_plasticity as ap
from attention_plasticity._transformers.attention import Watcher
from attention_plasticity._transformers.forward import run
from attention_plasticity._transformers.models import LoadedModel

from conftest import ARCHITECTURES, documents, hooked, padded, small_model
from dump_columns import files_of

BATCH = 3


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_dump_holds_what_the_layers_compare(name, tmp_path):
    model, texts = small_model(name), documents()
    own = model.config._attn_implementation
    dump = ap.capture(
        model, None, texts, output=tmp_path / "dump", batch_size=BATCH, bucket_size=32, rows_per_bucket=8
    )
    assert model.config._attn_implementation == own
    files = files_of(dump.path)
    rows = 0
    for first in range(0, len(texts), BATCH):
        batch = texts[first : first + BATCH]
        seen, plain = hooked(model, padded(batch))
        watched = run(LoadedModel(model, None, name), padded(batch), Watcher(), logits=True)
        with torch.inference_mode():
            assert torch.equal(model(input_ids=padded(batch), use_cache=False).logits, watched)
        assert torch.equal(plain, watched)
        assert set(files) == {
            (layer, head, side)
            for layer, (query, key) in seen.items()
            for side, tensor in (("q", query), ("k", key))
            for head in range(tensor.shape[1])
        }
        for (layer, head, side), columns in files.items():
            vectors = seen[layer]["qk".index(side)]
            for place, ids in enumerate(batch):
                mine = columns["example_id"] == first + place
                positions = columns["position"][mine].astype(int)
                assert len(positions) and positions.max() < len(ids)
                np.testing.assert_array_equal(columns["vector"][mine], vectors[place, head, positions].numpy())
                np.testing.assert_array_equal(columns["bucket"][mine], positions // 32)
                rows += len(positions)
    assert rows == sum(len(columns["position"]) for columns in files.values())


WINDOWS = {
    "qwen3 sliding": [None, 48, None, 48],
    "mistral sliding": [64] * 4,
    "gemma2 softcap": [48, None, 48, None],
    "gemma3": [48, None, 48, None],
    "gpt-oss sinks": [48, None, 48, None],
}


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_analysis_needs_no_flag_and_agrees_with_the_rotation(name, tmp_path):
    dump = ap.capture(
        small_model(name), None, documents(), output=tmp_path / "dump", bucket_size=32, rows_per_bucket=16
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error", ap.PlasticityWarning)
        result = ap.analyze(dump, rotation_check="error", num_triples=500, normality_max_dims=0)
    assert len(result) == 16
    assert result.heads["ap_exact"].notna().all()
    found = result.run_json
    assert found["rotation"]["source"] == "config"
    windows = [layer["window"] for layer in found["model"]["layers"]]
    assert windows == WINDOWS.get(name, [None] * 4)
