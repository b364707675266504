// A map of all heads by layer and number, coloured by one column.

import { axis, base, type CellApi, cellShape, hatched, headTip, scale, tip, tooltip } from "./chart_parts.ts";
import type { Chart, Option } from "./chart_card.ts";
import {
  columnChoices,
  countOf,
  hasLittleData,
  mainColumn,
  meaning,
  measureWord,
  rangeOf,
  usualFacts,
  valueOf,
} from "./columns.ts";
import { findHead } from "./data.ts";
import { selector } from "./dom.ts";
import { viridis } from "./look.ts";
import { counted, shown, span } from "./numbers.ts";
import { headName, type Page } from "./page.ts";

interface Drawing {
  coordSys: { x: number; y: number; width: number; height: number };
}
function missingCells(page: Page): number[][] {
  const { data } = page;
  const measured = new Set(Array.from({ length: data.count }, (_, i) => data.layer[i] * 1e5 + data.qHead[i]));
  const cells: number[][] = [];
  for (let layer = 0; layer < data.model.num_layers; ++layer) {
    for (let head = 0; head < data.model.num_q_heads; ++head) {
      if (!measured.has(layer * 1e5 + head)) cells.push([layer, head]);
    }
  }
  return cells;
}

function missingSeries(page: Page): Option {
  const { look } = page;
  return {
    id: "missing",
    type: "custom",
    data: missingCells(page),
    renderItem: (_: unknown, api: CellApi) => {
      const shape = cellShape(api, 1);
      const style = { stroke: look.faint, fill: "none", lineWidth: 0.75, opacity: 0.7 };
      const { x, y, width, height } = shape;
      return {
        type: "group",
        children: [
          { type: "rect", shape, style: { ...style, fill: look.surface } },
          { type: "line", shape: { x1: x, y1: y + height, x2: x + width, y2: y }, style },
        ],
      };
    },
  };
}

/** Heads whose value rests on little data. */
function littleSeries(page: Page, known: number[]): Option {
  const { data, view, look } = page;
  return {
    id: "little",
    type: "custom",
    data: known
      .filter((head) => hasLittleData(data, view.map, head))
      .map((head) => [data.layer[head], data.qHead[head], head]),
    renderItem: (_: unknown, api: CellApi) => hatched(look, cellShape(api, 1)),
  };
}

function chosenSeries(page: Page): Option {
  const { data, view, look } = page;
  return {
    id: "chosen",
    type: "custom",
    silent: true,
    z: 5,
    data: view.head >= 0 ? [[data.layer[view.head], data.qHead[view.head]]] : [],
    renderItem: (_: unknown, api: CellApi) => {
      const shape = cellShape(api, -1);
      return {
        type: "group",
        children: [
          { type: "rect", shape, style: { fill: "none", stroke: look.surface, lineWidth: 5 } },
          { type: "rect", shape, style: { fill: "none", stroke: look.accent, lineWidth: 2.5 } },
        ],
      };
    },
  };
}

