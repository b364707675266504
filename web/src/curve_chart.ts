// Plasticity over position: a thin line for each head, a bold line for the mean or median over heads with the error of
// the mean.

import { axis, base, headTip, type Row, tip, tooltip } from "./chart_parts.ts";
import type { Chart, Option } from "./chart_card.ts";
import type { ChartTable } from "./chart_table.ts";
import { colorBar, colorBarHeight, coloring } from "./color_bar.ts";
import { curveColumns, type Curves, geometry } from "./cells.ts";
import { middleLine, placedCurves, type Point, points } from "./curve_lines.ts";
import { type Dataset, shortName } from "./data.ts";
import { segments } from "./dom.ts";
import { mean, quantiles, shown, span, tokens, withError } from "./numbers.ts";
import { headCount, headName, littleData, markedHeads, middleOfHeads, type Page } from "./page.ts";
import { runLines, showsBoth } from "./run_curves.ts";
import { mostKept } from "./state.ts";

interface Api {
  value(dimension: number): number;
  visual(channel: string): string;
  coord(point: number[]): number[];
}

// More lines than these cannot be told apart. Bands show where they lie.
const mostLines = 1500;

/** The values between which the middle half and nine tenths of the heads lie, from bucket to bucket. */
function crowdBands(page: Page, all: Curves): Option[] {
  const { data, look } = page;
  const ends: { x: number; at: number[] }[] = [];
  for (let at = 0; at < all.buckets.length; ++at) {
    const heads = page.heads.filter(
      (head) => !Number.isNaN(all.y(head, at)) && !(all.count(head, at) < data.minCount),
    );
    if (heads.length === 0) continue;
    const values = heads.map((head) => all.y(head, at));
    ends.push({
      x: mean(heads.map((head) => all.x(head, at))),
      at: quantiles(values, [0.05, 0.25, 0.75, 0.95]),
    });
  }
  return [0, 1].map((which) => ({
    id: `crowd-${which}`,
    type: "custom",
    silent: true,
    clip: true,
    z: 1,
    data: ends.slice(1).map((end, i) => [end.x, end.at[1], i]),
    encode: { x: 0, y: 1 },
    renderItem: (_: unknown, api: Api) => {
      const [from, to] = [ends[api.value(2)], ends[api.value(2) + 1]];
      const corners = [
        [from.x, from.at[which]],
        [to.x, to.at[which]],
        [to.x, to.at[3 - which]],
        [from.x, from.at[3 - which]],
      ];
      return {
        type: "polygon",
        shape: { points: corners.map((corner) => api.coord(corner)) },
        style: { fill: look.muted, opacity: 0.2 },
      };
    },
  }));
}

function headLines(page: Page, all: Curves): Option {
  const { data, heads } = page;
  // A head's own line leaves out points with little data. A single head is the bold line.
  const shownOf = (head: number) => points(all, head).filter((point) => !(point.count < data.minCount));
  const lines = new Map(heads.length === 1 ? [] : heads.map((head) => [head, shownOf(head).map(({ x, y }) => [x, y])]));
  const drawn = heads.filter((head) => (lines.get(head)?.length ?? 0) > 0);
  const crowd = Math.min(0.55, Math.max(0.12, 12 / Math.sqrt(drawn.length * 12)));
  const opacity = crowd * 0.8;
  return {
    id: "heads",
    type: "custom",
    clip: true,
    data: drawn.map((head) => [...(lines.get(head)?.[0] ?? []), data.layer[head], head]),
    encode: { x: 0, y: 1 },
    renderItem: (_: unknown, api: Api) => ({
      type: "polyline",
      shape: { points: (lines.get(api.value(3)) ?? []).map((point) => api.coord(point)) },
      style: { stroke: api.visual("color"), fill: "none", lineWidth: 1, opacity },
      emphasis: { style: { lineWidth: 2.5, opacity: 1 } },
    }),
  };
}

/** A bold line with a band of one standard error to either side; dotted where there is little data. The last value of
 * each item is its place in the line. */
