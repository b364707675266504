// One column over the runs of a series: a line for each head, the mean with its error, and where a chosen head changed.

import { axis, base, headTip, type Row, tip, tooltip } from "./chart_parts.ts";
import type { Chart, Option } from "./chart_card.ts";
import type { ChartTable } from "./chart_table.ts";
import { colorBar, colorBarHeight, coloring } from "./color_bar.ts";
import { errorOf, valueOf } from "./columns.ts";
import { shortName } from "./data.ts";
import { changeOf, followedColumn, headIn } from "./head_runs.ts";
import { brief, quantiles, shown, withError } from "./numbers.ts";
import { headCount, headName, markedHeads, type Page } from "./page.ts";
import { mostKept } from "./state.ts";

interface Api {
  value(dimension: number): number;
  visual(channel: string): string;
  coord(point: number[]): number[];
}

/** A head in one run. */
interface Step {
  x: number;
  y: number; // NaN: not measured
  error: number; // NaN: unknown
  change: number; // from the run before
  q: number; // of that change
  isChange: boolean;
}

// More lines than these cannot be told apart.
const mostLines = 1500;

function waysOf(page: Page): number[][] {
  const { runs, data } = page;
  const column = followedColumn(page);
  const made = page.heads.map(() => new Array<number>(runs.count).fill(NaN));
  runs.names.forEach((_, i) => {
    const run = runs.run(i);
    page.heads.forEach((head, at) => {
      const own = headIn(data, run, head);
      if (own >= 0) made[at][i] = valueOf(run, column, own);
    });
  });
  return made;
}

let last: { heads: readonly number[]; column: string; ways: number[][] } | null = null;

/** The values of each shown head by run; found again only when the heads or the column change. */
function ways(page: Page): number[][] {
  const column = followedColumn(page);
  if (last?.heads !== page.heads || last.column !== column) last = { heads: page.heads, column, ways: waysOf(page) };
  return last.ways;
}

/** The way of one head with its errors and changes. */
function stepsOf(page: Page, head: number): Step[] {
  const { runs, data } = page;
  const column = followedColumn(page);
  return (runs.series?.values ?? []).map((x, i) => {
    const run = runs.run(i);
    const own = headIn(data, run, head);
    const error = errorOf(run, column);
    const { difference, q, level } =
      i === 0 ? { difference: NaN, q: NaN, level: 0 } : changeOf(runs, i - 1, i, column, data, head);
    return {
      x,
      y: own < 0 ? NaN : valueOf(run, column, own),
      error: own >= 0 && error ? valueOf(run, error, own) : NaN,
      change: difference,
      q,
      isChange: q < level,
    };
  });
}

function meanOf(page: Page) {
  const found = page.runs.series?.columns.find(({ name }) => name === followedColumn(page));
  return {
    count: found?.count ?? 0,
    mean: (found?.mean ?? []).map((value) => value ?? NaN),
    se: (found?.se ?? []).map((value) => value ?? NaN),
  };
}

/** A polygon between two lines, piece by piece. */
function band(id: string, xs: number[], low: number[], high: number[], fill: string, opacity: number, z: number): Option {
  const isKnown = (i: number) => Number.isFinite(low[i]) && Number.isFinite(high[i]);
  const pieces = xs.map((_, i) => i).filter((i) => i + 1 < xs.length && isKnown(i) && isKnown(i + 1));
  return {
    id,
    type: "custom",
    silent: true,
    clip: true,
    z,
    data: pieces.map((i) => [xs[i], high[i], i]),
    encode: { x: 0, y: 1 },
    renderItem: (_: unknown, api: Api) => {
      const i = api.value(2);
      const corners = [
        [xs[i], low[i]],
        [xs[i + 1], low[i + 1]],
        [xs[i + 1], high[i + 1]],
        [xs[i], high[i]],
      ];
      return { type: "polygon", shape: { points: corners.map((one) => api.coord(one)) }, style: { fill, opacity } };
    },
  };
}

