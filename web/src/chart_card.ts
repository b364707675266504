// A chart with its title, caption and ways to save it.

import { button, element } from "./dom.ts";
import { type ECharts, init } from "./echarts.ts";
import { light } from "./look.ts";
import { headName, type Page } from "./page.ts";
import { fileName, save } from "./save.ts";

/** An ECharts option. The type that ECharts declares is too loose to catch a mistake, and too large to read. */
export type Option = Record<string, unknown>;

export interface Chart {
  id: string;
  title: string;
  /** The title with what is chosen in the chart; missing: the title. */
  heading?(page: Page): string;
  /** Whether the chart can show the chosen head alone. The name of a saved file then names the head. */
  followsHead?: boolean;
  /** What the chart shows, in a line or two. */
  caption(page: Page): string;
  option(page: Page, width: number): Option;
  /** The series that mark the chosen head; missing when choosing another head changes more than these series. */
  mark?(page: Page): Option | Option[];
  height(page: Page, width: number): number;
  controls?: HTMLElement[];
  /** The head that belongs to a clicked item. */
  headOf?(item: { seriesId?: string; data?: unknown }): number;
  /** Handles a key; returns whether the chart used it. */
  key?(page: Page, key: string): boolean;
}

const printedWidth = 680;

export class ChartCard {
  readonly element: HTMLElement;
  private readonly chart: Chart;
  private readonly canvas: HTMLElement;
  private readonly printed: HTMLElement;
  private readonly caption: HTMLElement;
  private readonly title: HTMLElement;
  private drawn: ECharts | null = null;
  private printing: ECharts | null = null;
  private page: Page | null = null;
  private width = 0;

  constructor(chart: Chart) {
    this.chart = chart;
    this.canvas = element("div", {
      class: "chart",
      id: `chart-${chart.id}`,
      role: "img",
      tabindex: chart.key ? 0 : null,
    });
    this.printed = element("div", { class: "printed-chart", "aria-hidden": "true" });
    this.caption = element("figcaption", {});
    const saving = ["PNG", "SVG"].map((format) =>
      button(format, () => this.save(format), { class: "quiet", "aria-label": `Save ${chart.title} as ${format}` }),
    );
    this.title = element("h3", {}, chart.title);
    const controls = element("div", { class: "chart-controls" }, ...(chart.controls ?? []));
    const top = element("div", { class: "chart-top" }, this.title, element("div", { class: "chart-save" }, ...saving));
    this.element = element(
      "figure",
      { class: "card", id: `card-${chart.id}` },
      top,
      controls,
      this.canvas,
      this.printed,
      this.caption,
    );
    if (!chart.controls?.length) controls.remove();
    this.canvas.addEventListener("keydown", (event) => {
      if (this.page && chart.key?.(this.page, event.key)) event.preventDefault();
    });
    new ResizeObserver(() => {
      const { clientWidth } = this.canvas;
      if (clientWidth > 0 && clientWidth !== this.width && this.page) this.draw(this.page);
    }).observe(this.canvas);
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
      this.drawn.on("click", (item) => this.choose(item as { seriesId?: string; data?: unknown }));
    } else if (this.drawn.getWidth() !== this.width || this.drawn.getHeight() !== height) {
      this.drawn.resize({ width: this.width, height });
    }
    this.drawn.setOption(this.chart.option(page, this.width), { notMerge: true });
    this.describe(page);
  }

  /** Marks the chosen head in the chart as it is drawn; false when the chart must be drawn again. */
  markHead(page: Page): boolean {
    if (!this.drawn || !this.chart.mark) return false;
    this.page = page;
    this.drawn.setOption({ series: [this.chart.mark(page)].flat() });
    this.describe(page);
    return true;
  }

  private describe(page: Page): void {
    this.caption.textContent = this.chart.caption(page);
    this.title.textContent = this.chart.heading?.(page) ?? this.chart.title;
    this.canvas.setAttribute("aria-label", `${this.title.textContent}. ${this.caption.textContent}`);
  }

  private choose(item: { seriesId?: string; data?: unknown }): void {
    const head = this.chart.headOf?.(item) ?? -1;
    if (head >= 0) this.page?.change({ head, scope: "head" });
  }

  /** Draws the chart as vectors in light colours, for printing only; afterPrint removes it. */
  beforePrint(): void {
    if (!this.page) return;
    const page = { ...this.page, look: light };
    const height = this.chart.height(page, printedWidth);
    this.printing = init(this.printed, null, { renderer: "svg", width: printedWidth, height });
    this.printing.setOption(this.chart.option(page, printedWidth));
    this.printed.querySelector("svg")?.setAttribute("viewBox", `0 0 ${printedWidth} ${height}`);
  }

  afterPrint(): void {
    this.printing?.dispose();
    this.printing = null;
  }

  private save(format: string): void {
    const { page, drawn } = this;
    if (!page || !drawn) return;
    const head =
      this.chart.followsHead && page.view.scope === "head" && page.view.head >= 0
        ? headName(page.data, page.view.head)
        : "";
    const name = fileName(page.data.model.name ?? "", this.chart.id, head.toLowerCase());
    if (format === "SVG") {
      save(`${name}.svg`, this.vectors(page), "image/svg+xml");
      return;
    }
    const address = drawn.getDataURL({ type: "png", pixelRatio: 3, backgroundColor: page.look.surface });
    const binary = atob(address.slice(address.indexOf(",") + 1));
    save(
      `${name}.png`,
      Uint8Array.from(binary, (c) => c.charCodeAt(0)),
      "image/png",
    );
  }

  private vectors(page: Page): string {
    const height = this.chart.height(page, this.width);
    const chart = init(null, null, { renderer: "svg", ssr: true, width: this.width, height });
    chart.setOption({ backgroundColor: page.look.surface, ...this.chart.option(page, this.width) });
    const text = chart.renderToSVGString();
    chart.dispose();
    return text;
  }
}
