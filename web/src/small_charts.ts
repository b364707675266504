// The curves and the distance map of the chosen head in small, for its card. They are plain drawings: the charts below
// have axes, values and means.

import type { Curves } from "./cells.ts";
import { countsOf, geometry } from "./cells.ts";
import { middleLine, type Point, points } from "./curve_lines.ts";
import { bothLines } from "./run_curves.ts";
import { svg } from "./dom.ts";
import { colorAt, magma } from "./look.ts";
import { brief, tokens } from "./numbers.ts";
import { markedHeads, type Page } from "./page.ts";

const [width, height] = [300, 128];
const frame = { left: 32, right: 6, top: 8, bottom: 18 };

const across = (share: number) => frame.left + share * (width - frame.left - frame.right);
const down = (share: number) => frame.top + (1 - share) * (height - frame.top - frame.bottom);
const text = (x: number, y: number, words: string, anchor: string) =>
  svg("text", { x: x.toFixed(1), y: y.toFixed(1), "text-anchor": anchor }, words);

/** Plasticity over position: the chosen head with its error, heads to compare with, and the mean in grey. In a
 * comparison: the chosen head in both runs. */
export function smallCurves(page: Page, all: Curves): SVGElement | null {
  const { comparison } = page.data;
  const middle = comparison ? [] : middleLine(page, all);
  const lines = comparison
    ? bothLines(page).map(({ color, line }) => ({ head: page.view.head, color, line }))
    : markedHeads(page).map(({ head, color }) => ({ head, color, line: points(all, head) }));
  const every = [...middle, ...lines.flatMap(({ line }) => line)].map((point) => point.x);
  if (every.length === 0) return null;
  const [low, high] = [Math.min(...every), Math.max(...every)];
  const at = ({ x, y }: { x: number; y: number }) =>
    `${across(high > low ? (x - low) / (high - low) : 0.5).toFixed(1)},${down(Math.min(1, Math.max(0, y))).toFixed(1)}`;
  const path = (line: Point[], color: string, size: number) =>
    svg("polyline", { points: line.map(at).join(" "), fill: "none", stroke: color, "stroke-width": size });
  const bands = lines
    .filter(({ head }) => head === page.view.head)
    .map(({ line, color }) => {
      const known = line.filter((point) => !Number.isNaN(point.error));
      const above = known.map((point) => at({ x: point.x, y: point.y + point.error }));
      const below = known.map((point) => at({ x: point.x, y: point.y - point.error })).reverse();
      return svg("polygon", { points: [...above, ...below].join(" "), fill: color, opacity: 0.25 });
    });
  const place = (x: number) => tokens(geometry(page.data).log ? 2 ** x : x);
  const dots = lines
    .filter(({ head, line }) => head === page.view.head && line.length === 1)
    .map(({ line, color }) => {
      const [cx, cy] = at(line[0]).split(",");
      return svg("circle", { cx, cy, r: 3, fill: color });
    });
  return svg(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, class: "small", "aria-hidden": "true" },
    ...[0, 0.5, 1].map((y) => svg("path", { d: `M${frame.left} ${down(y)}H${width - frame.right}`, class: "rule" })),
    text(frame.left - 5, down(1) + 4, "1", "end"),
    text(frame.left - 5, down(0) + 3, "0", "end"),
    text(across(0), height - 4, place(low), "start"),
    text(across(1), height - 4, place(high), "end"),
    ...bands,
    path(middle, page.look.muted, 1.5),
    ...lines.map(({ line, color, head }) => path(line, color, head === page.view.head ? 2.5 : 1.75)),
    ...dots,
  );
}

/** The cells of the chosen head by distance of the two keys, and what the colours mean. Cells with little data are left
 * out. */
export function smallDistances(page: Page): { drawing: SVGElement; range: string } | null {
  const { data, view } = page;
  const cells = data.tables.distance;
  const values = cells?.columns[view.distance];
  if (!cells || !values || view.head < 0) return null;
  const counts = countsOf(data, "distance", view.distance)?.values;
  const first = view.head * cells.count;
  const known = Array.from({ length: cells.count }, (_, cell) => cell).filter(
    (cell) => !Number.isNaN(values[first + cell]) && !(counts && Math.round(counts[first + cell]) < data.minCount),
  );
  const info = data.schema.tables.distance?.find(({ name }) => name === view.distance);
  const greatest = Math.max(...known.map((cell) => Math.abs(values[first + cell])), 0);
  const isDifference = Boolean(data.comparison);
  const high = isDifference ? greatest || 1 : (info?.colors?.[1] ?? greatest);
  const low = isDifference ? -high : (info?.colors?.[0] ?? 0);
  const colors = isDifference ? page.look.diverging : magma;
  const bins = (name: string) => [...new Set(cells.keys[name])].sort((a, b) => a - b);
  const [near, far] = [bins("near_bin"), bins("far_bin")];
  const size = { width: (across(1) - across(0)) / near.length, height: (down(0) - down(1)) / far.length };
  const rects = known.map((cell) =>
    svg("rect", {
      x: (across(0) + near.indexOf(cells.keys.near_bin[cell]) * size.width).toFixed(2),
      y: (down(0) - (far.indexOf(cells.keys.far_bin[cell]) + 1) * size.height).toFixed(2),
      width: size.width.toFixed(2),
      height: size.height.toFixed(2),
      fill: colorAt(colors, high > low ? (values[first + cell] - low) / (high - low) : 0),
    }),
  );
  const distance = (bin: number) => tokens(2 ** bin - 1);
  const drawing = svg(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, class: "small", "aria-hidden": "true" },
    ...rects,
    svg("path", { d: `M${frame.left} ${frame.top}V${down(0)}H${width - frame.right}`, class: "rule", fill: "none" }),
    text(frame.left - 5, down(1) + 4, distance(far[far.length - 1] ?? 0), "end"),
    text(across(0), height - 4, distance(near[0] ?? 0), "start"),
    text(across(1), height - 4, distance(near[near.length - 1] ?? 0), "end"),
  );
  const ends = isDifference ? ["blue", "red"] : ["dark", "light"];
  return { drawing, range: `${brief(low)} (${ends[0]}) to ${brief(high)} (${ends[1]})` };
}
