// What stands beside the cells of the map: the mean of each layer above, KV heads to the right, sliding windows below.

import type { Option } from "./chart_card.ts";
import type { CellApi } from "./chart_parts.ts";
import { hasLittleData, valueOf } from "./columns.ts";
import type { Dataset } from "./data.ts";
import { font } from "./look.ts";
import { mean } from "./numbers.ts";
import type { Page } from "./page.ts";
import { groupSize } from "./plan.ts";

interface Drawing {
  coordSys: { x: number; y: number; width: number; height: number };
}

export interface LayerMean {
  layer: number;
  mean: number;
  heads: number; // of the shown heads, those with a value that rests on enough data
}

/** The plain mean of the shown heads of each layer. Values with little data are left out, as from the colours. */
export function layerMeans(page: Page): LayerMean[] {
  const { data, view } = page;
  const values = new Map<number, number[]>();
  for (const head of page.heads) {
    const value = valueOf(data, view.map, head);
    if (Number.isNaN(value) || hasLittleData(data, view.map, head)) continue;
    const layer = data.layer[head];
    const list = values.get(layer);
    if (list) list.push(value);
    else values.set(layer, [value]);
  }
  return [...values]
    .map(([layer, list]) => ({ layer, mean: mean(list), heads: list.length }))
    .sort((a, b) => a.layer - b.layer);
}

/** A strip above the map with the mean of each layer, in the colours of the map. */
export function layerSeries(means: LayerMean[]): Option {
  return {
    id: "layers",
    type: "custom",
    clip: false,
    data: means.map((one) => [one.layer, 0, one.mean, one.heads]),
    renderItem: (drawing: Drawing, api: CellApi & { visual(channel: string): string }) => {
      const [x] = api.coord([api.value(0), 0]);
      const [width] = api.size([1, 1]);
      const gap = width < 8 ? 0 : 0.5;
      const shape = { x: x - width / 2 + gap, y: drawing.coordSys.y - 22, width: width - 2 * gap, height: 14 };
      return { type: "rect", shape, style: { fill: api.visual("color") } };
    },
  };
}

/** Whether several query heads read one KV head. */
export function hasGroups(data: Dataset): boolean {
  return groupSize(data) > 1;
}

/** A bracket to the right of the query heads that read one KV head, with its number. */
export function groupSeries(page: Page): Option {
  const { data, look } = page;
  const group = groupSize(data);
  const count = group > 1 ? data.model.num_k_heads : 0;
  return {
    id: "groups",
    type: "custom",
    clip: false,
    silent: true,
    data: Array.from({ length: count }, (_, kv) => [0, kv * group, kv]),
    renderItem: (drawing: Drawing, api: CellApi) => {
      const kv = api.value(2);
      const [, size] = api.size([1, 1]);
      const top = api.coord([0, kv * group])[1] - size / 2 + 1;
      const bottom = top + group * size - 2;
      const x = drawing.coordSys.x + drawing.coordSys.width + 5;
      const points = [
        [x, top],
        [x + 4, top],
        [x + 4, bottom],
        [x, bottom],
      ];
      // Every number has room, or only every fourth has.
      const hasName = group * size >= 13 || (4 * group * size >= 13 && kv % 4 === 0);
      return {
        type: "group",
        children: [
          { type: "polyline", shape: { points }, style: { stroke: look.muted, fill: "none", lineWidth: 1.25 } },
          {
            type: "text",
            invisible: !hasName,
            x: x + 9,
            y: (top + bottom) / 2,
            style: { text: String(kv), fill: look.muted, font: `11px ${font}`, textVerticalAlign: "middle" },
          },
        ],
      };
    },
  };
}

/** A bar below each layer with a sliding window. */
export function slidingSeries(page: Page): Option {
  return {
    id: "sliding",
    type: "custom",
    silent: true,
    clip: false,
    data: Object.keys(page.data.model.windows).map((layer) => [Number(layer), 0]),
    renderItem: (drawing: Drawing, api: CellApi) => {
      const [x] = api.coord([api.value(0), 0]);
      const [width] = api.size([1, 1]);
      const bar = {
        x: x - width / 2 + 1,
        y: drawing.coordSys.y + drawing.coordSys.height + 3,
        width: width - 2,
        height: 4,
      };
      return { type: "rect", shape: bar, style: { fill: page.look.ink } };
    },
  };
}

/** The names of the strip and of the brackets. */
export function marginNames(page: Page, grid: { left: number; right: number; top: number }): Option[] {
  const name = (text: string, more: Option): Option => ({
    type: "text",
    silent: true,
    style: { text, fill: page.look.muted, font: `11px ${font}` },
    ...more,
  });
  const names = [name("mean", { left: grid.left - 36, top: grid.top - 21 })];
  if (hasGroups(page.data)) names.push(name("KV", { right: grid.right - 27, top: grid.top - 21 }));
  return names;
}
