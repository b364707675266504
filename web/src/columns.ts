// What the columns of head_metrics.csv are, in a line each.

import type { Dataset } from "./data.ts";
import type { Choice } from "./dom.ts";

interface Meaning {
  text: string;
  range?: [number, number]; // of the colours; otherwise from the least to the greatest value
}

const meanings: Record<string, Meaning> = {
  ap_exact: {
    text: "Position-exact plasticity: 0, the winner of two keys is fixed; 1, the query decides",
    range: [0, 1],
  },
  ap_exact_empirical: { text: "Position-exact plasticity, counted over queries instead of modelled", range: [0, 1] },
  ap_overall: {
    text: "Pooled plasticity, over buckets of positions; misleads on models with rotary embeddings",
    range: [0, 1],
  },
  logit_fixed: { text: "Part of the logit difference of two keys that is settled before the query comes" },
  logit_spread: { text: "Part of the logit difference of two keys that the query adds" },
  n_triples: { text: "Triples of a query and two keys behind ap_exact" },
  n_q_tokens: { text: "Queries used" },
  n_k_tokens: { text: "Keys used" },
  d_model: { text: "Components of a query or key" },
  q_R2_pos: { text: "Share of the queries' variance that follows position on a line, mean over components" },
  q_beta_norm: { text: "Length of the queries' slope on position" },
  q_R2_scalar: { text: "How well one projection of a query tells its position: R² on log2(position + 1)" },
  q_mae_baseline: { text: "Mean error of log2(position + 1) without the projection" },
  q_mae_proj: { text: "Mean error of log2(position + 1) with the projection" },
  q_mae_ratio: { text: "The second of these errors over the first: 1 says the projection knows nothing" },
  q_resid0_skew: { text: "Skewness of the queries along their slope, position removed" },
  q_resid0_kurt: { text: "Excess kurtosis of the queries along their slope, position removed" },
  q_resid0_ks_p: { text: "Kolmogorov–Smirnov p of normality along the slope", range: [0, 1] },
  q_noise_med_abs_skew: { text: "Median absolute skewness of the other components" },
  q_noise_med_abs_kurt: { text: "Median absolute excess kurtosis of the other components" },
  q_noise_med_ks_p: { text: "Median Kolmogorov–Smirnov p of the other components", range: [0, 1] },
  q_noise_frac_ks_p_lt_alpha: { text: "Share of the other components that are not normal at p_alpha", range: [0, 1] },
};

export function meaning(data: Dataset, column: string): string {
  if (column === "layer") return "Layer of the head, from 0";
  const known = meanings[column]?.text;
  if (known) return known;
  if (errorOf(data, column.replace(/_se$/, "")) === column)
    return `Standard error of ${column.replace(/_se$/, "")}, over documents`;
  if (data.columns.get(column)?.isLabel) return `Label from ${data.labelsFile ?? "the labels"}`;
  return "";
}

/** The column with the standard errors of another one. */
export function errorOf(data: Dataset, column: string): string | null {
  const name = `${column}_se`;
  return data.columns.has(name) ? name : null;
}

export function isError(data: Dataset, column: string): boolean {
  return column.endsWith("_se") && data.columns.has(column.slice(0, -3));
}

/** A value by name; `layer`, `q_head` and `k_head` are columns as well. */
export function valueOf(data: Dataset, column: string, head: number): number {
  if (column === "layer") return data.layer[head];
  if (column === "q_head") return data.qHead[head];
  if (column === "k_head") return data.kHead[head];
  return data.columns.get(column)?.values[head] ?? NaN;
}

export function hasColumn(data: Dataset, column: string): boolean {
  return ["layer", "q_head", "k_head"].includes(column) || data.columns.has(column);
}

/** From the least to the greatest value that is drawn. */
export function rangeOf(data: Dataset, column: string, heads: readonly number[]): [number, number] {
  const fixed = meanings[column]?.range;
  if (fixed && !data.columns.get(column)?.isLabel) return fixed;
  let low = Infinity;
  let high = -Infinity;
  for (const head of heads) {
    const value = valueOf(data, column, head);
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (!(low <= high)) return [0, 1];
  return low === high ? [low - 0.5, high + 0.5] : [low, high];
}

/** Columns to choose from: those that say most first. */
export function columnChoices(data: Dataset, withLayer: boolean): Choice[] {
  const names = [...data.columns.keys()].filter((name) => !isError(data, name));
  const group = (name: string) => {
    if (data.columns.get(name)?.isLabel) return "Labels";
    if (/^(ap_|logit_)/.test(name)) return "Plasticity";
    return /^q_/.test(name) ? "Queries" : "Other";
  };
  const order = ["Plasticity", "Labels", "Queries", "Other"];
  const choices = names.map((name) => ({ value: name, label: name, group: group(name) }));
  choices.sort((a, b) => order.indexOf(a.group) - order.indexOf(b.group));
  return withLayer ? [{ value: "layer", label: "layer" }, ...choices] : choices;
}

/** The measure to begin with. */
export function mainColumn(data: Dataset): string {
  for (const name of ["ap_exact", "ap_overall"]) {
    if (data.columns.has(name)) return name;
  }
  return columnChoices(data, false)[0]?.value ?? "layer";
}