function headLines(page: Page, xs: number[], all: number[][]): Option {
  const { data, heads } = page;
  const opacity = Math.min(0.5, Math.max(0.12, 3.5 / Math.sqrt(heads.length)));
  const drawn = heads.map((_, at) => at).filter((at) => all[at].some((value) => !Number.isNaN(value)));
  const first = (at: number) => all[at].findIndex((value) => !Number.isNaN(value));
  return {
    id: "heads",
    type: "custom",
    clip: true,
    data: drawn.map((at) => [xs[first(at)], all[at][first(at)], data.layer[heads[at]], heads[at], at]),
    encode: { x: 0, y: 1 },
    renderItem: (_: unknown, api: Api) => {
      const way = all[api.value(4)];
      const points = xs.flatMap((x, i) => (Number.isNaN(way[i]) ? [] : [api.coord([x, way[i]])]));
      return {
        type: "polyline",
        shape: { points },
        style: { stroke: api.visual("color"), fill: "none", lineWidth: 1, opacity },
        emphasis: { style: { lineWidth: 2.5, opacity: 1 } },
      };
    },
  };
}

/** The chosen heads, with a large point where a head changed from the run before. All series exist at all times, empty
 * if need be: ECharts keeps a series that is no longer named. */
function chosenLines(page: Page): Option[] {
  const marked = markedHeads(page).reverse();
  return Array.from({ length: mostKept + 1 }, (_, slot) => marked[slot]).flatMap((one, slot) => {
    const steps = one ? stepsOf(page, one.head) : [];
    const color = one?.color ?? page.look.accent;
    const part = (sign: number) => steps.map(({ y, error }) => y + sign * error);
    return [
      band(`chosen-${slot}-band`, steps.map(({ x }) => x), part(-1), part(1), color, 0.25, 18 - slot),
      {
        id: `chosen-${slot}`,
        type: "line",
        data: steps.map(({ x, y }) => [x, y]),
        symbol: "circle",
        symbolSize: (_: unknown, item: { dataIndex: number }) => (steps[item.dataIndex]?.isChange ? 11 : 5),
        lineStyle: { color, width: 3 },
        itemStyle: { color, borderColor: page.look.surface, borderWidth: 1 },
        z: 19 - slot,
      },
    ];
  });
}