function boldLine(page: Page, id: string, line: Point[], color: string, z: number): Option[] {
  const isLittle = (point: Point) => point.support < page.data.minCount;
  const known = line.map((point) => !isLittle(point) && !Number.isNaN(point.error));
  // A part of the band reaches from a point to the next one.
  const parts = line.map((_, at) => at).filter((at) => known[at] && known[at + 1]);
  const items = (y: (point: Point) => number) => line.map((point, at) => [point.x, y(point), at]);
  return [
    {
      id: `${id}-band`,
      type: "custom",
      silent: true,
      clip: true,
      z: z - 1,
      data: parts.map((at) => [line[at].x, line[at].y, at]),
      encode: { x: 0, y: 1 },
      renderItem: (_: unknown, api: Api) => {
        const [from, to] = [line[api.value(2)], line[api.value(2) + 1]];
        const corners = [
          [from.x, from.y - from.error],
          [to.x, to.y - to.error],
          [to.x, to.y + to.error],
          [from.x, from.y + from.error],
        ];
        return {
          type: "polygon",
          shape: { points: corners.map((corner) => api.coord(corner)) },
          style: { fill: color, opacity: 0.28 },
        };
      },
    },
    {
      id: `${id}-little`,
      type: "line",
      data: line.some(isLittle) ? items((point) => point.y) : [],
      symbol: "emptyCircle",
      symbolSize: (_: unknown, item: { dataIndex: number }) => (isLittle(line[item.dataIndex]) ? 5 : 0),
      lineStyle: { color, width: 1.25, type: "dotted" },
      itemStyle: { color },
      z,
    },
    {
      id,
      type: "line",
      data: items((point) => (isLittle(point) ? NaN : point.y)),
      symbol: "circle",
      symbolSize: 5,
      lineStyle: { color, width: 3 },
      itemStyle: { color },
      z,
    },
  ];
}

/** The lines of the chosen head and of those that it is compared with. All of them exist at all times, empty if need be:
 * ECharts keeps a series that is no longer named. */
function chosenLines(page: Page, all: Curves): Option[] {
  const marked = markedHeads(page).reverse();
  const slots = Array.from({ length: mostKept + 1 }, (_, i) => marked[i]);
  return slots.flatMap((one, i) =>
    boldLine(page, `chosen-${i}`, one ? points(all, one.head) : [], one?.color ?? page.look.accent, 20 - i),
  );
}

/** The head of a series of chosenLines; -1: the series is none of them. */
function headOfLine(page: Page, id = ""): number {
  const slot = /^chosen-(\d+)/.exec(id);
  return slot ? (markedHeads(page).reverse()[Number(slot[1])]?.head ?? -1) : -1;
}

function pointTip(page: Page, all: Curves, title: string, point: Point): HTMLElement {
  const { log } = geometry(page.data);
  const rows: Row[] = [
    ["position", shown(Math.round(log ? 2 ** point.x : point.x))],
    [page.view.curve, withError(point.y, point.error)],
  ];
  if (!Number.isNaN(point.count)) rows.push([all.counts, shown(point.count)]);
  if (point.support < page.data.minCount) rows.push(["", "little data"]);
  return tip(title, rows);
}

