// A map of all heads by layer and number, coloured by one column.

import { axis, base, type CellApi, cellShape, hatched, headTip, tip, tooltip } from "./chart_parts.ts";
import type { Chart, Item, Option } from "./chart_card.ts";
import type { ChartTable } from "./chart_table.ts";
import { colorBar, colorBarHeight, coloring } from "./color_bar.ts";
import {
  columnChoices,
  countOf,
  errorOf,
  hasLittleData,
  mainColumn,
  meaning,
  measureWord,
  rangeOf,
  usualFacts,
  valueOf,
} from "./columns.ts";
import { comparedColumn, hasMoved, isSigned } from "./comparison.ts";
import { type Dataset, findHead } from "./data.ts";
import { selector } from "./dom.ts";
import { viridis } from "./look.ts";
import { groupSeries, hasGroups, layerMeans, layerSeries, marginNames, slidingSeries } from "./map_margins.ts";
import { mapOverlay, type MapGrid, shownPlan } from "./map_overlay.ts";
import { counted, shown, span } from "./numbers.ts";
import { chooseHead, headName, keepHead, type Page } from "./page.ts";
import { planBar } from "./plan_bar.ts";
import { rangeFields } from "./range_fields.ts";
import { numbersOf } from "./state.ts";

function missingCells(page: Page): number[][] {
  const { data } = page;
  const cells: number[][] = [];
  for (let layer = 0; layer < data.model.num_layers; ++layer) {
    for (let head = 0; head < data.model.num_q_heads; ++head) {
      if (findHead(data, layer, head) < 0) cells.push([layer, head]);
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
function littleSeries(page: Page, heads: number[]): Option {
  const { data, look } = page;
  return {
    id: "little",
    type: "custom",
    data: heads.map((head) => [data.layer[head], data.qHead[head], NaN, head]),
    renderItem: (_: unknown, api: CellApi) => hatched(look, cellShape(api, 1)),
  };
}

function gridOf(page: Page): MapGrid {
  const left = page.data.model.num_q_heads > 100 ? 54 : 46;
  return { left, right: hasGroups(page.data) ? 38 : 12, top: 30, bottom: 56 + colorBarHeight };
}

/** The height of a cell in pixels: cells are as square as possible, and the whole map fits on one screen. */
function cellHeight(page: Page, width: number): number {
  const { num_layers: layers, num_q_heads: heads } = page.data.model;
  const { left, right } = gridOf(page);
  const least = heads > 64 ? 4.5 : 9;
  return Math.max(least, Math.min(26, (width - left - right) / layers, 580 / heads));
}

/** The ends of the colours: those that were set, otherwise those of the column. */
function colorsOf(page: Page): { range: [number, number]; exceeded: [boolean, boolean] } {
  const { data, view } = page;
  const all = Array.from({ length: data.count }, (_, i) => i);
  const [low, high] = rangeOf(data, view.map, all);
  const [from, to] = numbersOf(view.range, 2) ?? [NaN, NaN];
  const range: [number, number] = [Number.isNaN(from) ? low : from, Number.isNaN(to) ? high : to];
  if (!(range[0] < range[1])) return { range: [low, high], exceeded: [false, false] };
  const counts = all.filter((head) => !hasLittleData(data, view.map, head));
  const beyond = (test: (value: number) => boolean) => counts.some((head) => test(valueOf(data, view.map, head)));
  return { range, exceeded: [beyond((value) => value < range[0]), beyond((value) => value > range[1])] };
}

function headOf(item: Item): number {
  return ["heads", "unmoved", "faded", "little"].includes(item.seriesId ?? "") ? (item.data as number[])[3] : -1;
}

/** The cells of heads: those that pass the filter, of these in a comparison those that did not move, and the others. */
function cellSeries(page: Page, known: number[], width: number): Option[] {
  const { data, view, look } = page;
  const passing = new Set(page.heads);
  const item = (head: number) => [data.layer[head], data.qHead[head], valueOf(data, view.map, head), head];
  const border = cellHeight(page, width) < 8 ? 0 : 1;
  const series = (id: string, heads: number[], opacity: number): Option => ({
    id,
    type: "heatmap",
    data: heads.map(item),
    progressive: 0,
    itemStyle: { borderColor: look.surface, borderWidth: border, opacity },
    emphasis: { itemStyle: { borderColor: look.ink, borderWidth: 2 } },
  });
  const isUnmoved = (head: number) => hasMoved(data, view.map, head) === false;
  return [
    series("heads", known.filter((head) => passing.has(head) && !isUnmoved(head)), 1),
    series("unmoved", known.filter((head) => passing.has(head) && isUnmoved(head)), look.dark ? 0.45 : 0.35),
    series("faded", known.filter((head) => !passing.has(head)), 0.12),
  ];
}

/** What the tooltip of a head tells. */
function tipColumns({ data, view }: Page, isLittle: boolean): string[] {
  const compared = comparedColumn(data, view.map)?.name;
  if (compared) {
    const parts = [compared, `${compared}_a`, `${compared}_b`, `${compared}_q`, view.map];
    return parts.filter((column) => data.columns.has(column));
  }
  return [view.map, mainColumn(data), ...(isLittle ? [] : usualFacts(data))];
}

/** "difference of ap_exact" in a comparison, otherwise the name of the column. */
function differenceOf(data: Dataset, column: string): string {
  return data.comparison?.head.columns.some(({ name }) => name === column) ? `difference of ${column}` : column;
}

function option(page: Page, width: number): Option {
  const { data, view, look } = page;
  const known = Array.from({ length: data.count }, (_, i) => i).filter(
    (head) => !Number.isNaN(valueOf(data, view.map, head)),
  );
  const [enough, little]: [number[], number[]] = [[], []];
  for (const head of known) (hasLittleData(data, view.map, head) ? little : enough).push(head);
  const numbers = (count: number) => Array.from({ length: count }, (_, i) => String(i));
  const word = measureWord(data, view.map);
  const scale = {
    colors: isSigned(data, view.map) ? look.diverging : viridis,
    ...colorsOf(page),
    meaning: differenceOf(data, view.map) + (word ? `, ${word}` : ""),
  };
  const grid = gridOf(page);
  return {
    ...base(look),
    // ECharts would otherwise move the grid for long labels, and shapes over the map would not fit.
    grid: { ...grid, outerBoundsMode: "none" },
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
      axisLabel: { color: look.muted, fontSize: 11, interval: Math.ceil(13 / cellHeight(page, width)) - 1 },
    }),
    visualMap: coloring(scale, { dimension: 2, seriesIndex: [0, 1, 2, 3] }),
    graphic: [colorBar(look, scale), ...marginNames(page, grid)],
    tooltip: tooltip(look, (item) => {
      const values = item.data as number[];
      if (item.seriesId === "missing") {
        return tip(`Layer ${values[0]}, head ${values[1]}`, [["", "not measured"]]);
      }
      if (item.seriesId === "layers") {
        return tip(`Layer ${values[0]}`, [
          [`mean ${view.map}`, shown(values[2])],
          ["heads", shown(values[3])],
        ]);
      }
      return headTip(data, values[3], tipColumns(page, item.seriesId === "little"));
    }),
    series: [
      ...cellSeries(page, enough, width),
      layerSeries(layerMeans(page)),
      missingSeries(page),
      littleSeries(page, little),
      groupSeries(page),
      slidingSeries(page),
    ],
  };
}

let last: { data: Dataset; column: string; text: string } | null = null;

/** For the caption: how much data is behind the values of a column. */
function countText(page: Page): string {
  const { data, view } = page;
  if (last?.data === data && last.column === view.map) return last.text;
  const parts: string[] = [];
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
  last = { data, column: view.map, text: parts.join(" ") };
  return last.text;
}

function caption(page: Page): string {
  const { data, view } = page;
  const parts = [
    `${view.map}: ${meaning(data, view.map).replace(/^./, (c) => c.toLowerCase()) || "a column of the table"}.`,
    "Strip above: mean of the shown heads of a layer.",
  ];
  const compared = comparedColumn(data, view.map);
  if (compared?.has_errors && data.comparison) {
    parts.push(
      `${counted(compared.up + compared.down, "head")} of ${shown(compared.count)} moved ` +
        `(q < ${data.comparison.head.level}); the others are paler.`,
    );
  } else if (compared) {
    parts.push("This column has no errors, so that it is not known which heads moved.");
  }
  if (hasGroups(data)) parts.push("Brackets: query heads that read one KV head.");
  const windows = [...new Set(Object.values(data.model.windows))];
  if (windows.length > 0)
    parts.push(`A bar below a layer: sliding window of ${windows.map(shown).join(" or ")} tokens.`);
  if (data.count < data.model.num_layers * data.model.num_q_heads) parts.push("Crossed cells were not measured.");
  if (countText(page) !== "") parts.push(countText(page));
  if (shownPlan(page)) parts.push("Cache plan: outlined heads keep their whole cache, veiled ones a window.");
  if (page.heads.length < data.count) parts.push("Faded heads do not pass the filter.");
  if (view.head >= 0) parts.push(`${headName(data, view.head)}: ${shown(valueOf(data, view.map, view.head))}.`);
  return parts.join(" ");
}

/** A row for each head, then one for each layer. */
function table(page: Page): ChartTable {
  const { data, view } = page;
  const error = errorOf(data, view.map);
  const plan = shownPlan(page);
  const counts = countOf(data, view.map, 0).word;
  const columns = ["layer", "q_head", "k_head", view.map];
  if (error) columns.push(error);
  if (counts) columns.push(counts);
  if (plan) columns.push("cache");
  const rows = page.heads.map((head) => {
    const row: (number | string)[] = [data.layer[head], data.qHead[head], data.kHead[head]];
    row.push(valueOf(data, view.map, head));
    if (error) row.push(valueOf(data, error, head));
    if (counts) row.push(countOf(data, view.map, head).count);
    if (plan) row.push(plan.heads[data.layer[head] * plan.kvHeads + data.kHead[head]].kind);
    return row;
  });
  for (const { layer, mean } of layerMeans(page)) {
    rows.push([layer, "mean of layer", "", mean, ...columns.slice(4).map(() => "")]);
  }
  return { columns, rows };
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
  if (key === "Escape" && (view.head >= 0 || view.kept.length > 0)) {
    page.change(view.head >= 0 ? { head: -1, scope: "model" } : { kept: [] });
    return true;
  }
  if (key === " " && view.head >= 0) {
    keepHead(page);
    return true;
  }
  const step = steps[key];
  if (!step) return false;
  if (view.head < 0) {
    chooseHead(page, 0);
    return true;
  }
  let layer = data.layer[view.head] + step[0];
  let qHead = data.qHead[view.head] + step[1];
  while (layer >= 0 && qHead >= 0 && layer < data.model.num_layers && qHead < data.model.num_q_heads) {
    const head = findHead(data, layer, qHead);
    if (head >= 0) {
      chooseHead(page, head);
      break;
    }
    layer += step[0];
    qHead += step[1];
  }
  return true;
}

export function headMap(page: Page): Chart & { sync(page: Page): void } {
  const column = selector("Column", columnChoices(page.data, false), (map) => page.change({ map, range: "" }));
  const range = rangeFields(page, (now) => colorsOf(now).range);
  const plan = page.data.comparison ? null : planBar(page);
  return {
    id: "head-map",
    title: "All heads, by layer",
    heading: (now) => {
      const word = measureWord(now.data, now.view.map);
      return `All heads, by layer: ${differenceOf(now.data, now.view.map)}${word ? `, ${word}` : ""}`;
    },
    controls: [column.element, range.element, ...(plan ? [plan.element] : [])],
    sync: (now) => {
      column.show(now.view.map);
      range.show(now);
      plan?.show(now);
    },
    option,
    overlay: (now, frame) => mapOverlay(now, gridOf(now), frame),
    caption,
    key: move,
    keys: "Arrow keys choose a head, Space keeps it to compare, Escape clears the choice.",
    height: (now, width) => {
      const { top, bottom } = gridOf(now);
      return Math.round(Math.max(220, cellHeight(now, width) * now.data.model.num_q_heads + top + bottom));
    },
    headOf,
    table,
  };
}