/** A bar below each layer with a sliding window. */
function slidingSeries(page: Page): Option {
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

/** The height of a cell in pixels: cells are as square as possible, and the whole map fits on one screen. */
function cellHeight(page: Page, width: number): number {
  const { num_layers: layers, num_q_heads: heads } = page.data.model;
  return Math.max(9, Math.min(26, (width - 58) / layers, 580 / heads));
}

function option(page: Page, width: number): Option {
  const { data, view, look } = page;
  const all = Array.from({ length: data.count }, (_, i) => i);
  const passing = new Set(page.heads);
  const known = all.filter((head) => !Number.isNaN(valueOf(data, view.map, head)));
  const cells = known
    .filter((head) => !hasLittleData(data, view.map, head))
    .map((head) => ({
      value: [data.layer[head], data.qHead[head], valueOf(data, view.map, head), head],
      itemStyle: { opacity: passing.has(head) ? 1 : 0.12 },
    }));
  const numbers = (count: number) => Array.from({ length: count }, (_, i) => String(i));
  return {
    ...base(look),
    grid: { left: 46, right: 12, top: 8, bottom: 74 },
    xAxis: axis(look, "layer", {
      type: "category",
      data: numbers(data.model.num_layers),
      nameGap: 28,
      axisLine: { show: false },
      axisLabel: { color: look.muted, fontSize: 11, hideOverlap: true, margin: 12 },
    }),
    yAxis: axis(look, "query head", {
      type: "category",
      data: numbers(data.model.num_q_heads),
      inverse: true,
      nameGap: 28,
      axisLine: { show: false },
      axisLabel: { color: look.muted, fontSize: 11, interval: cellHeight(page, width) < 14 ? 3 : 0 },
    }),
    visualMap: scale(look, viridis, rangeOf(data, view.map, all), view.map, { dimension: 2, seriesIndex: 0 }),
    tooltip: tooltip(look, (item) => {
      if (item.seriesId === "little") {
        return headTip(data, (item.data as number[])[2], [view.map, mainColumn(data)]);
      }
      if (item.seriesId === "missing") {
        const [layer, head] = item.data as number[];
        return tip(`Layer ${layer}, head ${head}`, [["", "not measured"]]);
      }
      return headTip(
        data,
        (item.data as { value: number[] }).value[3],
        [view.map, mainColumn(data), ...usualFacts(data)],
      );
    }),
    series: [
      {
        id: "heads",
        type: "heatmap",
        data: cells,
        itemStyle: { borderColor: look.surface, borderWidth: 1 },
        emphasis: { itemStyle: { borderColor: look.ink, borderWidth: 2 } },
      },
      missingSeries(page),
      littleSeries(page, known),
      chosenSeries(page),
      slidingSeries(page),
    ],
  };
}

function caption(page: Page): string {
  const { data, view } = page;
  const parts = [
    `${view.map}: ${meaning(data, view.map).replace(/^./, (c) => c.toLowerCase()) || "a column of the table"}.`,
  ];
  const windows = [...new Set(Object.values(data.model.windows))];
  if (windows.length > 0)
    parts.push(`A bar below a layer: sliding window of ${windows.map(shown).join(" or ")} tokens.`);
  if (data.count < data.model.num_layers * data.model.num_q_heads) parts.push("Crossed cells were not measured.");
  const all = Array.from({ length: data.count }, (_, head) => head);
  const counts = all.map((head) => countOf(data, view.map, head));
  const range = span(counts.map(({ count }) => count));
  if (range !== "") {
    const each = data.count === 1 ? "" : " each";
    parts.push(`${counted(data.count, "head")}, ${range} ${counts[0].word}${each}.`);
  }
  if (all.some((head) => hasLittleData(data, view.map, head))) {
    parts.push(`Hatched: fewer than ${data.minCount} ${counts[0].word}.`);
  }
  if (page.heads.length < data.count) parts.push("Faded heads do not pass the filter.");
  if (view.head >= 0) parts.push(`${headName(data, view.head)}: ${shown(valueOf(data, view.map, view.head))}.`);
  return parts.join(" ");
}

const steps: Record<string, [number, number]> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

/** Chooses the next measured head in the direction of an arrow key; Escape clears the choice. */
function move(page: Page, key: string): boolean {
  const { data, view } = page;
  if (key === "Escape" && view.head >= 0) {
    page.change({ head: -1, scope: "model" });
    return true;
  }
  const step = steps[key];
  if (!step) return false;
  if (view.head < 0) {
    page.change({ head: 0, scope: "head" });
    return true;
  }
  let layer = data.layer[view.head] + step[0];
  let qHead = data.qHead[view.head] + step[1];
  while (layer >= 0 && qHead >= 0 && layer < data.model.num_layers && qHead < data.model.num_q_heads) {
    const head = findHead(data, layer, qHead);
    if (head >= 0) {
      page.change({ head, scope: "head" });
      break;
    }
    layer += step[0];
    qHead += step[1];
  }
  return true;
}

export function headMap(page: Page): Chart & { sync(page: Page): void } {
  const column = selector("Column", columnChoices(page.data, false), (map) => page.change({ map }));
  return {
    id: "head-map",
    title: "All heads, by layer",
    heading: (now) => {
      const word = measureWord(now.data, now.view.map);
      return `All heads, by layer: ${now.view.map}${word ? `, ${word}` : ""}`;
    },
    controls: [column.element],
    sync: (now) => column.show(now.view.map),
    option,
    mark: chosenSeries,
    caption,
    key: move,
    height: (now, width) => Math.round(Math.max(180, cellHeight(now, width) * now.data.model.num_q_heads + 82)),
    headOf: (item) => {
      if (item.seriesId === "little") return (item.data as number[])[2];
      return item.seriesId === "heads" ? (item.data as { value: number[] }).value[3] : -1;
    },
  };
}
