// The scatter chart of a comparison: the second run against the first.

import type { Option } from "./chart_card.ts";
import { errorOf, valueOf } from "./columns.ts";
import { comparedColumn } from "./comparison.ts";
import type { Page } from "./page.ts";
import { scaleOf } from "./scatter_axes.ts";

/** Whether the chart shows a column in the second run against the same column in the first. */
export function isRunAgainstRun({ data, view }: Page): boolean {
  const compared = comparedColumn(data, view.x)?.name;
  return compared !== undefined && view.x === `${compared}_a` && view.y === `${compared}_b`;
}

/** The columns with the errors across and up, where one run stands against the other: upright, the error of the
 * difference. Null: the errors are those of the columns themselves. */
export function runErrors(page: Page): [string | null, string | null] | null {
  const compared = comparedColumn(page.data, page.view.x)?.name;
  return compared && isRunAgainstRun(page) ? [null, errorOf(page.data, compared)] : null;
}

/** The line of equal values, for one run against the other. */
export function identity(page: Page, heads: readonly number[]): Option | null {
  if (!isRunAgainstRun(page) || heads.length === 0) return null;
  const { data, view } = page;
  let [low, high] = [Infinity, -Infinity];
  for (const head of heads) {
    for (const column of [view.x, view.y]) {
      const value = valueOf(data, column, head);
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
  }
  const points = [low, high].map((value) => [scaleOf(page, "x").to(value), scaleOf(page, "y").to(value)]);
  return {
    id: "identity",
    type: "line",
    data: points,
    silent: true,
    symbol: "none",
    clip: true,
    z: 1,
    lineStyle: { color: page.look.muted, width: 1, type: "dashed" },
  };
}
