// The two axes of the scatter chart: linear or logarithmic, whole or zoomed.

import { rangeOf, valueOf } from "./columns.ts";
import type { Option } from "./chart_card.ts";
import { brief } from "./numbers.ts";
import type { Page } from "./page.ts";
import { numbersOf } from "./state.ts";

export type Side = "x" | "y";

/** Data are drawn at `to(value)`: ECharts' own logarithmic axis has marks at powers of ten only. */
export interface Scale {
  column: string;
  isLog: boolean;
  to(value: number): number;
  from(place: number): number;
}

export function scaleOf(page: Page, side: Side): Scale {
  const isLog = page.view.logs.includes(side);
  const column = page.view[side];
  return isLog
    ? { column, isLog, to: Math.log10, from: (place) => 10 ** place }
    : { column, isLog, to: (value) => value, from: (place) => place };
}

/** Whether a head has a place on an axis: a logarithmic one has none for 0 and below. */
export function hasPlace(page: Page, side: Side, head: number): boolean {
  return Number.isFinite(scaleOf(page, side).to(valueOf(page.data, page.view[side], head)));
}

/** Round numbers on a logarithmic axis: powers of ten, or 1, 2 and 5 times these, or a few steps. */
export function logTicks(low: number, high: number): number[] {
  const marks = (factors: number[]) => {
    const found: number[] = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); ++power) {
      for (const factor of factors) {
        const value = Number(`${factor}e${power}`);
        if (value >= low && value <= high) found.push(value);
      }
    }
    return found;
  };
  const sets = [[1], [1, 2, 5], [1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9]].map(marks);
  return sets.find((set) => set.length >= 4) ?? [low, ...sets[2], high];
}

/** The part of an axis that is zoomed into, in values; null: all of it. */
export function zoomOf(page: Page, side: Side): [number, number] | null {
  const zoom = numbersOf(page.view.zoom, 4);
  if (!zoom) return null;
  const [low, high] = side === "x" ? [zoom[0], zoom[1]] : [zoom[2], zoom[3]];
  return page.view.logs.includes(side) && low <= 0 ? null : [low, high];
}

/** The ends of an axis, and its marks where ECharts does not find them. */
export function ends(page: Page, side: Side, heads: number[]): Option {
  const { data, view } = page;
  const scale = scaleOf(page, side);
  const zoom = zoomOf(page, side);
  const format = { formatter: (place: number) => brief(scale.from(place)) };
  if (!scale.isLog) {
    if (zoom) return { min: zoom[0], max: zoom[1] };
    // ECharts would put a single point in the middle of an axis that leaves the range of possible values.
    if (heads.length !== 1) return { scale: true };
    const [min, max] = rangeOf(data, view[side], heads);
    return { min, max };
  }
  let [low, high] = zoom ?? [Infinity, 0];
  if (!zoom) {
    for (const head of heads) {
      const value = valueOf(data, view[side], head);
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
    if (!(low <= high)) [low, high] = [1, 10];
    const margin = low < high ? (high / low) ** 0.04 : 2;
    [low, high] = [low / margin, high * margin];
  }
  const customValues = logTicks(low, high).map(scale.to);
  return {
    min: scale.to(low),
    max: scale.to(high),
    axisTick: { show: false, customValues },
    splitLine: { show: true, customValues },
    axisLabel: { ...format, customValues },
  };
}
