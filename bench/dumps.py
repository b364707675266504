"""The dumps that are measured. `synth` writes them below build/bench/dumps and makes them similar to captures of real
models: bfloat16 components with heavy tails, rotated by RoPE, in 16 uniform buckets and 64 documents."""

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

AS_REAL = {"examples": 64, "buckets": 16, "spacing": "uniform", "tails": "heavy", "bfloat16": "true",
           "rope_theta": 10000, "truth_pairs": 0, "seed": 7}


@dataclass(frozen=True)
class Dump:
    name: str
    layers: int
    q_heads: int  # in a layer
    k_heads: int
    rows: int
    dim: int
    bucket_size: int = 128

    @property
    def heads(self):
        return self.layers * self.q_heads

    def options(self):
        return {"layers": self.layers, "q_heads": self.q_heads, "k_heads": self.k_heads, "rows": self.rows,
                "dim": self.dim, "bucket_size": self.bucket_size, **AS_REAL}

    def __str__(self):
        return f"{self.name}: {self.heads} heads x {self.rows:,} x {self.dim}"


DUMPS = [
    Dump("small", layers=10, q_heads=6, k_heads=2, rows=1_000, dim=64),
    Dump("usual", layers=4, q_heads=6, k_heads=2, rows=28_000, dim=64),
    Dump("wide", layers=3, q_heads=4, k_heads=1, rows=50_000, dim=128),
    # A document has 15,625 rows and must be longer than 2,048 tokens.
    Dump("long", layers=1, q_heads=2, k_heads=1, rows=1_000_000, dim=64, bucket_size=2048),
]


def make(dump, program, folder):
    """The dump's folder. The dump is written unless it exists with the same options; the stamp is written last."""
    target = Path(folder) / dump.name
    stamp = Path(folder) / f"{dump.name}.json"
    wanted = json.dumps(dump.options(), indent=1)
    if stamp.exists() and stamp.read_text() == wanted and target.is_dir():
        return target
    shutil.rmtree(target, ignore_errors=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    flags = [f"--{name}={value}" for name, value in dump.options().items()]
    subprocess.run([program, "synth", target, *flags, "--quiet"], check=True)
    stamp.write_text(wanted)
    return target
