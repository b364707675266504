// The data that `report` put into the page: a JSON head and blocks of numbers. src/attention_plasticity/report/report.h
// explains their layout.

export interface Block {
  kind: "f64" | "i32" | "u16";
  offset: number;
  count: number;
  scale: number;
}

interface PackedTable {
  cells: number;
  keys: Record<string, Block>;
  columns: Record<string, Block>;
}

export type TableName = "buckets" | "components" | "time" | "distance" | "groups";

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** What the program's schema of results says about a column. */
export interface ColumnInfo {
  name: string;
  meaning: string;
  title: string; // empty: the name is shown
  range: [number | null, number | null]; // the least and the greatest possible value; null: no bound
  colors: [number, number] | null; // fixed ends of the colour scale; null: the values' own
  is_exact: boolean; // position-exact; otherwise pooled over positions
  counted_by: string; // the column with the number of samples behind a value; empty: none
  counts: string; // what the column counts, in the plural; empty: it is no count
  topic: string; // the group of the column in a list of choices
  error_of: string; // the column whose standard error it is; empty: none
  in_facts: boolean; // shown beside a chosen head
  in_list: boolean; // a column of the list of heads
}

/** The columns of head_metrics.csv, and of the tables that have several rows for a head. */
export interface Schema {
  headline: string[]; // the measures of a whole model, the preferred one first
  topics: string[]; // in the order in which they are offered
  metrics: ColumnInfo[];
  tables: Record<string, ColumnInfo[]>;
}

/** Everything about one run. */
interface RunHead {
  name: string;
  source: string | null; // null: in memory
  run: { [key: string]: Json } | null;
  model: {
    name: string | null;
    num_layers: number;
    num_q_heads: number;
    num_k_heads: number;
    windows: Record<string, number>; // tokens, by layer with a sliding window
  };
  heads: Record<"layer" | "q_head" | "k_head", Block>;
  metrics: { name: string; block: Block }[];
  labels: { name: string; block: Block }[];
  labels_file: string | null;
  tables: Partial<Record<TableName, PackedTable>>;
}

/** The difference of one column between two runs; blocks by matched head. */
export interface ColumnDifference {
  name: string;
  has_errors: boolean;
  count: number; // heads with a value in both runs
  up: number; // heads that moved up
  down: number;
  rank_correlation: number | null;
  model: Record<"a" | "b" | "difference" | "se" | "p", number | null>; // means over these heads
  difference: Block;
  se?: Block;
  z?: Block;
  p?: Block;
  q?: Block;
}

/** The difference of two runs. */
export interface ComparisonHead {
  a: number; // places of the runs
  b: number;
  problem: string | null; // why they cannot be compared; the other members are then missing
  paired: boolean; // whether both measured the same documents
  documents: [number, number]; // 0: unknown
  matched: number;
  only_a: number;
  only_b: number;
  level: number; // a head moved when its q is below this
  caveats: string[];
  heads: Record<"layer" | "q_head" | "k_head", Block>;
  columns: ColumnDifference[];
}

/** The way of the means through runs that have an order. */
export interface SeriesHead {
  x: string; // what orders the runs
  values: number[]; // of each run, ascending
  threshold: number;
  left_out: number; // heads that some runs do not have
  heads: Record<"layer" | "q_head" | "k_head", Block>;
  columns: { name: string; count: number; mean: (number | null)[]; se: (number | null)[]; crossings?: Block }[];
}

export interface ReportHead {
  schema: Schema;
  program: { version: string; commit: string };
  min_count: number;
  runs: RunHead[];
  comparisons: ComparisonHead[];
  series: SeriesHead | null;
}

/** Numbers for every head and cell: all cells of the first head, then those of the next. */
export interface Cells {
  count: number;
  keys: Record<string, Int32Array | Float64Array>;
  columns: Record<string, Float64Array>;
}

export interface Column {
  name: string;
  values: Float64Array;
  isLabel: boolean;
}

export interface Dataset {
  schema: Schema;
  program: ReportHead["program"];
  name: string; // of the run in the page
  source: string | null; // null: in memory
  run: RunHead["run"];
  model: RunHead["model"];
  labelsFile: string | null;
  count: number;
  layer: Int32Array;
  qHead: Int32Array;
  kHead: Int32Array;
  columns: Map<string, Column>;
  tables: Partial<Record<TableName, Cells>>;
  minCount: number; // a value with a smaller count is little data
  comparison?: Comparison; // for the difference of two runs: what is known about it
}

