// A chart with its title, caption, table of values and ways to save it.

import { type ChartTable, TableView } from "./chart_table.ts";
import { shortName } from "./data.ts";
import { button, element } from "./dom.ts";
import { type ECharts, init } from "./echarts.ts";
import { font, light } from "./look.ts";
import { aboutRun, chooseHead, headName, markedHeads, type Page } from "./page.ts";
import { fileName, save } from "./save.ts";

/** An ECharts option. The type that ECharts declares is too loose to catch a mistake, and too large to read. */
export type Option = Record<string, unknown>;

/** The size of a drawn chart in pixels. A saved picture has a title of `shift` pixels above the chart. */
export interface Frame {
  width: number;
  height: number;
  shift: number;
  /** The pixel of a point of the axes; null when it lies outside of them. */
  pixel(point: [number, number]): number[] | null;
}

/** The level of shapes over a chart. Shapes of one level are drawn again together, and ECharts uses lower levels. */
export const overlayLevel = 10;

/** A shape that is drawn over a chart. */
export type Shape = Parameters<ReturnType<ECharts["getZr"]>["add"]>[0];

export interface Item {
  seriesId?: string;
  data?: unknown;
}

export interface Chart {
  id: string;
  title: string;
  /** The title with what is chosen in the chart; missing: the title. */
  heading?(page: Page): string;
  /** Whether the chart can show the chosen head alone. A saved picture then names the head. */
  followsHead?: boolean;
  /** What the chart shows, in a line or two. */
  caption(page: Page): string;
  option(page: Page, width: number): Option;
  /** The series that mark the chosen heads; missing or null when choosing another head changes more than these series. */
  mark?(page: Page): Option | Option[] | null;
  /** Shapes over the chart: what changes while the chart below stays as it is. They lie on a layer of their own, so that
   * thousands of items need not be drawn again. */
  overlay?(page: Page, frame: Frame): Shape[];
  height(page: Page, width: number): number;
  controls?: HTMLElement[];
  /** The head that belongs to a clicked item. */
  headOf?(item: Item): number;
  /** Handles a key; returns whether the chart used it. */
  key?(page: Page, key: string): boolean;
  /** What the keys do, for those who do not see the chart. */
  keys?: string;
  /** Called once, when the chart is drawn for the first time. */
  attach?(canvas: HTMLElement, chart: ECharts, page: () => Page): void;
  table(page: Page): ChartTable;
}

const printedWidth = 680;
const titleHeight = 56;

export class ChartCard {
  readonly element: HTMLElement;
  private readonly chart: Chart;
  private readonly canvas: HTMLElement;
  private readonly printed: HTMLElement;
  private readonly caption: HTMLElement;
  private readonly title: HTMLElement;
  private readonly values: TableView;
  private readonly observer: ResizeObserver;
  private drawn: ECharts | null = null;
  private shapes: Shape[] = [];
  private printing: ECharts | null = null;
  private page: Page | null = null;
  private width = 0;

