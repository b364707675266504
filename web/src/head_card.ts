// The card of the chosen head, beside the map: its values with errors and ranks, labels, and its charts in small.

import { columnsWith, countOf, errorOf, mainColumn, meaning, measureWord, valueOf } from "./columns.ts";
import { comparedColumn } from "./comparison.ts";
import { placedCurves } from "./curve_lines.ts";
import { type Dataset, shortName } from "./data.ts";
import { button, element } from "./dom.ts";
import { comparedCells, runsTable } from "./head_runs.ts";
import { tableOrder } from "./head_table.ts";
import { shownPlan } from "./map_overlay.ts";
import { shown, withError } from "./numbers.ts";
import { chooseHead, headName, keepHead, type Page } from "./page.ts";
import { smallCurves, smallDistances } from "./small_charts.ts";

/** The place of a head among all measured heads, the greatest value first; equal values share the first place. */
export function rankOf(data: Dataset, column: string, head: number): { rank: number; of: number } {
  const own = valueOf(data, column, head);
  let [rank, of] = [1, 0];
  for (const value of data.columns.get(column)?.values ?? []) {
    if (Number.isNaN(value)) continue;
    ++of;
    if (value > own) ++rank;
  }
  return { rank, of };
}

/** Chooses the next or the previous head in the order of the table. */
export function walk(page: Page, step: 1 | -1): void {
  const order = tableOrder(page);
  if (order.length === 0) return;
  const at = order.indexOf(page.view.head);
  const next = at < 0 ? (step > 0 ? 0 : order.length - 1) : (at + step + order.length) % order.length;
  chooseHead(page, order[next]);
}

export class HeadCard {
  readonly element: HTMLElement;
  private readonly title = element("h3", { id: "title-head", tabindex: -1 });
  private readonly body = element("div", {});
  private readonly keep: HTMLButtonElement;
  private readonly clear: HTMLButtonElement;
  private readonly explained = new Set<string>(); // the columns whose meaning is shown
  private page: Page;

  constructor(page: Page) {
    this.page = page;
    this.keep = button("Keep", () => keepHead(this.page), {
      class: "quiet",
      "aria-pressed": "false",
      title: "Keep this head in the charts while others are chosen",
    });
    this.clear = button("Clear", () => this.page.change({ head: -1, scope: "model", kept: [] }), {
      class: "quiet",
      "aria-label": "Clear all chosen heads",
    });
    this.element = element(
      "section",
      { class: "card head-card", id: "card-head", "aria-labelledby": "title-head" },
      element("div", { class: "chart-top" }, this.title),
      element(
        "div",
        { class: "head-tools" },
        button("‹ Previous", () => walk(this.page, -1), { class: "quiet", "aria-label": "Previous head of the table" }),
        button("Next ›", () => walk(this.page, 1), { class: "quiet", "aria-label": "Next head of the table" }),
        this.keep,
        this.clear,
      ),
      this.body,
    );
  }

  draw(page: Page): void {
    this.page = page;
    const { data, view } = page;
    const chosen = view.head >= 0;
    this.title.textContent = chosen ? headName(data, view.head) : "No head chosen";
    this.element.classList.toggle("empty", !chosen);
    const isKept = view.kept.includes(view.head);
    this.keep.disabled = !chosen;
    this.keep.textContent = isKept ? "Kept" : "Keep";
    this.keep.setAttribute("aria-pressed", String(isKept));
    this.clear.disabled = !chosen && view.kept.length === 0;
    const parts = chosen ? [this.about(), this.facts(), runsTable(page), this.labels()] : [hint()];
    this.body.replaceChildren(
      ...[...parts, this.keptList(), ...(chosen ? this.charts() : [])].filter((part) => part !== null),
    );
  }

  /** One line: the KV head, the layer's window, the plan, the data behind the main value. */
  private about(): HTMLElement {
    const { data, view } = this.page;
    const parts = [`KV head ${data.kHead[view.head]}`];
    const window = data.model.windows[String(data.layer[view.head])];
    if (window) parts.push(`sliding window of ${shown(window)} tokens`);
    const { count, word } = countOf(data, mainColumn(data), view.head);
    if (!Number.isNaN(count)) parts.push(`${shown(count)} ${word}${count < data.minCount ? ", little data" : ""}`);
    const plan = shownPlan(this.page);
    const kind = plan?.heads[data.layer[view.head] * plan.kvHeads + data.kHead[view.head]]?.kind;
    if (kind === "full") parts.push("keeps its whole cache");
    if (kind === "window") parts.push(`keeps ${view.window} + ${view.sinks} tokens`);
    return element("p", { class: "remark" }, `${parts.join(" · ")}.`);
  }

