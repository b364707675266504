// The table of heads. Only the visible rows exist as elements, so that a thousand heads are sorted at once.

import { columnChoices, errorOf, meaning, valueOf } from "./columns.ts";
import { type Dataset, shortName } from "./data.ts";
import { button, element } from "./dom.ts";
import { counted, withError } from "./numbers.ts";
import { chooseHead, headName, type Page } from "./page.ts";
import { csv, fileName, save } from "./save.ts";

const rowHeight = 34;
const headerHeight = 46;
const rowsInView = 16;
const rowsBeyond = 8; // further rows above and below the visible ones
const mostPrinted = 40;

/** Heads in the order of a column. Heads without a value come last in both directions. */
export function sortedHeads(data: Dataset, heads: readonly number[], column: string, descending: boolean): number[] {
  const values: number[] = [];
  for (const head of heads) values[head] = valueOf(data, column, head);
  const sign = descending ? -1 : 1;
  return [...heads].sort((a, b) => {
    const [x, y] = [values[a], values[b]];
    if (Number.isNaN(x) || Number.isNaN(y)) return Number(Number.isNaN(x)) - Number(Number.isNaN(y)) || a - b;
    return sign * (x - y) || a - b;
  });
}

let lastOrder: { of: readonly number[]; sort: string; descending: boolean; heads: number[] } | null = null;

/** The heads in the order of the table; sorted again only when the order changes. */
export function tableOrder(page: Page): number[] {
  const { heads: of, view } = page;
  const { sort, descending } = view;
  if (lastOrder?.of !== of || lastOrder.sort !== sort || lastOrder.descending !== descending) {
    lastOrder = { of, sort, descending, heads: sortedHeads(page.data, of, sort, descending) };
  }
  return lastOrder.heads;
}

/** The shown columns as CSV, with all digits; standard errors follow their column. */
export function tableCsv(page: Page, heads: readonly number[]): string {
  const { data, view } = page;
  const columns = ["layer", "q_head", "k_head"];
  for (const column of view.columns) {
    columns.push(column);
    const error = errorOf(data, column);
    if (error) columns.push(error);
  }
  return csv(
    columns,
    heads.map((head) => columns.map((column) => valueOf(data, column, head))),
  );
}

export class HeadTable {
  readonly element: HTMLElement;
  private readonly header = element("tr", {});
  private readonly body = element("tbody", {});
  private readonly table: HTMLTableElement;
  private readonly scroller: HTMLElement;
  private readonly picker = element("div", { class: "picker-list" });
  private readonly note = element("p", { class: "table-note" });
  private readonly printNote = element("p", { class: "table-note print-only" });
  private page: Page | null = null;
  private heads: number[] = [];
  private order = ""; // how the heads were sorted and filtered
  private active = 0; // the row that the tab key reaches
  private printing = false;

  constructor(page: Page) {
    this.table = element(
      "table",
      { class: "heads", "aria-label": "Heads" },
      element("thead", {}, this.header),
      this.body,
    );
    this.scroller = element("div", { class: "table-scroll", id: "head-table" }, this.table);
    this.scroller.addEventListener("scroll", () => this.fill());
    this.body.addEventListener("keydown", (event) => this.onKey(event));
    const picker = element("details", { class: "picker" }, element("summary", {}, "Columns"), this.picker);
    document.addEventListener("click", (event) => {
      if (event.target instanceof Node && !picker.contains(event.target)) picker.open = false;
    }, { signal: page.gone });
    picker.addEventListener("keydown", (event) => {
      if (event.key === "Escape") picker.open = false;
    });
    this.fillPicker(page);
    const saving = button("CSV", () => this.save(), { class: "quiet", "aria-label": "Save the table as CSV" });
    const top = element(
      "div",
      { class: "chart-top" },
      element("h3", { id: "title-table", tabindex: -1 }, "Table of heads"),
      element("div", { class: "chart-save" }, picker, saving),
    );
    this.element = element(
      "section",
      { class: "card", id: "card-table" },
      top,
      this.scroller,
      this.note,
      this.printNote,
    );
  }

  draw(page: Page): void {
    const { data, view } = page;
    const before = this.page ? this.order : "";
    this.page = page;
    this.order = `${view.sort} ${view.descending} ${view.filter}`;
    if (this.order !== before) this.scroller.scrollTop = 0;
    this.heads = tableOrder(page);
    this.active = Math.max(0, this.heads.indexOf(view.head));
    this.header.replaceChildren(
      this.headerCell("layer", "Head", "row-name"),
      this.headerCell("k_head", "KV", "number"),
      ...view.columns.map((column) => this.headerCell(column, column, "number")),
    );
    this.table.setAttribute("aria-rowcount", String(this.heads.length + 1));
    this.scroller.style.maxHeight = `${rowsInView * rowHeight + headerHeight}px`;
    for (const box of this.picker.querySelectorAll("input")) box.checked = view.columns.includes(box.value);
    const sorted = meaning(data, view.sort);
    this.note.textContent =
      `${this.heads.length.toLocaleString("en-US")} of ${counted(data.count, "head")}. ` +
      "Choose a head to see it in the charts; ± is one standard error." +
      (sorted === "" ? "" : ` Sorted by ${view.sort}: ${sorted.replace(/^./, (c) => c.toLowerCase())}.`);
    this.fill();
  }

  /** Scrolls to the chosen head. */
  reveal(): void {
    const at = this.page ? this.heads.indexOf(this.page.view.head) : -1;
    if (at >= 0) this.scrollTo(at);
  }

  print(on: boolean): void {
    this.printing = on;
    const more = this.heads.length - mostPrinted;
    this.printNote.textContent =
      more > 0 ? `${counted(more, "more head")} follow${more === 1 ? "s" : ""}; the page saves all heads as CSV.` : "";
    this.fill();
  }

