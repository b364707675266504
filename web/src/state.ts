// The view: what the page shows. It is kept in the fragment of the page's address, so that it can be sent to others.

import { curveColumns } from "./cells.ts";
import { columnChoices, columnsWith, hasColumn, mainColumn } from "./columns.ts";
import { type Dataset, findHead } from "./data.ts";

export interface View {
  head: number; // index of the chosen head in the data; -1: none
  kept: number[]; // indices of further heads to compare with, at most `mostKept`
  scope: "model" | "head"; // whose cells are drawn
  middle: "mean" | "median"; // over heads
  map: string;
  range: string; // "low:high": the ends of the map's colours, either may be empty; empty: those of the column
  plan: boolean; // whether the map shows a cache plan
  keep: number; // the share of KV heads that the plan keeps full
  group: "max" | "mean"; // see plan.ts, as for window and sinks
  window: number;
  sinks: number;
  distance: string; // column of the table by distance
  curve: string; // column of the table over time
  both: boolean; // whether the curves of a comparison are those of both runs; otherwise their difference
  x: string;
  y: string;
  color: string;
  logs: string; // the axes of the scatter chart that are logarithmic: "", "x", "y" or "xy"
  zoom: string; // "x0:x1:y0:y1": the part of the scatter chart that is shown; empty: all
  sort: string;
  descending: boolean;
  filter: string;
  columns: string[]; // the columns of the table
}

/** As many as there are colours for them. */
export const mostKept = 6;

const defaultPlan = { plan: false, keep: 0.5, group: "max", window: 64, sinks: 4 } as const;

/** Numbers with colons in between, of which some may be empty (NaN); null when the text is something else. */
export function numbersOf(text: string, count: number): number[] | null {
  const words = text.split(":");
  if (words.length !== count) return null;
  const numbers = words.map((word) => (word === "" ? NaN : Number(word)));
  return numbers.some((number, i) => words[i] !== "" && !Number.isFinite(number)) ? null : numbers;
}

export function initialView(data: Dataset): View {
  const main = mainColumn(data);
  const names = columnChoices(data, false).map((choice) => choice.value);
  const first = (wanted: string[]) =>
    wanted.find((name) => data.columns.has(name) && name !== main) ?? names[0] ?? main;
  const labels = names.filter((name) => data.columns.get(name)?.isLabel);
  // In a comparison, what belongs to a column stands together.
  const usual = data.comparison
    ? data.schema.metrics.filter(({ name, in_list }) => in_list && data.columns.has(name)).map(({ name }) => name)
    : columnsWith(data, (column) => column.in_list);
  const isComparison = Boolean(data.comparison);
  return {
    head: -1,
    kept: [],
    scope: "model",
    middle: "mean",
    map: main,
    range: "",
    ...defaultPlan,
    distance: "plasticity",
    curve: curveColumns(data)[0] ?? "plasticity",
    both: false,
    x: isComparison ? `${main}_a` : first(["previous_token", ...usual]),
    y: isComparison ? `${main}_b` : main,
    color: "layer",
    logs: "",
    zoom: "",
    sort: main,
    descending: true,
    filter: "",
    columns: [...usual, ...labels.slice(0, 3)],
  };
}

/** The fragment of a view. It holds only what differs from the initial view. */
export function writeView(view: View, data: Dataset): string {
  const initial = initialView(data);
  const words = new URLSearchParams();
  const name = (head: number) => `${data.layer[head]}.${data.qHead[head]}`;
  if (view.head >= 0) words.set("head", name(view.head));
  for (const head of view.kept) words.append("with", name(head));
  const texts = ["scope", "middle", "map", "range", "group", "distance", "curve", "x", "y", "color", "logs", "zoom", "filter"];
  for (const key of [...texts, "keep", "window", "sinks"] as (keyof View)[]) {
    if (view[key] !== initial[key]) words.set(key, String(view[key]));
  }
  if (view.plan) words.set("plan", "on");
  if (view.both) words.set("curves", "both");
  if (view.sort !== initial.sort || view.descending !== initial.descending) {
    words.set("sort", (view.descending ? "-" : "") + view.sort);
  }
  // A name may contain a comma, so each column is a word of its own.
  if (view.columns.join("\n") !== initial.columns.join("\n")) {
    for (const name of view.columns.length > 0 ? view.columns : [""]) words.append("column", name);
  }
  return words.toString();
}

function readPlan(view: View, words: URLSearchParams): void {
  view.plan = words.get("plan") === "on";
  if (words.get("group") === "mean") view.group = "mean";
  const number = (key: string, least: number, most: number, before: number) => {
    const value = Number(words.get(key) ?? NaN);
    return value >= least && value <= most ? value : before;
  };
  view.keep = number("keep", 0, 1, view.keep);
  view.window = Math.round(number("window", 1, 1e12, view.window));
  view.sinks = Math.round(number("sinks", 0, 1e12, view.sinks));
}

/** The view of a fragment. Values that do not fit this report are ignored. */
export function readView(fragment: string, data: Dataset): View {
  const view = initialView(data);
  const words = new URLSearchParams(fragment.replace(/^#/, ""));
  const headOf = (name: string) => {
    const found = /^(\d+)\.(\d+)$/.exec(name);
    return found ? findHead(data, Number(found[1]), Number(found[2])) : -1;
  };
  view.head = headOf(words.get("head") ?? "");
  view.kept = [...new Set(words.getAll("with").map(headOf))].filter((head) => head >= 0).slice(0, mostKept);
  if (words.get("scope") === "head" && view.head >= 0) view.scope = "head";
  if (words.get("middle") === "median") view.middle = "median";
  for (const key of ["map", "x", "y", "color"] as const) {
    const name = words.get(key);
    if (name !== null && hasColumn(data, name)) view[key] = name;
  }
  const range = numbersOf(words.get("range") ?? "", 2);
  if (range && !(range[0] >= range[1])) view.range = words.get("range") ?? "";
  readPlan(view, words);
  if (["x", "y", "xy"].includes(words.get("logs") ?? "")) view.logs = words.get("logs") ?? "";
  const zoom = numbersOf(words.get("zoom") ?? "", 4);
  if (zoom && zoom[0] < zoom[1] && zoom[2] < zoom[3]) view.zoom = words.get("zoom") ?? "";
  const distance = words.get("distance");
  if (distance !== null && Object.hasOwn(data.tables.distance?.columns ?? {}, distance)) view.distance = distance;
  const curve = words.get("curve");
  if (curve !== null && curveColumns(data).includes(curve)) view.curve = curve;
  view.both = Boolean(data.comparison) && words.get("curves") === "both";
  const sort = words.get("sort");
  if (sort !== null && hasColumn(data, sort.replace(/^-/, ""))) {
    view.sort = sort.replace(/^-/, "");
    view.descending = sort.startsWith("-");
  }
  view.filter = words.get("filter") ?? "";
  if (words.has("column")) view.columns = words.getAll("column").filter((name) => data.columns.has(name));
  return view;
}