/** The difference of two runs as a dataset of its own; comparison.ts makes it. */
export interface Comparison {
  head: ComparisonHead;
  a: Dataset;
  b: Dataset;
  placesA: Int32Array; // by matched head, its index in the first run
  placesB: Int32Array;
}

export function unpack(block: Block, bytes: ArrayBuffer): Float64Array {
  const { offset, count } = block;
  if (block.kind === "f64") return new Float64Array(bytes, offset, count);
  if (block.kind === "i32") return Float64Array.from(new Int32Array(bytes, offset, count));
  const codes = new Uint16Array(bytes, offset, count);
  const values = new Float64Array(count);
  for (let i = 0; i < count; ++i) values[i] = codes[i] === 65535 ? NaN : (codes[i] / 65534) * block.scale;
  return values;
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const native = (Uint8Array as unknown as { fromBase64?(text: string): Uint8Array<ArrayBuffer> }).fromBase64;
  if (native) return native.call(Uint8Array, text);
  // For browsers before 2025.
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; ++i) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

async function inflated(text: string): Promise<ArrayBuffer> {
  const stream = new Blob([fromBase64(text)]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

function unpackTable(table: PackedTable, bytes: ArrayBuffer): Cells {
  const keys: Cells["keys"] = {};
  for (const [name, block] of Object.entries(table.keys)) {
    const Numbers = block.kind === "f64" ? Float64Array : Int32Array;
    keys[name] = new Numbers(bytes, block.offset, block.count);
  }
  const columns: Cells["columns"] = {};
  for (const [name, block] of Object.entries(table.columns)) columns[name] = unpack(block, bytes);
  return { count: table.cells, keys, columns };
}

/** The decoded page: what it says about its runs, and the bytes with their numbers. */
export interface ReportData {
  head: ReportHead;
  bytes: ArrayBuffer;
}

export async function decode(headText: string, blocksText: string): Promise<ReportData> {
  return { head: JSON.parse(headText) as ReportHead, bytes: await inflated(blocksText.trim()) };
}

export function integers(block: Block, bytes: ArrayBuffer): Int32Array {
  return new Int32Array(bytes, block.offset, block.count);
}

export function datasetOf({ head: report, bytes }: ReportData, place: number): Dataset {
  const head = report.runs[place];
  const columns = new Map<string, Column>();
  for (const { name, block } of head.metrics) columns.set(name, { name, values: unpack(block, bytes), isLabel: false });
  for (const { name, block } of head.labels) {
    // A label may have the name of a measure.
    const shown = columns.has(name) ? `${name} (label)` : name;
    columns.set(shown, { name: shown, values: unpack(block, bytes), isLabel: true });
  }
  const tables: Dataset["tables"] = {};
  for (const [name, table] of Object.entries(head.tables)) {
    tables[name as keyof Dataset["tables"]] = unpackTable(table, bytes);
  }
  return {
    schema: report.schema,
    program: report.program,
    name: head.name,
    source: head.source,
    run: head.run,
    model: head.model,
    labelsFile: head.labels_file,
    count: head.heads.layer.count,
    layer: integers(head.heads.layer, bytes),
    qHead: integers(head.heads.q_head, bytes),
    kHead: integers(head.heads.k_head, bytes),
    columns,
    tables,
    minCount: report.min_count,
  };
}

/** `L3 · H2`. */
export function shortName(data: Dataset, head: number): string {
  return `L${data.layer[head]} · H${data.qHead[head]}`;
}

const places = new WeakMap<Dataset, Map<string, number>>();

/** The index of a head, or -1. */
export function findHead(data: Dataset, layer: number, qHead: number): number {
  let found = places.get(data);
  if (!found) {
    found = new Map(Array.from({ length: data.count }, (_, i) => [`${data.layer[i]}.${data.qHead[i]}`, i]));
    places.set(data, found);
  }
  return found.get(`${layer}.${qHead}`) ?? -1;
}

/** A member of nested objects such as run.json; null when a part of the path is missing. */
export function member(json: Json | undefined, ...path: string[]): Json {
  let at: Json | undefined = json;
  for (const key of path) {
    if (at === null || at === undefined || typeof at !== "object" || Array.isArray(at)) return null;
    at = at[key];
  }
  return at ?? null;
}