/** The ends of the upright axis: 0 to 1 where all values lie between. */
function yEnds(all: number[][]): [number, number] {
  let [low, high] = [0, 1];
  for (const way of all) {
    for (const value of way) {
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  return [low, high];
}

function option(page: Page): Option {
  const { data, look, runs } = page;
  const xs = runs.series?.values ?? [];
  const column = followedColumn(page);
  const all = ways(page);
  const { mean, se, count } = meanOf(page);
  const isCrowd = page.heads.length > mostLines;
  const shares = [0.05, 0.25, 0.75, 0.95];
  const crowd = isCrowd
    ? xs.map((_, i) => quantiles(all.map((way) => way[i]).filter((value) => !Number.isNaN(value)), shares))
    : [];
  const scale = {
    colors: look.points,
    range: [0, Math.max(1, data.model.num_layers - 1)] as [number, number],
    meaning: "layer",
  };
  const hasColors = data.model.num_layers > 1 && page.heads.length > 1 && !isCrowd;
  const [min, max] = yEnds(all);
  const margin = (xs[xs.length - 1] - xs[0]) * 0.02;
  const part = (sign: number) => mean.map((value, i) => value + sign * se[i]);
  return {
    ...base(look),
    grid: { left: 58, right: 24, top: 12, bottom: 54 + (hasColors ? colorBarHeight : 0) },
    xAxis: axis(look, runs.series?.x ?? "run", {
      type: "value",
      nameGap: 28,
      min: xs[0] - margin,
      max: xs[xs.length - 1] + margin,
      axisTick: { show: true, customValues: xs },
      axisLabel: { color: look.muted, fontSize: 11, hideOverlap: true, customValues: xs, formatter: brief },
    }),
    yAxis: axis(look, column, {
      type: "value",
      min,
      max,
      nameGap: 42,
      axisLabel: { color: look.muted, fontSize: 11, formatter: brief },
      splitLine: { show: true, lineStyle: { color: look.line } },
    }),
    visualMap: hasColors ? coloring(scale, { dimension: 2, seriesIndex: 0 }) : [],
    graphic: hasColors ? [colorBar(look, scale)] : [],
    tooltip: tooltip(look, (item) => {
      const values = item.data as number[];
      if (item.seriesId === "heads") return headTip(data, values[3], [column].filter((name) => data.columns.has(name)));
      if (item.seriesId === "mean") {
        const i = item.dataIndex;
        return tip(`Mean of ${count} heads`, [
          ["run", runs.names[i]],
          [column, withError(mean[i], se[i])],
        ]);
      }
      const slot = /^chosen-(\d+)$/.exec(item.seriesId ?? "");
      const chosen = slot ? markedHeads(page).reverse()[Number(slot[1])] : undefined;
      return chosen ? stepTip(page, chosen.head, item.dataIndex) : null;
    }),
    series: [
      ...(isCrowd
        ? [0, 1].map((which) =>
            band(`crowd-${which}`, xs, crowd.map((at) => at[which]), crowd.map((at) => at[3 - which]), look.muted, 0.2, 1),
          )
        : [headLines(page, xs, all)]),
      band("mean-band", xs, part(-1), part(1), look.ink, 0.28, 4),
      {
        id: "mean",
        type: "line",
        data: xs.map((x, i) => [x, mean[i]]),
        symbol: "circle",
        symbolSize: 6,
        lineStyle: { color: look.ink, width: 3 },
        itemStyle: { color: look.ink },
        z: 5,
      },
      ...chosenLines(page),
    ],
  };
}

function stepTip(page: Page, head: number, at: number): HTMLElement {
  const step = stepsOf(page, head)[at];
  const rows: Row[] = [
    ["run", page.runs.names[at]],
    [followedColumn(page), withError(step.y, step.error)],
  ];
  if (at > 0) rows.push(["change", shown(step.change)]);
  if (!Number.isNaN(step.q)) rows.push(["q of the change", shown(step.q)]);
  return tip(headName(page.data, head), rows);
}

function caption(page: Page): string {
  const { runs, data, view } = page;
  const { count, se } = meanOf(page);
  const isCrowd = page.heads.length > mostLines;
  const parts = [
    isCrowd ? `Grey: the middle half and nine tenths of ${headCount(page)}.` : `Thin lines: ${headCount(page)}.`,
    `Bold: the mean of the ${shown(count)} heads that have a value in every run.`,
  ];
  if (se.some((error) => !Number.isNaN(error))) parts.push("Bands: ± 1 standard error over documents.");
  const marked = markedHeads(page);
  if (marked.length > 0) {
    const names = marked.map(({ head }) => (head === view.head ? headName(data, head) : shortName(data, head)));
    const level = runs.report.head.comparisons.find((one) => one.problem === null)?.level;
    parts.push(`${names.join(", ")}: a large point is a change from the run before (q < ${level}).`);
  }
  const left = runs.series?.left_out ?? 0;
  if (left > 0) parts.push(`${shown(left)} heads are not in every run.`);
  return parts.join(" ");
}

/** The mean by run, then the chosen heads. */
function table(page: Page): ChartTable {
  const { mean, se } = meanOf(page);
  const { runs, data } = page;
  const xs = runs.series?.values ?? [];
  const rows: (number | string)[][] = xs.map((x, i) => ["mean", runs.names[i], x, mean[i], se[i], NaN, NaN]);
  for (const { head } of markedHeads(page).reverse()) {
    stepsOf(page, head).forEach(({ x, y, error, change, q }, i) => {
      rows.push([headName(data, head), runs.names[i], x, y, error, change, q]);
    });
  }
  const columns = ["line", "run", runs.series?.x ?? "x", followedColumn(page), "standard error", "change", "q"];
  return { columns, rows };
}

/** Null where the runs of the page are no series. */
export function seriesChart(page: Page): Chart | null {
  if (!page.runs.series) return null;
  return {
    id: "series",
    title: "Over the runs",
    heading: (now) => `${followedColumn(now)} over the runs`,
    option,
    mark: chosenLines,
    height: (_page, width) => Math.round(Math.min(430, Math.max(340, width * 0.42))),
    caption,
    headOf: (item) => (item.seriesId === "heads" ? (item.data as number[])[3] : -1),
    table,
  };
}
