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

interface Middles {
  values: Float64Array;
  heads: Int32Array;
  totals: Float64Array;
  support: Float64Array;
}

interface Remembered {
  cells: Cells;
  column: string;
  middle: string;
  result: Middles;
}

const remembered = new WeakMap<readonly number[], Remembered[]>();

/** `middleOf`, computed once for a list of heads: choosing a head must not average thousands of them again. */
export function middleOnce(
  cells: Cells,
  column: string,
  heads: readonly number[],
  middle: "mean" | "median",
  counts: Float64Array | null = null,
): Middles {
  const known = remembered.get(heads) ?? [];
  remembered.set(heads, known);
  const found = known.find((one) => one.cells === cells && one.column === column && one.middle === middle);
  if (found) return found.result;
  const result = middleOf(cells, column, heads, middle, counts);
  known.push({ cells, column, middle, result });
  return result;
}

/** For each cell: the mean or median over heads, weighted by their counts; the heads that have the cell; their counts
 * together and the support of the value, NaN where the table has no counts. */
export function middleOf(
  cells: Cells,
  column: string,
  heads: readonly number[],
  middle: "mean" | "median",
  counts: Float64Array | null = null,
): Middles {
  const values = cells.columns[column];
  const size = cells.count;
  const result: Middles = {
    values: new Float64Array(size).fill(NaN),
    heads: new Int32Array(size),
    totals: new Float64Array(size).fill(NaN),
    support: new Float64Array(size).fill(NaN),
  };
  const weightOf = (i: number) => (Number.isNaN(values[i]) ? 0 : counts ? Math.round(counts[i]) : 1);
  const [sums, weights] = [new Float64Array(size), new Float64Array(size)];
  let anywhere = 0;
  for (const head of heads) {
    let hasAny = false;
    for (let cell = 0; cell < size; ++cell) {
      const i = head * size + cell;
      const weight = weightOf(i);
      if (!(weight > 0)) continue;
      hasAny = true;
      ++result.heads[cell];
      weights[cell] += weight;
      sums[cell] += weight * values[i];
    }
    anywhere += Number(hasAny);
  }
  for (let cell = 0; cell < size; ++cell) {
    if (result.heads[cell] === 0) continue;
    if (middle === "mean") {
      result.values[cell] = sums[cell] / weights[cell];
    } else {
      const present = heads.map((head) => head * size + cell).filter((i) => weightOf(i) > 0);
      result.values[cell] = weighted(
        "median",
        present.map((i) => values[i]),
        present.map(weightOf),
      );
    }
    if (!counts) continue;
    result.totals[cell] = weights[cell];
    result.support[cell] = support(weights[cell], result.heads[cell], anywhere);
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
  const own = headJackknives(groups, without);
  const sums = new Array<number>(groups.count).fill(0);
  let heldBound = 0;
  for (const i of known) {
    if (Number.isNaN(own[heads[i]])) continue;
    const first = heads[i] * groups.count;
    for (let group = 0; group < groups.count; ++group) sums[group] += weights[i] * without[first + group];
    heldBound += weights[i] * own[heads[i]];
  }
  return heldBound > 0 ? (bound * jackknife(sums)) / heldBound : bound;
}

const jackknives = new WeakMap<Cells, Float64Array>();

/** The jackknife error of each head; NaN for a head that has no value without some group. */
function headJackknives(groups: Cells, without: Float64Array): Float64Array {
  const known = jackknives.get(groups);
  if (known) return known;
  const errors = Float64Array.from({ length: without.length / groups.count }, (_, head) =>
    jackknife(Array.from(without.subarray(head * groups.count, (head + 1) * groups.count))),
  );
  jackknives.set(groups, errors);
  return errors;
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