  private headerCell(column: string, label: string, kind: string): HTMLElement {
    const page = this.page as Page;
    const { sort, descending } = page.view;
    const sorted = sort === column;
    const order = sorted ? (descending ? "descending" : "ascending") : "none";
    const sorter = button(
      label,
      () => {
        page.change(
          sorted
            ? { descending: !descending }
            : { sort: column, descending: column !== "layer" && column !== "k_head" },
        );
        [...this.header.querySelectorAll("button")].find((one) => one.dataset.column === column)?.focus();
      },
      { title: meaning(page.data, column) || null, "data-column": column },
    );
    sorter.append(element("span", { class: "arrow", "aria-hidden": "true" }, sorted ? (descending ? "↓" : "↑") : ""));
    return element("th", { scope: "col", class: kind, "aria-sort": order }, sorter);
  }

  private rowsInSight(): [number, number] {
    if (this.printing) return [0, Math.min(mostPrinted, this.heads.length)];
    const first = Math.floor(this.scroller.scrollTop / rowHeight) - rowsBeyond;
    const count = rowsInView + 1 + 2 * rowsBeyond;
    const begin = Math.max(0, Math.min(first, this.heads.length - count));
    return [begin, Math.min(this.heads.length, begin + count)];
  }

  private fill(): void {
    if (!this.page) return;
    const [begin, end] = this.rowsInSight();
    // One row can always be reached with the tab key.
    if (this.active < begin || this.active >= end)
      this.active = Math.min(begin + (begin > 0 ? rowsBeyond : 0), end - 1);
    const hadFocus = this.body.contains(document.activeElement);
    const width = String(this.page.view.columns.length + 2);
    const spacer = (rows: number) =>
      element(
        "tr",
        { class: "spacer", "aria-hidden": "true", style: `height:${rows * rowHeight}px` },
        element("td", { colspan: width }),
      );
    const rows: HTMLElement[] = [];
    for (let at = begin; at < end; ++at) rows.push(this.row(at));
    const rest = this.printing ? 0 : this.heads.length - end;
    this.body.replaceChildren(...(begin > 0 ? [spacer(begin)] : []), ...rows, ...(rest > 0 ? [spacer(rest)] : []));
    if (this.heads.length === 0)
      this.body.append(
        element("tr", {}, element("td", { colspan: width, class: "nothing" }, "No head passes the filter.")),
      );
    if (hadFocus) this.focusActive();
  }

  private row(at: number): HTMLElement {
    const page = this.page as Page;
    const { data, view } = page;
    const head = this.heads[at];
    const chosen = head === view.head;
    const choose = button(shortName(data, head), () => undefined, {
      tabindex: at === this.active ? 0 : -1,
      "aria-label": `${shortName(data, head)}, ${headName(data, head).toLowerCase()}`,
      "aria-pressed": String(chosen),
    });
    const cells = view.columns.map((column) => this.cell(column, head));
    const row = element(
      "tr",
      { "aria-rowindex": at + 2, class: chosen ? "chosen" : view.kept.includes(head) ? "kept-row" : null, style: `height:${rowHeight}px` },
      element("th", { scope: "row", class: "row-name" }, choose),
      element("td", { class: "number" }, String(data.kHead[head])),
      ...cells,
    );
    row.addEventListener("click", (event) => {
      this.active = at;
      const adds = event.ctrlKey || event.metaKey || event.shiftKey;
      if (chosen && !adds) page.change({ head: -1, scope: "model" });
      else chooseHead(page, head, adds);
    });
    return row;
  }

  private cell(column: string, head: number): HTMLElement {
    const { data } = this.page as Page;
    const error = errorOf(data, column);
    const value = valueOf(data, column, head);
    return element("td", { class: "number" }, withError(value, error ? valueOf(data, error, head) : NaN));
  }

  private onKey(event: KeyboardEvent): void {
    const steps: Record<string, number> = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: 10,
      PageUp: -10,
      Home: -Infinity,
      End: Infinity,
    };
    const step = steps[event.key];
    if (step === undefined) return;
    event.preventDefault();
    this.active = Math.min(this.heads.length - 1, Math.max(0, this.active + step));
    this.scrollTo(this.active);
    this.fill();
    this.focusActive();
  }

  private scrollTo(at: number): void {
    const top = at * rowHeight;
    const seen = this.scroller.clientHeight - headerHeight;
    if (top < this.scroller.scrollTop) this.scroller.scrollTop = top;
    else if (top + rowHeight > this.scroller.scrollTop + seen) this.scroller.scrollTop = top + rowHeight - seen;
  }

  private focusActive(): void {
    this.body.querySelector<HTMLElement>('button[tabindex="0"]')?.focus({ preventScroll: true });
  }

  private fillPicker(page: Page): void {
    const choices = columnChoices(page.data, false);
    for (const { value } of choices) {
      const box = element("input", { type: "checkbox", value });
      box.addEventListener("change", () => {
        const now = new Set(this.page?.view.columns);
        if (box.checked) now.add(value);
        else now.delete(value);
        page.change({ columns: choices.map((choice) => choice.value).filter((name) => now.has(name)) });
      });
      this.picker.append(element("label", { title: meaning(page.data, value) || null }, box, value));
    }
  }

  private save(): void {
    if (!this.page) return;
    const { data, runs } = this.page;
    const run = runs.count > 1 ? data.name.replace("−", "less") : "";
    save(`${fileName(data.model.name ?? "", run, "heads")}.csv`, tableCsv(this.page, this.heads), "text/csv");
  }
}
