// Two fields that set the ends of the map's colours. An empty field leaves an end as it is.

import { element } from "./dom.ts";
import { brief } from "./numbers.ts";
import type { Page } from "./page.ts";
import { numbersOf } from "./state.ts";

export function rangeFields(page: Page, ends: (page: Page) => [number, number]) {
  const field = (label: string) =>
    element("input", { type: "number", step: "any", "aria-label": label, inputmode: "decimal" });
  const [low, high] = [field("Lowest colour"), field("Highest colour")];
  const change = () => {
    const range = low.value === "" && high.value === "" ? "" : `${low.value}:${high.value}`;
    const numbers = numbersOf(range, 2);
    const wrong = numbers !== null && numbers[0] >= numbers[1];
    for (const one of [low, high]) one.setAttribute("aria-invalid", String(wrong));
    if (!wrong) page.change({ range });
  };
  low.addEventListener("change", change);
  high.addEventListener("change", change);
  const made = element(
    "div",
    { class: "field range-fields", role: "group", "aria-label": "Colours from and to" },
    element("span", { "aria-hidden": "true" }, "Colours"),
    low,
    element("span", { "aria-hidden": "true" }, "to"),
    high,
  );
  let last = "";
  return {
    element: made,
    show(now: Page) {
      const set = now.view.range.split(":");
      const range = ends(now);
      // What is being typed stays until the range itself changes.
      const isNew = last !== `${now.view.map}\n${now.view.range}`;
      last = `${now.view.map}\n${now.view.range}`;
      [low, high].forEach((one, i) => {
        one.placeholder = brief(range[i]);
        if (!isNew) return;
        one.value = set[i] ?? "";
        one.setAttribute("aria-invalid", "false");
      });
    },
  };
}
