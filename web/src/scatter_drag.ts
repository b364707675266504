// Dragging a rectangle in the scatter chart: it zooms, or it becomes the filter.

import type { ECharts } from "./echarts.ts";
import { element } from "./dom.ts";
import type { Page } from "./page.ts";
import { scaleOf, type Side } from "./scatter_axes.ts";

/** The parts of the two axes in a rectangle, in values. */
export type Area = Record<Side, [number, number]>;

const axes = { xAxisIndex: 0, yAxisIndex: 0 };
const leastDrag = 6; // pixels

/** The area between two pixels. */
export function areaBetween(page: Page, chart: ECharts, from: number[], to: number[]): Area {
  const [a, b] = [chart.convertFromPixel(axes, from), chart.convertFromPixel(axes, to)];
  const part = (side: Side, i: number): [number, number] => {
    const ends = [a[i], b[i]].map(scaleOf(page, side).from);
    return [Math.min(...ends), Math.max(...ends)];
  };
  return { x: part("x", 0), y: part("y", 1) };
}

const digits = (value: number) => String(Number(value.toPrecision(5)));

export function zoomText({ x, y }: Area): string {
  return [...x, ...y].map(digits).join(":");
}

/** The heads of an area, as conditions of a filter. */
export function areaFilter(page: Page, area: Area): string {
  const part = (side: Side) => `${digits(area[side][0])}<${page.view[side]}<${digits(area[side][1])}`;
  return page.view.x === page.view.y ? part("x") : `${part("x")} and ${part("y")}`;
}

/** Calls `done` with the area of each rectangle that is dragged in the chart. */
export function onDrag(canvas: HTMLElement, chart: ECharts, page: () => Page, done: (area: Area) => void): void {
  const rectangle = element("div", { class: "drag", "aria-hidden": "true", hidden: true });
  canvas.append(rectangle);
  let start: number[] | null = null;
  let dragged = false;
  const place = (event: PointerEvent) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const stop = () => {
    start = null;
    dragged = false;
    rectangle.hidden = true;
  };
  canvas.addEventListener("pointerdown", (event) => {
    const at = place(event);
    if (event.button === 0 && chart.containPixel({ gridIndex: 0 }, at)) start = at;
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!start) return;
    const at = place(event);
    const [width, height] = [Math.abs(at[0] - start[0]), Math.abs(at[1] - start[1])];
    if (!dragged && Math.max(width, height) < leastDrag) return;
    // Captured only now: the chart would otherwise miss its clicks.
    if (!dragged) canvas.setPointerCapture(event.pointerId);
    dragged = true;
    rectangle.hidden = false;
    Object.assign(rectangle.style, {
      left: `${Math.min(at[0], start[0])}px`,
      top: `${Math.min(at[1], start[1])}px`,
      width: `${width}px`,
      height: `${height}px`,
    });
  });
  canvas.addEventListener("pointerup", (event) => {
    const [from, to, wasDragged] = [start, place(event), dragged];
    stop();
    if (!from || !wasDragged) return;
    if (Math.min(Math.abs(to[0] - from[0]), Math.abs(to[1] - from[1])) < leastDrag) return;
    done(areaBetween(page(), chart, from, to));
  });
  canvas.addEventListener("pointercancel", stop);
}