  private facts(): HTMLElement {
    const { data, view } = this.page;
    const { comparison } = data;
    const wanted = [comparedColumn(data, view.map)?.name ?? view.map, mainColumn(data)];
    const columns = [...new Set([...wanted, ...columnsWith(data, (column) => column.in_facts)])];
    const rows = columns
      .filter((column) => !data.columns.get(column)?.isLabel && !Number.isNaN(valueOf(data, column, view.head)))
      .flatMap((column) => this.fact(column));
    const titles = comparison
      ? ["column", comparison.a.name, comparison.b.name, "difference"]
      : ["column", "value", `rank of ${data.count.toLocaleString("en-US")}`];
    const names = titles.map((name) => element("th", { scope: "col" }, name));
    return element(
      "table",
      { class: `head-facts${comparison ? " compared" : ""}`, "aria-label": `Values of ${headName(data, view.head)}` },
      element("thead", {}, element("tr", {}, ...names)),
      element("tbody", {}, ...rows),
    );
  }

  /** The row of a column, and below it the column's meaning on request. */
  private fact(column: string): HTMLElement[] {
    const { data, view } = this.page;
    const error = errorOf(data, column);
    const { rank, of } = rankOf(data, column, view.head);
    const isOpen = this.explained.has(column);
    const text = [measureWord(data, column), meaning(data, column)].filter((part) => part !== "").join(": ");
    const name =
      text === ""
        ? column
        : button(
            column,
            () => {
              if (isOpen) this.explained.delete(column);
              else this.explained.add(column);
              this.draw(this.page);
              this.body.querySelector<HTMLElement>(`button[data-fact="${CSS.escape(column)}"]`)?.focus();
            },
            { class: "explain", "aria-expanded": String(isOpen), "data-fact": column, title: text },
          );
    const cells = data.comparison
      ? comparedCells(data, column, view.head)
      : [
          element("td", {}, withError(valueOf(data, column, view.head), error ? valueOf(data, error, view.head) : NaN)),
          element("td", { class: "rank" }, rank.toLocaleString("en-US") + (of < data.count ? ` of ${shown(of)}` : "")),
        ];
    const row = element("tr", {}, element("th", { scope: "row" }, name), ...cells);
    const more = element("tr", { class: "explained" }, element("td", { colspan: data.comparison ? 4 : 3 }, `${text}.`));
    return isOpen ? [row, more] : [row];
  }

  private labels(): HTMLElement | null {
    const { data, view } = this.page;
    const items = [...data.columns.values()]
      .filter(({ isLabel, values }) => isLabel && !Number.isNaN(values[view.head]))
      .map(({ name, values }) => {
        const { rank, of } = rankOf(data, name, view.head);
        const title = `Rank ${rank} of ${of}`;
        return element("li", { title }, `${name} `, element("strong", {}, shown(values[view.head])));
      });
    return items.length > 0 ? element("ul", { class: "labels", "aria-label": "Labels" }, ...items) : null;
  }

  /** The heads to compare with, in the colours of their lines. */
  private keptList(): HTMLElement | null {
    const { data, view, look } = this.page;
    if (view.kept.length === 0) return null;
    const items = view.kept.map((head, i) => {
      const swatch = element("span", { class: "swatch", "aria-hidden": "true" });
      swatch.style.background = head === view.head ? look.accent : look.kept[i % look.kept.length];
      const choose = button("", () => chooseHead(this.page, head), { class: "explain" });
      choose.append(swatch, shortName(data, head));
      const remove = button("×", () => this.page.change({ kept: view.kept.filter((one) => one !== head) }), {
        class: "remove",
        "aria-label": `Compare ${headName(data, head)} no more`,
      });
      return element("li", {}, choose, ` ${shown(valueOf(data, view.map, head))}`, remove);
    });
    return element("ul", { class: "kept", "aria-label": "Heads to compare with" }, ...items);
  }

  private charts(): (HTMLElement | null)[] {
    const { data, view } = this.page;
    const curves = placedCurves(data, view.curve);
    const part = (name: string, drawing: SVGElement | null) =>
      drawing ? element("div", { class: "small-chart" }, element("p", { class: "remark" }, name), drawing) : null;
    const distances = smallDistances(this.page);
    return [
      part(
        data.comparison
          ? `${view.curve} over position; blue: ${data.comparison.a.name}, orange: ${data.comparison.b.name}`
          : `${view.curve} over position; grey: ${view.middle} of heads`,
        curves ? smallCurves(this.page, curves) : null),
      part(
        `${data.comparison ? "difference of " : ""}${view.distance} by distance of the nearer (across) and the farther key (up), ${distances?.range ?? ""}`,
        distances?.drawing ?? null,
      ),
    ];
  }
}

function hint(): HTMLElement {
  return element(
    "p",
    { class: "remark" },
    "Click a head in the map, a point, a line or a row. In the map, arrow keys choose a head, N and P walk through the " +
      "table, Space keeps a head to compare it with others. A click with Ctrl or Shift adds a head.",
  );
}
