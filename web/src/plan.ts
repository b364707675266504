// The cache plan: which KV heads keep their whole cache. The rule is that of `attention-plasticity plan`, in
// src/attention_plasticity/study/cache_plan.cc; a test compares the two.

import { valueOf } from "./columns.ts";
import type { Dataset } from "./data.ts";

export interface PlanOptions {
  column: string;
  keep: number; // share from 0 to 1 of the scored KV heads that stay full
  group: "max" | "mean"; // how the scores of query heads become that of their KV head
  window: number; // last tokens that a windowed head keeps, >= 1
  sinks: number; // first tokens that it keeps, >= 0
}

export type CacheKind = "full" | "window" | "sliding";

export interface PlannedHead {
  layer: number;
  kvHead: number;
  kind: CacheKind;
  score: number; // NaN: sliding, or not measured
  window: number; // tokens, for window and sliding heads; 0 for full ones
}

export interface CachePlan {
  options: PlanOptions;
  kvHeads: number; // of a layer
  group: number; // query heads of a KV head
  heads: PlannedHead[]; // all KV heads, layer by layer
}

/** The number of query heads that read one KV head; 0 when heads do not lie in groups of one size. */
export function groupSize(data: Dataset): number {
  const { num_q_heads: queries, num_k_heads: keys } = data.model;
  if (!(keys > 0) || queries % keys !== 0) return 0;
  const group = queries / keys;
  for (let head = 0; head < data.count; ++head) {
    if (Math.floor(data.qHead[head] / group) !== data.kHead[head]) return 0;
  }
  return group;
}

/** NaN when one of the scores is NaN: the head that was not measured may be the one that needs its cache. */
function groupScore(scores: Float64Array, group: PlanOptions["group"]): number {
  let sum = 0;
  let largest = scores[0];
  for (const score of scores) {
    if (Number.isNaN(score)) return NaN;
    sum += score;
    largest = Math.max(largest, score);
  }
  return group === "max" ? largest : sum / scores.length;
}

/** The plan; null when query heads do not lie in groups. KV heads without a score stay full. */
export function planCache(data: Dataset, options: PlanOptions): CachePlan | null {
  const group = groupSize(data);
  if (group === 0) return null;
  const { num_layers: layers, num_q_heads: queries, num_k_heads: kvHeads, windows } = data.model;
  const grid = new Float64Array(layers * queries).fill(NaN);
  for (let head = 0; head < data.count; ++head) {
    grid[data.layer[head] * queries + data.qHead[head]] = valueOf(data, options.column, head);
  }
  const heads = Array.from({ length: layers * kvHeads }, (_, i): PlannedHead => {
    const [layer, kvHead] = [Math.floor(i / kvHeads), i % kvHeads];
    const window = windows[String(layer)];
    if (window) return { layer, kvHead, kind: "sliding", score: NaN, window };
    const score = groupScore(grid.subarray(i * group, (i + 1) * group), options.group);
    return { layer, kvHead, kind: "full", score, window: 0 };
  });
  // The sort is stable: equal scores stay in the order of layers and heads.
  const scored = heads.filter((head) => !Number.isNaN(head.score)).sort((a, b) => b.score - a.score);
  // The product of doubles may lie just below a half that the decimal share means.
  const kept = Math.floor(options.keep * scored.length + 0.5 + 1e-9);
  for (const head of scored.slice(kept)) {
    head.kind = "window";
    head.window = options.window;
  }
  return { options, kvHeads, group, heads };
}

/** The share of the cache that a plan saves at a context of some tokens. */
export function cacheSaved(plan: CachePlan, tokens: number): number {
  let now = 0;
  let planned = 0;
  for (const { kind, window } of plan.heads) {
    const kept =
      kind === "full" ? tokens : Math.min(tokens, kind === "window" ? window + plan.options.sinks : window);
    planned += kept;
    now += kind === "sliding" ? kept : tokens;
  }
  return now > 0 ? 1 - planned / now : 0;
}

/** "44 KV heads: 22 full, 22 windowed (64 + 4 tokens). Cache saved: 49.2 % at 4k, ..." */
export function planSummary(plan: CachePlan): string {
  const count = (kind: CacheKind) => plan.heads.filter((head) => head.kind === kind).length;
  const [full, window, sliding] = [count("full"), count("window"), count("sliding")];
  const unknown = plan.heads.filter((head) => head.kind === "full" && Number.isNaN(head.score)).length;
  const parts = [`${full.toLocaleString("en-US")} full`, `${window.toLocaleString("en-US")} windowed`];
  if (sliding > 0) parts.push(`${sliding.toLocaleString("en-US")} sliding as they are`);
  const lengths: [string, number][] = [
    ["4k", 4096],
    ["32k", 32768],
    ["128k", 131072],
  ];
  const saved = lengths.map(([name, tokens]) => `${(100 * cacheSaved(plan, tokens)).toFixed(1)} % at ${name}`);
  const heads = `${plan.heads.length.toLocaleString("en-US")} KV head${plan.heads.length === 1 ? "" : "s"}`;
  const missing = unknown > 0 ? ` ${unknown.toLocaleString("en-US")} stay full because they were not measured whole.` : "";
  return `${heads}: ${parts.join(", ")}. Cache saved: ${saved.join(", ")} tokens.${missing}`;
}

/** The command that writes this plan. RESULTS stands for those that are in memory. */
export function planCommand(data: Dataset, options: PlanOptions): string {
  const words = ["attention-plasticity plan", quoted(data.source ?? "RESULTS"), `--keep ${options.keep}`, "--missing full"];
  if (options.column !== "ap_exact") words.push(`--column ${quoted(options.column)}`);
  if (options.group !== "max") words.push(`--group ${options.group}`);
  if (options.window !== 64) words.push(`--window ${options.window}`);
  if (options.sinks !== 4) words.push(`--sinks ${options.sinks}`);
  return words.join(" ");
}

/** A word of a POSIX shell. */
function quoted(word: string): string {
  return /^[\w./:@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
