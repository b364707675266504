// The lines of the curves over position: of one head, and the mean or median over heads.

import { curves, type Curves, geometry, meanError, support } from "./cells.ts";
import type { Dataset } from "./data.ts";
import { mean, weighted } from "./numbers.ts";
import type { Page } from "./page.ts";

/** The heads of a mean or median. */
type Heads = Pick<Page, "data" | "heads" | "view">;

/** A point of a bold line. */
export interface Point {
  x: number;
  y: number;
  error: number; // NaN: unknown
  count: number; // NaN: unknown
  support: number;
  heads: number;
}

/** The points of a head. */
export function points(all: Curves, head: number): Point[] {
  const line: Point[] = [];
  for (let at = 0; at < all.buckets.length; ++at) {
    const count = all.count(head, at);
    const [x, y, error] = [all.x(head, at), all.y(head, at), all.error(head, at)];
    if (!Number.isNaN(x) && !Number.isNaN(y) && count !== 0) line.push({ x, y, error, count, support: count, heads: 1 });
  }
  return line;
}

const lastMiddle = new WeakMap<Curves, { heads: readonly number[]; middle: string; line: Point[] }>();

/** The mean or median over heads, weighted by their counts. Only the mean has an error. */
export function middleLine(page: Heads, all: Curves): Point[] {
  const { heads, view } = page;
  const last = lastMiddle.get(all);
  if (last?.heads === heads && last.middle === view.middle) return last.line;
  const line = makeMiddleLine(page, all);
  lastMiddle.set(all, { heads, middle: view.middle, line });
  return line;
}

function makeMiddleLine(page: Heads, all: Curves): Point[] {
  const { data, view } = page;
  const line: Point[] = [];
  const anywhere = new Set<number>();
  for (let at = 0; at < all.buckets.length; ++at) {
    const heads = page.heads.filter(
      (head) => !Number.isNaN(all.y(head, at)) && !Number.isNaN(all.x(head, at)) && all.count(head, at) !== 0,
    );
    if (heads.length === 0) continue;
    heads.forEach((head) => anywhere.add(head));
    const counts = heads.map((head) => all.count(head, at));
    const weights = counts.map((count) => (Number.isNaN(count) ? 1 : count));
    const errors = heads.map((head) => all.error(head, at));
    line.push({
      x: mean(heads.map((head) => all.x(head, at))),
      y: weighted(
        view.middle,
        heads.map((head) => all.y(head, at)),
        weights,
      ),
      error: view.middle === "mean" || heads.length === 1 ? meanError(data, heads, weights, errors) : NaN,
      count: counts.reduce((sum, count) => sum + count, 0),
      support: NaN,
      heads: heads.length,
    });
  }
  for (const point of line) point.support = support(point.count, point.heads, anywhere.size);
  return line;
}

const placed = new WeakMap<Dataset, Map<string, Curves | null>>();

/** The curves of a column, by position or by its logarithm; the same object each time. */
export function placedCurves(data: Dataset, column: string): Curves | null {
  const known = placed.get(data) ?? new Map<string, Curves | null>();
  placed.set(data, known);
  const found = known.get(column);
  if (found !== undefined) return found;
  let made = curves(data, column);
  if (made && geometry(data).log) {
    const { x } = made;
    made = { ...made, x: (head, at) => Math.log2(Math.max(1, x(head, at))) };
  }
  known.set(column, made);
  return made;
}