function option(page: Page, all: Curves): Option {
  const { data, view, look } = page;
  const place = geometry(data);
  const middle = middleLine(page, all);
  const both = showsBoth(page) ? runLines(page) : null;
  const isCrowd = page.heads.length > mostLines;
  const [least, most] = yEnds(page, all);
  const series = both
    ? both.flatMap(({ color, line }, i) => boldLine(page, `run-${i}`, line, color, 4))
    : [
    ...(isCrowd ? crowdBands(page, all) : [headLines(page, all)]),
    ...boldLine(page, "middle", middle, look.ink, 4),
    ...chosenLines(page, all),
  ];
  const scale = {
    colors: look.points,
    range: [0, Math.max(1, data.model.num_layers - 1)] as [number, number],
    meaning: "layer",
  };
  const hasColors = data.model.num_layers > 1 && page.heads.length > 1 && !isCrowd && !both;
  const name = data.tables.time?.columns.position || place.known ? "position of the query, in tokens" : "query bucket";
  // A linear axis of log2(position): the logarithmic axis of ECharts steps by 2^10 and leaves half of the chart empty.
  const doublings = {
    color: look.muted,
    fontSize: 11,
    hideOverlap: true,
    formatter: (value: number) => tokens(2 ** value),
  };
  return {
    ...base(look),
    grid: { left: least < 0 ? 58 : 48, right: 18, top: 12, bottom: 54 + (hasColors ? colorBarHeight : 0) },
    xAxis: axis(look, name, {
      type: "value",
      nameGap: 28,
      ...(place.log ? { scale: true, minInterval: 1, axisLabel: doublings } : { min: 0 }),
    }),
    yAxis: axis(look, yName(page), {
      type: "value",
      min: least,
      max: most,
      nameGap: least < 0 ? 40 : 32,
      splitLine: { show: true, lineStyle: { color: look.line } },
    }),
    visualMap: hasColors ? coloring(scale, { dimension: 2, seriesIndex: 0 }) : [],
    graphic: hasColors ? [colorBar(look, scale)] : [],
    tooltip: tooltip(look, (item) => {
      const values = item.data as number[];
      if (item.seriesId === "heads")
        return headTip(
          data,
          values[3],
          data.schema.headline.filter((column) => data.columns.has(column)),
        );
      const ofRun = both?.[Number(/^run-(\d)/.exec(item.seriesId ?? "")?.[1] ?? NaN)];
      if (ofRun) return ofRun.line[values[2]] ? pointTip(page, all, ofRun.name, ofRun.line[values[2]]) : null;
      const chosen = headOfLine(page, item.seriesId);
      const line = chosen >= 0 ? points(all, chosen) : middle;
      const point = line[values[2]];
      if (!point) return null;
      const title = chosen >= 0
        ? headName(data, chosen)
        : page.heads.length === 1
          ? middleOfHeads(page)
          : `${view.middle === "mean" ? "Mean" : "Median"} of ${point.heads} heads`;
      return pointTip(page, all, title, point);
    }),
    series,
  };
}

function yName(page: Page): string {
  const name = `${measure(page.data, page.view.curve).toLowerCase()} plasticity`;
  return page.data.comparison && !page.view.both ? `difference of ${name}` : name;
}

/** The ends of the upright axis: plasticity lies between 0 and 1, and differences have 0 in the middle. */
function yEnds(page: Page, all: Curves): [number, number] {
  const { data, view } = page;
  if (!data.comparison || view.both) return [0, 1];
  const lines = [middleLine(page, all), ...markedHeads(page).map(({ head }) => points(all, head))].flat();
  if (page.heads.length <= mostLines) lines.push(...page.heads.flatMap((head) => points(all, head)));
  let most = 0.01;
  for (const { y, error, count } of lines) {
    if (!(count < data.minCount)) most = Math.max(most, Math.abs(y) + (error || 0));
  }
  most = Math.ceil(most * 20) / 20;
  return [-most, most];
}

/** "Position-exact" or "Pooled". */
function measure(data: Dataset, column: string): string {
  const known = (data.schema.tables.time ?? []).find(({ name }) => name === column);
  return known?.title || "Pooled";
}

/** The caption of the curves of both runs. */
function bothCaption(page: Page): string {
  const { data, view } = page;
  const lines = runLines(page);
  const isHead = view.scope === "head" && view.head >= 0;
  const parts = [
    `${measure(data, view.curve)} plasticity by position of the query.`,
    `${isHead ? headName(data, view.head) : middleOfHeads(page)}, in blue in ${lines[0].name}, in orange in ${lines[1].name}.`,
  ];
  if (lines.some(({ line }) => line.some((point) => !Number.isNaN(point.error)))) {
    parts.push("Bands: ± 1 standard error over documents.");
  }
  return parts.join(" ");
}

