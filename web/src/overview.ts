// The top of the page: what was run, how it went, and the results for the whole model.

import { type Dataset, type Json, member } from "./data.ts";
import { type Child, element, svg } from "./dom.ts";
import { bytes, counted, mean, percent, shown } from "./numbers.ts";

const text = (json: Json): string | null => (typeof json === "string" && json !== "" ? json : null);
const number = (json: Json): number => (typeof json === "number" ? json : NaN);

export function modelName(data: Dataset): string {
  return data.model.name ?? "Unnamed model";
}

interface Failure {
  head: string;
  file: string;
  error: string;
}

function failures(data: Dataset): Failure[] {
  const failed = member(data.run, "heads", "failed");
  if (!Array.isArray(failed)) return [];
  return failed.map((entry) => ({
    head: `Layer ${shown(number(member(entry, "layer")))}, head ${shown(number(member(entry, "q_head")))}`,
    file: text(member(entry, "file")) ?? "",
    error: text(member(entry, "error")) ?? "",
  }));
}

function count(value: number, word: string, kind = ""): HTMLElement {
  return element("li", { class: kind }, element("strong", {}, value.toLocaleString("en-US")), ` ${word}`);
}

export function statusLine(data: Dataset): HTMLElement {
  const skipped = number(member(data.run, "heads", "skipped"));
  const failed = failures(data).length;
  const word = `${data.count === 1 ? "head" : "heads"} ${data.comparison ? "in both runs" : "measured"}`;
  if (data.comparison) return element("ul", { class: "status" }, count(data.count, word));
  const items = [count(data.count, word)];
  if (skipped > 0) items.push(count(skipped, "not captured"));
  if (data.run) items.push(count(failed, "failed", failed > 0 ? "bad" : ""));
  return element("ul", { class: "status" }, ...items);
}

/** The heads that failed, each with its reason. */
export function failureList(data: Dataset): HTMLElement | null {
  const failed = failures(data);
  if (failed.length === 0) return null;
  const rows = failed.map((one) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, one.head),
      element("td", {}, one.error),
      element("td", { class: "path" }, one.file),
    ),
  );
  const title = `${counted(failed.length, "head")} failed, and why`;
  return element(
    "details",
    { class: "failures", open: failed.length <= 5 },
    element("summary", {}, title),
    element("table", {}, element("tbody", {}, ...rows)),
  );
}

interface Summary {
  column: string;
  heads: number;
  mean: number;
  error: number;
  below: number;
  above: number;
}

/** From run.json; without it from the table, which has no error of the mean. */
function summaryOf(data: Dataset, column: string): Summary | null {
  const given = member(data.run, "summary", column);
  const values = [...(data.columns.get(column)?.values ?? [])].filter((value) => !Number.isNaN(value));
  if (given !== null && Number.isFinite(number(member(given, "mean")))) {
    return {
      column,
      heads: number(member(given, "heads")),
      mean: number(member(given, "mean")),
      error: number(member(given, "se")),
      below: number(member(given, "share_below_0.25")),
      above: number(member(given, "share_above_0.75")),
    };
  }
  if (values.length === 0) return null;
  const share = (test: (value: number) => boolean) => values.filter(test).length / values.length;
  return {
    column,
    heads: values.length,
    mean: mean(values),
    error: NaN,
    below: share((v) => v < 0.25),
    above: share((v) => v > 0.75),
  };
}

/** A histogram of the heads' values from 0 to 1. */
function strip(data: Dataset, column: string): SVGElement {
  const bins = new Array<number>(50).fill(0);
  for (const value of data.columns.get(column)?.values ?? []) {
    if (!Number.isNaN(value)) ++bins[Math.min(49, Math.max(0, Math.floor(value * 50)))];
  }
  const most = Math.max(...bins);
  const bars = bins.map((heads, i) => {
    const height = Math.max(2, (heads / most) * 78);
    return heads === 0 ? null : svg("rect", { x: i * 6 + 0.5, y: 80 - height, width: 5, height });
  });
  const labels = [0, 0.25, 0.5, 0.75, 1].map((at) => {
    const anchor = at === 0 ? "start" : at === 1 ? "end" : "middle";
    return svg("text", { x: at * 300, y: 94, "text-anchor": anchor }, String(at));
  });
  const floor = svg("path", { d: "M0 80.5H300" });
  return svg("svg", { viewBox: "0 0 300 96", class: "strip", "aria-hidden": "true" }, ...bars, floor, ...labels);
}

function summaryCard(data: Dataset, summary: Summary, title: string, remark: string): HTMLElement {
  const value = element("p", { class: "figure" }, shown(summary.mean));
  if (Number.isFinite(summary.error)) value.append(element("span", {}, ` ± ${shown(summary.error)}`));
  const unsure = Number.isFinite(summary.error) ? "" : "; its error is not known";
  const heads = `${summary.heads === 1 ? "" : "Mean of "}${counted(summary.heads, "head")}${unsure}.`;
  return element(
    "section",
    { class: "card summary", "data-summary": summary.column },
    element(
      "div",
      {},
      element("h3", {}, title),
      value,
      element("p", { class: "remark" }, remark),
      element("p", { class: "remark" }, heads),
    ),
    element(
      "div",
      {},
      strip(data, summary.column),
      element(
        "p",
        { class: "shares" },
        element("span", {}, `${percent(summary.below)} below 0.25`),
        element("span", {}, `${percent(summary.above)} above 0.75`),
      ),
    ),
  );
}

