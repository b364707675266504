"""Vectors of a tiny Llama with frequency factors against NumPy."""

from __future__ import annotations

import json

import numpy as np

import tiny_models as tiny
from conftest import captured, config_of, words_of_letters
from gguf_writing import token_ids
from numpy_llama import queries_and_keys


def errors(tmp_path, texts, *flags, **options):
    """Of every vector of a dump, its largest difference from NumPy over the largest component of its layer, by position."""
    model = tiny.write_model(tmp_path / "model.gguf", "llama factors", **options)
    dump = captured(model, texts, tmp_path / "dump", "--exact", "--sampling", "all", *flags)
    weights = tiny.tensors_of(tiny.MEASURED["llama factors"])
    found = []
    for document, line in enumerate(texts.read_text().splitlines()):
        count = int((dump[0, 0, "q"]["example_id"] == document).sum())
        ids = token_ids(json.loads(line)["text"])[:count]
        for layer, expected in enumerate(queries_and_keys(weights, ids)):
            for side, vectors in zip("qk", expected):
                for head, rows in enumerate(vectors):
                    columns = dump[layer, head, side]
                    mine = columns["example_id"] == document
                    assert columns["position"][mine].tolist() == list(range(len(ids)))
                    found.append(np.abs(columns["vector"][mine] - rows).max(1) / np.abs(vectors).max())
    assert sum(map(len, found)) == sum(len(columns["position"]) for columns in dump.values())
    return found


def test_vectors_are_those_of_numpy(tmp_path, texts):
    assert max(error.max() for error in errors(tmp_path, texts, "--max_length", 96, "--bucket_size", 32)) < 1e-6


def test_far_positions_are_as_exact_as_angles_in_single_precision(tmp_path):
    """Longer than the 512 tokens that libllama takes in one graph."""
    (tmp_path / "long.jsonl").write_text(json.dumps({"text": words_of_letters(1400, 7)}))
    for error in errors(tmp_path, tmp_path / "long.jsonl", values={"context_length": 2048}):
        assert len(error) == 1401
        assert (error < 1e-6 + 2.0**-24 * np.arange(len(error))).all()


def test_the_config_has_the_frequencies_of_the_model(tmp_path, texts):
    model = tiny.write_model(tmp_path / "model.gguf", "llama factors")
    captured(model, texts, tmp_path / "dump", "--max_documents", 1)
    config = config_of(tmp_path / "dump")
    assert config["rope_layers"] == [0] * tiny.LAYERS
    plain = 10000.0 ** (-np.arange(0, tiny.HEAD, 2) / tiny.HEAD)
    factors = np.linspace(1, 8, tiny.HEAD // 2, dtype=np.float32)
    np.testing.assert_allclose(config["rope_rotations"][0]["inv_freq"], plain / factors, rtol=1e-6)


def test_without_exact_keys_are_rounded_to_half_precision(tmp_path, texts):
    model = tiny.write_model(tmp_path / "model.gguf", "llama")
    exact = captured(model, texts, tmp_path / "exact", "--exact")
    usual = captured(model, texts, tmp_path / "usual")
    assert exact.keys() == usual.keys()
    for name, columns in usual.items():
        largest = np.abs(exact[name]["vector"]).max()
        assert np.abs(columns["vector"] - exact[name]["vector"]).max() < 2e-3 * largest, name
    keys = usual[0, 0, "k"]["vector"]
    assert (keys == keys.astype(np.float16)).all()
