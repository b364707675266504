"""Labels of heads against the attention weights that the model itself gives."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import attention_plasticity as ap
from attention_plasticity import _capture
from attention_plasticity._transformers.labels import first_id, ordinary_ids
from attention_plasticity._transformers.models import LoadedModel

from conftest import VOCABULARY, byte_tokenizer, documents, small_model


def weights(model, ids):
    """The attention weights of the model, by layer: heads by tokens by tokens."""
    own = model.config._attn_implementation
    model.set_attn_implementation("eager")
    try:
        with torch.inference_mode():
            output = model(input_ids=torch.from_numpy(ids)[None], use_cache=False, output_attentions=True)
    finally:
        model.set_attn_implementation(own)
    return [layer[0].double().numpy() for layer in output.attentions]


@pytest.mark.parametrize("name", ["llama", "qwen3 sliding", "gemma2 softcap", "gpt2", "gpt-oss sinks", "deepseek v3"])
def test_labels_are_means_of_the_models_weights(name):
    model = small_model(name)
    model.config.max_position_embeddings = 1024
    texts = documents((800, 768)) if name != "gpt2" else documents((300, 400))
    if name == "gpt2":
        with pytest.warns(ap.PlasticityWarning, match="fewer than 2 documents have 768 tokens"):
            labels = ap.capture(model, None, texts, labels=True).labels
        assert labels["entropy"].isna().all()
    else:
        labels = ap.capture(model, None, texts, labels=True, max_length=1024).labels
    sequences = _capture.HeadLabels.sequences(np.arange(VOCABULARY), None)
    repeated = [weights(model, ids) for ids in sequences]
    at = np.arange(193, 384)
    found = {name: labels[name].to_numpy().reshape(4, 4) for name in labels.columns}
    for layer in range(4):
        def mean(distance):
            return np.mean([run[layer][:, at, at - distance] for run in repeated], axis=(0, 2))

        np.testing.assert_allclose(found["induction"][layer], mean(191), rtol=2e-4, atol=1e-7)
        np.testing.assert_allclose(found["duplicate"][layer], mean(192), rtol=2e-4, atol=1e-7)
    if name == "gpt2":
        return
    read = [weights(model, ids[:768]) for ids in texts]
    i, j = np.arange(64, 768)[:, None], np.arange(768)[None, :]
    for layer in range(4):
        seen = [run[layer][:, 64:] for run in read]
        some = [np.where(part > 0, part, 1) for part in seen]
        naive = {
            "previous_token": [np.take_along_axis(part, np.broadcast_to(i - 1, (4, 704, 1)), 2).mean((1, 2)) for part in seen],
            "self": [np.take_along_axis(part, np.broadcast_to(i, (4, 704, 1)), 2).mean((1, 2)) for part in seen],
            "first_token": [part[:, :, 0].mean(1) for part in seen],
            "entropy": [-(part * np.log(part)).sum(2).mean(1) for part in some],
            "mean_distance": [(part * (i - j)).sum(2).mean(1) for part in seen],
            "outside": [(part * ((i - j >= 64) & (j >= 4))).sum(2).mean(1) for part in seen],
        }
        if name == "gpt-oss sinks":
            naive.pop("entropy")  # the weights of the model leave out the share of the sink
        for column, values in naive.items():
            np.testing.assert_allclose(found[column][layer], np.mean(values, axis=0), rtol=2e-4, atol=1e-6, err_msg=column)


def test_ordinary_tokens_and_the_first_one(model):
    tokenizer = byte_tokenizer()
    loaded = LoadedModel(model, tokenizer, "small")
    np.testing.assert_array_equal(ordinary_ids(loaded), np.arange(3, 259))
    assert first_id(tokenizer) is None
    from tokenizers.processors import TemplateProcessing

    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    assert first_id(tokenizer) == 1
    np.testing.assert_array_equal(ordinary_ids(LoadedModel(model, None, "")), np.arange(VOCABULARY))
