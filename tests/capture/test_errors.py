"""Wrong input has its own message, and leaves no dump."""

from __future__ import annotations

import pytest
import torch
import transformers
from transformers import AutoModelForCausalLM

import attention_plasticity as ap
from attention_plasticity._transformers import forward

from conftest import VOCABULARY, documents, small_model


def refused(kind, message, tmp_path, *given, **options):
    with pytest.raises(kind, match=message):
        ap.capture(*given, output=tmp_path / "dump", **options)
    assert not (tmp_path / "dump").exists() or not list((tmp_path / "dump").glob("l*"))


def test_a_model_without_the_interface(tmp_path):
    config = transformers.GPTJConfig(n_embd=64, n_layer=2, n_head=4, vocab_size=VOCABULARY, n_positions=512, rotary_dim=8)
    model = AutoModelForCausalLM.from_config(config)
    refused(ap.InputError, "GPTJForCausalLM computes its attention without the attention interface", tmp_path, model, None,
            documents())


def test_what_is_no_model(tmp_path):
    refused(ap.InputError, "dict is no model of transformers", tmp_path, {}, None, documents())
    refused(ap.InputError, "nowhere: there is no such folder", tmp_path, tmp_path / "nowhere", None, documents())
    refused(ap.InputError, "this folder has no config.json", tmp_path, tmp_path, None, documents())
    refused(ap.InputError, "none.gguf: there is no such GGUF file", tmp_path, tmp_path / "none.gguf", None, documents())
    refused(ap.AccessError, "no/model: transformers cannot load it", tmp_path, "no/model", None, documents())


def test_texts_shorter_than_a_bucket(model, tmp_path):
    refused(ap.InputError, "bucket", tmp_path, model, None, documents((40, 60)))
    refused(ap.InputError, "the text is empty", tmp_path, model, None, [[]])
    refused(ap.ConfigError, "`texts`: give a file", tmp_path, model)


def test_layers_and_heads_outside_the_model(model, tmp_path):
    refused(ap.ConfigError, "head", tmp_path, model, None, documents(), heads=[4], bucket_size=32)
    refused(ap.ConfigError, "layer", tmp_path, model, None, documents(), layers="3-4", bucket_size=32)


def test_options_out_of_range(model, tmp_path):
    texts = documents()
    refused(ap.ConfigError, "bucket_sise.*did you mean", tmp_path, model, None, texts, bucket_sise=3)
    refused(ap.ConfigError, "bucket_size", tmp_path, model, None, texts, bucket_size=0)
    refused(ap.ConfigError, "`batch_size: 0` should be at least 1", tmp_path, model, None, texts, batch_size=0)
    refused(ap.ConfigError, "`long_texts: fold` is none of cut and chunk", tmp_path, model, None, texts, long_texts="fold")
    refused(ap.ConfigError, "`max_length: 1000`: the model takes 512 tokens", tmp_path, model, None, texts, max_length=1000)
    refused(ap.ConfigError, "`dtype`: the model is loaded already", tmp_path, model, None, texts, dtype="float32")


def test_no_such_device(model_folder, tmp_path):
    texts = documents()
    if not torch.cuda.is_available():
        refused(ap.ConfigError, "`device: cuda`: torch finds no such device here", tmp_path, model_folder, None, texts,
                device="cuda")
    refused(ap.ConfigError, "`device: gpu` is no device of torch", tmp_path, model_folder, None, texts, device="gpu")
    refused(ap.ConfigError, "`dtype: int8` is none of", tmp_path, model_folder, None, texts, dtype="int8")
    refused(ap.ConfigError, "`device` and `device_map` both", tmp_path, model_folder, None, texts, device="cpu",
            device_map="auto")


def test_out_of_memory(tmp_path, monkeypatch):
    model = small_model()
    own = model.model.layers[2].mlp.forward
    calls = []

    def forward_of_mlp(hidden):
        calls.append(1)
        if len(calls) > 3:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")
        return own(hidden)

    monkeypatch.setattr(model.model.layers[2].mlp, "forward", forward_of_mlp)
    refused(
        ap.InputError,
        "there is not enough memory on cpu for 2 documents of 256 tokens at once; pass a smaller `batch_size`",
        tmp_path,
        model,
        None,
        documents((256,) * 8),
        batch_size=2,
        bucket_size=32,
    )
    monkeypatch.undo()
    assert model.config._attn_implementation == "sdpa"
    assert ap.capture(model, None, documents((256,) * 8), output=tmp_path / "dump", batch_size=2, bucket_size=32).path


def test_other_failures_of_torch_pass_through(model, monkeypatch):
    monkeypatch.setattr(forward, "padded", lambda *_: torch.zeros((1, 2)))  # no ids
    with pytest.raises(RuntimeError):
        ap.capture(model, None, documents(), bucket_size=32)


def test_numbers_that_are_not_finite(tmp_path):
    model = small_model()
    with torch.no_grad():
        model.model.layers[1].self_attn.q_proj.weight[0, 0] = float("nan")
    refused(ap.InputError, "finite|NaN|infinite", tmp_path, model, None, documents(), bucket_size=32)
