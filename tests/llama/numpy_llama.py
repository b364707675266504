"""A Llama in NumPy, in double precision: an independent reference for queries and keys."""

from __future__ import annotations

import numpy as np

import tiny_models as tiny

Vectors = np.ndarray


def _norm(x: Vectors, weight: Vectors) -> Vectors:
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * weight


def _rotated(x: Vectors, factors: Vectors) -> Vectors:
    """[tokens, heads * HEAD] in interleaved pairs, as GGUF files of Llama have them, to [heads, tokens, HEAD] in halves."""
    pairs = x.reshape(len(x), -1, tiny.HEAD // 2, 2).transpose(1, 0, 2, 3)
    frequencies = 10000.0 ** (-np.arange(0, tiny.HEAD, 2) / tiny.HEAD) / factors
    angles = np.outer(np.arange(len(x)), frequencies)
    turned = (pairs[..., 0] + 1j * pairs[..., 1]) * np.exp(1j * angles)
    return np.concatenate([turned.real, turned.imag], -1)


def _softmax(x: Vectors) -> Vectors:
    weights = np.exp(x - x.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def queries_and_keys(tensors: dict[str, np.ndarray], ids: list[int]) -> list[tuple[Vectors, Vectors]]:
    """For each layer the rotated queries and keys, [heads, tokens, HEAD]."""
    weights = {name: tensor.astype(np.float64) for name, tensor in tensors.items()}
    factors = weights.get("rope_freqs.weight", np.ones(tiny.HEAD // 2))
    x = weights["token_embd.weight"][ids]
    future = np.triu(np.full((len(ids), len(ids)), -np.inf), 1)
    found = []
    for layer in range(tiny.LAYERS):
        w = {name.split(".")[2]: value for name, value in weights.items() if name.startswith(f"blk.{layer}.")}
        h = _norm(x, w["attn_norm"])
        q, k = _rotated(h @ w["attn_q"].T, factors), _rotated(h @ w["attn_k"].T, factors)
        v = (h @ w["attn_v"].T).reshape(len(ids), -1, tiny.HEAD).transpose(1, 0, 2)
        found.append((q, k))
        group = tiny.HEADS // tiny.KEY_HEADS
        logits = q @ np.repeat(k, group, 0).transpose(0, 2, 1) / np.sqrt(tiny.HEAD)
        out = _softmax(logits + future) @ np.repeat(v, group, 0)
        x = x + out.transpose(1, 0, 2).reshape(len(ids), -1) @ w["attn_output"].T
        h = _norm(x, w["ffn_norm"])
        gate = h @ w["ffn_gate"].T
        x = x + (gate / (1 + np.exp(-gate)) * (h @ w["ffn_up"].T)) @ w["ffn_down"].T
    return found
