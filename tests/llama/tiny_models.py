"""Tiny random models of many architectures of llama.cpp."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gguf_writing import VOCABULARY, Shapes, random_tensor, write_gguf

WIDTH = 64  # of the residual stream
HEADS = 4
KEY_HEADS = 2
HEAD = 16  # components of a head
FEED = 96
EXPERTS = 4
LAYERS = 4
CONTEXT = 512
WINDOW = 24


class Architecture(NamedTuple):
    """What a file of an architecture holds beside what all have."""

    layer: Shapes  # of each layer, without `blk.N.`
    values: dict[str, Any] = {}
    top: Shapes = {}  # beside the token embeddings
    key_heads: int = KEY_HEADS
    head: int = HEAD


def biased(shapes: Shapes) -> Shapes:
    """The same with a bias for each weight."""
    return shapes | {name.replace("weight", "bias"): shape[:1] for name, shape in shapes.items()}


def norms(*names: str, width: int = WIDTH) -> Shapes:
    return {f"{name}.weight": (width,) for name in names}


def attention(key_heads: int = KEY_HEADS, head: int = HEAD) -> Shapes:
    return {
        "attn_q.weight": (HEADS * head, WIDTH),
        "attn_k.weight": (key_heads * head, WIDTH),
        "attn_v.weight": (key_heads * head, WIDTH),
        "attn_output.weight": (WIDTH, HEADS * head),
    }


def joint_attention(key_heads: int = KEY_HEADS) -> Shapes:
    rows = (HEADS + 2 * key_heads) * HEAD
    return {"attn_qkv.weight": (rows, WIDTH), "attn_output.weight": (WIDTH, HEADS * HEAD)}


def only(shapes: Shapes, *parts: str) -> Shapes:
    return {name: shape for name, shape in shapes.items() if any(part in name for part in parts)}


def experts(feed: int = 32) -> Shapes:
    return {
        "ffn_gate_inp.weight": (EXPERTS, WIDTH),
        "ffn_gate_exps.weight": (EXPERTS, feed, WIDTH),
        "ffn_up_exps.weight": (EXPERTS, feed, WIDTH),
        "ffn_down_exps.weight": (EXPERTS, WIDTH, feed),
    }


GATED: Shapes = {"ffn_gate.weight": (FEED, WIDTH), "ffn_up.weight": (FEED, WIDTH), "ffn_down.weight": (WIDTH, FEED)}
PLAIN: Shapes = {"ffn_up.weight": (FEED, WIDTH), "ffn_down.weight": (WIDTH, FEED)}
DOUBLE: Shapes = {"ffn_up.weight": (2 * FEED, WIDTH), "ffn_down.weight": (WIDTH, FEED)}
BOTH = norms("attn_norm", "ffn_norm")
POST = norms("post_attention_norm", "post_ffw_norm")
QK = norms("attn_q_norm", "attn_k_norm", width=HEAD)
OUTPUT_NORM = norms("output_norm")
OUTPUT: Shapes = {"output.weight": (VOCABULARY, WIDTH)}
RMS = {"attention.layer_norm_rms_epsilon": 1e-5}
LAYER_NORM = {"attention.layer_norm_epsilon": 1e-5}
SLIDING = {"attention.sliding_window": WINDOW}
MOE = {"expert_count": EXPERTS, "expert_used_count": 2, "expert_feed_forward_length": 32}
QKV_BIAS = {f"attn_{side}.bias": (heads * HEAD,) for side, heads in (("q", HEADS), ("k", KEY_HEADS), ("v", KEY_HEADS))}

LATENT = 32  # of DeepSeek's keys and values
ROTATED = 8  # components of its heads that are rotated

LLAMA = Architecture(BOTH | attention() | GATED, RMS, OUTPUT_NORM)
YARN = {
    "rope.scaling.type": "yarn",
    "rope.scaling.factor": 4.0,
    "rope.scaling.original_context_length": 128,
}
UNSTRETCHED = 1024
LONGROPE = {"context_length": 4 * UNSTRETCHED, "rope.scaling.original_context_length": UNSTRETCHED}
LONG_AND_SHORT: Shapes = {f"rope_factors_{name}.weight": (HEAD // 2,) for name in ("long", "short")}

MEASURED: dict[str, Architecture] = {
    "llama": LLAMA,
    "llama factors": LLAMA._replace(top=OUTPUT_NORM | {"rope_freqs.weight": (HEAD // 2,)}),
    "llama yarn": LLAMA._replace(values=RMS | YARN),
    "llama linear": LLAMA._replace(values=RMS | {"rope.scaling.type": "linear", "rope.scaling.factor": 2.0}),
    "qwen2": Architecture(BOTH | attention() | QKV_BIAS | GATED, RMS, OUTPUT_NORM),
    "qwen3": Architecture(BOTH | attention() | QK | GATED, RMS, OUTPUT_NORM),
    "qwen3moe": Architecture(BOTH | attention() | QK | experts(), RMS | MOE, OUTPUT_NORM),
    "gemma2": Architecture(
        BOTH | POST | attention() | GATED, RMS | SLIDING | {"attn_logit_softcapping": 5.0}, OUTPUT_NORM
    ),
    "gemma3": Architecture(
        BOTH | POST | attention() | QK | GATED,
        RMS | SLIDING | {"rope.freq_base": 1e6, "attention.sliding_window_pattern": 2},
        OUTPUT_NORM,
    ),
    "phi3": Architecture(BOTH | joint_attention() | DOUBLE, RMS, OUTPUT_NORM | OUTPUT),
    "phi3 longrope": Architecture(BOTH | joint_attention() | DOUBLE, RMS | LONGROPE, OUTPUT_NORM | OUTPUT | LONG_AND_SHORT),
    "glm4": Architecture(BOTH | POST | attention() | DOUBLE, RMS | {"rope.dimension_count": 8}, OUTPUT_NORM),
    "gptneox": Architecture(
        biased(BOTH | joint_attention(HEADS) | PLAIN),
        LAYER_NORM | {"use_parallel_residual": True, "rope.dimension_count": 4},
        biased(OUTPUT_NORM) | OUTPUT,
        key_heads=HEADS,
    ),
    "smollm3": Architecture(BOTH | attention() | GATED, RMS, OUTPUT_NORM),
    "gpt-oss": Architecture(
        norms("attn_norm", "post_attention_norm")
        | biased(attention())
        | biased(only(experts(), "gate_inp"))
        | experts()
        | {"attn_sinks.weight": (HEADS,)}
        | {"ffn_gate_exps.bias": (EXPERTS, 32), "ffn_up_exps.bias": (EXPERTS, 32), "ffn_down_exps.bias": (EXPERTS, WIDTH)},
        RMS | MOE | SLIDING | YARN,
        OUTPUT_NORM | OUTPUT,
    ),
    "deepseek2": Architecture(
        BOTH
        | norms("attn_q_a_norm", "attn_kv_a_norm", width=LATENT)
        | {
            "attn_q_a.weight": (LATENT, WIDTH),
            "attn_q_b.weight": (HEADS * (HEAD + ROTATED), LATENT),
            "attn_kv_a_mqa.weight": (LATENT + ROTATED, WIDTH),
            "attn_k_b.weight": (HEADS, LATENT, HEAD),
            "attn_v_b.weight": (HEADS, HEAD, LATENT),
            "attn_output.weight": (WIDTH, HEADS * HEAD),
        }
        | GATED,
        RMS
        | MOE
        | {
            "leading_dense_block_count": LAYERS,
            "expert_shared_count": 1,
            "attention.q_lora_rank": LATENT,
            "attention.kv_lora_rank": LATENT,
            "attention.key_length": LATENT + ROTATED,
            "attention.value_length": LATENT,
            "attention.key_length_mla": HEAD + ROTATED,
            "attention.value_length_mla": HEAD,
            "rope.dimension_count": ROTATED,
        },
        OUTPUT_NORM,
        key_heads=1,
        head=LATENT + ROTATED,
    ),
    "cohere2": Architecture(
        norms("attn_norm") | attention() | GATED, LAYER_NORM | SLIDING | {"logit_scale": 1.0}, OUTPUT_NORM
    ),
    "olmo2": Architecture(
        POST | attention() | norms("attn_q_norm") | norms("attn_k_norm", width=KEY_HEADS * HEAD) | GATED,
        RMS,
        OUTPUT_NORM | OUTPUT,
    ),
    "gpt2": Architecture(
        biased(BOTH | joint_attention(HEADS) | PLAIN),
        LAYER_NORM,
        biased(OUTPUT_NORM) | {"position_embd.weight": (CONTEXT, WIDTH)},
        key_heads=HEADS,
    ),
    "falcon": Architecture(
        biased(norms("attn_norm")) | joint_attention(1) | PLAIN, LAYER_NORM, biased(OUTPUT_NORM), key_heads=1
    ),
    "stablelm": Architecture(
        biased(BOTH) | attention() | GATED, LAYER_NORM | {"rope.dimension_count": 4}, biased(OUTPUT_NORM) | OUTPUT
    ),
    "starcoder2": Architecture(
        biased(BOTH | only(attention(), "output") | PLAIN) | attention() | QKV_BIAS, LAYER_NORM, biased(OUTPUT_NORM)
    ),
    "granite": Architecture(
        BOTH | attention() | GATED, RMS | {"logit_scale": 8.0, "attention.scale": 0.1, "residual_scale": 0.5}, OUTPUT_NORM
    ),
}

INNER = 2 * WIDTH  # of Mamba
STATE = 8
MIX = 8  # of RWKV


def rwkv6() -> Architecture:
    square = {f"time_mix_{name}.weight": (WIDTH, WIDTH) for name in ("key", "value", "receptance", "gate", "output")}
    lerps = {f"time_mix_lerp_{name}.weight": (1, 1, WIDTH) for name in "xwkvrg"}
    layer = (
        biased(norms("attn_norm", "attn_norm_2", "time_mix_ln"))
        | square
        | lerps
        | {
            "time_mix_w1.weight": (5 * MIX, WIDTH),
            "time_mix_w2.weight": (5, WIDTH, MIX),
            "time_mix_first.weight": (WIDTH // HEAD, HEAD),
            "time_mix_decay.weight": (WIDTH,),
            "time_mix_decay_w1.weight": (MIX, WIDTH),
            "time_mix_decay_w2.weight": (WIDTH, MIX),
            "channel_mix_lerp_k.weight": (1, 1, WIDTH),
            "channel_mix_lerp_r.weight": (1, 1, WIDTH),
            "channel_mix_key.weight": (FEED, WIDTH),
            "channel_mix_value.weight": (WIDTH, FEED),
            "channel_mix_receptance.weight": (WIDTH, WIDTH),
        }
    )
    values = LAYER_NORM | {"wkv.head_size": HEAD, "time_mix_extra_dim": MIX, "time_decay_extra_dim": MIX}
    values |= {"attention.head_count": 0, "attention.head_count_kv": 0}
    top = biased(norms("token_embd_norm", "output_norm")) | OUTPUT
    return Architecture(layer, values, top)


def t5() -> Architecture:
    sides: Shapes = {}
    for side, names in (("enc", ("attn",)), ("dec", ("attn", "cross_attn"))):
        sides |= norms(f"{side}.ffn_norm", *(f"{side}.{name}_norm" for name in names))
        sides |= {f"{side}.{name}": shape for name, shape in PLAIN.items()}
        for name in names:
            shapes = {f"{side}.{name}_{part}.weight": (HEADS * HEAD, WIDTH) for part in "qkv"}
            sides |= shapes | {f"{side}.{name}_o.weight": (WIDTH, HEADS * HEAD)}
        sides |= {f"{side}.attn_rel_b.weight": (8, HEADS)}
    return Architecture(
        sides, RMS | {"attention.relative_buckets_count": 8}, norms("enc.output_norm", "dec.output_norm"), key_heads=HEADS
    )


# Architectures that cannot be measured.
REFUSED: dict[str, Architecture] = {
    "mpt": Architecture(
        BOTH | joint_attention(HEADS) | PLAIN, LAYER_NORM | {"attention.max_alibi_bias": 8.0}, OUTPUT_NORM, key_heads=HEADS
    ),
    "bloom": Architecture(
        biased(BOTH | joint_attention(HEADS) | PLAIN),
        LAYER_NORM,
        biased(norms("token_embd_norm", "output_norm")),
        key_heads=HEADS,
    ),
    "hunyuan-dense": Architecture(BOTH | attention() | QK | GATED, RMS, OUTPUT_NORM),
    "mamba": Architecture(
        norms("attn_norm")
        | {
            "ssm_in.weight": (2 * INNER, WIDTH),
            "ssm_conv1d.weight": (INNER, 4),
            "ssm_conv1d.bias": (INNER,),
            "ssm_x.weight": (4 + 2 * STATE, INNER),
            "ssm_dt.weight": (INNER, 4),
            "ssm_dt.bias": (INNER,),
            "ssm_a": (INNER, STATE),
            "ssm_d": (INNER,),
            "ssm_out.weight": (WIDTH, INNER),
        },
        RMS | {"ssm.conv_kernel": 4, "ssm.inner_size": INNER, "ssm.state_size": STATE, "ssm.time_step_rank": 4},
        OUTPUT_NORM,
    ),
    "rwkv6": rwkv6(),
    "bert": Architecture(
        attention(HEADS) | PLAIN | biased(norms("attn_output_norm", "layer_output_norm")),
        LAYER_NORM | {"attention.causal": False, "pooling_type": 1},
        biased(norms("token_embd_norm"))
        | {"position_embd.weight": (CONTEXT, WIDTH), "token_types.weight": (2, WIDTH)},
        key_heads=HEADS,
    ),
    "t5": t5(),
}


def values_of(architecture: Architecture) -> dict[str, Any]:
    """What all files say, and what this architecture does."""
    common: dict[str, Any] = {
        "vocab_size": VOCABULARY,
        "context_length": CONTEXT,
        "embedding_length": WIDTH,
        "block_count": LAYERS,
        "feed_forward_length": FEED,
        "attention.head_count": HEADS,
        "attention.head_count_kv": architecture.key_heads,
        "attention.key_length": HEAD,
        "attention.value_length": HEAD,
        "rope.dimension_count": HEAD,
        "rope.freq_base": 10000.0,
    }
    return common | architecture.values


def tensors_of(architecture: Architecture, seed: int = 0) -> dict[str, np.ndarray]:
    """Random weights."""
    rng = np.random.default_rng(seed)
    shapes: Shapes = {"token_embd.weight": (VOCABULARY, WIDTH)} | architecture.top
    for number in range(LAYERS):
        for name, shape in architecture.layer.items():
            block = f"{name[:4]}blk.{number}.{name[4:]}" if name[:4] in ("enc.", "dec.") else f"blk.{number}.{name}"
            shapes[block] = shape
    tensors = {name: random_tensor(rng, name, shape) for name, shape in shapes.items()}
    for name, largest in (("rope_freqs", 8), ("rope_factors_short", 2), ("rope_factors_long", 16)):
        if f"{name}.weight" in tensors:
            tensors[f"{name}.weight"] = np.linspace(1, largest, HEAD // 2, dtype=np.float32)
    return tensors


def write_model(path: Path, name: str, **options: Any) -> Path:
    """Writes the model of that name. `values` in options adds metadata or replaces it."""
    architecture = MEASURED.get(name) or REFUSED[name]
    values = values_of(architecture) | options.pop("values", {})
    if name == "bert":
        options["general"] = {"tokenizer.ggml.token_type_count": 2}
    return write_gguf(path, name.split()[0], values, tensors_of(architecture), **options)
