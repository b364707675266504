// The difference of two runs as a dataset of its own: its columns are differences, b − a, with the errors of the
// differences. The differences of heads, their errors, z, p and q come from the program; see
// src/attention_plasticity/report/comparison_data.h. Differences of cells are taken here, head by head.

import {
  type Cells,
  type Column,
  type ColumnDifference,
  type ColumnInfo,
  type Comparison,
  type ComparisonHead,
  type Dataset,
  findHead,
  integers,
  type Json,
  member,
  type ReportData,
  type Schema,
  type TableName,
  unpack,
} from "./data.ts";

const runTopics = ["First run", "Second run", "Tests"];
const letters = (text: string) => text.replace(/^./, (c) => c.toLowerCase());

/** What the schema would say about the columns of a comparison. */
function schemaOf(schema: Schema, columns: readonly ColumnDifference[], names: [string, string]): Schema {
  const metrics: ColumnInfo[] = [];
  const nothing = { title: "", colors: null, error_of: "", in_facts: false, in_list: false };
  const isHeadline = ({ name }: ColumnDifference) => schema.headline.includes(name);
  const mains = columns.filter(isHeadline).sort((a, b) => schema.headline.indexOf(a.name) - schema.headline.indexOf(b.name));
  for (const { name, has_errors } of [...mains, ...columns.filter((column) => !isHeadline(column))]) {
    const known = schema.metrics.find((column) => column.name === name);
    const isMain = schema.headline.includes(name);
    const about = known?.meaning ? `: ${letters(known.meaning)}` : "";
    const base: ColumnInfo = known ?? {
      ...nothing,
      name,
      meaning: "",
      range: [null, null],
      is_exact: false,
      counted_by: "",
      counts: "",
      topic: "Other",
    };
    const own = { ...base, colors: null, title: "" };
    metrics.push({ ...own, range: [null, null], meaning: `Difference, second run less first${about}`, in_list: isMain });
    if (has_errors) {
      const error = schema.metrics.find((column) => column.error_of === name)?.name ?? `${name}_se`;
      metrics.push({ ...own, ...nothing, name: error, meaning: `Standard error of the difference of ${name}`, error_of: name });
    }
    const side = (which: 0 | 1, letter: string) =>
      metrics.push({
        ...own,
        ...nothing,
        range: base.range,
        colors: base.colors,
        name: `${name}_${letter}`,
        meaning: `${name} in ${names[which]}${about}`,
        topic: runTopics[which],
        in_list: isMain,
      });
    side(0, "a");
    side(1, "b");
    if (!has_errors) continue;
    const tests: [string, string, [number | null, number | null]][] = [
      ["z", `Difference of ${name} in units of its standard error`, [null, null]],
      ["p", `Probability of such a difference of ${name} by chance, two-sided`, [0, 1]],
      ["q", `p of ${name}, corrected for the number of heads (Benjamini–Hochberg)`, [0, 1]],
    ];
    for (const [letter, meaning, range] of tests) {
      const in_list = isMain && letter === "q";
      metrics.push({ ...own, ...nothing, range, name: `${name}_${letter}`, meaning, topic: "Tests", in_list });
    }
  }
  const [first, ...rest] = schema.topics;
  return { ...schema, topics: [first, ...runTopics, ...rest], metrics };
}

/** The columns of all matched heads: differences, errors, both runs' values, tests, and the labels of the first run. */
function columnsOf(comparison: Comparison, schema: Schema, bytes: ArrayBuffer): Map<string, Column> {
  const { a, b, placesA, placesB, head } = comparison;
  const columns = new Map<string, Column>();
  const add = (name: string, values: Float64Array, isLabel = false) => columns.set(name, { name, values, isLabel });
  const picked = (values: Float64Array, places: Int32Array) => Float64Array.from(places, (place) => values[place]);
  const own = (data: Dataset, name: string, places: Int32Array) =>
    picked(data.columns.get(name)?.values ?? new Float64Array(data.count).fill(NaN), places);
  for (const column of head.columns) {
    const { name } = column;
    add(name, unpack(column.difference, bytes));
    const error = schema.metrics.find((one) => one.error_of === name)?.name;
    if (column.se && error) add(error, unpack(column.se, bytes));
    add(`${name}_a`, own(a, name, placesA));
    add(`${name}_b`, own(b, name, placesB));
    for (const key of ["z", "p", "q"] as const) {
      const block = column[key];
      if (block) add(`${name}_${key}`, unpack(block, bytes));
    }
  }
  for (const { name, values, isLabel } of a.columns.values()) {
    if (isLabel && !columns.has(name)) add(name, picked(values, placesA), true);
  }
  return columns;
}

