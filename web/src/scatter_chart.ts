// A scatter chart of any column against any other.

import { axis, base, headTip, tooltip } from "./chart_parts.ts";
import { type Chart, type Frame, type Option, overlayLevel, type Shape } from "./chart_card.ts";
import type { ChartTable } from "./chart_table.ts";
import { colorBar, colorBarHeight, coloring } from "./color_bar.ts";
import { columnChoices, errorOf, hasLittleData, meaning, rangeOf, valueOf } from "./columns.ts";
import { hasMoved } from "./comparison.ts";
import { button, element, segments, selector } from "./dom.ts";
import { type ECharts, graphic } from "./echarts.ts";
import { headCount, markedHeads, type Page } from "./page.ts";
import { ends, hasPlace, scaleOf, type Side } from "./scatter_axes.ts";
import { identity, isRunAgainstRun, runErrors } from "./scatter_runs.ts";
import { type Area, areaBetween, areaFilter, onDrag, zoomText } from "./scatter_drag.ts";

interface Api {
  value(dimension: number): number;
  coord(point: number[]): number[];
}

const mostWhiskers = 400;

let drawn: { of: readonly number[]; key: string; heads: number[] } | null = null;

/** The heads that have a place on both axes; found again only when the filter or the axes change. */
function drawnHeads(page: Page): number[] {
  const { x, y, logs } = page.view;
  const key = `${x}\n${y}\n${logs}`;
  if (drawn?.of !== page.heads || drawn.key !== key) {
    const heads = page.heads.filter((head) => hasPlace(page, "x", head) && hasPlace(page, "y", head));
    drawn = { of: page.heads, key, heads };
  }
  return drawn.heads;
}

/** Whether one of the head's two values rests on little data. */
function isLittle(page: Page, head: number): boolean {
  return hasLittleData(page.data, page.view.x, head) || hasLittleData(page.data, page.view.y, head);
}

/** Whether a head is drawn faded: little data, or in a chart of one run against the other, it did not move. */
function isFaded(page: Page, head: number): boolean {
  return isLittle(page, head) || (isRunAgainstRun(page) && hasMoved(page.data, page.view.y, head) === false);
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
  const [errorX, errorY] = runErrors(page) ?? [errorOf(data, view.x), errorOf(data, view.y)];
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
      scaleOf(page, "x").to(valueOf(data, view.x, head)),
      scaleOf(page, "y").to(valueOf(data, view.y, head)),
      error(errorX, head),
      error(errorY, head),
      head,
    ]),
    renderItem: (_: unknown, api: Api) => {
      const head = api.value(4);
      const tips = (side: Side, error: number) => {
        const scale = scaleOf(page, side);
        const value = valueOf(data, scale.column, head);
        // An error that reaches below 0 ends far below a logarithmic axis.
        return [value - error, value + error].map((end) => scale.to(scale.isLog ? Math.max(end, value * 1e-6) : end));
      };
      const [[left, right], [low, high]] = [tips("x", api.value(2)), tips("y", api.value(3))];
      const line = (from: number[], to: number[]) => {
        const [[x1, y1], [x2, y2]] = [api.coord(from), api.coord(to)];
        return { type: "line", shape: { x1, y1, x2, y2 }, style: { stroke: look.faint, lineWidth: 1 } };
      };
      const [x, y] = [api.value(0), api.value(1)];
      return { type: "group", children: [line([left, y], [right, y]), line([x, low], [x, high])] };
    },
  };
}

const pointSize = (heads: number[]) => (heads.length > 4000 ? 4 : heads.length > 400 ? 6 : 9);

/** Rings around the chosen heads. */
function overlay(page: Page, frame: Frame): Shape[] {
  const size = pointSize(page.heads);
  const shapes: Shape[] = [];
  const passing = new Set(drawnHeads(page));
  for (const { head, color } of markedHeads(page)) {
    if (!passing.has(head)) continue;
    const [x, y] = (["x", "y"] as const).map((side) =>
      scaleOf(page, side).to(valueOf(page.data, page.view[side], head)),
    );
    const at = frame.pixel([x, y]);
    if (!at) continue;
    shapes.push(
      new graphic.Circle({
        zlevel: overlayLevel,
        silent: true,
        shape: { cx: at[0], cy: at[1], r: size / 2 + 4 },
        style: { fill: "none", stroke: color, lineWidth: 3 },
      }),
    );
  }
  return shapes;
}

const bottom = 54 + colorBarHeight;

