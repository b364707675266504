import { type Chart, ChartCard } from "./chart_card.ts";
import { columnsWith, hasColumn, mainColumn, valueOf } from "./columns.ts";
import { componentChart } from "./component_chart.ts";
import { curveChart } from "./curve_chart.ts";
import { type Dataset, decode } from "./data.ts";
import { button, element, segments } from "./dom.ts";
import { parseFilter, passes } from "./filter.ts";
import { bucketChart, distanceChart } from "./grid_charts.ts";
import { guide } from "./guide.ts";
import { headMap } from "./head_map.ts";
import { HeadTable } from "./head_table.ts";
import { failureList, headFacts, modelName, runCard, statusLine, summaryCards } from "./overview.ts";
import { headName, type Page } from "./page.ts";
import { scatterChart } from "./scatter_chart.ts";
import { readView, type View, writeView } from "./state.ts";
import { themeSwitch } from "./theme.ts";

type Synced = Chart & { sync?(page: Page): void };

// The parts of the view that each chart depends on, besides the filter and the colours of the page.
const dependsOn: Record<string, (keyof View)[]> = {
  "head-map": ["map", "head"],
  scatter: ["x", "y", "color", "head"],
  curves: ["head", "scope", "middle", "curve"],
  buckets: ["head", "scope", "middle"],
  distance: ["head", "scope", "middle", "distance"],
  components: ["head", "scope", "middle"],
};

function shownHeads(data: Dataset, text: string): { heads: number[]; problem: string } {
  const { filter, problem } = parseFilter(text, (column) => hasColumn(data, column));
  const heads: number[] = [];
  for (let head = 0; head < data.count; ++head) {
    if (passes(filter, (column) => valueOf(data, column, head))) heads.push(head);
  }
  return { heads, problem };
}

