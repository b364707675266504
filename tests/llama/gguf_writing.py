"""GGUF files of random models: metadata and the shapes of tensors in, a file out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGUFWriter, TokenType

# Three special tokens and the 256 bytes.
SPECIAL = ["<unk>", "<s>", "</s>"]
VOCABULARY = len(SPECIAL) + 256

Shapes = dict[str, tuple[int, ...]]


def token_ids(text: str, bos: bool = True) -> list[int]:
    """The ids of a text: its UTF-8 bytes, where a space is U+2581 as in SentencePiece."""
    return [1] * bos + [len(SPECIAL) + byte for byte in text.replace(" ", "\u2581").encode()]


def add_vocabulary(writer: GGUFWriter, bos: bool = True) -> None:
    """A tokenizer of bytes."""
    tokens = SPECIAL + [f"<0x{byte:02X}>" for byte in range(256)]
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([0.0] * len(tokens))
    writer.add_token_types([TokenType.UNKNOWN, TokenType.CONTROL, TokenType.CONTROL] + [TokenType.BYTE] * 256)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_add_bos_token(bos)
    writer.add_add_space_prefix(False)


def add_value(writer: GGUFWriter, key: str, value: Any) -> None:
    """A value by its Python type; whole numbers have 32 bits, as llama.cpp expects them."""
    if isinstance(value, bool):
        writer.add_bool(key, value)
    elif isinstance(value, int):
        writer.add_uint32(key, value)
    elif isinstance(value, float):
        writer.add_float32(key, value)
    elif isinstance(value, str):
        writer.add_string(key, value)
    else:
        writer.add_array(key, value)


def random_tensor(rng: np.random.Generator, name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Weights near one for norms, small ones otherwise. Token embeddings have a mean, so that queries and keys have one too
    and the check of the rotation can decide. Sinks take next to nothing of the attention."""
    values = rng.normal(size=shape)
    if "norm" in name and name.endswith("weight"):
        return (1 + 0.1 * values).astype(np.float32)
    if name == "token_embd.weight":
        return (0.3 * values + 0.3 * rng.normal(size=shape[-1])).astype(np.float32)
    if name.endswith("attn_sinks.weight"):
        return (values - 40).astype(np.float32)
    return (0.15 * values).astype(np.float32)


def write_gguf(
    path: Path,
    architecture: str,
    values: dict[str, Any],
    tensors: dict[str, np.ndarray],
    *,
    general: dict[str, Any] | None = None,
    vocabulary: bool = True,
    bos: bool = True,
    tensors_per_file: int = 0,
) -> Path:
    """Writes a model. `values` are keys below the architecture's name. With `tensors_per_file` it has several parts, as
    llama-gguf-split names them, and the first one is returned."""
    writer = GGUFWriter(path, architecture, split_max_tensors=tensors_per_file)
    for key, value in (general or {}).items():
        add_value(writer, key, value)
    for key, value in values.items():
        add_value(writer, f"{architecture}.{key}", value)
    if vocabulary:
        add_vocabulary(writer, bos)
    for name, tensor in tensors.items():
        writer.add_tensor(name, tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    if tensors_per_file == 0:
        return path
    return min(path.parent.glob(f"{path.stem}-00001-of-*.gguf"))
