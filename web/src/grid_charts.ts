// Two heatmaps of cells: query bucket by key bucket, and distance by distance.

import { axis, base, type CellApi, cellShape, hatched, tip, tooltip, type Row } from "./chart_parts.ts";
import type { Chart, Option } from "./chart_card.ts";
import type { ChartTable } from "./chart_table.ts";
import { colorBar, colorBarHeight, coloring } from "./color_bar.ts";
import { countsOf, distanceBin, geometry, middleOnce } from "./cells.ts";
import type { Cells, Dataset, TableName } from "./data.ts";
import { segments } from "./dom.ts";
import { magma } from "./look.ts";
import { shown, span, tokens } from "./numbers.ts";
import { headName, littleData, middleOfHeads, type Page } from "./page.ts";

interface Key {
  name: string;
  title: string; // of the axis
  label(key: number): string;
  tip: Row[0];
  long(key: number): string;
}

interface Grid {
  table: TableName;
  cells: Cells;
  column: string;
  meaning: string; // of the colours, in two or three words
  keys: Key[]; // of the x axis, then of the y axis
  range: [number, number] | null; // ends of the colour scale; null: 0 to the greatest value
  isDifference: boolean; // the cells are differences of two runs, whose colours have zero in the middle
}

const isHead = (page: Page) => page.view.scope === "head" && page.view.head >= 0;

/** For captions: whose cells are shown. */
function whose(page: Page): string {
  return isHead(page) ? headName(page.data, page.view.head) : middleOfHeads(page);
}

/** The values of cells, with their counts and what is counted. A head's own values are the mean over it alone. */
function valuesOf(page: Page, grid: Grid) {
  const { data, view } = page;
  const counts = countsOf(data, grid.table, grid.column);
  const heads = isHead(page) ? [view.head] : page.heads;
  return {
    ...middleOnce(grid.cells, grid.column, heads, view.middle, counts?.values ?? null),
    counts: counts?.word ?? "",
    of: heads.length,
  };
}

function gridOption(page: Page, grid: Grid): Option {
  const { data, look } = page;
  const { cells, column } = grid;
  const { values, heads, totals, support, counts, of } = valuesOf(page, grid);
  const [across, up] = grid.keys.map((key) => {
    const present = [...new Set(cells.keys[key.name])].sort((a, b) => a - b);
    return { ...key, present, place: new Map(present.map((value, i) => [value, i])) };
  });
  const drawn: number[][] = [];
  const little: number[][] = [];
  for (let cell = 0; cell < cells.count; ++cell) {
    if (Number.isNaN(values[cell])) continue;
    const place = [
      across.place.get(cells.keys[across.name][cell]) ?? 0,
      up.place.get(cells.keys[up.name][cell]) ?? 0,
      values[cell],
      cell,
    ];
    (support[cell] < data.minCount ? little : drawn).push(place);
  }
  const greatest = drawn.reduce((most, entry) => Math.max(most, Math.abs(entry[2])), 0) || 1;
  const scale = grid.isDifference
    ? { colors: look.diverging, range: [-greatest, greatest] as [number, number], meaning: `difference of ${grid.meaning}` }
    : { colors: magma, range: grid.range ?? ([0, greatest] as [number, number]), meaning: grid.meaning };
  return {
    ...base(look),
    grid: { left: 58, right: 14, top: 10, bottom: 54 + colorBarHeight },
    xAxis: axis(look, across.title, {
      type: "category",
      data: across.present.map(across.label),
      nameGap: 28,
      axisLine: { show: false },
    }),
    yAxis: axis(look, up.title, {
      type: "category",
      data: up.present.map(up.label),
      nameGap: 42,
      axisLine: { show: false },
    }),
    visualMap: coloring(scale, { dimension: 2, seriesIndex: 0 }),
    graphic: colorBar(look, scale),
    tooltip: tooltip(look, (item) => {
      const cell = (item.data as number[])[3];
      const rows: Row[] = [
        [across.tip, across.long(cells.keys[across.name][cell])],
        [up.tip, up.long(cells.keys[up.name][cell])],
        [column, shown(values[cell])],
      ];
      if (of > 1) rows.push(["heads", shown(heads[cell])]);
      if (counts) rows.push([counts, shown(totals[cell])]);
      if (item.seriesId === "little") rows.push(["", "little data"]);
      return tip(whose(page), rows);
    }),
    series: [
      {
        id: "cells",
        type: "heatmap",
        data: drawn,
        itemStyle: { borderColor: look.surface, borderWidth: drawn.length > 2000 ? 0 : 0.5 },
        emphasis: { itemStyle: { borderColor: look.ink, borderWidth: 2 } },
      },
      {
        id: "little",
        type: "custom",
        data: little,
        renderItem: (_: unknown, api: CellApi) => hatched(look, cellShape(api, 0.5)),
      },
    ],
  };
}