  constructor(chart: Chart) {
    this.chart = chart;
    this.canvas = element("div", {
      class: "chart",
      id: `chart-${chart.id}`,
      role: chart.key ? "application" : "img",
      tabindex: 0,
    });
    this.printed = element("div", { class: "printed-chart", "aria-hidden": "true" });
    this.caption = element("figcaption", {});
    this.values = new TableView(chart.id, chart.title);
    const saving = ["PNG", "SVG"].map((format) =>
      button(format, () => this.save(format), { class: "quiet", "aria-label": `Save ${chart.title} as ${format}` }),
    );
    this.title = element("h3", { id: `title-${chart.id}`, tabindex: -1 }, chart.title);
    const controls = element("div", { class: "chart-controls" }, ...(chart.controls ?? []));
    const top = element(
      "div",
      { class: "chart-top" },
      this.title,
      element("div", { class: "chart-save" }, this.values.toggle, ...saving),
    );
    this.element = element(
      "figure",
      { class: "card", id: `card-${chart.id}` },
      top,
      controls,
      this.canvas,
      this.printed,
      this.caption,
      this.values.element,
    );
    if (!chart.controls?.length) controls.remove();
    this.canvas.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (this.page && chart.key?.(this.page, event.key)) {
        event.preventDefault();
        event.stopPropagation();
      }
    });
    this.observer = new ResizeObserver(() => {
      const { clientWidth } = this.canvas;
      if (clientWidth > 0 && clientWidth !== this.width && this.page) this.draw(this.page);
    });
    this.observer.observe(this.canvas);
  }

  draw(page: Page): void {
    this.page = page;
    this.width = this.canvas.clientWidth;
    if (this.width === 0) return;
    const height = this.chart.height(page, this.width);
    this.canvas.style.height = `${height}px`;
    if (!this.drawn) {
      // At least twice the pixels, so that text stays sharp when the page is enlarged.
      const devicePixelRatio = Math.max(2, window.devicePixelRatio);
      this.drawn = init(this.canvas, null, { renderer: "canvas", devicePixelRatio, width: this.width, height });
      this.drawn.on("click", (item) => this.choose(item as Item & { event?: { event?: MouseEvent } }));
      this.chart.attach?.(this.canvas, this.drawn, () => this.page as Page);
    } else if (this.drawn.getWidth() !== this.width || this.drawn.getHeight() !== height) {
      this.drawn.resize({ width: this.width, height });
    }
    this.drawn.setOption(this.chart.option(page, this.width), { notMerge: true });
    this.cover(page);
    this.describe(page);
  }

  /** Marks the chosen heads in the chart as it is drawn; false when the chart must be drawn again. */
  markHead(page: Page): boolean {
    if (!this.drawn || (!this.chart.mark && !this.chart.overlay)) return false;
    const marks = this.chart.mark?.(page);
    if (marks === null) return false;
    this.page = page;
    if (marks) this.drawn.setOption({ series: [marks].flat() });
    this.cover(page);
    this.describe(page);
    return true;
  }

  /** Frees what the chart holds; the card is not drawn again. */
  takeDown(): void {
    this.observer.disconnect();
    this.drawn?.dispose();
    this.drawn = null;
    this.page = null;
  }

  isInSight(): boolean {
    const { top, bottom } = this.canvas.getBoundingClientRect();
    return bottom > 0 && top < window.innerHeight;
  }

  /** Draws the shapes over the chart. */
  private cover(page: Page): void {
    const { drawn, chart } = this;
    if (!drawn || !chart.overlay) return;
    this.shapes.forEach((shape) => drawn.getZr().remove(shape));
    this.shapes = this.covered(drawn, page, 0);
  }

  private covered(chart: ECharts, page: Page, shift: number): Shape[] {
    const axes = { xAxisIndex: 0, yAxisIndex: 0 };
    const pixel = (point: [number, number]) => {
      const at = chart.convertToPixel(axes, point);
      return chart.containPixel({ gridIndex: 0 }, at) ? at : null;
    };
    const frame = { width: chart.getWidth(), height: chart.getHeight(), shift, pixel };
    const shapes = this.chart.overlay?.(page, frame) ?? [];
    for (const shape of shapes) chart.getZr().add(shape);
    return shapes;
  }

  /** The words around the chart. */
  describe(page: Page): void {
    this.caption.textContent = this.chart.caption(page);
    this.title.textContent = this.chart.heading?.(page) ?? this.chart.title;
    const keys = this.chart.keys ? ` ${this.chart.keys}` : "";
    this.canvas.setAttribute("aria-label", `${this.title.textContent}. ${this.caption.textContent}${keys}`);
    this.values.draw(() => this.chart.table(page), `${this.fileName(page)}-values`);
  }

  private choose(item: Item & { event?: { event?: MouseEvent } }): void {
    const head = this.chart.headOf?.(item) ?? -1;
    const native = item.event?.event;
    const adds = Boolean(native && (native.ctrlKey || native.metaKey || native.shiftKey));
    if (head >= 0 && this.page) chooseHead(this.page, head, adds);
  }

  /** Draws the chart as vectors in light colours, for printing only; afterPrint removes it. */
  beforePrint(): void {
    if (!this.page) return;
    const page = { ...this.page, look: light };
    const height = this.chart.height(page, printedWidth);
    this.printing = init(this.printed, null, { renderer: "svg", width: printedWidth, height });
    this.printing.setOption(this.chart.option(page, printedWidth));
    this.covered(this.printing, page, 0);
    this.printing.getZr().flush();
    this.printed.querySelector("svg")?.setAttribute("viewBox", `0 0 ${printedWidth} ${height}`);
  }

  afterPrint(): void {
    this.printing?.dispose();
    this.printing = null;
  }

  /** The head that the chart shows alone; empty: all heads. */
  private headShown(page: Page): string {
    const { scope, head } = page.view;
    return this.chart.followsHead && scope === "head" && head >= 0 ? headName(page.data, head) : "";
  }

  private fileName(page: Page): string {
    const { data, runs } = page;
    const run = runs.count > 1 ? data.name.replace("−", "less") : "";
    return fileName(data.model.name ?? "", run, this.chart.id, this.headShown(page).toLowerCase());
  }

  private save(format: string): void {
    const { page, drawn } = this;
    if (!page || !drawn) return;
    const name = this.fileName(page);
    if (format === "SVG") {
      const chart = this.picture(page, { renderer: "svg", ssr: true });
      save(`${name}.svg`, chart.renderToSVGString(), "image/svg+xml");
      chart.dispose();
      return;
    }
    const chart = this.picture(page, { renderer: "canvas", devicePixelRatio: 3 });
    const address = chart.getDataURL({ type: "png", pixelRatio: 3, backgroundColor: page.look.surface });
    chart.dispose();
    const binary = atob(address.slice(address.indexOf(",") + 1));
    save(
      `${name}.png`,
      Uint8Array.from(binary, (c) => c.charCodeAt(0)),
      "image/png",
    );
  }

  /** The chart as it is saved: with a title that names the model, the head and the filter. */
  private picture(page: Page, how: { renderer: "svg" | "canvas"; ssr?: boolean; devicePixelRatio?: number }): ECharts {
    const height = this.chart.height(page, this.width) + titleHeight;
    const place = how.ssr ? null : document.createElement("div");
    const chart = init(place, null, { ...how, width: this.width, height });
    const option = this.chart.option(page, this.width) as Option & { grid: { top: number } };
    const { data, view, look } = page;
    const about = [aboutRun(page), this.headShown(page)];
    if (view.filter !== "" && page.heads.length < data.count) about.push(`heads with ${view.filter}`);
    const line = (text: string, top: number, style: string, fill: string): Option => ({
      type: "text",
      left: 14,
      top,
      style: { text, fill, font: `${style} ${font}`, width: this.width - 28, overflow: "truncate" },
    });
    // The marked heads in the colours of their marks.
    const marked = this.chart.mark || this.chart.overlay ? markedHeads(page).reverse() : [];
    const legend = {
      type: "text",
      right: 14,
      top: 33,
      style: {
        text: marked.map(({ head }, i) => `{h${i}|● ${shortName(data, head)}}`).join("   "),
        rich: Object.fromEntries(marked.map(({ color }, i) => [`h${i}`, { fill: color, font: `12px ${font}` }])),
      },
    };
    // What the chart places by its distance from the top moves down with it.
    const own = ([option.graphic ?? []].flat() as Option[]).map((part) =>
      typeof part.top === "number" ? { ...part, top: part.top + titleHeight } : part,
    );
    chart.setOption({
      ...option,
      backgroundColor: look.surface,
      grid: { ...option.grid, top: option.grid.top + titleHeight },
      graphic: [
        ...own,
        line(this.chart.heading?.(page) ?? this.chart.title, 12, "600 15px", look.ink),
        line(about.filter((part) => part !== "").join(" · "), 33, "12px", look.muted),
        ...(marked.length > 0 ? [legend] : []),
      ],
    });
    this.covered(chart, page, titleHeight);
    return chart;
  }
}
