// The view: what the page shows. It is kept in the fragment of the page's address, so that it can be sent to others.

import { curveColumns } from "./cells.ts";
import { columnChoices, columnsWith, hasColumn, mainColumn } from "./columns.ts";
import { type Dataset, findHead } from "./data.ts";

export interface View {
  head: number; // index of the chosen head in the data; -1: none
  scope: "model" | "head"; // whose cells are drawn
  middle: "mean" | "median"; // over heads
  map: string;
  distance: string; // column of the table by distance
  curve: string; // column of the table over time
  x: string;
  y: string;
  color: string;
  sort: string;
  descending: boolean;
  filter: string;
  columns: string[]; // the columns of the table
}

export function initialView(data: Dataset): View {
  const main = mainColumn(data);
  const names = columnChoices(data, false).map((choice) => choice.value);
  const first = (wanted: string[]) =>
    wanted.find((name) => data.columns.has(name) && name !== main) ?? names[0] ?? main;
  const labels = names.filter((name) => data.columns.get(name)?.isLabel);
  const usual = columnsWith(data, (column) => column.in_list);
  return {
    head: -1,
    scope: "model",
    middle: "mean",
    map: main,
    distance: "plasticity",
    curve: curveColumns(data)[0] ?? "plasticity",
    x: first(["previous_token", ...usual]),
    y: main,
    color: "layer",
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
  if (view.head >= 0) words.set("head", `${data.layer[view.head]}.${data.qHead[view.head]}`);
  for (const key of ["scope", "middle", "map", "distance", "curve", "x", "y", "color", "filter"] as const) {
    if (view[key] !== initial[key]) words.set(key, view[key]);
  }
  if (view.sort !== initial.sort || view.descending !== initial.descending) {
    words.set("sort", (view.descending ? "-" : "") + view.sort);
  }
  // A name may contain a comma, so each column is a word of its own.
  if (view.columns.join("\n") !== initial.columns.join("\n")) {
    for (const name of view.columns.length > 0 ? view.columns : [""]) words.append("column", name);
  }
  return words.toString();
}

/** The view of a fragment. Values that do not fit this report are ignored. */
export function readView(fragment: string, data: Dataset): View {
  const view = initialView(data);
  const words = new URLSearchParams(fragment.replace(/^#/, ""));
  const head = /^(\d+)\.(\d+)$/.exec(words.get("head") ?? "");
  if (head) view.head = findHead(data, Number(head[1]), Number(head[2]));
  if (words.get("scope") === "head" && view.head >= 0) view.scope = "head";
  if (words.get("middle") === "median") view.middle = "median";
  for (const key of ["map", "x", "y", "color"] as const) {
    const name = words.get(key);
    if (name !== null && hasColumn(data, name)) view[key] = name;
  }
  const distance = words.get("distance");
  if (distance !== null && Object.hasOwn(data.tables.distance?.columns ?? {}, distance)) view.distance = distance;
  const curve = words.get("curve");
  if (curve !== null && curveColumns(data).includes(curve)) view.curve = curve;
  const sort = words.get("sort");
  if (sort !== null && hasColumn(data, sort.replace(/^-/, ""))) {
    view.sort = sort.replace(/^-/, "");
    view.descending = sort.startsWith("-");
  }
  view.filter = words.get("filter") ?? "";
  if (words.has("column")) view.columns = words.getAll("column").filter((name) => data.columns.has(name));
  return view;
}