/** A row for each cell. */
function gridTable(page: Page, grid: Grid): ChartTable {
  const { cells, column, keys } = grid;
  const { values, heads, totals, counts, of } = valuesOf(page, grid);
  const rows: (number | string)[][] = [];
  for (let cell = 0; cell < cells.count; ++cell) {
    if (Number.isNaN(values[cell])) continue;
    const row: (number | string)[] = keys.map((key) => key.long(cells.keys[key.name][cell]));
    row.push(values[cell]);
    if (counts) row.push(totals[cell]);
    if (of > 1) row.push(heads[cell]);
    rows.push(row);
  }
  const columns = [...keys.map((key) => key.title), column];
  return { columns: [...columns, ...(counts ? [counts] : []), ...(of > 1 ? ["heads"] : [])], rows };
}

/** For captions: whose cells are shown, and how much data is behind them. */
function countCaption(page: Page, grid: Grid): string {
  const { values, totals, support, counts, of } = valuesOf(page, grid);
  const range = span(Array.from(totals));
  if (range === "") return `${whose(page)}.`;
  const fewer = page.data.comparison ? "the smaller of both runs' " : "";
  const weighted = of > 1 ? `, weighted by ${fewer}${counts}` : "";
  const text = `${whose(page)}${weighted}; ${range} ${counts} in a cell.`;
  const isLittle = support.some((count, cell) => !Number.isNaN(values[cell]) && count < page.data.minCount);
  return isLittle ? `${text} Hatched, little data: ${littleData(page.data, counts, of)}.` : text;
}

/** The title of a chart, which in a comparison shows a difference. */
const titleOf = (data: Dataset, title: string) => (data.comparison ? `Difference: ${title.toLowerCase()}` : title);

const height = (_page: Page, width: number) => Math.round(Math.min(470, Math.max(350, width * 0.72)));

export function bucketChart(data: Dataset): Chart | null {
  const cells = data.tables.buckets;
  if (!cells?.keys.k_bucket) return null;
  const place = geometry(data);
  const unit = place.known ? "(tokens)" : "(bucket)";
  const long = (bucket: number) =>
    place.known ? `${shown(place.start(bucket))}–${shown(place.start(bucket + 1) - 1)}` : `bucket ${bucket}`;
  const grid: Grid = {
    table: "buckets",
    cells,
    column: "plasticity",
    meaning: "pooled plasticity",
    keys: [
      { name: "k_bucket", title: `position of the keys ${unit}`, label: place.label, tip: "keys at", long },
      { name: "q_bucket", title: `position of the query ${unit}`, label: place.label, tip: "query at", long },
    ],
    range: [0, 1],
    isDifference: Boolean(data.comparison),
  };
  return {
    id: "buckets",
    title: titleOf(data, "Pooled, by position of query and keys"),
    followsHead: true,
    option: (page) => gridOption(page, grid),
    table: (page) => gridTable(page, grid),
    height,
    caption: (page) => `${countCaption(page, grid)} Pooled plasticity of two keys in one bucket, for queries in a later bucket.`,
  };
}

export function distanceChart(page: Page): (Chart & { sync(page: Page): void }) | null {
  const cells = page.data.tables.distance;
  if (!cells) return null;
  const shown = (page.data.schema.tables.distance ?? []).filter(({ name, title }) => title && cells.columns[name]);
  const choices = shown.map(({ name, title }) => ({ value: name, label: title }));
  const column = segments("What is shown", choices, (distance) => page.change({ distance }));
  const long = (bin: number) => `${distanceBin(bin)} back`;
  const label = (bin: number) => tokens(2 ** bin - 1);
  const grid = (now: Page): Grid => ({
    table: "distance",
    cells,
    column: now.view.distance,
    meaning: `position-exact ${(shown.find(({ name }) => name === now.view.distance)?.title ?? "").toLowerCase()}`,
    keys: [
      { name: "near_bin", title: "distance of the nearer key (tokens)", label, tip: "nearer key", long },
      { name: "far_bin", title: "distance of the farther key (tokens)", label, tip: "farther key", long },
    ],
    range: shown.find(({ name }) => name === now.view.distance)?.colors ?? null,
    isDifference: Boolean(now.data.comparison),
  });
  return {
    id: "distance",
    title: titleOf(page.data, "Position-exact, by distance of the two keys"),
    followsHead: true,
    controls: choices.length > 1 ? [column.element] : [],
    sync: (now) => column.show(now.view.distance),
    option: (now) => gridOption(now, grid(now)),
    table: (now) => gridTable(now, grid(now)),
    height,
    caption: (now) => {
      const meaning = shown.find(({ name }) => name === now.view.distance)?.meaning ?? now.view.distance;
      return `${countCaption(now, grid(now))} ${meaning}. The axes are the distances of the nearer and the farther key from the query.`;
    },
  };
}