function option(page: Page): Option {
  const { data, view, look } = page;
  const heads = drawnHeads(page);
  const colorOf = (head: number) => valueOf(data, view.color, head);
  const [x, y] = [scaleOf(page, "x"), scaleOf(page, "y")];
  const point = (head: number) => [
    x.to(valueOf(data, view.x, head)),
    y.to(valueOf(data, view.y, head)),
    colorOf(head),
    head,
  ];
  const parts: Record<"heads" | "little" | "colorless", number[]> = { heads: [], little: [], colorless: [] };
  for (const head of heads) {
    parts[Number.isNaN(colorOf(head)) ? "colorless" : isFaded(page, head) ? "little" : "heads"].push(head);
  }
  const points = (id: keyof typeof parts, z: number, style: Option): Option => ({
    id,
    type: "scatter",
    z,
    clip: true,
    symbolSize: pointSize(heads),
    data: parts[id].map(point),
    progressive: 0,
    itemStyle: style,
    emphasis: { itemStyle: { borderColor: look.ink, borderWidth: 2, opacity: 1 } },
  });
  const border = heads.length > 4000 ? {} : { borderColor: look.surface, borderWidth: 0.75 };
  const series: (Option | null)[] = [
    points("heads", 3, border),
    points("little", 3, { ...border, opacity: 0.25 }),
    points("colorless", 2, { color: look.faint }),
    whiskers(page, heads),
    identity(page, heads),
  ];
  const grids = { splitLine: { show: true, lineStyle: { color: look.line } } };
  const axisOf = (side: Side, nameGap: number) => {
    const own = axis(look, view[side] + (view.logs.includes(side) ? " (logarithmic)" : ""), {
      type: "value",
      nameGap,
      ...grids,
    });
    // Marks that are set by hand keep the look of the others.
    for (const [name, more] of Object.entries(ends(page, side, heads))) {
      const isPart = typeof more === "object" && !Array.isArray(more);
      own[name] = isPart ? { ...(own[name] as Option), ...(more as Option) } : more;
    }
    return own;
  };
  const scale = { colors: look.points, range: rangeOf(data, view.color, heads), meaning: view.color };
  return {
    ...base(look),
    grid: { left: 62, right: 24, top: 14, bottom },
    xAxis: axisOf("x", 28),
    yAxis: axisOf("y", 44),
    visualMap: coloring(scale, { dimension: 2, seriesIndex: [0, 1] }),
    graphic: heads.length > 1 ? [colorBar(look, scale)] : [],
    tooltip: tooltip(look, (item) => headTip(data, (item.data as number[])[3], [view.y, view.x, view.color])),
    series: series.filter((one) => one !== null),
  };
}

let last: { heads: number[]; correlation: number } | null = null;

/** The rank correlation of the two columns over the drawn heads; computed again only when these change. */
function correlationOf(page: Page, heads: number[]): number {
  const { data, view } = page;
  if (last?.heads !== heads) {
    const values = (column: string) => heads.map((head) => valueOf(data, column, head));
    last = { heads, correlation: rankCorrelation(values(view.x), values(view.y)) };
  }
  return last.correlation;
}

function caption(page: Page): string {
  const { data, view } = page;
  const heads = drawnHeads(page);
  const correlation = correlationOf(page, heads);
  const parts = [
    page.heads.length === 1
      ? `The point of ${headCount(page)}.`
      : `A point for each of ${headCount(page)}, coloured by ${view.color}.`,
  ];
  if (heads.length < page.heads.length) {
    const logs = view.logs === "" ? "" : ", above 0 on logarithmic axes";
    parts.push(`Only ${heads.length.toLocaleString("en-US")} have both values${logs}.`);
  }
  if (Number.isFinite(correlation)) {
    parts.push(`Rank correlation ${correlation < 0 ? "\u2212" : "+"}${Math.abs(correlation).toFixed(2)}.`);
  }
  if (whiskers(page, heads)) parts.push(`Whiskers show one standard error${runErrors(page) ? " of the difference" : ""}.`);
  if (isRunAgainstRun(page)) {
    parts.push("On the dashed line a head has the same value in both runs.");
    if (heads.some((head) => hasMoved(data, view.y, head) === false)) {
      parts.push(`Faded points did not move (q at least ${data.comparison?.head.level}).`);
    }
  }
  if (heads.some((head) => isLittle(page, head))) parts.push(`Faded points: counts below ${data.minCount}.`);
  if (heads.some((head) => Number.isNaN(valueOf(data, view.color, head)))) {
    parts.push(`Grey points have no ${view.color}.`);
  }
  for (const column of new Set([view.x, view.y])) {
    if (meaning(data, column)) parts.push(`${column}: ${meaning(data, column).replace(/^./, (c) => c.toLowerCase())}.`);
  }
  if (view.zoom !== "") parts.push("A part of the chart is shown.");
  return parts.join(" ");
}

function table(page: Page): ChartTable {
  const { data, view } = page;
  const columns = [...new Set([view.x, view.y, view.color])].filter((column) => column !== "layer");
  return {
    columns: ["layer", "q_head", ...columns],
    rows: drawnHeads(page).map((head) => [
      data.layer[head],
      data.qHead[head],
      ...columns.map((column) => valueOf(data, column, head)),
    ]),
  };
}

