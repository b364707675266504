// What every part of the page gets.

import type { Dataset } from "./data.ts";
import { counted } from "./numbers.ts";
import type { Look } from "./look.ts";
import type { View } from "./state.ts";

export interface Page {
  data: Dataset;
  view: View;
  heads: number[]; // the heads that pass the filter, in the order of the data
  look: Look;
  change(part: Partial<View>): void;
}

export function headName(data: Dataset, head: number): string {
  return `Layer ${data.layer[head]}, head ${data.qHead[head]}`;
}

/** "40 heads", or "the 12 heads that the filter shows". */
export function headCount(page: Page): string {
  const { length } = page.heads;
  const count = counted(length, "head");
  return length === page.data.count ? count : `the ${count} that the filter shows`;
}

/** "Mean of 40 heads"; the name of the head when there is only one, since its values are its own. */
export function middleOfHeads(page: Page): string {
  if (page.heads.length === 1) return headName(page.data, page.heads[0]);
  return `${page.view.middle === "mean" ? "Mean" : "Median"} of ${headCount(page)}`;
}

/** For captions: which values of a mean over heads are little data. */
export function littleData(data: Dataset, counts: string, heads: number): string {
  if (heads === 1) return `fewer than ${data.minCount} ${counts}`;
  return `${counts} × share of heads with any below ${data.minCount}`;
}
