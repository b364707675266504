// The top of the page of a comparison: how far the model's means moved, how many heads did, and what to be careful about.

import { comparedColumn } from "./comparison.ts";
import type { ColumnDifference, Comparison, Dataset } from "./data.ts";
import { type Child, element } from "./dom.ts";
import { shownProbability } from "./head_runs.ts";
import { counted, shown, signed } from "./numbers.ts";

/** A line of the program with the names of fields, which it puts in backticks, as code. */
export function programText(text: string): Child[] {
  return text.split("`").map((part, i) => (i % 2 === 1 ? element("code", {}, part) : part));
}

const known = (value: number | null) => value ?? NaN;

function differenceCard(data: Dataset, comparison: Comparison, column: ColumnDifference): HTMLElement {
  const { model } = column;
  const value = element("p", { class: "figure" }, signed(known(model.difference)));
  if (model.se !== null) value.append(element("span", {}, ` ± ${shown(model.se)}`));
  const info = comparison.a.schema.metrics.find(({ name }) => name === column.name);
  const title = info?.title || column.name;
  const chance = model.p === null ? "" : ` p ${model.p < 0.0001 ? "" : "= "}${shownProbability(model.p)}.`;
  const parts = [`Mean of ${counted(column.count, "head")}: ${shown(known(model.a))} in ${comparison.a.name}, ${shown(known(model.b))} in ${comparison.b.name}.${chance}`];
  const moved = column.has_errors
    ? element(
        "ul",
        { class: "moved-counts" },
        element("li", {}, element("strong", {}, shown(column.up)), " up"),
        element("li", {}, element("strong", {}, shown(column.down)), " down"),
        element("li", {}, element("strong", {}, shown(column.count - column.up - column.down)), " not moved"),
      )
    : element("p", { class: "remark" }, "Without errors it is not known which heads moved.");
  const same = column.rank_correlation === null ? "" : `Rank correlation of the two runs ${signed(column.rank_correlation, 2)}. `;
  return element(
    "section",
    { class: "card summary comparison", "data-summary": column.name },
    element("div", {}, element("h3", {}, `Change of ${title.toLowerCase()}`), value, element("p", { class: "remark" }, ...parts)),
    element(
      "div",
      {},
      moved,
      element(
        "p",
        { class: "remark" },
        `${same}${column.has_errors ? `Moved: q < ${comparison.head.level}, over ${counted(data.count, "head")}.` : ""}`,
      ),
    ),
  );
}

export function comparisonCards(data: Dataset): HTMLElement[] {
  const { comparison } = data;
  if (!comparison) return [];
  return data.schema.headline.flatMap((name) => {
    const column = comparedColumn(data, name);
    return column ? [differenceCard(data, comparison, column)] : [];
  });
}

/** Which runs are compared, how their errors are made, and what else differs. */
export function comparisonAbout(data: Dataset): HTMLElement | null {
  const { comparison } = data;
  if (!comparison) return null;
  const { head, a, b } = comparison;
  const run = (one: Dataset) => `${one.source}${one.model.name ? `, ${one.model.name}` : ""}, ${counted(one.count, "head")}`;
  const documents = head.paired
    ? `the same ${counted(head.documents[0], "document")} in both, so errors are paired`
    : "not the same in both, so the errors of the two runs add";
  const missing = head.only_a + head.only_b;
  const facts: [string, string][] = [
    ["First run", run(a)],
    ["Second run", run(b)],
    ["Documents", documents],
    ["Heads", `${shown(head.matched)} in both runs${missing > 0 ? `, ${shown(missing)} in one only` : ""}`],
  ];
  const entries = facts.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value)));
  return element(
    "section",
    { class: "card run", id: "card-run" },
    element("h3", {}, "What is compared"),
    element("dl", {}, ...entries),
    caveatList("Be careful", head.caveats.map((caveat) => caveat.replace(/^./, (c) => c.toUpperCase()))),
  );
}

/** Lines of the program that the reader should know; null without any. */
export function caveatList(title: string, lines: readonly string[]): HTMLElement | null {
  if (lines.length === 0) return null;
  const items = lines.map((line) => element("li", {}, ...programText(`${line}.`)));
  return element("div", { class: "caveats" }, element("h4", {}, title), element("ul", {}, ...items));
}
