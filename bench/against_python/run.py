"""Analyses a dump with analysis.py: run.py DUMP OUT --processes N [--heads N]

Writes the three tables of `analyze --compat python` into OUT."""

import argparse
import json
import os
from multiprocessing import Pool
from pathlib import Path

# Each process is one worker, so the linear algebra below must not start threads of its own.
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import pandas as pd  # noqa: E402
import pyarrow as pa  # noqa: E402

from analysis import analyse_head  # noqa: E402

TABLES = {
    "head_metrics.csv": [
        "layer", "q_head", "k_head", "n_q_tokens", "n_k_tokens", "d_model", "q_R2_pos", "q_beta_norm", "q_R2_scalar",
        "q_mae_baseline", "q_mae_proj", "q_mae_ratio", "q_resid0_skew", "q_resid0_kurt", "q_resid0_ks_p",
        "q_noise_med_abs_skew", "q_noise_med_abs_kurt", "q_noise_med_ks_p", "q_noise_frac_ks_p_lt_alpha", "ap_overall"],
    "head_bucket_plasticity.csv": ["layer", "q_head", "k_head", "q_bucket", "k_bucket", "ap_bucket"],
    "head_component_weights.csv": ["layer", "q_head", "k_head", "component", "component_r2", "component_weight"],
}


def tasks(dump):
    config = json.loads((dump / "config.json").read_text())
    group = config["num_attention_heads"] // config["num_key_value_heads"]
    for layer in range(config["num_hidden_layers"]):
        for q_head in range(config["num_attention_heads"]):
            k_head = q_head // group
            yield (layer, q_head, k_head, dump / f"l{layer:02d}h{q_head:02d}q" / "data.parquet",
                   dump / f"l{layer:02d}h{k_head:02d}k" / "data.parquet")


def one_thread():
    pa.set_cpu_count(1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("dump", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--heads", type=int, help="analyse only the first N heads")
    arguments = parser.parse_args()

    wanted = list(tasks(arguments.dump))[: arguments.heads]
    if arguments.processes == 1:
        one_thread()
        results = [analyse_head(*task) for task in wanted]
    else:
        with Pool(arguments.processes, initializer=one_thread) as pool:
            results = pool.starmap(analyse_head, wanted, chunksize=1)
    arguments.out.mkdir(parents=True, exist_ok=True)
    for (name, columns), of_heads in zip(TABLES.items(), zip(*results)):
        rows = [row for of_head in of_heads for row in of_head]
        pd.DataFrame(rows, columns=columns).to_csv(arguments.out / name, index=False)


if __name__ == "__main__":
    main()
