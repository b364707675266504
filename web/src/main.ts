import { controlBar, header, scopeBar } from "./bars.ts";
import { type Chart, ChartCard } from "./chart_card.ts";
import { valueOf } from "./columns.ts";
import { componentChart } from "./component_chart.ts";
import { curveChart } from "./curve_chart.ts";
import { comparisonAbout, comparisonCards } from "./comparison_card.ts";
import { type Dataset, decode } from "./data.ts";
import { element } from "./dom.ts";
import { type FilterProblem, parseFilter, passes } from "./filter.ts";
import { bucketChart, distanceChart } from "./grid_charts.ts";
import { guide } from "./guide.ts";
import { HeadCard, walk } from "./head_card.ts";
import { headMap } from "./head_map.ts";
import { HeadTable } from "./head_table.ts";
import { modelName, runCard, summaryCards } from "./overview.ts";
import type { Page } from "./page.ts";
import { scatterChart } from "./scatter_chart.ts";
import { Runs } from "./runs.ts";
import { seriesChart } from "./series_chart.ts";
import type { Look } from "./look.ts";
import { readView, type View, writeView } from "./state.ts";
import { themeSwitch } from "./theme.ts";

type Synced = Chart & { sync?(page: Page): void };

// The parts of the view that each part of the page depends on, besides the filter and the colours of the page. Where only
// `marks` change, a chart that can do so marks heads without being drawn again.
const marks: (keyof View)[] = ["head", "kept", "plan", "keep", "group", "window", "sinks"];
const dependsOn: Record<string, (keyof View)[]> = {
  "head-map": ["map", "range", ...marks],
  scatter: ["x", "y", "color", "logs", "zoom", "head", "kept"],
  curves: ["head", "kept", "middle", "curve", "both", "scope"],
  series: ["map", "head", "kept"],
  buckets: ["head", "scope", "middle"],
  distance: ["head", "scope", "middle", "distance"],
  components: ["head", "scope", "middle"],
};
const ofTable: (keyof View)[] = ["sort", "descending", "columns", "head", "kept"];

function shownHeads(data: Dataset, text: string): { heads: number[]; problem: FilterProblem | null } {
  const { filter, problem } = parseFilter(text, ["layer", "q_head", "k_head", ...data.columns.keys()]);
  const heads: number[] = [];
  for (let head = 0; head < data.count; ++head) {
    if (passes(filter, (column) => valueOf(data, column, head))) heads.push(head);
  }
  return { heads, problem };
}

/** Whether a chart depends on a part of the view. The curves follow the chosen head alone only where they are those of
 * both runs. */
function matters(view: View, chart: string, key: keyof View): boolean {
  return dependsOn[chart].includes(key) && !(chart === "curves" && key === "scope" && !view.both);
}

const shortTitles: Record<string, string> = {
  distance: "Distances",
  curves: "Curves",
  buckets: "Buckets",
  components: "Components",
};

/** Lets the browser handle what waits: clicks, keys. */
const nextFrame = () => new Promise<void>((resolve) => setTimeout(resolve, 0));

/** What is on the screen for one run or difference. */
interface Built {
  show: string;
  /** Draws again in other colours. */
  recolor(look: Look): void;
  /** Shows the view of a fragment. */
  follow(fragment: string): void;
  takeDown(): void;
}

/** What surrounds what is shown: it stays when another run is chosen. */
interface Around {
  runs: Runs;
  theme: ReturnType<typeof themeSwitch>;
  switchTo(show: string, fragment: string): void;
}

/** The fragment of a view with what is shown. */
function wholeFragment(runs: Runs, show: string, view: string): string {
  const words = new URLSearchParams(view);
  if (show !== runs.initial()) words.set("show", show);
  return words.toString();
}

function writeAddress(fragment: string): void {
  try {
    history.replaceState(null, "", fragment === "" ? location.pathname + location.search : `#${fragment}`);
  } catch {
    // A page that is embedded in another one may have no address of its own. The view changes nevertheless.
  }
}

