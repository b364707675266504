// What every part of the page gets.

import type { Dataset } from "./data.ts";
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
  const count = `${length.toLocaleString("en-US")} ${length === 1 ? "head" : "heads"}`;
  return length === page.data.count ? count : `the ${count} that the filter shows`;
}
