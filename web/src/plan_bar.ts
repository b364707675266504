// The controls of the cache plan over the map: the share of KV heads that stay full, and what that saves.

import { element, selector } from "./dom.ts";
import { percent } from "./numbers.ts";
import { shownPlan } from "./map_overlay.ts";
import type { Page } from "./page.ts";
import { groupSize, planCommand, planSummary } from "./plan.ts";
import type { View } from "./state.ts";

function tokenField(page: Page, label: string, key: "window" | "sinks", least: number) {
  const input = element("input", { type: "number", min: least, step: 1, "aria-label": `${label}, in tokens` });
  input.addEventListener("change", () => {
    const value = Math.round(Number(input.value));
    if (input.value !== "" && value >= least && value <= 1e12) page.change({ [key]: value });
    else input.value = String(page.view[key]);
  });
  return { element: element("label", { class: "field" }, element("span", {}, label), input), input };
}

/** Null when query heads do not lie in groups of one size, so that no plan can be made. */
export function planBar(page: Page) {
  if (groupSize(page.data) === 0) return null;
  const box = element("input", { type: "checkbox", id: "plan-on" });
  box.addEventListener("change", () => page.change({ plan: box.checked }));
  const slider = element("input", { type: "range", min: 0, max: 1, step: 0.01, id: "plan-keep" });
  slider.addEventListener("input", () => page.change({ keep: Number(slider.value) }));
  const share = element("output", { for: "plan-keep", class: "plan-share" });
  const group = selector(
    "Score of a KV head",
    [
      { value: "max", label: "greatest of its heads" },
      { value: "mean", label: "mean of its heads" },
    ],
    (value) => page.change({ group: value as View["group"] }),
  );
  const window = tokenField(page, "Window", "window", 1);
  const sinks = tokenField(page, "Sinks", "sinks", 0);
  const summary = element("p", { class: "plan-summary", id: "plan-summary", role: "status" });
  const command = element("code", { class: "plan-command", id: "plan-command" });
  const details = element(
    "div",
    { class: "plan-details" },
    element("label", { class: "field" }, element("span", {}, "Kept full"), slider, share),
    group.element,
    window.element,
    sinks.element,
    summary,
    command,
  );
  return {
    element: element(
      "div",
      { class: "plan" },
      element("label", { class: "field switch" }, box, element("span", {}, "Cache plan")),
      details,
    ),
    show(now: Page) {
      const { view, data } = now;
      const plan = shownPlan(now);
      box.checked = view.plan;
      details.hidden = !plan;
      if (!plan) return;
      if (Number(slider.value) !== view.keep) slider.value = String(view.keep);
      share.textContent = percent(view.keep);
      slider.setAttribute("aria-valuetext", `${percent(view.keep)} of KV heads`);
      group.show(view.group);
      window.input.value = String(view.window);
      sinks.input.value = String(view.sinks);
      summary.textContent = planSummary(plan);
      command.textContent = planCommand(data, plan.options);
    },
  };
}
