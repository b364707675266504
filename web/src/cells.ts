// Cells of heads: means over heads, curves over position, and positions of buckets.

import { type Cells, type Dataset, member, type TableName } from "./data.ts";
import { mean, tokens, weighted } from "./numbers.ts";

/** The counts behind the values of a column: pairs of keys or triples. Null when the table has none. */
export function countsOf(
  data: Dataset,
  table: TableName,
  column: string,
): { values: Float64Array; word: string } | null {
  const columns = data.schema.tables[table] ?? [];
  const name = columns.find((known) => known.name === column)?.counted_by ?? "";
  const values = data.tables[table]?.columns[name];
  return values ? { values, word: columns.find((known) => known.name === name)?.counts || name } : null;
}

/** The count of a mean over heads that the least count is compared with: all of it, times the share of the heads that
 * have any. A mean over a few of the heads says little about the others. */
export function support(total: number, headsWithAny: number, heads: number): number {
  return (total * headsWithAny) / heads;
}

/** For each cell: the mean or median over heads, weighted by their counts; the heads that have the cell; their counts
 * together and the support of the value, NaN where the table has no counts. */
export function middleOf(
  cells: Cells,
  column: string,
  heads: readonly number[],
  middle: "mean" | "median",
  counts: Float64Array | null = null,
) {
  const values = cells.columns[column];
  const blank = () => new Float64Array(cells.count).fill(NaN);
  const result = { values: blank(), heads: new Int32Array(cells.count), totals: blank(), support: blank() };
  const anywhere = new Set<number>();
  for (let cell = 0; cell < cells.count; ++cell) {
    const present: number[] = [];
    const weights: number[] = [];
    for (const head of heads) {
      const value = values[head * cells.count + cell];
      const weight = counts ? Math.round(counts[head * cells.count + cell]) : 1;
      if (Number.isNaN(value) || !(weight > 0)) continue;
      present.push(value);
      weights.push(weight);
      anywhere.add(head);
    }
    result.values[cell] = weighted(middle, present, weights);
    result.heads[cell] = present.length;
    if (counts && present.length > 0) result.totals[cell] = weights.reduce((sum, weight) => sum + weight, 0);
  }
  for (let cell = 0; cell < cells.count; ++cell) {
    result.support[cell] = support(result.totals[cell], result.heads[cell], anywhere.size);
  }
  return result;
}

/** Positions of buckets, in tokens; unknown without run.json. */
export interface Geometry {
  known: boolean;
  log: boolean;
  start(bucket: number): number;
  center(bucket: number): number;
  label(bucket: number): string;
}

export function geometry(data: Dataset): Geometry {
  const size = member(data.run, "sampling", "bucket_size");
  const log = member(data.run, "sampling", "strategy") === "log";
  if (typeof size !== "number" || !(size > 0)) {
    return { known: false, log: false, start: (b) => b, center: (b) => b, label: (b) => String(b) };
  }
  const start = (b: number) => (log ? (b === 0 ? 0 : 2 ** b * size) : b * size);
  const center = (b: number) => (log ? 2 ** (b + 0.5) * size : (b + 0.5) * size);
  return { known: true, log, start, center, label: (b) => tokens(start(b)) };
}

/** Plasticity over position, with a point for each head and query bucket. */
export interface Curves {
  buckets: number[];
  x(head: number, at: number): number;
  y(head: number, at: number): number;
  error(head: number, at: number): number; // standard error over documents; NaN: unknown
  count(head: number, at: number): number; // NaN: unknown
  counts: string; // what is counted
}

/** The columns of the table over time that can be shown, the preferred one first: ap_exact, plasticity. */
export function curveColumns(data: Dataset): string[] {
  const { time } = data.tables;
  if (!time) return data.tables.buckets ? ["plasticity"] : [];
  const columns = (data.schema.tables.time ?? []).filter(
    ({ name, title }) => title && time.columns[name]?.some((value) => !Number.isNaN(value)),
  );
  return columns.sort((a, b) => Number(b.is_exact) - Number(a.is_exact)).map(({ name }) => name);
}

