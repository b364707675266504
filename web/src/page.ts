// What every part of the page gets.

import type { Dataset } from "./data.ts";
import { counted } from "./numbers.ts";
import type { Look } from "./look.ts";
import type { Runs } from "./runs.ts";
import { mostKept, type View } from "./state.ts";

export interface Page {
  runs: Runs;
  show: string; // which run of `runs`, or which difference
  data: Dataset; // what is shown
  view: View;
  heads: number[]; // the heads that pass the filter, in the order of the data
  look: Look;
  change(part: Partial<View>): void;
  /** Shows another run, or a difference; the chosen heads stay. */
  switchTo(show: string): void;
  gone: AbortSignal; // the page was taken down, to show another run
}

/** The model, and in a page of several runs the run or the difference that is shown. */
export function aboutRun({ data, runs }: Page): string {
  const model = data.model.name ?? "unnamed model";
  return runs.count > 1 ? `${model} · ${data.name}` : model;
}

export function headName(data: Dataset, head: number): string {
  return `Layer ${data.layer[head]}, head ${data.qHead[head]}`;
}

/** Chooses a head. With `adds`, the chosen head stays, and the other one is compared with it, or no more. */
export function chooseHead(page: Page, head: number, adds = false): void {
  const { view } = page;
  if (!adds || view.head < 0) {
    page.change({ head, scope: "head" });
  } else if (head !== view.head) {
    page.change({ kept: withHead(view.kept, head) });
  }
}

function withHead(kept: number[], head: number): number[] {
  if (kept.includes(head)) return kept.filter((one) => one !== head);
  return [...kept, head].slice(-mostKept);
}

/** Keeps the chosen head in the charts while other heads are chosen. */
export function keepHead(page: Page): void {
  const { head, kept } = page.view;
  if (head >= 0) page.change({ kept: withHead(kept, head) });
}

/** The chosen head and those that it is compared with, each with its colour. */
export function markedHeads(page: Page): { head: number; color: string }[] {
  const { view, look } = page;
  const marked = view.kept.map((head, i) => ({ head, color: look.kept[i % look.kept.length] }));
  return view.head >= 0
    ? [...marked.filter(({ head }) => head !== view.head), { head: view.head, color: look.accent }]
    : marked;
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