/** The area that lies around the middle of a chart: larger, smaller, or beside it. */
function nearby(page: Page, chart: ECharts, times: number, right: number, up: number): Area {
  const [left, top] = [62, 14];
  const [width, height] = [chart.getWidth() - left - 24, chart.getHeight() - top - bottom];
  const middle = [left + width * (0.5 + right), top + height * (0.5 - up)];
  const half = [(width * times) / 2, (height * times) / 2];
  return areaBetween(
    page,
    chart,
    [middle[0] - half[0], middle[1] - half[1]],
    [middle[0] + half[0], middle[1] + half[1]],
  );
}

const moves: Record<string, [times: number, right: number, up: number]> = {
  "+": [0.5, 0, 0],
  "-": [2, 0, 0],
  ArrowLeft: [1, -0.25, 0],
  ArrowRight: [1, 0.25, 0],
  ArrowUp: [1, 0, 0.25],
  ArrowDown: [1, 0, -0.25],
};

/** A box that makes an axis logarithmic. */
function logBox(page: Page, side: Side, name: string) {
  const box = element("input", { type: "checkbox", "aria-label": `${name}: logarithmic axis` });
  box.addEventListener("change", () => {
    const { logs } = page.view;
    const now = (["x", "y"] as const).filter((one) => (one === side ? box.checked : logs.includes(one)));
    page.change({ logs: now.join(""), zoom: "" });
  });
  return {
    element: element("label", { class: "field switch" }, box, element("span", { "aria-hidden": "true" }, "log")),
    box,
  };
}

export function scatterChart(page: Page): Chart & { sync(page: Page): void } {
  const choices = columnChoices(page.data, true);
  const x = selector("Across", choices, (value) => page.change({ x: value, zoom: "" }));
  const y = selector("Up", choices, (value) => page.change({ y: value, zoom: "" }));
  const color = selector("Colour", choices, (value) => page.change({ color: value }));
  const [logX, logY] = [logBox(page, "x", "Across"), logBox(page, "y", "Up")];
  let shown: ECharts | null = null;
  let drag = "zoom";
  const modes = segments(
    "What a drag does",
    [
      { value: "zoom", label: "Drag zooms" },
      { value: "filter", label: "Drag filters" },
    ],
    (value) => {
      drag = value;
      modes.show(drag);
    },
  );
  modes.show(drag);
  const go = (now: Page, key: string): boolean => {
    if (key === "0") now.change({ zoom: "" });
    else if (shown && moves[key]) now.change({ zoom: zoomText(nearby(now, shown, ...moves[key])) });
    else return false;
    return true;
  };
  const [nearer, farther, whole] = [
    button("+", () => go(page, "+"), { class: "quiet", "aria-label": "Zoom in" }),
    button("−", () => go(page, "-"), { class: "quiet", "aria-label": "Zoom out" }),
    button("Whole", () => go(page, "0"), { class: "quiet", "aria-label": "Show the whole chart" }),
  ];
  // A further drag replaces the conditions of the drag before it.
  let last = { before: "", after: "" };
  const dragged = (area: Area) => {
    if (drag === "zoom") return page.change({ zoom: zoomText(area) });
    const before = last.after === page.view.filter ? last.before : page.view.filter;
    const conditions = areaFilter(page, area);
    const after = before.trim() === "" ? conditions : `(${before}) and ${conditions}`;
    last = { before, after };
    page.change({ filter: after, zoom: "" });
  };
  return {
    id: "scatter",
    title: "One column against another",
    heading: (now) => `${now.view.y} against ${now.view.x}`,
    controls: [
      x.element,
      logX.element,
      y.element,
      logY.element,
      color.element,
      element("div", { class: "tools" }, modes.element, nearer, farther, whole),
    ],
    sync: (now) => {
      x.show(now.view.x);
      y.show(now.view.y);
      color.show(now.view.color);
      logX.box.checked = now.view.logs.includes("x");
      logY.box.checked = now.view.logs.includes("y");
      whole.disabled = now.view.zoom === "";
    },
    option,
    overlay,
    caption,
    key: go,
    keys: "Plus and minus zoom, arrow keys move the part that is shown, 0 shows all.",
    attach: (canvas, chart, now) => {
      shown = chart;
      canvas.classList.add("draggable");
      onDrag(canvas, chart, now, dragged);
      canvas.addEventListener("dblclick", () => page.change({ zoom: "" }));
    },
    height: (_page, width) => Math.round(Math.min(530, Math.max(360, width * 0.5))),
    headOf: (item) =>
      ["heads", "little", "colorless"].includes(item.seriesId ?? "") ? (item.data as number[])[3] : -1,
    table,
  };
}
