// Columns of heads: those of head_metrics.csv, which the schema in the page's data describes, and labels.

import { isSigned } from "./comparison.ts";
import type { ColumnInfo, Dataset } from "./data.ts";
import type { Choice } from "./dom.ts";

/** What the schema says about a measured column; null for labels and for columns of other programs. */
function info(data: Dataset, column: string): ColumnInfo | null {
  if (data.columns.get(column)?.isLabel) return null;
  return data.schema.metrics.find((known) => known.name === column) ?? null;
}

export function meaning(data: Dataset, column: string): string {
  if (data.columns.get(column)?.isLabel) return `Label from ${data.labelsFile ?? "the labels"}`;
  return info(data, column)?.meaning ?? "";
}

/** The columns for which a condition holds and which the run has: headlines first, then topic by topic. */
export function columnsWith(data: Dataset, holds: (column: ColumnInfo) => boolean): string[] {
  const { headline, metrics, topics } = data.schema;
  const chosen = metrics.filter((column) => holds(column) && data.columns.has(column.name));
  const place = ({ name, topic }: ColumnInfo) =>
    headline.includes(name) ? headline.indexOf(name) - headline.length : topics.indexOf(topic);
  return chosen.sort((a, b) => place(a) - place(b)).map((column) => column.name);
}

/** Further columns in the tooltip of a head: listed columns of the first topic that are not headlines. */
export function usualFacts(data: Dataset): string[] {
  const { headline, topics } = data.schema;
  return columnsWith(data, ({ name, topic, in_list }) => in_list && topic === topics[0] && !headline.includes(name));
}

/** The column with the standard errors of another one. */
export function errorOf(data: Dataset, column: string): string | null {
  const name = data.schema.metrics.find((known) => known.error_of === column)?.name;
  return name && data.columns.has(name) ? name : null;
}

function isError(data: Dataset, column: string): boolean {
  const measured = info(data, column)?.error_of;
  return Boolean(measured && data.columns.has(measured));
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

/** The number of samples behind a head's value, and what is counted; NaN when it is not known. */
export function countOf(data: Dataset, column: string, head: number): { count: number; word: string } {
  const name = info(data, column)?.counted_by ?? "";
  if (data.comparison) {
    // A comparison rests on the run with fewer samples.
    const { a, b, placesA, placesB } = data.comparison;
    const [first, second] = [valueOf(a, name, placesA[head]), valueOf(b, name, placesB[head])];
    return { count: Math.min(first, second), word: a.schema.metrics.find((known) => known.name === name)?.counts ?? "" };
  }
  const count = name === "" ? NaN : valueOf(data, name, head);
  return { count, word: data.schema.metrics.find((known) => known.name === name)?.counts ?? "" };
}

/** Whether a head's value rests on fewer samples than the least count. */
export function hasLittleData(data: Dataset, column: string, head: number): boolean {
  return countOf(data, column, head).count < data.minCount;
}

/** "position-exact" or "pooled", for columns that the schema knows; otherwise empty. */
export function measureWord(data: Dataset, column: string): string {
  const known = info(data, column);
  if (!known || known.counted_by === "") return "";
  return known.is_exact ? "position-exact" : "pooled";
}

/** The ends of the colour scale: fixed by the schema, otherwise the least and the greatest value of these heads, except
 * those with little data. The scale of a single value does not leave the range of possible values. Differences have zero
 * in the middle. */
export function rangeOf(data: Dataset, column: string, heads: readonly number[]): [number, number] {
  const known = info(data, column);
  if (known?.colors) return known.colors;
  let low = Infinity;
  let high = -Infinity;
  for (const head of heads) {
    if (hasLittleData(data, column, head)) continue;
    const value = valueOf(data, column, head);
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (isSigned(data, column)) {
    const most = Math.max(Math.abs(low), Math.abs(high));
    return most > 0 && Number.isFinite(most) ? [-most, most] : [-1, 1];
  }
  if (!(low <= high)) return [0, 1];
  if (low < high) return [low, high];
  const [least, most] = known?.range ?? [null, null];
  return [Math.max(low - 0.5, least ?? -Infinity), Math.min(high + 0.5, most ?? Infinity)];
}

/** Columns to choose from, grouped by topic; labels come after the first topic. */
export function columnChoices(data: Dataset, withLayer: boolean): Choice[] {
  const names = [...data.columns.keys()].filter((name) => !isError(data, name));
  const group = (name: string) => {
    if (data.columns.get(name)?.isLabel) return "Labels";
    return info(data, name)?.topic ?? "Other";
  };
  const [first, ...rest] = data.schema.topics;
  const order = [first, "Labels", ...rest];
  const choices = names.map((name) => ({ value: name, label: name, group: group(name) }));
  choices.sort((a, b) => order.indexOf(a.group) - order.indexOf(b.group));
  return withLayer ? [{ value: "layer", label: "layer" }, ...choices] : choices;
}

/** The measure that the page shows at first. */
export function mainColumn(data: Dataset): string {
  const headline = data.schema.headline.find((name) => data.columns.has(name));
  return headline ?? columnChoices(data, false)[0]?.value ?? "layer";
}