export function summaryCards(data: Dataset): HTMLElement[] {
  const cards: HTMLElement[] = [];
  const [best] = data.schema.headline;
  for (const name of data.schema.headline) {
    const summary = summaryOf(data, name);
    if (!summary) continue;
    const title = data.schema.metrics.find((column) => column.name === name)?.title || name;
    const remark =
      name === best
        ? `${name}, the measure to trust.`
        : cards.length > 0
          ? `${name}, for comparison with earlier work.`
          : `${name}. These results have no ${best}, which is measured only when the model's rotation is known.`;
    cards.push(summaryCard(data, summary, title, remark));
  }
  return cards;
}

function layersOf(data: Dataset): Json[] {
  const layers = member(data.run, "model", "layers");
  return Array.isArray(layers) ? layers : [];
}

function rotation(data: Dataset): string | null {
  const kinds = new Set<string>();
  for (const layer of layersOf(data)) {
    const kind = text(member(layer, "rope", "kind"));
    if (!kind) continue;
    const theta = number(member(layer, "rope", "theta"));
    kinds.add(kind === "none" ? "none" : `${kind}${Number.isFinite(theta) ? `, θ = ${shown(theta)}` : ""}`);
  }
  return kinds.size > 0 ? [...kinds].join("; ") : null;
}

/** What the vectors say about the rotation: the share of their energy that does not depend on position. */
function rotationEvidence(data: Dataset): string | null {
  const configured = number(member(data.run, "rotation", "configured"));
  const shares = member(data.run, "rotation", "share");
  if (!Number.isFinite(configured) || !Array.isArray(shares)) return null;
  const best = Math.max(...shares.map(number));
  const inferred = text(member(data.run, "rotation", "source")) === "inferred" ? "inferred from the vectors; " : "";
  return `${inferred}fixed share of energy ${shown(configured)}, at most ${shown(best)} in ${shares.length} common ways`;
}

function windows(data: Dataset): string | null {
  const layers = Object.entries(data.model.windows);
  if (layers.length === 0) return null;
  const sizes = [...new Set(layers.map(([, window]) => window))];
  const which = layers.map(([layer]) => layer).join(", ");
  return `${layers.length} of ${data.model.num_layers} layers (${which}), ${sizes.map(shown).join(" or ")} tokens`;
}

function facts(data: Dataset): [string, string | null][] {
  const { run } = data;
  const at = (...path: string[]) => member(run, ...path);
  const size = number(at("sampling", "bucket_size"));
  const files = at("input", "files");
  const kv = number(at("model", "num_k_heads"));
  const dim = number(at("model", "head_dim"));
  const wall = number(at("resources", "wall_s"));
  return [
    ["Model", data.model.name],
    [
      "Shape",
      `${data.model.num_layers} layers of ${data.model.num_q_heads} query heads${Number.isFinite(kv) ? ` on ${kv} key heads` : ""}` +
        (Number.isFinite(dim) ? ` of ${shown(dim)} components` : ""),
    ],
    ["Rotary embedding", rotation(data)],
    ["Vectors and rotation", rotationEvidence(data)],
    ["Sliding windows", windows(data)],
    ["Dump", text(at("input", "root"))],
    [
      "Files",
      files === null
        ? null
        : `${shown(number(member(files, "count")))} files, ${bytes(number(member(files, "bytes")))}`,
    ],
    [
      "Capture",
      text(at("sampling", "strategy"))
        ? `${text(at("sampling", "strategy"))}${Number.isFinite(size) ? `, buckets of ${shown(size)} tokens` : ""}`
        : null,
    ],
    [
      "Method",
      ["method", "sampler", "weighting"]
        .map((key) => text(at("config", key)))
        .filter((word) => word !== null)
        .join(", ") || null,
    ],
    ["Labels", data.labelsFile],
    ["Results", data.source ?? "in memory"],
    [
      "Measured by",
      text(at("program", "version"))
        ? `attention-plasticity ${text(at("program", "version"))} (${text(at("program", "commit"))}, ${text(at("program", "simd"))})`
        : null,
    ],
    ["Page by", `attention-plasticity ${data.program.version} (${data.program.commit})`],
    [
      "Took",
      Number.isFinite(wall)
        ? `${wall < 10 ? wall.toFixed(1) : Math.round(wall)} s with ${shown(number(at("resources", "workers")))} workers`
        : null,
    ],
  ];
}

function configTable(data: Dataset): HTMLElement | null {
  const config = member(data.run, "config");
  if (config === null || typeof config !== "object" || Array.isArray(config)) return null;
  const rows = Object.entries(config).map(([key, value]) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, key),
      element("td", {}, typeof value === "string" ? value : JSON.stringify(value)),
    ),
  );
  return element(
    "details",
    { class: "config" },
    element("summary", {}, "The whole configuration"),
    element(
      "div",
      { class: "config-scroll", tabindex: 0, role: "region", "aria-label": "The whole configuration" },
      element("table", {}, element("tbody", {}, ...rows)),
    ),
  );
}

export function runCard(data: Dataset): HTMLElement {
  const entries: Child[] = facts(data).flatMap(([name, value]) =>
    value ? [element("div", {}, element("dt", {}, name), element("dd", {}, value))] : [],
  );
  return element(
    "section",
    { class: "card run", id: "card-run" },
    element("h3", {}, "What was run"),
    data.run
      ? null
      : element("p", { class: "remark" }, "Little is known about the run: there is no run.json beside these tables."),
    element("dl", {}, ...entries),
    configTable(data),
  );
}
