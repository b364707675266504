// What the card of a head tells about several runs: its values in both runs of a comparison with their difference, and
// its way through all runs of the page.

import { errorOf, mainColumn, valueOf } from "./columns.ts";
import { comparedColumn } from "./comparison.ts";
import { type Dataset, findHead, integers, unpack } from "./data.ts";
import { element } from "./dom.ts";
import { shown, signed } from "./numbers.ts";
import { headName, type Page } from "./page.ts";
import type { Runs } from "./runs.ts";

/** A value, and below it what is known about it. The card is narrow. */
function cellWith(value: string, more: string[], isMoved = false): HTMLElement {
  const below = more.map((text) => element("span", { class: "q" }, text));
  return element("td", { class: isMoved ? "moved" : null }, value, ...below);
}

const errorText = (error: number) => (Number.isFinite(error) ? [`± ${shown(error)}`] : []);

/** A difference, and below it its error and q. */
export function differenceCell(difference: number, error: number, q: number, level: number): HTMLElement {
  const sure = Number.isFinite(q) ? [`q ${q < 0.0001 ? "" : "= "}${shownProbability(q)}`] : [];
  return cellWith(signed(difference), [...errorText(error), ...sure], q < level);
}

export function shownProbability(p: number): string {
  if (!Number.isFinite(p)) return "–";
  return p < 0.0001 ? "< 0.0001" : p.toFixed(4);
}

/** The cells of a fact in a comparison: the first run, the second, the difference. */
export function comparedCells(data: Dataset, column: string, head: number): HTMLElement[] {
  const error = errorOf(data, column);
  const cell = (letter: string) => element("td", {}, shown(valueOf(data, `${column}_${letter}`, head)));
  const { level } = data.comparison?.head ?? { level: 0.05 };
  const difference = differenceCell(
    valueOf(data, column, head),
    error ? valueOf(data, error, head) : NaN,
    valueOf(data, `${column}_q`, head),
    level,
  );
  return [cell("a"), cell("b"), difference];
}

/** The column of the map, or the one that it is about, if all runs have it; otherwise their main one. */
export function followedColumn(page: Page): string {
  const wanted = comparedColumn(page.data, page.view.map)?.name ?? page.view.map;
  const isEverywhere = page.runs.names.every((_, i) => {
    const column = page.runs.run(i).columns.get(wanted);
    return column !== undefined && !column.isLabel;
  });
  return isEverywhere ? wanted : mainColumn(page.runs.run(0));
}

/** A head of the shown data, in another run; -1: the run does not have it. */
export function headIn(data: Dataset, other: Dataset, head: number): number {
  return findHead(other, data.layer[head], data.qHead[head]);
}

/** The values of a comparison's column for one head, by layer and number; NaN where it is not known. */
export function changeOf(runs: Runs, a: number, b: number, column: string, data: Dataset, head: number) {
  const nothing = { difference: NaN, error: NaN, q: NaN, level: 0.05 };
  if (!runs.comparison(a, b)) return nothing;
  const compared = runs.differences(a, b, column);
  const place = compared ? compared.placeOf(data.layer[head], data.qHead[head]) : -1;
  if (!compared || place < 0) return nothing;
  const { level } = compared;
  return { difference: compared.difference[place], error: compared.se?.[place] ?? NaN, q: compared.q?.[place] ?? NaN, level };
}

/** Where a head crosses the threshold of the series, by run: 1 upwards, −1 downwards, 0 not at all. */
export function crossingsOf(runs: Runs, column: string, data: Dataset, head: number): Int32Array | null {
  const { series, report } = runs;
  const block = series?.columns.find(({ name }) => name === column)?.crossings;
  if (!series || !block) return null;
  const [layers, heads] = (["layer", "q_head"] as const).map((key) => integers(series.heads[key], report.bytes));
  const place = layers.findIndex((layer, i) => layer === data.layer[head] && heads[i] === data.qHead[head]);
  const all = unpack(block, report.bytes);
  return place < 0 ? null : Int32Array.from(all.subarray(place * runs.count, (place + 1) * runs.count));
}

/** One column of the chosen head in every run, with its change from the first. */
export function runsTable(page: Page): HTMLElement | null {
  const { runs, data, view } = page;
  if (runs.count < 2 || (data.comparison && runs.count === 2)) return null;
  const column = followedColumn(page);
  const crossings = crossingsOf(runs, column, data, view.head);
  const { series } = runs;
  const rows = runs.names.map((name, i) => {
    const run = runs.run(i);
    const head = headIn(data, run, view.head);
    const error = errorOf(run, column);
    const value = head < 0 ? NaN : valueOf(run, column, head);
    const { difference, error: se, q, level } = changeOf(runs, 0, i, column, data, view.head);
    const crossing = crossings?.[i] ?? 0;
    const crossed = crossing === 0 ? [] : [`${crossing > 0 ? "rises above" : "falls below"} ${series?.threshold}`];
    const cell = cellWith(shown(value), [...errorText(head >= 0 && error ? valueOf(run, error, head) : NaN), ...crossed]);
    const isShown = page.show === String(i);
    return element(
      "tr",
      { class: isShown ? "shown-run" : null },
      element("th", { scope: "row" }, name),
      cell,
      i === 0 ? element("td", {}, "") : differenceCell(difference, se, q, level),
    );
  });
  const names = ["run", column, "change from the first"].map((name) => element("th", { scope: "col" }, name));
  return element(
    "table",
    { class: "head-facts head-runs", "aria-label": `${column} of ${headName(data, view.head)} in all runs` },
    element("thead", {}, element("tr", {}, ...names)),
    element("tbody", {}, ...rows),
  );
}