function caption(page: Page, all: Curves): string {
  const { data, view } = page;
  if (showsBoth(page)) return bothCaption(page);
  const middle = middleLine(page, all);
  const difference = data.comparison ? `, ${data.comparison.b.name} less ${data.comparison.a.name}` : "";
  const parts = [`${measure(data, view.curve)} plasticity by position of the query${difference}.`];
  const counts = span(middle.map((point) => point.count));
  const weights = counts === "" ? "" : `, weighted by ${all.counts}`;
  parts.push(
    page.heads.length === 1
      ? `${middleOfHeads(page)}.`
      : page.heads.length > mostLines
        ? `Grey: the middle half and nine tenths of ${headCount(page)}; bold: their ${view.middle}${weights}.`
        : `Thin lines: ${headCount(page)}; bold: their ${view.middle}${weights}.`,
  );
  const marked = markedHeads(page).map(({ head }) => (head === view.head ? "" : shortName(data, head)));
  if (view.head >= 0) {
    const name = headName(data, view.head).replace("Layer", "layer");
    parts.push(`In ${page.look.accentName}: ${name}.`);
  }
  const others = marked.filter((name) => name !== "");
  if (others.length > 0) parts.push(`In the colours of the card: ${others.join(", ")}.`);
  if (counts !== "") parts.push(`${counts} ${all.counts} in a bucket.`);
  if (data.comparison && middle.some((point) => !Number.isNaN(point.error))) {
    parts.push("Bands: ± 1 standard error, the errors of both runs added; for the same documents it is less.");
  } else if (middle.some((point) => !Number.isNaN(point.error))) {
    const isBound = page.heads.length > 1 && !data.tables.groups?.columns.ap_exact;
    parts.push(`Bands: ${isBound ? "upper bound of the" : "± 1"} standard error over documents.`);
  }
  if (middle.some((point) => point.support < data.minCount)) {
    parts.push(`Dotted, little data: ${littleData(data, all.counts, page.heads.length)}.`);
  }
  return parts.join(" ");
}

/** Position and value of the mean or median, then those of the chosen heads. */
function table(page: Page, all: Curves): ChartTable {
  const { log } = geometry(page.data);
  const lines: [string, Point[]][] = showsBoth(page)
    ? runLines(page).map(({ name, line }) => [name, line])
    : [[middleOfHeads(page), middleLine(page, all)]];
  for (const { head } of showsBoth(page) ? [] : markedHeads(page).reverse()) lines.push([headName(page.data, head), points(all, head)]);
  const rows = lines.flatMap(([name, line]) =>
    line.map((point) => [name, Math.round(log ? 2 ** point.x : point.x), point.y, point.error, point.count]),
  );
  return { columns: ["line", "position", page.view.curve, "standard error", all.counts || "count"], rows };
}

export function curveChart(page: Page): (Chart & { sync(page: Page): void }) | null {
  const { data } = page;
  const columns = curveColumns(data);
  if (columns.length === 0) return null;
  const all = (now: Page) => placedCurves(data, now.view.curve) as Curves;
  const choices = columns.map((column) => ({ value: column, label: measure(data, column) }));
  const column = segments("Which plasticity", choices, (curve) => page.change({ curve }));
  const kinds = [
    { value: "difference", label: "Difference" },
    { value: "both", label: "Both runs" },
  ];
  const kind = segments("Which curves", kinds, (value) => page.change({ both: value === "both" }));
  return {
    id: "curves",
    title: "Plasticity over position",
    heading: (now) => {
      const name = `${measure(data, now.view.curve)} plasticity over position`;
      return data.comparison ? `${now.view.both ? "Both runs" : "Difference"}: ${name.toLowerCase()}` : name;
    },
    controls: [...(choices.length > 1 ? [column.element] : []), ...(data.comparison ? [kind.element] : [])],
    sync: (now) => {
      column.show(now.view.curve);
      kind.show(now.view.both ? "both" : "difference");
    },
    option: (now) => option(now, all(now)),
    mark: (now) => (showsBoth(now) ? null : chosenLines(now, all(now))),
    height: (_page, width) => Math.round(Math.min(430, Math.max(340, width * 0.66))),
    caption: (now) => caption(now, all(now)),
    headOf: (item) => (item.seriesId === "heads" ? (item.data as number[])[3] : -1),
    table: (now) => table(now, all(now)),
  };
}
