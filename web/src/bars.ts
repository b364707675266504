// The top of the page, the bar that stays visible, and the switches of the lower charts.

import { mainColumn } from "./columns.ts";
import { caveatList } from "./comparison_card.ts";
import { button, element, segments, selector } from "./dom.ts";
import type { FilterProblem } from "./filter.ts";
import { failureList, modelName, statusLine } from "./overview.ts";
import { headName, type Page } from "./page.ts";
import type { View } from "./state.ts";

/** A link to each part of the page. The address keeps the view: its fragment is not used to jump. */
function jumps(sections: [id: string, name: string][]): HTMLElement {
  const links = sections.map(([id, name]) => {
    const link = element("a", { href: `#${id}` }, name);
    link.addEventListener("click", (event) => {
      event.preventDefault();
      const target = document.getElementById(id);
      if (!target) return;
      target.scrollIntoView({ block: "start" });
      target.focus({ preventScroll: true });
    });
    return element("li", {}, link);
  });
  return element("nav", { class: "jumps", "aria-label": "Parts of the page" }, element("ul", {}, ...links));
}

/** The filter's text with the place of a mistake marked. */
function markedText(text: string, { at, length }: FilterProblem): HTMLElement {
  const wrong = text.slice(at, at + length);
  return element(
    "code",
    { class: "filter-place" },
    text.slice(Math.max(0, at - 60), at),
    element("mark", {}, wrong.trim() === "" ? "\u2009…\u2009" : wrong),
    text.slice(at + length, at + length + 60),
  );
}

/** The bar that stays visible: the parts of the page, the filter of heads and the chosen head. */
export function controlBar(page: Page, sections: [id: string, name: string][]) {
  const input = element("input", {
    type: "search",
    id: "filter",
    placeholder: page.data.comparison
      ? `such as ${mainColumn(page.data)}_q<0.05 and ${mainColumn(page.data)}>0`
      : `such as 0.2<${mainColumn(page.data)}<0.5 and not layer<10`,
    spellcheck: "false",
    autocomplete: "off",
    autocapitalize: "off",
    "aria-describedby": "filter-says",
  });
  let waiting = 0;
  input.addEventListener("input", () => {
    window.clearTimeout(waiting);
    waiting = window.setTimeout(() => page.change({ filter: input.value }), 150);
  });
  const says = element("span", { id: "filter-says", class: "says", role: "status" });
  const chosen = element("span", { class: "chosen-name", role: "status" });
  const clear = button("Clear", () => page.change({ head: -1, scope: "model" }), {
    class: "quiet",
    "aria-label": "Clear the chosen head",
  });
  const run = selector("Shown", page.runs.choices(), (show) => page.switchTo(show));
  run.element.classList.add("shown-run-choice");
  run.show(page.show);
  const bar = element(
    "div",
    { class: "bar", role: "region", "aria-label": "Filter and chosen head" },
    element(
      "div",
      { class: "bar-inner" },
      page.runs.count > 1 ? run.element : null,
      element("label", { class: "field", for: "filter" }, element("span", {}, "Show heads with"), input),
      says,
      element("span", { class: "bar-head" }, chosen, clear),
    ),
    jumps(sections),
  );
  return {
    element: bar,
    show(problem: FilterProblem | null) {
      const { data, view } = page;
      if (document.activeElement !== input) input.value = view.filter;
      input.setAttribute("aria-invalid", String(problem !== null));
      says.classList.toggle("bad", problem !== null);
      const count = `${page.heads.length.toLocaleString("en-US")} of ${data.count.toLocaleString("en-US")}`;
      says.replaceChildren(...(problem ? [problem.message, ": ", markedText(view.filter, problem)] : [count]));
      chosen.textContent = view.head >= 0 ? headName(data, view.head) : "No head chosen";
      chosen.classList.toggle("none", view.head < 0);
      clear.hidden = view.head < 0;
    },
  };
}

/** The switches of the lower charts: all heads or the chosen head, mean or median. */
export function scopeBar(page: Page) {
  const scope = segments(
    "Whose cells",
    [
      { value: "model", label: "All heads" },
      { value: "head", label: "Chosen head" },
    ],
    (value) => page.change({ scope: value as View["scope"] }),
  );
  const middle = segments(
    "Over heads",
    [
      { value: "mean", label: "Mean" },
      { value: "median", label: "Median" },
    ],
    (value) => page.change({ middle: value as View["middle"] }),
  );
  const remark = element("p", { class: "remark" });
  return {
    element: element(
      "div",
      { class: "scope" },
      element("div", { class: "scope-switches" }, scope.element, middle.element),
      remark,
    ),
    show() {
      const { data, view } = page;
      scope.show(view.scope);
      scope.enable("head", view.head >= 0);
      middle.show(view.middle);
      remark.textContent =
        view.head >= 0
          ? `${headName(data, view.head)} is chosen.`
          : "Choose a head in a map, a chart or the table to see its own cells here.";
    },
  };
}

function eyebrow({ data, runs }: Page): string {
  const parts = ["Attention plasticity"];
  if (data.comparison) parts.push(modelName(data), "the difference of two runs");
  else if (runs.count > 1) parts.push(`run ${data.name}, one of ${runs.count}`);
  return parts.join(" · ");
}

/** What the page says first: the model, or the two runs that are compared, and how it went. */
export function header(page: Page, theme: HTMLElement): HTMLElement {
  const { data, runs } = page;
  const copied = button(
    "Copy link",
    async () => {
      try {
        await navigator.clipboard.writeText(location.href);
        copied.textContent = "Copied";
      } catch {
        copied.textContent = "Copy it from the address bar";
      }
      window.setTimeout(() => (copied.textContent = "Copy link"), 2000);
    },
    { class: "quiet", title: "The address holds the whole view" },
  );
  const print = button("Print", () => window.print(), { class: "quiet" });
  return element(
    "header",
    {},
    element("div", { class: "header-tools" }, theme, copied, print),
    element("p", { class: "eyebrow" }, eyebrow(page)),
    element("h1", {}, data.comparison ? data.name : modelName(data)),
    statusLine(data),
    failureList(data),
    caveatList("Runs that cannot be compared", runs.problems()),
  );
}
