// The values of a chart as a table: for those who cannot see the chart, or want its numbers.

import { button, element } from "./dom.ts";
import { counted, shown } from "./numbers.ts";
import { csv, save } from "./save.ts";

export interface ChartTable {
  columns: string[];
  rows: (number | string)[][]; // a number that is NaN is missing
}

const mostRows = 300;

/** Shows the values below a chart on request. */
export class TableView {
  readonly toggle: HTMLButtonElement;
  readonly element: HTMLElement;
  private readonly id: string;
  private readonly title: string;
  private make: (() => ChartTable) | null = null;
  private fileName = "";
  private open = false;

  constructor(id: string, title: string) {
    this.id = id;
    this.title = title;
    this.toggle = button("Table", () => this.show(!this.open), {
      class: "quiet",
      "aria-expanded": "false",
      "aria-controls": `values-${id}`,
      "aria-label": `Values of ${title} as a table`,
    });
    this.element = element("div", { class: "values", id: `values-${id}`, hidden: true });
  }

  /** The values changed. They are made only while the table is open. */
  draw(make: () => ChartTable, fileName: string): void {
    this.make = make;
    this.fileName = fileName;
    if (this.open) this.fill();
  }

  private show(open: boolean): void {
    this.open = open;
    this.toggle.setAttribute("aria-expanded", String(open));
    this.element.hidden = !open;
    if (open) this.fill();
    else this.element.replaceChildren();
  }

  private fill(): void {
    if (!this.make) return;
    const table = this.make();
    const { columns, rows } = table;
    const cell = (value: number | string, i: number) =>
      element(
        i === 0 ? "th" : "td",
        i === 0 ? { scope: "row" } : {},
        typeof value === "number" ? shown(value) : value,
      );
    const scroller = this.element.querySelector(".values-scroll");
    const top = scroller?.scrollTop ?? 0;
    const made = element(
      "div",
      { class: "values-scroll", tabindex: 0, role: "region", "aria-label": `Values of ${this.title}` },
      element(
        "table",
        {},
        element("thead", {}, element("tr", {}, ...columns.map((name) => element("th", { scope: "col" }, name)))),
        element("tbody", {}, ...rows.slice(0, mostRows).map((row) => element("tr", {}, ...row.map(cell)))),
      ),
    );
    const more = rows.length - mostRows;
    this.element.replaceChildren(
      made,
      element(
        "p",
        { class: "table-note" },
        `${counted(rows.length, "row")}${more > 0 ? `, of which the first ${mostRows} are shown` : ""}. `,
        button("CSV", () => save(`${this.fileName}.csv`, csv(columns, rows), "text/csv"), {
          class: "quiet",
          "aria-label": `Save the values of ${this.title} as CSV`,
          id: `csv-${this.id}`,
        }),
      ),
    );
    made.scrollTop = top;
  }
}
