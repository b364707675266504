// Cells of heads: means over heads, curves over position, and positions of buckets.

import { type Cells, type Dataset, member } from "./data.ts";
import { mean, median, tokens } from "./numbers.ts";

/** For each cell: the mean or median of the heads' values that are not NaN, and the number of these values. */
export function middleOf(cells: Cells, column: string, heads: readonly number[], middle: "mean" | "median") {
  const values = cells.columns[column];
  const result = { values: new Float64Array(cells.count), counts: new Int32Array(cells.count) };
  for (let cell = 0; cell < cells.count; ++cell) {
    const present: number[] = [];
    for (const head of heads) {
      const value = values[head * cells.count + cell];
      if (!Number.isNaN(value)) present.push(value);
    }
    result.values[cell] = middle === "mean" ? mean(present) : median(present);
    result.counts[cell] = present.length;
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
}

export function curves(data: Dataset): Curves | null {
  const place = geometry(data);
  const { time, buckets } = data.tables;
  if (time) {
    const { position, plasticity } = time.columns;
    const keys = Array.from(time.keys.q_bucket);
    return {
      buckets: keys,
      x: (head, at) => (position ? position[head * time.count + at] : place.center(keys[at])),
      y: (head, at) => plasticity[head * time.count + at],
    };
  }
  if (!buckets) return null;
  // The Python toolkit writes no table over time: take the mean over the key buckets of a query bucket.
  const keys = [...new Set(buckets.keys.q_bucket)];
  const cellsOf = keys.map((key) =>
    Array.from(buckets.keys.q_bucket.keys()).filter((cell) => buckets.keys.q_bucket[cell] === key),
  );
  const values = buckets.columns.plasticity;
  return {
    buckets: keys,
    x: (_head, at) => place.center(keys[at]),
    y: (head, at) =>
      mean(cellsOf[at].map((cell) => values[head * buckets.count + cell]).filter((value) => !Number.isNaN(value))),
  };
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