/** The bar that stays visible: the filter of heads and the chosen head. */
function controlBar(page: Page) {
  const input = element("input", {
    type: "search",
    id: "filter",
    placeholder: `such as ${mainColumn(page.data)}>0.5 and layer<10`,
    spellcheck: "false",
    autocomplete: "off",
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
  const bar = element(
    "div",
    { class: "bar" },
    element(
      "div",
      { class: "bar-inner" },
      element("label", { class: "field", for: "filter" }, element("span", {}, "Show heads with"), input),
      says,
      element("span", { class: "bar-head" }, chosen, clear),
    ),
  );
  return {
    element: bar,
    show(problem: string) {
      const { data, view } = page;
      if (document.activeElement !== input) input.value = view.filter;
      input.setAttribute("aria-invalid", String(problem !== ""));
      says.classList.toggle("bad", problem !== "");
      says.textContent =
        problem || `${page.heads.length.toLocaleString("en-US")} of ${data.count.toLocaleString("en-US")}`;
      chosen.textContent = view.head >= 0 ? headName(data, view.head) : "No head chosen";
      chosen.classList.toggle("none", view.head < 0);
      clear.hidden = view.head < 0;
    },
  };
}

/** The switches of the lower charts: all heads or the chosen head, mean or median. */
function scopeBar(page: Page) {
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
  const facts = element("div", {});
  const labels = [...page.data.columns.values()].filter((column) => column.isLabel).map((column) => column.name);
  const columns = [
    ...new Set([mainColumn(page.data), ...columnsWith(page.data, (column) => column.in_facts), ...labels]),
  ];
  return {
    element: element(
      "div",
      { class: "scope" },
      element("div", { class: "scope-switches" }, scope.element, middle.element),
      facts,
    ),
    show() {
      const { data, view } = page;
      scope.show(view.scope);
      scope.enable("head", view.head >= 0);
      middle.show(view.middle);
      facts.replaceChildren(
        view.head >= 0
          ? headFacts(data, view.head, columns)
          : element(
              "p",
              { class: "remark" },
              "Choose a head in a map, a chart or the table to see its own cells here.",
            ),
      );
    },
  };
}

function header(data: Dataset, theme: HTMLElement): HTMLElement {
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
    element("p", { class: "eyebrow" }, "Attention plasticity"),
    element("h1", {}, modelName(data)),
    statusLine(data),
    failureList(data),
  );
}

const nextFrame = () => new Promise<void>((resolve) => setTimeout(resolve, 0));

async function build(data: Dataset): Promise<void> {
  let problem = "";
  const theme = themeSwitch((look) => {
    page.look = look;
    drawAll();
  });
  const page: Page = {
    data,
    view: readView(location.hash, data),
    heads: [],
    look: theme.look(),
    change(part) {
      const before = page.view;
      page.view = { ...before, ...part };
      const fragment = writeView(page.view, data);
      try {
        history.replaceState(null, "", fragment === "" ? location.pathname + location.search : `#${fragment}`);
      } catch {
        // A page that is embedded in another one may have no address of its own. The view changes nevertheless.
      }
      update(before);
    },
  };
  ({ heads: page.heads, problem } = shownHeads(data, page.view.filter));

  const bar = controlBar(page);
  const scope = scopeBar(page);
  const map = headMap(page);
  const scatter = scatterChart(page);
  const lower = [distanceChart(page), curveChart(page), bucketChart(data), componentChart(data)].filter(
    (chart) => chart !== null,
  );
  const charts: Synced[] = [map, ...lower, scatter];
  const cards = new Map(charts.map((chart) => [chart.id, new ChartCard(chart)]));
  const table = new HeadTable(page);
  const card = (id: string) => (cards.get(id) as ChartCard).element;

  const draw = (chart: Synced) => {
    chart.sync?.(page);
    cards.get(chart.id)?.draw(page);
  };
  const drawAll = () => {
    bar.show(problem);
    scope.show();
    charts.forEach(draw);
    table.draw(page);
  };
  const update = (before: View) => {
    const changed = (Object.keys(page.view) as (keyof View)[]).filter((key) => page.view[key] !== before[key]);
    if (changed.length === 0) return;
    const filtered = changed.includes("filter");
    if (filtered) ({ heads: page.heads, problem } = shownHeads(data, page.view.filter));
    bar.show(problem);
    scope.show();
    for (const chart of charts) {
      const matters = dependsOn[chart.id].filter((key) => changed.includes(key));
      const onlyHead = !filtered && matters.every((key) => key === "head");
      if (!filtered && matters.length === 0) continue;
      if (!onlyHead || !cards.get(chart.id)?.markHead(page)) draw(chart);
    }
    if (filtered || changed.some((key) => ["sort", "descending", "columns", "head"].includes(key))) table.draw(page);
    if (changed.includes("head")) table.reveal();
  };

  const summaries = summaryCards(data);
  const root = document.getElementById("page") as HTMLElement;
  root.append(
    header(data, theme.element),
    element("div", { class: `summaries${summaries.length === 1 ? " single" : ""}` }, ...summaries, runCard(data)),
    bar.element,
    element(
      "main",
      {},
      element("section", {}, element("h2", {}, "Heads"), card("head-map"), table.element, card("scatter")),
      lower.length > 0
        ? element(
            "section",
            {},
            element("h2", {}, "In detail"),
            scope.element,
            element("div", { class: "pair" }, ...lower.map((chart) => card(chart.id))),
          )
        : null,
      guide(),
    ),
  );
  document.title = `${modelName(data)} · attention plasticity`;

  // Draws the visible parts first and the rest chart by chart, so that the page stays responsive.
  bar.show(problem);
  scope.show();
  table.draw(page);
  for (const chart of charts) {
    draw(chart);
    await nextFrame();
  }
  window.addEventListener("hashchange", () => {
    const before = page.view;
    page.view = readView(location.hash, data);
    update(before);
  });
  window.addEventListener("beforeprint", () => {
    cards.forEach((one) => one.beforePrint());
    table.print(true);
  });
  window.addEventListener("afterprint", () => {
    cards.forEach((one) => one.afterPrint());
    table.print(false);
  });
  table.reveal();
  document.documentElement.dataset.ready = "true";
}

async function start(): Promise<void> {
  const content = (id: string) => document.getElementById(id)?.textContent ?? "";
  try {
    await build(await decode(content("report-head"), content("report-blocks")));
  } catch (problem) {
    const reason = problem instanceof Error ? problem.message : String(problem);
    document.body.prepend(
      element(
        "p",
        { class: "failure" },
        `This report cannot be shown: ${reason}. It needs a browser of 2023 or later.`,
      ),
    );
    throw problem;
  }
}

void start();
