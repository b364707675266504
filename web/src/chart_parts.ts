// Pieces that several charts share.

import { valueOf, errorOf } from "./columns.ts";
import type { Dataset } from "./data.ts";
import { element } from "./dom.ts";
import { font, type Look } from "./look.ts";
import { shown, withError } from "./numbers.ts";
import { headName } from "./page.ts";
import type { Option } from "./chart_card.ts";

export function base(look: Look): Option {
  return { animation: false, textStyle: { fontFamily: font, color: look.ink } };
}

export function axis(look: Look, name: string, more: Option = {}): Option {
  return {
    name,
    nameLocation: "middle",
    nameTextStyle: { color: look.muted, fontSize: 12 },
    axisLine: { show: true, onZero: false, lineStyle: { color: look.faint } },
    axisTick: { show: false },
    axisLabel: { color: look.muted, fontSize: 11, hideOverlap: true },
    splitLine: { show: false },
    ...more,
  };
}

/** A cell with little data: hatched lines on the colour of the page. */
export function hatched(look: Look, shape: { x: number; y: number; width: number; height: number }): Option {
  const { x, y, width, height } = shape;
  const style = { stroke: look.faint, fill: "none", lineWidth: 1 };
  const step = 6;
  const lines: Option[] = [];
  // Lines that rise to the right, cut at the edges of the cell.
  for (let at = step / 2; at < width + height; at += step) {
    lines.push({
      type: "line",
      style,
      shape: {
        x1: x + Math.max(0, at - height),
        y1: y + Math.min(height, at),
        x2: x + Math.min(width, at),
        y2: y + Math.max(0, at - width),
      },
    });
  }
  return {
    type: "group",
    children: [{ type: "rect", shape, style: { ...style, fill: look.surface, lineWidth: 0.75 } }, ...lines],
  };
}

/** What a custom series draws with. */
export interface CellApi {
  value(dimension: number): number;
  coord(point: number[]): number[];
  size(extent: number[]): number[];
}

/** The rectangle of a cell of two axes of categories, shrunk by a gap. */
export function cellShape(api: CellApi, gap: number) {
  const [x, y] = api.coord([api.value(0), api.value(1)]);
  const [width, height] = api.size([1, 1]);
  return { x: x - width / 2 + gap, y: y - height / 2 + gap, width: width - 2 * gap, height: height - 2 * gap };
}

export type Row = [label: string, value: string];

/** The content of a tooltip. */
export function tip(title: string, rows: Row[]): HTMLElement {
  const lines = rows.map(([label, value]) =>
    element("tr", {}, element("th", { scope: "row" }, label), element("td", {}, value)),
  );
  return element("div", { class: "tip" }, element("strong", {}, title), element("table", {}, ...lines));
}

export function tooltip(
  look: Look,
  content: (item: { seriesId?: string; data?: unknown; dataIndex: number }) => HTMLElement | null,
): Option {
  return {
    trigger: "item",
    confine: true,
    backgroundColor: look.surface,
    borderColor: look.faint,
    borderWidth: 1,
    padding: 10,
    textStyle: { color: look.ink, fontSize: 12, fontFamily: font },
    transitionDuration: 0,
    formatter: (item: { seriesId?: string; data?: unknown; dataIndex: number }) => content(item) ?? "",
  };
}

/** The content of a head's tooltip: the values of some columns. */
export function headTip(data: Dataset, head: number, columns: string[]): HTMLElement {
  const rows: Row[] = [];
  for (const column of new Set(columns)) {
    if (column === "layer") continue;
    const error = errorOf(data, column);
    rows.push([column, withError(valueOf(data, column, head), error ? valueOf(data, error, head) : NaN)]);
  }
  const window = data.model.windows[String(data.layer[head])];
  if (window) rows.push(["sliding window", `${shown(window)} tokens`]);
  return tip(headName(data, head), rows);
}