/** For each cell that both tables have: its place in either. */
function commonCells(a: Cells, b: Cells): [number, number][] {
  const names = Object.keys(a.keys);
  const nameOf = (cells: Cells, cell: number) => names.map((name) => cells.keys[name]?.[cell]).join(" ");
  const places = new Map(Array.from({ length: b.count }, (_, cell) => [nameOf(b, cell), cell]));
  const common: [number, number][] = [];
  for (let cell = 0; cell < a.count; ++cell) {
    const other = places.get(nameOf(a, cell));
    if (other !== undefined) common.push([cell, other]);
  }
  return common;
}

/** How a column of cells is combined: values are subtracted, errors add in squares, of counts the smaller one holds for
 * both, and a position is that of the first run. */
function combiner(info: ColumnInfo | undefined, name: string): (a: number, b: number) => number {
  if (info?.error_of) return Math.hypot;
  if (info?.counts) return Math.min;
  if (name === "position") return (a) => a;
  return (a, b) => b - a;
}

function tableOf(comparison: Comparison, schema: Schema, table: TableName): Cells | null {
  const { a, b, placesA, placesB } = comparison;
  const [first, second] = [a.tables[table], b.tables[table]];
  if (!first || !second) return null;
  const common = commonCells(first, second);
  if (common.length === 0) return null;
  const keys: Cells["keys"] = {};
  for (const [name, values] of Object.entries(first.keys)) {
    const own = common.map(([cell]) => values[cell]);
    keys[name] = values instanceof Float64Array ? Float64Array.from(own) : Int32Array.from(own);
  }
  const columns: Cells["columns"] = {};
  for (const [name, values] of Object.entries(first.columns)) {
    const others = second.columns[name];
    if (!others) continue;
    const combine = combiner(schema.tables[table]?.find((column) => column.name === name), name);
    const made = new Float64Array(placesA.length * common.length);
    for (let head = 0; head < placesA.length; ++head) {
      const [beginA, beginB] = [placesA[head] * first.count, placesB[head] * second.count];
      for (let i = 0; i < common.length; ++i) {
        made[head * common.length + i] = combine(values[beginA + common[i][0]], others[beginB + common[i][1]]);
      }
    }
    columns[name] = made;
  }
  return { count: common.length, keys, columns };
}

/** Whether the buckets of both runs lie at the same positions, so that their cells can be subtracted. */
function sameSampling(a: Dataset, b: Dataset): boolean {
  const sampling = (data: Dataset) =>
    JSON.stringify(["strategy", "bucket_size"].map((key) => member(data.run, "sampling", key)));
  return sampling(a) === sampling(b);
}

export function comparisonOf(report: ReportData, head: ComparisonHead, a: Dataset, b: Dataset): Dataset {
  const [layer, qHead, kHead] = (["layer", "q_head", "k_head"] as const).map((key) =>
    integers(head.heads[key], report.bytes),
  );
  const places = (data: Dataset) => layer.map((_, i) => findHead(data, layer[i], qHead[i]));
  const comparison: Comparison = { head, a, b, placesA: places(a), placesB: places(b) };
  const schema = schemaOf(report.head.schema, head.columns, [a.name, b.name]);
  const tables: Dataset["tables"] = {};
  const cells: TableName[] = ["distance"];
  if (sameSampling(a, b)) cells.push("time", "buckets");
  // Values without each group belong together only where the groups are the same.
  if (head.paired) cells.push("groups");
  for (const name of cells) {
    const table = tableOf(comparison, report.head.schema, name);
    if (table) tables[name] = table;
  }
  const sampling = sameSampling(a, b) ? member(a.run, "sampling") : null;
  return {
    schema,
    program: a.program,
    name: `${b.name} − ${a.name}`,
    source: `${a.source}, ${b.source}`,
    run: { sampling } as { [key: string]: Json },
    model: a.model,
    labelsFile: a.labelsFile,
    count: layer.length,
    layer,
    qHead,
    kHead,
    columns: columnsOf(comparison, schema, report.bytes),
    tables,
    minCount: a.minCount,
    comparison,
  };
}

/** The column that a column of a comparison is about, without `_a`, `_q` and the like; null: a label, or no comparison. */
export function comparedColumn(data: Dataset, column: string): ColumnDifference | null {
  const columns = data.comparison?.head.columns ?? [];
  return (
    columns.find(({ name }) => name === column) ??
    columns.find(({ name }) => ["a", "b", "z", "p", "q"].some((letter) => `${name}_${letter}` === column)) ??
    null
  );
}

/** Whether a column of a comparison has zero in the middle: differences and their z. */
export function isSigned(data: Dataset, column: string): boolean {
  const compared = comparedColumn(data, column);
  return compared !== null && (column === compared.name || column === `${compared.name}_z`);
}

/** Whether a head moved in a column at the level of the comparison; null where that is not known. */
export function hasMoved(data: Dataset, column: string, head: number): boolean | null {
  const compared = comparedColumn(data, column);
  if (!compared?.has_errors || !data.comparison) return null;
  return (data.columns.get(`${compared.name}_q`)?.values[head] ?? NaN) < data.comparison.head.level;
}
