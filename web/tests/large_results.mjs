// A results folder of any number of heads, with all tables and plausible values, made without an analysis: what a page
// costs depends on the number of heads and cells only.

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Numbers from 0 to 1 (Mulberry32), so that the folder is the same each time. */
function generator(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** Writes the folder. `like` is a folder of results whose columns and run.json are taken. */
export function writeLargeResults(results, like, { layers, qHeads, kHeads, dim = 128, buckets = 16, bins = 12 }) {
  mkdirSync(results, { recursive: true });
  const random = generator(7);
  const run = JSON.parse(readFileSync(join(like, "run.json"), "utf8"));
  const columnsOf = (name) => readFileSync(join(like, name), "utf8").split("\n", 1)[0].split(",");
  const heads = [];
  for (let layer = 0; layer < layers; ++layer) {
    for (let head = 0; head < qHeads; ++head) heads.push([layer, head, Math.floor((head * kHeads) / qHeads), random()]);
  }
  const cells = {
    "head_metrics.csv": [[]],
    "head_component_weights.csv": Array.from({ length: dim }, (_, i) => [i]),
    "head_time_plasticity.csv": Array.from({ length: buckets }, (_, i) => [i, 128 * i + 64]),
    "head_bucket_plasticity.csv": [],
    "head_distance_plasticity.csv": [],
    "head_groups.csv": Array.from({ length: 16 }, (_, i) => [i]),
  };
  for (let query = 0; query < buckets; ++query) {
    for (let key = 0; key < query; ++key) cells["head_bucket_plasticity.csv"].push([query, key]);
  }
  for (let far = 0; far < bins; ++far) {
    for (let near = 0; near <= far; ++near) cells["head_distance_plasticity.csv"].push([near, far]);
  }
  const near = (value, width) => Math.min(1, Math.max(0, value + (random() - 0.5) * width));
  // Values of heads are kept as doubles and need all their digits; of values of cells the page keeps 16 bits.
  const valueOf = (column, plasticity, digits) => {
    if (column.startsWith("n_")) return Math.floor(40 + 4000 * random());
    if (column === "d_model") return dim;
    if (column.endsWith("_se")) return (0.005 + 0.01 * random()).toPrecision(digits);
    if (/^(ap_|plasticity)/.test(column)) return near(plasticity, 0.2).toPrecision(digits);
    if (column.startsWith("logit")) return (4 * random()).toPrecision(digits);
    return random().toPrecision(digits);
  };
  run.tables = [];
  for (const [name, rows] of Object.entries(cells)) {
    const columns = columnsOf(name);
    const digits = name === "head_metrics.csv" ? 16 : 6;
    const lines = [columns.join(",")];
    for (const [layer, head, keyHead, plasticity] of heads) {
      for (const keys of rows) {
        const first = [layer, head, keyHead, ...keys];
        for (let i = first.length; i < columns.length; ++i) first.push(valueOf(columns[i], plasticity, digits));
        lines.push(first.join(","));
      }
    }
    const text = `${lines.join("\n")}\n`;
    const file = join(results, name);
    writeFileSync(file, text);
    run.tables.push({ file, sha256: createHash("sha256").update(text).digest("hex") });
  }
  const layersOf = Array.from({ length: layers }, (_, layer) => ({ ...run.model.layers[0], layer }));
  run.model = { ...run.model, num_layers: layers, num_q_heads: qHeads, num_k_heads: kHeads, head_dim: dim, layers: layersOf };
  run.heads = { ...run.heads, done: heads.length, skipped: 0, failed: [] };
  writeFileSync(join(results, "run.json"), JSON.stringify(run));
}