/** The part of a view that means the same for another run. Values and differences have other ranges. */
function carriedOver(page: Page, show: string): string {
  const words = new URLSearchParams(writeView(page.view, page.data));
  if (Boolean(page.data.comparison) === show.includes("-")) return words.toString();
  for (const key of ["range", "zoom", "filter", "x", "y", "color", "logs", "sort", "column"]) words.delete(key);
  return words.toString();
}

/** Builds the page for a run or a difference. It is drawn when `drawn` is done. */
function build({ runs, theme, switchTo }: Around, show: string, fragment: string): Built & { drawn: Promise<void> } {
  const data = runs.shown(show);
  const gone = new AbortController();
  let problem: FilterProblem | null = null;
  const page: Page = {
    runs,
    show,
    data,
    view: readView(fragment, data),
    heads: [],
    look: theme.look(),
    gone: gone.signal,
    change(part) {
      const before = page.view;
      page.view = { ...before, ...part };
      writeAddress(wholeFragment(runs, show, writeView(page.view, data)));
      update(before);
    },
    switchTo: (other) => switchTo(other, wholeFragment(runs, other, carriedOver(page, other))),
  };
  ({ heads: page.heads, problem } = shownHeads(data, page.view.filter));

  const scope = scopeBar(page);
  const map = headMap(page);
  const scatter = scatterChart(page);
  const lower = [distanceChart(page), curveChart(page), bucketChart(data), componentChart(data)].filter(
    (chart) => chart !== null,
  );
  const series = seriesChart(page);
  const charts: Synced[] = [map, ...(series ? [series] : []), ...lower, scatter];
  const cards = new Map(charts.map((chart) => [chart.id, new ChartCard(chart)]));
  const table = new HeadTable(page);
  const headCard = new HeadCard(page);
  const bar = controlBar(page, [
    ["title-head-map", "Map"],
    ...(series ? [["title-series", "Runs"] as [string, string]] : []),
    ["title-table", "Table"],
    ["title-scatter", "Scatter"],
    ...lower.map((chart): [string, string] => [`title-${chart.id}`, shortTitles[chart.id]]),
    ["guide", "How to read"],
  ]);
  const card = (id: string) => (cards.get(id) as ChartCard).element;

  const draw = (chart: Synced) => {
    chart.sync?.(page);
    cards.get(chart.id)?.draw(page);
  };
  /** Draws a chart again, or only its marks where these alone changed. */
  const redraw = (chart: Synced, onlyMarks: boolean) => {
    if (onlyMarks && cards.get(chart.id)?.markHead(page)) chart.sync?.(page);
    else draw(chart);
  };
  // Charts out of sight are drawn after the visible ones are on the screen: choosing a head must not wait for them.
  const later = new Map<Synced, boolean>();
  const drawLater = async () => {
    document.documentElement.dataset.drawing = "true";
    await new Promise<void>((resolve) => requestAnimationFrame(() => setTimeout(resolve, 0)));
    for (const [chart, onlyMarks] of later) {
      if (gone.signal.aborted) break;
      later.delete(chart);
      redraw(chart, onlyMarks);
      await nextFrame();
    }
    delete document.documentElement.dataset.drawing;
  };
  const drawAll = () => {
    later.clear();
    bar.show(problem);
    scope.show();
    headCard.draw(page);
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
    headCard.draw(page);
    for (const chart of charts) {
      const reasons = changed.filter((key) => matters(page.view, chart.id, key));
      if (!filtered && reasons.length === 0) continue;
      const onlyMarks = !filtered && reasons.every((key) => marks.includes(key));
      if (cards.get(chart.id)?.isInSight()) {
        redraw(chart, onlyMarks && later.get(chart) !== false);
        later.delete(chart);
      } else {
        chart.sync?.(page);
        cards.get(chart.id)?.describe(page);
        later.set(chart, onlyMarks && later.get(chart) !== false);
      }
    }
    if (later.size > 0 && !document.documentElement.dataset.drawing) void drawLater();
    if (filtered || changed.some((key) => ofTable.includes(key))) table.draw(page);
    if (changed.includes("head")) table.reveal();
  };

  const heads = element("div", { class: "map-and-head" }, card("head-map"), headCard.element);
  heads.addEventListener("keydown", (event) => {
    const step = ({ n: 1, p: -1 } as const)[event.key.toLowerCase()];
    const isTyping = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
    if (!step || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    walk(page, step);
  });
  const summaries = data.comparison ? comparisonCards(data) : summaryCards(data);
  const root = document.getElementById("page") as HTMLElement;
  root.append(
    header(page, theme.element),
    element(
      "section",
      { "aria-labelledby": "title-summary" },
      element("h2", { id: "title-summary", class: "unseen" }, "The whole model"),
      element("div", { class: `summaries${summaries.length === 1 ? " single" : ""}` }, ...summaries, comparisonAbout(data) ?? runCard(data)),
    ),
    bar.element,
    element(
      "main",
      {},
      element("section", {}, element("h2", {}, "Heads"), heads, series ? card("series") : null, table.element, card("scatter")),
      lower.length > 0
        ? element(
            "section",
            {},
            element("h2", {}, "In detail"),
            scope.element,
            element("div", { class: "pair" }, ...lower.map((chart) => card(chart.id))),
          )
        : null,
      guide(data),
    ),
  );
  document.title = `${data.comparison ? data.name : modelName(data)} · attention plasticity`;

  window.addEventListener(
    "beforeprint",
    () => {
      cards.forEach((one) => one.beforePrint());
      table.print(true);
    },
    { signal: gone.signal },
  );
  window.addEventListener(
    "afterprint",
    () => {
      cards.forEach((one) => one.afterPrint());
      table.print(false);
    },
    { signal: gone.signal },
  );
  // Draws the visible parts first and the rest chart by chart, so that the page stays responsive.
  const drawn = async () => {
    bar.show(problem);
    scope.show();
    headCard.draw(page);
    table.draw(page);
    for (const chart of charts) {
      if (gone.signal.aborted) return;
      draw(chart);
      await nextFrame();
    }
    if (gone.signal.aborted) return;
    table.reveal();
    document.documentElement.dataset.ready = "true";
  };
  return {
    show,
    drawn: drawn(),
    recolor(look) {
      page.look = look;
      drawAll();
    },
    follow(now) {
      const before = page.view;
      page.view = readView(now, data);
      update(before);
    },
    takeDown() {
      gone.abort();
      cards.forEach((one) => one.takeDown());
      root.replaceChildren();
      delete document.documentElement.dataset.ready;
    },
  };
}

/** Which run or difference a fragment asks for. */
function showIn(runs: Runs, fragment: string): string {
  const show = new URLSearchParams(fragment.replace(/^#/, "")).get("show") ?? "";
  return runs.has(show) ? show : runs.initial();
}

async function begin(runs: Runs): Promise<void> {
  let built: (Built & { drawn: Promise<void> }) | null = null;
  const theme = themeSwitch((look) => built?.recolor(look));
  const around: Around = {
    runs,
    theme,
    switchTo(show, fragment) {
      writeAddress(fragment);
      built?.takeDown();
      built = build(around, show, fragment);
      document.querySelector<HTMLElement>(".shown-run-choice select")?.focus({ preventScroll: true });
    },
  };
  built = build(around, showIn(runs, location.hash), location.hash);
  window.addEventListener("hashchange", () => {
    const show = showIn(runs, location.hash);
    if (show === built?.show) built.follow(location.hash);
    else around.switchTo(show, location.hash.replace(/^#/, ""));
  });
  await built.drawn;
}

async function start(): Promise<void> {
  const content = (id: string) => document.getElementById(id)?.textContent ?? "";
  try {
    await begin(new Runs(await decode(content("report-head"), content("report-blocks"))));
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