export function curves(data: Dataset, column: string): Curves | null {
  const place = geometry(data);
  const { time, buckets } = data.tables;
  const none = () => NaN;
  if (time?.columns[column]) {
    const { position, [column]: values } = time.columns;
    const error = (data.schema.tables.time ?? []).find(({ error_of }) => error_of === column)?.name ?? "";
    const errors = time.columns[error];
    const counts = countsOf(data, "time", column);
    const keys = Array.from(time.keys.q_bucket);
    return {
      buckets: keys,
      x: (head, at) => (position ? position[head * time.count + at] : place.center(keys[at])),
      y: (head, at) => values[head * time.count + at],
      error: errors ? (head, at) => errors[head * time.count + at] : none,
      count: counts ? (head, at) => Math.round(counts.values[head * time.count + at]) : none,
      counts: counts?.word ?? "",
    };
  }
  if (!buckets) return null;
  // The Python toolkit writes no table over time: take the mean over all pairs of the cells of a query bucket.
  const keys = [...new Set(buckets.keys.q_bucket)];
  const cellsOf = keys.map((key) =>
    Array.from(buckets.keys.q_bucket.keys()).filter((cell) => buckets.keys.q_bucket[cell] === key),
  );
  const values = buckets.columns.plasticity;
  const counts = countsOf(data, "buckets", "plasticity");
  const at = (head: number, bucket: number) => {
    const cells = cellsOf[bucket].map((cell) => head * buckets.count + cell).filter((i) => !Number.isNaN(values[i]));
    return { values: cells.map((i) => values[i]), weights: cells.map((i) => (counts ? counts.values[i] : 1)) };
  };
  return {
    buckets: keys,
    x: (_head, bucket) => place.center(keys[bucket]),
    y: (head, bucket) => weighted("mean", at(head, bucket).values, at(head, bucket).weights),
    error: none,
    count: counts ? (head, bucket) => Math.round(at(head, bucket).weights.reduce((sum, one) => sum + one, 0)) : none,
    counts: counts?.word ?? "",
  };
}

/** The delete-a-group jackknife error of values without each group. */
export function jackknife(values: readonly number[]): number {
  const middle = mean(values);
  const groups = values.length;
  if (groups < 3) return NaN;
  return Math.sqrt(((groups - 1) / groups) * values.reduce((sum, value) => sum + (value - middle) ** 2, 0));
}

/** The standard error of a weighted mean over heads. Heads share documents: the weighted mean of their errors is an
 * upper bound. The values of whole heads without each group of documents show how far below it the error lies; that
 * share of the bound is taken. src/attention_plasticity/figure/mean_error.h has the same for figures. */
export function meanError(
  data: Dataset,
  heads: readonly number[],
  weights: readonly number[],
  errors: readonly number[],
): number {
  const known = heads.map((_, i) => i).filter((i) => !Number.isNaN(errors[i]));
  if (known.length === 0) return NaN;
  const bound = weighted(
    "mean",
    known.map((i) => errors[i]),
    known.map((i) => weights[i]),
  );
  const { groups } = data.tables;
  const without = groups?.columns.ap_exact;
  if (known.length === 1 || !groups || !without) return bound;
  const sums = new Array<number>(groups.count).fill(0);
  let heldBound = 0;
  for (const i of known) {
    const values = Array.from(without.subarray(heads[i] * groups.count, (heads[i] + 1) * groups.count));
    if (values.some(Number.isNaN)) continue;
    values.forEach((value, group) => (sums[group] += weights[i] * value));
    heldBound += weights[i] * jackknife(values);
  }
  return heldBound > 0 ? (bound * jackknife(sums)) / heldBound : bound;
}

/** The weights of a head's components, scaled to sum to 1; NaN when all are 0. */
export function shares(cells: Cells, head: number): Float64Array {
  const weights = cells.columns.weight.slice(head * cells.count, (head + 1) * cells.count);
  let sum = 0;
  for (const weight of weights) if (weight > 0) sum += weight;
  return weights.map((weight) => (sum > 0 ? weight / sum : NaN));
}

/** The distances in a bin, in tokens: 0, 1–2, 3–6, ... */
export function distanceBin(bin: number): string {
  const first = 2 ** bin - 1;
  const last = 2 ** (bin + 1) - 2;
  return first === last ? String(first) : `${first}–${last}`;
}
