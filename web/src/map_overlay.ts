// What lies over the cells of the map: the chosen heads and the cache plan.

import { type Frame, overlayLevel, type Shape } from "./chart_card.ts";
import { graphic } from "./echarts.ts";
import { markedHeads, type Page } from "./page.ts";
import { type CachePlan, planCache } from "./plan.ts";

export interface MapGrid {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

interface Rect {
  x: number;
  y: number;
  width: number;
  height: number;
}

// One shape for thousands of rectangles.
const Rects = graphic.extendShape({
  type: "rects",
  shape: { rects: [] as Rect[] },
  buildPath(path: CanvasRenderingContext2D, shape: unknown) {
    for (const { x, y, width, height } of (shape as { rects: Rect[] }).rects) path.rect(x, y, width, height);
  },
});

const layer = { zlevel: overlayLevel, silent: true };

/** The plan that the view asks for; null: none. */
export function shownPlan(page: Page): CachePlan | null {
  const { data, view } = page;
  if (!view.plan || data.comparison) return null;
  const { map: column, keep, group, window, sinks } = view;
  return planCache(data, { column, keep, group, window, sinks });
}

export function mapOverlay(page: Page, grid: MapGrid, frame: Frame): Shape[] {
  const { data, look } = page;
  const width = (frame.width - grid.left - grid.right) / data.model.num_layers;
  const height = (frame.height - frame.shift - grid.top - grid.bottom) / data.model.num_q_heads;
  const place = (column: number, row: number, rows: number, gap: number): Rect => ({
    x: grid.left + column * width + gap,
    y: frame.shift + grid.top + row * height + gap,
    width: width - 2 * gap,
    height: rows * height - 2 * gap,
  });
  const shapes: Shape[] = [];
  const plan = shownPlan(page);
  if (plan) {
    // KV heads without a score stay full for lack of a measurement: they are not outlined.
    const rects = (kind: string, gap: number) =>
      plan.heads
        .filter((head) => head.kind === kind && !Number.isNaN(head.score))
        .map((head) => place(head.layer, head.kvHead * plan.group, plan.group, gap));
    const line = Math.min(2, width / 4);
    shapes.push(
      new Rects({ ...layer, z: 1, shape: { rects: rects("window", 0) }, style: { fill: look.surface, opacity: 0.72 } }),
      new Rects({
        ...layer,
        z: 2,
        shape: { rects: rects("full", line / 2) },
        style: { fill: "none", stroke: look.ink, lineWidth: line },
      }),
    );
  }
  for (const { head, color } of markedHeads(page)) {
    const shape = place(data.layer[head], data.qHead[head], 1, -1);
    shapes.push(
      new graphic.Rect({ ...layer, z: 3, shape, style: { fill: "none", stroke: look.surface, lineWidth: 5 } }),
      new graphic.Rect({ ...layer, z: 4, shape, style: { fill: "none", stroke: color, lineWidth: 2.5 } }),
    );
  }
  return shapes;
}
