"""Every architecture: the vectors are rotated as the dump says, and `analyze` finds so too."""

from __future__ import annotations

import json

import numpy as np
import pytest

import tiny_models as tiny
from conftest import captured, config_of, run

# Layers without a rotation, components that are rotated, layers with a window.
WITHOUT_ROTATION = {"smollm3": [3], "cohere2": [3], "gpt2": [0, 1, 2, 3]}
ROTATED = {"glm4": 8, "gptneox": 4, "stablelm": 4, "deepseek2": tiny.ROTATED}
WITH_WINDOW = {"gemma2": [0, 2], "gemma3": [0, 2], "gpt-oss": [0, 2], "cohere2": [0, 1, 2]}


@pytest.fixture(scope="module", params=tiny.MEASURED)
def model(request, tmp_path_factory):
    """The name of an architecture and a model of it, which puts no token before a text."""
    name = request.param
    file = tmp_path_factory.mktemp("model") / "model.gguf"
    return name, tiny.write_model(file, name, bos=False)


def unrotated(vectors: np.ndarray, positions: np.ndarray, rotation: dict) -> np.ndarray:
    """Vectors of half layout as they were before they were rotated."""
    first, dim = rotation.get("rope_first", 0), rotation["rope_dim"]
    plain = rotation["rope_theta"] ** (-np.arange(0, dim, 2) / dim)
    frequencies = np.asarray(rotation.get("inv_freq", plain))
    angles = np.outer(positions, frequencies)
    low, high = vectors[:, first : first + dim // 2], vectors[:, first + dim // 2 : first + dim]
    turned = (low + 1j * high) * np.exp(-1j * angles) / rotation.get("attention_factor", 1.0)
    out = vectors.astype(np.float64)
    out[:, first : first + dim] = np.concatenate([turned.real, turned.imag], 1)
    return out


def test_vectors_are_rotated_as_the_config_says(model, tmp_path):
    """A text that repeats one letter has the same states at all positions, in every layer: attention takes a mean of equal
    values. What differs between positions is the rotation alone, so undoing it must give one vector."""
    name, file = model
    (tmp_path / "text.txt").write_text("e" * 200)
    dump = captured(file, tmp_path / "text.txt", tmp_path / "dump", "--exact", "--sampling", "all")
    config = config_of(tmp_path / "dump")
    assert {layer for layer, _, _ in dump} == set(range(tiny.LAYERS))
    bare = WITHOUT_ROTATION.get(name, [])
    assert [number is None for number in config["rope_layers"]] == [layer in bare for layer in range(tiny.LAYERS)]
    if name == "gpt2":  # positions are part of its states
        return
    for (layer, head, side), columns in dump.items():
        vectors = columns["vector"]
        if layer not in bare:
            rotation = config["rope_rotations"][config["rope_layers"][layer]]
            assert rotation["rope_dim"] == ROTATED.get(name, tiny.HEAD)
            assert np.abs(vectors - vectors[0]).max() > 0.1 * np.abs(vectors).max()
            vectors = unrotated(vectors, columns["position"], rotation)
        spread = np.abs(vectors - vectors[0]).max() / np.abs(vectors).max()
        assert spread < 1e-4, (layer, head, side)


def test_heads_widths_and_windows_are_those_of_the_model(model, texts, tmp_path):
    name, file = model
    architecture = tiny.MEASURED[name]
    dump = captured(file, texts, tmp_path / "dump", "--max_documents", 1)
    heads = {side: {head for _, head, kind in dump if kind == side} for side in "qk"}
    assert heads == {"q": set(range(tiny.HEADS)), "k": set(range(architecture.key_heads))}
    for (layer, _, side), columns in dump.items():
        assert columns["vector"].shape[1] == architecture.head
        if side == "q":
            window = columns["sliding_window"][0]
            sliding = layer in WITH_WINDOW.get(name, [])
            assert window == tiny.WINDOW if sliding else not window or np.isnan(window), layer


def test_the_check_of_the_rotation_agrees(model, texts, tmp_path):
    _, file = model
    captured(file, texts, tmp_path / "dump", "--rows_per_bucket", 32)
    words = ["analyze", "--dataset_local_root", tmp_path / "dump", "--output_dir", tmp_path / "out", "--quiet"]
    done = run(*words, "--rotation_check", "error")
    assert done.returncode == 0, done.stderr


def test_the_check_of_the_rotation_would_find_a_wrong_one(llama, texts, tmp_path):
    captured(llama, texts, tmp_path / "dump", "--rows_per_bucket", 32)
    config = config_of(tmp_path / "dump")
    config["rope_rotations"][0]["rope_theta"] = 10.0
    (tmp_path / "dump" / "config.json").write_text(json.dumps(config))
    words = ["analyze", "--dataset_local_root", tmp_path / "dump", "--output_dir", tmp_path / "out", "--quiet"]
    done = run(*words, "--rotation_check", "error")
    assert done.returncode == 2
    assert "but 0." in done.stderr and "with theta 10000, half, all 16 components" in done.stderr


def test_sinks_scale_and_cap_are_in_the_config(texts, tmp_path):
    file = tiny.write_model(tmp_path / "gemma2.gguf", "gemma2")
    captured(file, texts, tmp_path / "gemma2", "--max_documents", 1)
    layers = config_of(tmp_path / "gemma2")["attention_layers"]
    assert [layer["softcap"] for layer in layers] == [5.0] * tiny.LAYERS
    file = tiny.write_model(tmp_path / "gpt-oss.gguf", "gpt-oss")
    captured(file, texts, tmp_path / "gpt-oss", "--max_documents", 1)
    sinks = tiny.tensors_of(tiny.MEASURED["gpt-oss"])
    for number, layer in enumerate(config_of(tmp_path / "gpt-oss")["attention_layers"]):
        np.testing.assert_allclose(layer["sinks"], sinks[f"blk.{number}.attn_sinks.weight"])
        assert layer["scale"] == pytest.approx(tiny.HEAD**-0.5)
    file = tiny.write_model(tmp_path / "granite.gguf", "granite")
    captured(file, texts, tmp_path / "granite", "--max_documents", 1)
    assert config_of(tmp_path / "granite")["attention_layers"][0]["scale"] == pytest.approx(0.1)
