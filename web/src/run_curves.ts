// The curves of both runs of a comparison, of which the other charts show the difference.

import { type Point, middleLine, placedCurves, points } from "./curve_lines.ts";
import type { Page } from "./page.ts";

/** A line of one of the two runs, in its colour. */
export interface RunLine {
  name: string; // of the run
  color: string;
  line: Point[];
}

/** Whether the curves are those of both runs. */
export function showsBoth({ data, view }: Page): boolean {
  return Boolean(data.comparison) && view.both;
}

const places = new WeakMap<readonly number[], [number[], number[]]>();

/** The shown heads, as heads of either run; the same lists each time, since means are kept by their heads. */
function headsOfRuns({ data, heads }: Page): [number[], number[]] {
  const { comparison } = data;
  if (!comparison) return [[], []];
  const known = places.get(heads);
  if (known) return known;
  const made: [number[], number[]] = [
    heads.map((head) => comparison.placesA[head]),
    heads.map((head) => comparison.placesB[head]),
  ];
  places.set(heads, made);
  return made;
}

function linesWith(page: Page, ofHead: boolean): RunLine[] {
  const { comparison } = page.data;
  if (!comparison) return [];
  const { a, b, placesA, placesB } = comparison;
  const heads = headsOfRuns(page);
  return [a, b].map((data, i) => {
    const all = placedCurves(data, page.view.curve);
    const own = [placesA, placesB][i][page.view.head];
    const line = !all ? [] : ofHead ? points(all, own) : middleLine({ data, heads: heads[i], view: page.view }, all);
    return { name: data.name, color: page.look.runs[i], line };
  });
}

/** The chosen head where the charts show it alone, otherwise the mean or median over the shown heads. */
export function runLines(page: Page): RunLine[] {
  return linesWith(page, page.view.scope === "head" && page.view.head >= 0);
}

/** The chosen head in both runs. */
export function bothLines(page: Page): RunLine[] {
  return linesWith(page, true);
}
