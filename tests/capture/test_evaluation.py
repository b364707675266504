"""What a plan costs, against the model's own loss and masks by hand."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import torch

import attention_plasticity as ap

from conftest import documents, small_model


@pytest.fixture(scope="module")
def measured(model):
    dump = ap.capture(model, None, documents(), bucket_size=32, rows_per_bucket=16, labels=False)
    return ap.analyze(dump, num_triples=500, normality_max_dims=0)


def plain_loss(model, ids):
    tokens = torch.from_numpy(ids)[None]
    with torch.inference_mode():
        return float(model(input_ids=tokens, labels=tokens, use_cache=False).loss)


def test_everything_kept_is_the_loss_of_the_model(model, measured):
    texts = documents((200, 100, 150), seed=5)
    plan = ap.plan(measured, keep=1.0, window=16, sinks=2)
    found = ap.evaluate_plan(model, plan, texts, batch_size=2)
    expected = [plain_loss(model, ids) for ids in texts]
    np.testing.assert_allclose(found.losses["all kept 1.000"], expected, rtol=2e-6)
    table = found.table.set_index("ranking")
    assert table.loc["plan", "difference"] == 0 and table.loc["plan", "kept"] == 1
    assert table.loc["all kept", "loss"] == pytest.approx(np.mean(expected), rel=2e-6)
    cut = found.losses["all cut 0.000"] - found.losses["all kept 1.000"]
    assert table.loc["all cut", "difference"] == pytest.approx(cut.mean())
    assert table.loc["all cut", "error"] == pytest.approx(cut.std() / np.sqrt(3))


def banded_losses(model, texts, window_of):
    """The losses of the model when query head h of a layer sees only the last window_of(module, layer, h) tokens."""
    from transformers import AttentionInterface
    from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS, AttentionMaskInterface
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    own = model.config._attn_implementation

    def attend(module, query, key, value, mask, *rest, **options):
        at = torch.arange(query.shape[2])
        distance = at[:, None] - at[None, :]
        bands = [(distance >= 0) & (distance < window_of(module, head)) for head in range(query.shape[1])]
        additive = torch.zeros(1, *torch.stack(bands).shape)
        additive.masked_fill_(~torch.stack(bands), torch.finfo(torch.float32).min)
        home = __import__(type(module).__module__, fromlist=["x"])
        function = home.eager_attention_forward if own == "eager" else ALL_ATTENTION_FUNCTIONS[own]
        return function(module, query, key, value, additive, *rest, **options)

    AttentionInterface.register("test_band", attend)
    AttentionMaskInterface.register("test_band", ALL_MASK_ATTENTION_FUNCTIONS[own])
    model.set_attn_implementation("test_band")
    losses = [plain_loss(model, ids) for ids in texts]
    model.set_attn_implementation(own)
    return losses


@pytest.mark.parametrize("name", ["llama", "gemma2 softcap", "gpt-oss sinks", "deepseek v3", "qwen3 sliding"])
def test_everything_cut_is_a_model_with_a_window(name):
    """A window without sinks is a sliding window, which the model can have itself."""
    model = small_model(name)
    dump = ap.capture(model, None, documents(), bucket_size=32, rows_per_bucket=16)
    plan = ap.plan(ap.analyze(dump, num_triples=200, normality_max_dims=0), keep=0.0, window=24, sinks=0)
    texts = documents((120, 90), seed=6)
    found = ap.evaluate_plan(model, plan, texts)
    expected = banded_losses(model, texts, lambda module, _: getattr(module, "sliding_window", None) or 24)
    np.testing.assert_allclose(found.losses["plan 0.000"], expected, rtol=1e-5)
    np.testing.assert_allclose(found.losses["all cut 0.000"], expected, rtol=1e-5)
    assert not np.allclose(found.losses["all kept 1.000"], expected, rtol=1e-5)


def test_a_cut_head_is_that_of_its_query_heads(model, measured):
    """Key head 1 of layer 2 is compared with the queries of heads 2 and 3."""
    heads = measured.heads.reset_index()[["layer", "q_head"]]
    lowest = (heads["layer"] == 2) & (heads["q_head"] >= 2)
    plan = ap.plan(measured, keep=7 / 8, column="known", labels=heads.assign(known=1.0 - lowest), window=3, sinks=0)
    assert list(plan.heads.index[plan.heads["kind"] == "window"]) == [(2, 1)]
    texts = documents((120, 90), seed=8)
    found = ap.evaluate_plan(model, plan, texts)
    expected = banded_losses(model, texts, lambda module, head: 3 if module.layer_idx == 2 and head >= 2 else 1000)
    np.testing.assert_allclose(found.losses["plan 0.875"], expected, rtol=1e-6)
    # The other key head of the layer would give another loss, by more than the tolerance.
    others = banded_losses(model, texts, lambda module, head: 3 if module.layer_idx == 2 and head % 2 else 1000)
    assert not np.allclose(others, expected, rtol=1e-6)


def test_only_the_heads_of_the_plan_are_cut(model, measured):
    """Cutting a head far beyond the documents changes nothing; the sinks are seen from everywhere."""
    texts = documents((100, 100), seed=7)
    wide = ap.evaluate_plan(model, ap.plan(measured, keep=0.0, window=100, sinks=0), texts)
    assert (wide.table["difference"].abs() < 1e-6).all()
    sinks = ap.evaluate_plan(model, ap.plan(measured, keep=0.0, window=1, sinks=100), texts)
    assert (sinks.table["difference"].abs() < 1e-6).all()
    half = ap.plan(measured, keep=0.5, window=4, sinks=1)
    assert ap.evaluate_plan(model, half, texts).table.set_index("ranking").loc["plan", "kept"] == 0.5


def test_curves_of_rankings(model, measured, tmp_path):
    labels = measured.heads.reset_index()[["layer", "q_head"]].assign(known=np.arange(16.0))
    found = ap.evaluate_plan(
        model,
        None,
        documents((100, 120)),
        results=measured,
        labels=labels,
        rankings=["ap_exact", "known", "-known", "ap_exact,known", "random"],
        shares=[0, 0.25, 1],
        random_seeds=2,
        window=8,
        sinks=1,
    )
    table = found.table
    assert list(table["ranking"]) == ["all kept", "all cut"] + [
        name
        for name in ("ap_exact", "known", "-known", "ap_exact,known", "random 0", "random 1")
        for _ in range(3)
    ]
    at_share = {(row.ranking, row.kept): row.loss for row in table.itertuples()}
    for name in ("ap_exact", "known", "random 1"):
        assert at_share[name, 0] == at_share["all cut", 0]
        assert at_share[name, 1] == at_share["all kept", 1]
    assert at_share["known", 0.25] != at_share["-known", 0.25]
    assert at_share["random 0", 0.25] != at_share["random 1", 0.25]
    again = ap.evaluate_plan(model, None, documents((100, 120)), results=measured, rankings=["random"], shares=[0.25],
                             random_seeds=1, window=8, sinks=1)
    assert again.table["loss"].iloc[-1] == at_share["random 0", 0.25]
    assert "random 1" in repr(found)
    written = json.loads(found.to_file(tmp_path / "losses.json").read_text())
    assert written["window"] == 8 and written["documents"] == 2 and len(written["rows"]) == len(table)
    pd.testing.assert_series_equal(pd.DataFrame(written["rows"])["loss"], table["loss"])


def test_wrong_plans_are_refused(model, measured, tmp_path):
    texts = documents((50,))
    plan = ap.plan(measured, keep=0.5)
    with pytest.raises(ap.ConfigError, match="`plan` or `results` is needed"):
        ap.evaluate_plan(model, None, texts)
    with pytest.raises(ap.ConfigError, match="the plan has 2 KV heads in layer 0, the model has 4"):
        ap.evaluate_plan(small_model("gpt-neox partial"), plan, texts)
    with pytest.raises(ap.ConfigError, match="`shares`: 2 is no share"):
        ap.evaluate_plan(model, plan, texts, shares=[2])
    with pytest.raises(ap.ConfigError, match="`long_texts: fold` is none of cut and chunk"):
        ap.evaluate_plan(model, plan, texts, long_texts="fold")
    with pytest.raises(ap.ConfigError, match="`texts`: give a file"):
        ap.evaluate_plan(model, plan, None)
    with pytest.raises(ap.ConfigError, match="no text has two tokens"):
        ap.evaluate_plan(model, plan, [[3]])
    with pytest.raises(ap.Error, match="nothing"):
        ap.evaluate_plan(model, None, texts, results=measured, rankings=["nothing"])
    file = plan.to_file(tmp_path / "plan.json")
    assert ap.evaluate_plan(model, file, texts).table.equals(ap.evaluate_plan(model, plan, texts).table)
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(ap.InputError, match="other.json"):
        ap.evaluate_plan(model, tmp_path / "other.json", texts)
