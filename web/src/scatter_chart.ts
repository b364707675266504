// A scatter chart of any column against any other.

import { axis, base, headTip, scale, tooltip } from "./chart_parts.ts";
import type { Chart, Option } from "./chart_card.ts";
import { columnChoices, errorOf, rangeOf, valueOf } from "./columns.ts";
import { selector } from "./dom.ts";
import { headCount, type Page } from "./page.ts";

interface Api {
  value(dimension: number): number;
  coord(point: number[]): number[];
}

const mostWhiskers = 400;

function drawnHeads(page: Page): number[] {
  const { data, view } = page;
  return page.heads.filter(
    (head) => Number.isFinite(valueOf(data, view.x, head)) && Number.isFinite(valueOf(data, view.y, head)),
  );
}

/** Ranks from 1; equal values get the mean of their ranks. */
export function ranks(values: number[]): number[] {
  const order = values.map((_, i) => i).sort((a, b) => values[a] - values[b]);
  const result = new Array<number>(values.length);
  for (let begin = 0; begin < order.length;) {
    let end = begin + 1;
    while (end < order.length && values[order[end]] === values[order[begin]]) ++end;
    for (let i = begin; i < end; ++i) result[order[i]] = (begin + 1 + end) / 2;
    begin = end;
  }
  return result;
}

/** Spearman's rank correlation; NaN when x or y does not vary. */
export function rankCorrelation(x: number[], y: number[]): number {
  const [a, b] = [ranks(x), ranks(y)];
  const middle = (x.length + 1) / 2;
  let [ab, aa, bb] = [0, 0, 0];
  for (let i = 0; i < a.length; ++i) {
    ab += (a[i] - middle) * (b[i] - middle);
    aa += (a[i] - middle) ** 2;
    bb += (b[i] - middle) ** 2;
  }
  return ab / Math.sqrt(aa * bb);
}

function whiskers(page: Page, heads: number[]): Option | null {
  const { data, view, look } = page;
  const [errorX, errorY] = [errorOf(data, view.x), errorOf(data, view.y)];
  if ((!errorX && !errorY) || heads.length > mostWhiskers) return null;
  const error = (column: string | null, head: number) => (column ? valueOf(data, column, head) || 0 : 0);
  return {
    id: "whiskers",
    type: "custom",
    silent: true,
    z: 1,
    clip: true,
    encode: { x: 0, y: 1 },
    data: heads.map((head) => [
      valueOf(data, view.x, head),
      valueOf(data, view.y, head),
      error(errorX, head),
      error(errorY, head),
    ]),
    renderItem: (_: unknown, api: Api) => {
      const [x, y, dx, dy] = [0, 1, 2, 3].map((i) => api.value(i));
      const line = (from: number[], to: number[]) => {
        const [[x1, y1], [x2, y2]] = [api.coord(from), api.coord(to)];
        return { type: "line", shape: { x1, y1, x2, y2 }, style: { stroke: look.faint, lineWidth: 1 } };
      };
      return { type: "group", children: [line([x - dx, y], [x + dx, y]), line([x, y - dy], [x, y + dy])] };
    },
  };
}

const pointSize = (heads: number[]) => (heads.length > 400 ? 6 : 9);

function chosenPoint(page: Page): Option {
  const { data, view, look } = page;
  const heads = drawnHeads(page);
  return {
    id: "chosen",
    type: "scatter",
    z: 4,
    silent: true,
    symbolSize: pointSize(heads) + 7,
    data: heads.includes(view.head) ? [[valueOf(data, view.x, view.head), valueOf(data, view.y, view.head)]] : [],
    itemStyle: { color: "transparent", borderColor: look.accent, borderWidth: 3 },
  };
}

function option(page: Page): Option {
  const { data, view, look } = page;
  const heads = drawnHeads(page);
  const colorOf = (head: number) => valueOf(data, view.color, head);
  const missing = heads.filter((head) => Number.isNaN(colorOf(head)));
  const point = (head: number) => [valueOf(data, view.x, head), valueOf(data, view.y, head), colorOf(head), head];
  const size = pointSize(heads);
  const series: (Option | null)[] = [
    {
      id: "heads",
      type: "scatter",
      z: 3,
      symbolSize: size,
      data: heads.filter((head) => !Number.isNaN(colorOf(head))).map(point),
      itemStyle: { borderColor: look.surface, borderWidth: 0.75 },
      emphasis: { itemStyle: { borderColor: look.ink, borderWidth: 2 } },
    },
    {
      id: "colorless",
      type: "scatter",
      z: 2,
      symbolSize: size,
      data: missing.map(point),
      itemStyle: { color: look.faint },
    },
    chosenPoint(page),
    whiskers(page, heads),
  ];
  const grids = { splitLine: { show: true, lineStyle: { color: look.line } } };
  const range = rangeOf(data, view.color, heads);
  // ECharts would put a single point in the middle of an axis that leaves the range of possible values.
  const ends = (column: string) => {
    if (heads.length !== 1) return { scale: true };
    const [min, max] = rangeOf(data, column, heads);
    return { min, max };
  };
  return {
    ...base(look),
    grid: { left: 62, right: 24, top: 14, bottom: 88 },
    xAxis: axis(look, view.x, { type: "value", ...ends(view.x), nameGap: 28, ...grids }),
    yAxis: axis(look, view.y, { type: "value", ...ends(view.y), nameGap: 44, ...grids }),
    visualMap: scale(look, look.points, range, view.color, { show: heads.length > 1, dimension: 2, seriesIndex: 0 }),
    tooltip: tooltip(look, (item) => headTip(data, (item.data as number[])[3], [view.y, view.x, view.color])),
    series: series.filter((one) => one !== null),
  };
}

function caption(page: Page): string {
  const { data, view } = page;
  const heads = drawnHeads(page);
  const correlation = rankCorrelation(
    heads.map((head) => valueOf(data, view.x, head)),
    heads.map((head) => valueOf(data, view.y, head)),
  );
  const parts = [
    page.heads.length === 1
      ? `The point of ${headCount(page)}.`
      : `A point for each of ${headCount(page)}, coloured by ${view.color}.`,
  ];
  if (heads.length < page.heads.length) parts.push(`Only ${heads.length} have both values.`);
  if (Number.isFinite(correlation)) {
    parts.push(`Rank correlation ${correlation < 0 ? "\u2212" : "+"}${Math.abs(correlation).toFixed(2)}.`);
  }
  if (whiskers(page, heads)) parts.push("Whiskers show one standard error.");
  if (heads.some((head) => Number.isNaN(valueOf(data, view.color, head)))) {
    parts.push(`Grey points have no ${view.color}.`);
  }
  return parts.join(" ");
}

export function scatterChart(page: Page): Chart & { sync(page: Page): void } {
  const choices = columnChoices(page.data, true);
  const x = selector("Across", choices, (value) => page.change({ x: value }));
  const y = selector("Up", choices, (value) => page.change({ y: value }));
  const color = selector("Colour", choices, (value) => page.change({ color: value }));
  return {
    id: "scatter",
    title: "One column against another",
    controls: [x.element, y.element, color.element],
    sync: (now) => {
      x.show(now.view.x);
      y.show(now.view.y);
      color.show(now.view.color);
    },
    option,
    mark: chosenPoint,
    caption,
    height: (_page, width) => Math.round(Math.min(520, Math.max(340, width * 0.5))),
    headOf: (item) => (item.seriesId === "heads" || item.seriesId === "colorless" ? (item.data as number[])[3] : -1),
  };
}
