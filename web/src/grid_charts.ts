// Two heatmaps of cells: query bucket by key bucket, and distance by distance.

import { axis, base, scale, tip, tooltip, type Row } from "./chart_parts.ts";
import type { Chart, Option } from "./chart_card.ts";
import { distanceBin, geometry, middleOf } from "./cells.ts";
import type { Cells, Dataset } from "./data.ts";
import { segments } from "./dom.ts";
import { magma } from "./look.ts";
import { shown, tokens } from "./numbers.ts";
import { headCount, headName, type Page } from "./page.ts";

interface Key {
  name: string;
  title: string; // of the axis
  label(key: number): string;
  tip: Row[0];
  long(key: number): string;
}

interface Grid {
  cells: Cells;
  column: string;
  countColumn: string; // the column with the number of samples in a cell
  keys: Key[]; // of the x axis, then of the y axis
  range: [number, number] | null; // ends of the colour scale; null: 0 to the greatest value
}

const isHead = (page: Page) => page.view.scope === "head" && page.view.head >= 0;

/** For captions: whose cells are shown. */
function whose(page: Page): string {
  return isHead(page)
    ? headName(page.data, page.view.head)
    : `${page.view.middle === "mean" ? "Mean" : "Median"} of ${headCount(page)}`;
}

function valuesOf(page: Page, cells: Cells, column: string) {
  if (!isHead(page)) return middleOf(cells, column, page.heads, page.view.middle);
  return {
    values: cells.columns[column].slice(page.view.head * cells.count, (page.view.head + 1) * cells.count),
    counts: null,
  };
}

function gridOption(page: Page, grid: Grid): Option {
  const { look, view } = page;
  const { cells, column } = grid;
  const { values, counts } = valuesOf(page, cells, column);
  const [across, up] = grid.keys.map((key) => {
    const present = [...new Set(cells.keys[key.name])].sort((a, b) => a - b);
    return { ...key, present, place: new Map(present.map((value, i) => [value, i])) };
  });
  const drawn = [];
  for (let cell = 0; cell < cells.count; ++cell) {
    if (Number.isNaN(values[cell])) continue;
    drawn.push([
      across.place.get(cells.keys[across.name][cell]),
      up.place.get(cells.keys[up.name][cell]),
      values[cell],
      cell,
    ]);
  }
  const greatest = drawn.reduce((most, entry) => Math.max(most, entry[2] as number), 0);
  return {
    ...base(look),
    grid: { left: 58, right: 14, top: 10, bottom: 88 },
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
    visualMap: scale(look, magma, grid.range ?? [0, greatest || 1], { dimension: 2 }),
    tooltip: tooltip(look, (item) => {
      const cell = (item.data as number[])[3];
      const rows: Row[] = [
        [across.tip, across.long(cells.keys[across.name][cell])],
        [up.tip, up.long(cells.keys[up.name][cell])],
        [column, shown(values[cell])],
      ];
      if (counts) rows.push(["heads", shown(counts[cell])]);
      else if (cells.columns[grid.countColumn]) {
        rows.push([
          grid.countColumn,
          shown(Math.round(cells.columns[grid.countColumn][view.head * cells.count + cell])),
        ]);
      }
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
    ],
  };
}

const height = (_page: Page, width: number) => Math.round(Math.min(460, Math.max(340, width * 0.72)));

export function bucketChart(data: Dataset): Chart | null {
  const cells = data.tables.buckets;
  if (!cells?.keys.k_bucket) return null;
  const place = geometry(data);
  const unit = place.known ? "(tokens)" : "(bucket)";
  const long = (bucket: number) =>
    place.known ? `${shown(place.start(bucket))}–${shown(place.start(bucket + 1) - 1)}` : `bucket ${bucket}`;
  const grid: Grid = {
    cells,
    column: "plasticity",
    countColumn: "n_pairs",
    keys: [
      { name: "k_bucket", title: `position of the keys ${unit}`, label: place.label, tip: "keys at", long },
      { name: "q_bucket", title: `position of the query ${unit}`, label: place.label, tip: "query at", long },
    ],
    range: [0, 1],
  };
  return {
    id: "buckets",
    title: "By position of query and keys",
    followsHead: true,
    option: (page) => gridOption(page, grid),
    height,
    caption: (page) => `${whose(page)}. Pooled plasticity of two keys in one bucket, for queries in a later bucket.`,
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
    cells,
    column: now.view.distance,
    countColumn: "n_triples",
    keys: [
      { name: "near_bin", title: "distance of the nearer key (tokens)", label, tip: "nearer key", long },
      { name: "far_bin", title: "distance of the farther key (tokens)", label, tip: "farther key", long },
    ],
    range: shown.find(({ name }) => name === now.view.distance)?.colors ?? null,
  });
  return {
    id: "distance",
    title: "By distance of the two keys",
    followsHead: true,
    controls: choices.length > 1 ? [column.element] : [],
    sync: (now) => column.show(now.view.distance),
    option: (now) => gridOption(now, grid(now)),
    height,
    caption: (now) => {
      const meaning = shown.find(({ name }) => name === now.view.distance)?.meaning ?? now.view.distance;
      return `${whose(now)}. ${meaning}. The axes are the distances of the nearer and the farther key from the query.`;
    },
  };
}
