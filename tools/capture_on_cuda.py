#!/usr/bin/env python3
"""Capture on a GPU: whether its rows are those of the CPU, and what capture costs. Models have random weights.

    python3 tools/capture_on_cuda.py [--tokens 32768] [--layers 32] [--documents 4] [--out FILE.json]

With the package installed, dumps are made by its engine. Without it (`--without-engine`, or when the engine cannot be
imported) the Python sources beside this script take the rows, at positions drawn here, and keep them in memory: torch,
transformers and NumPy are enough for that.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
import types
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from transformers import AutoModelForCausalLM, LlamaConfig

SOURCE = Path(__file__).resolve().parents[1] / "python" / "attention_plasticity"


def engine(wanted: bool) -> Any:
    """The package, or None; its Python sources can be imported in both cases."""
    if wanted:
        try:
            import attention_plasticity
            from attention_plasticity import _capture  # noqa: F401

            return attention_plasticity
        except ImportError as error:
            print(f"without the engine: {error}", file=sys.stderr)
            for name in [name for name in sys.modules if name.startswith("attention_plasticity")]:
                del sys.modules[name]
    package = types.ModuleType("attention_plasticity")
    package.__path__ = [str(SOURCE)]
    sys.modules["attention_plasticity"] = package
    return None


def llama(layers: int, hidden: int, device: str, dtype: torch.dtype) -> Any:
    """A model of the shape of Llama 3 8B, or smaller, with random weights."""
    config = LlamaConfig(
        hidden_size=hidden,
        intermediate_size=hidden * 7 // 2,
        num_hidden_layers=layers,
        num_attention_heads=hidden // 128,
        num_key_value_heads=max(1, hidden // 512),
        vocab_size=32000,
        max_position_embeddings=131072,
        rope_parameters={"rope_type": "default", "rope_theta": 500000.0},
    )
    torch.manual_seed(0)
    with torch.device(device):
        return AutoModelForCausalLM.from_config(config, dtype=dtype).eval()


def documents(count: int, tokens: int) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.integers(3, 32000, tokens) for _ in range(count)]


class Taking:
    """Rows of every layer at 8 positions in 128, as capture takes them."""

    def __init__(self, model: Any, tokens: int, stops: bool) -> None:
        from attention_plasticity._transformers.models import LoadedModel
        from attention_plasticity._transformers.rows import Wanted

        self.loaded = LoadedModel(model, None, "random")
        config = model.config
        rng = np.random.default_rng(1)

        def drawn() -> np.ndarray:
            return np.flatnonzero(rng.random(tokens) < 8 / 128)

        heads = np.arange(config.num_attention_heads), np.arange(config.num_key_value_heads)
        self.wanted = {layer: Wanted(*heads, drawn(), drawn()) for layer in range(config.num_hidden_layers)}
        # A layer that never comes keeps the pass from ending early.
        self.layers = set(self.wanted) | (set() if stops else {-1})

    def run(self, ids: np.ndarray) -> list[Any]:
        from attention_plasticity._transformers.forward import padded, run
        from attention_plasticity._transformers.rows import RowTaker

        taker = RowTaker(lambda _, layer: self.wanted[layer], [0], self.layers)
        run(self.loaded, padded(self.loaded, [ids]), taker)
        for taken in taker.taken:
            taken.ready()
        return taker.taken


def compare(dtype: torch.dtype) -> dict[str, Any]:
    """The rows of the CPU and of the GPU, as the largest relative difference of a layer."""
    torch.backends.cuda.matmul.allow_tf32 = False
    ids = documents(1, 1024)[0]
    rows = {}
    for device in ("cpu", "cuda"):
        model = llama(4, 512, "cpu", dtype).to(device)
        rows[device] = Taking(model, len(ids), stops=True).run(ids)
    differences = []
    for cpu, cuda in zip(rows["cpu"], rows["cuda"]):
        for first, second in ((cpu.queries, cuda.queries), (cpu.keys, cuda.keys)):
            first, second = first.double(), second.double()
            differences.append(float((first - second).norm() / first.norm()))
    return {"dtype": str(dtype), "rows": int(rows["cpu"][0].queries.shape[1]), "largest_difference": max(differences)}


def seconds(work: Any) -> float:
    torch.cuda.synchronize()
    begin = time.perf_counter()
    work()
    torch.cuda.synchronize()
    return time.perf_counter() - begin


def overhead(layers: int, tokens: int, repeats: int) -> dict[str, Any]:
    """The time of a pass over one document, without capture and with it, in turn."""
    model = llama(layers, 4096, "cuda", torch.bfloat16)
    ids = documents(1, tokens)[0]
    on_device = torch.from_numpy(ids)[None].cuda()

    def plain() -> None:
        with torch.inference_mode():
            model.base_model(input_ids=on_device, use_cache=False)

    whole, stopping = Taking(model, tokens, stops=False), Taking(model, tokens, stops=True)
    taken = whole.run(ids)
    copied = sum(rows.queries.nbytes + rows.keys.nbytes for rows in taken)
    del taken
    plain()
    times: dict[str, list[float]] = {"plain": [], "captured": [], "stopping": []}
    for _ in range(repeats):
        times["plain"].append(seconds(plain))
        times["captured"].append(seconds(lambda: whole.run(ids)))
        times["stopping"].append(seconds(lambda: stopping.run(ids)))
    middle = {name: statistics.median(values) for name, values in times.items()}
    return {
        "layers": layers,
        "tokens": tokens,
        "bytes_copied": copied,
        "seconds": {name: [round(value, 4) for value in values] for name, values in times.items()},
        "median": middle,
        "overhead": middle["captured"] / middle["plain"] - 1,
        "overhead_with_early_stop": middle["stopping"] / middle["plain"] - 1,
        "peak_device_bytes": torch.cuda.max_memory_allocated(),
    }


def whole_dump(package: Any, layers: int, tokens: int, count: int, folder: Path) -> dict[str, Any]:
    """Documents into a dump on disk, by the engine."""
    model = llama(layers, 4096, "cuda", torch.bfloat16)
    texts = documents(count, tokens)
    plain = []
    for ids in texts:
        on_device = torch.from_numpy(ids)[None].cuda()
        with torch.inference_mode():
            plain.append(seconds(lambda: model.base_model(input_ids=on_device, use_cache=False)))
    time_all = seconds(
        lambda: package.capture(model, None, texts, output=folder, max_length=tokens, rows_per_bucket=8, overwrite=True)
    )
    return {"documents": count, "tokens": tokens, "plain_seconds": sum(plain), "capture_and_write_seconds": time_all}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tokens", type=int, default=32768)
    parser.add_argument("--layers", type=int, default=32)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--documents", type=int, default=4, help="of the dump that the engine writes")
    parser.add_argument("--without-engine", action="store_true")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("torch finds no GPU here")
    package = engine(not given.without_engine)
    found: dict[str, Any] = {
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "same_rows": [compare(torch.float32), compare(torch.bfloat16)],
        "pass": overhead(given.layers, given.tokens, given.repeats),
    }
    if package is not None:
        found["dump"] = whole_dump(package, given.layers, given.tokens, given.documents, Path("out/cuda-dump"))
    text = json.dumps(found, indent=2)
    print(text)
    if given.out is not None:
        given.out.write_text(text + "\n")
    # A pass in bfloat16 rounds after every step, so two devices differ by some units of 2^-8.
    if found["same_rows"][0]["largest_difference"] > 1e-4 or found["same_rows"][1]["largest_difference"] > 0.02:
        sys.exit("the rows of the GPU are not those of the CPU")
    if found["pass"]["overhead"] > 0.03:
        sys.exit(f"capture takes {found['pass']['overhead']:.1%} of a pass, more than 3 %")


if __name__ == "__main__":
    main()
