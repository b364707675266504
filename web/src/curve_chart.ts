// Plasticity over position: a thin line for each head, a bold line for the mean or median over heads.

import { axis, base, headTip, scale, tip, tooltip } from "./chart_parts.ts";
import type { Chart, Option } from "./chart_card.ts";
import { curves, geometry, type Curves } from "./cells.ts";
import type { Dataset } from "./data.ts";
import { mean, median, shown, tokens } from "./numbers.ts";
import { headCount, headName, type Page } from "./page.ts";

interface Api {
  value(dimension: number): number;
  visual(channel: string): string;
  coord(point: number[]): number[];
}

function points(all: Curves, head: number): number[][] {
  const line: number[][] = [];
  for (let at = 0; at < all.buckets.length; ++at) {
    const point = [all.x(head, at), all.y(head, at)];
    if (!point.some(Number.isNaN)) line.push(point);
  }
  return line;
}

function middleLine(page: Page, all: Curves): number[][] {
  const middle = page.view.middle === "mean" ? mean : median;
  const line: number[][] = [];
  for (let at = 0; at < all.buckets.length; ++at) {
    const heads = page.heads.filter((head) => !Number.isNaN(all.y(head, at)) && !Number.isNaN(all.x(head, at)));
    if (heads.length === 0) continue;
    line.push([mean(heads.map((head) => all.x(head, at))), middle(heads.map((head) => all.y(head, at))), heads.length]);
  }
  return line;
}

function headLines(page: Page, all: Curves): Option {
  const { data, heads, view } = page;
  const lines = new Map(heads.map((head) => [head, points(all, head)]));
  const drawn = heads.filter((head) => (lines.get(head)?.length ?? 0) > 0);
  const crowd = Math.min(0.55, Math.max(0.12, 12 / Math.sqrt(drawn.length * 12)));
  const opacity = view.scope === "head" ? crowd * 0.5 : crowd;
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

function boldLine(id: string, data: number[][], color: string, z: number): Option {
  return {
    id,
    type: "line",
    data,
    symbol: "circle",
    symbolSize: 5,
    lineStyle: { color, width: 3 },
    itemStyle: { color },
    z,
  };
}

function chosenLine(page: Page, all: Curves): Option {
  const line = page.view.head >= 0 ? points(all, page.view.head) : [];
  return boldLine("chosen", line.map((point) => [...point, page.view.head]), page.look.accent, 5);
}

function option(page: Page, all: Curves): Option {
  const { data, view, look } = page;
  const place = geometry(data);
  const middle = middleLine(page, all);
  const series = [headLines(page, all), boldLine("middle", middle, look.ink, 4), chosenLine(page, all)];
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
    grid: { left: 48, right: 18, top: 12, bottom: 88 },
    xAxis: axis(look, name, {
      type: "value",
      nameGap: 28,
      ...(place.log ? { scale: true, minInterval: 1, axisLabel: doublings } : { min: 0 }),
    }),
    yAxis: axis(look, "plasticity", {
      type: "value",
      min: 0,
      max: 1,
      nameGap: 32,
      splitLine: { show: true, lineStyle: { color: look.line } },
    }),
    visualMap: scale(look, look.points, [0, Math.max(1, data.model.num_layers - 1)], {
      dimension: 2,
      seriesIndex: 0,
      text: [`layer ${data.model.num_layers - 1}`, "layer 0"],
    }),
    tooltip: tooltip(look, (item) => {
      const values = item.data as number[];
      if (item.seriesId === "heads")
        return headTip(
          data,
          values[3],
          data.schema.headline.filter((column) => data.columns.has(column)),
        );
      const title =
        item.seriesId === "chosen"
          ? headName(data, values[2])
          : `${view.middle === "mean" ? "Mean" : "Median"} of ${values[2]} heads`;
      return tip(title, [
        ["position", shown(Math.round(place.log ? 2 ** values[0] : values[0]))],
        ["plasticity", shown(values[1])],
      ]);
    }),
    series,
  };
}

export function curveChart(data: Dataset): Chart | null {
  const measured = curves(data);
  if (!measured) return null;
  const { log } = geometry(data);
  const all: Curves = log ? { ...measured, x: (head, at) => Math.log2(Math.max(1, measured.x(head, at))) } : measured;
  return {
    id: "curves",
    title: "Plasticity over position",
    option: (page) => option(page, all),
    mark: (page) => chosenLine(page, all),
    height: (_page, width) => Math.round(Math.min(420, Math.max(330, width * 0.66))),
    caption: (page) =>
      `Pooled plasticity by position of the query. Thin lines: ${headCount(page)}; bold: their ${page.view.middle}` +
      (page.view.head >= 0 ? `; in ${page.look.accentName}: ${headName(data, page.view.head).toLowerCase()}.` : "."),
    headOf: (item) => (item.seriesId === "heads" ? (item.data as number[])[3] : -1),
  };
}
