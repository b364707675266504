// Which components of the query hold position: the share of each.

import { axis, base, tip, tooltip, type Row } from "./chart_parts.ts";
import type { Chart, Option } from "./chart_card.ts";
import type { ChartTable } from "./chart_table.ts";
import { shares } from "./cells.ts";
import type { Cells, Dataset } from "./data.ts";
import { median, shown } from "./numbers.ts";
import { headCount, headName, middleOfHeads, type Page } from "./page.ts";

let last: { heads: readonly number[]; middle: string; cells: Cells; shares: number[] } | null = null;

function middleShares(page: Page, cells: Cells): number[] {
  const { heads, view } = page;
  if (last?.heads !== heads || last.middle !== view.middle || last.cells !== cells) {
    last = { heads, middle: view.middle, cells, shares: makeMiddleShares(page, cells) };
  }
  return last.shares;
}

function makeMiddleShares(page: Page, cells: Cells): number[] {
  const all = page.heads.map((head) => shares(cells, head)).filter((one) => !Number.isNaN(one[0]));
  if (page.view.middle === "median") {
    return Array.from({ length: cells.count }, (_, i) => median(all.map((one) => one[i])));
  }
  const sums = new Array<number>(cells.count).fill(0);
  for (const one of all) one.forEach((share, i) => (sums[i] += share));
  return sums.map((sum) => sum / all.length);
}

function option(page: Page, cells: Cells): Option {
  const { look, view, data } = page;
  const model = middleShares(page, cells);
  const single = view.scope === "head" && view.head >= 0;
  const bars = single ? Array.from(shares(cells, view.head)) : model;
  const keys = Array.from(cells.keys.component);
  const series: Option[] = [
    {
      id: "shares",
      type: "bar",
      data: bars,
      barCategoryGap: "15%",
      itemStyle: { color: single ? look.accent : "#31688e" },
    },
  ];
  if (single)
    series.push({
      id: "model",
      type: "line",
      step: "middle",
      symbol: "none",
      silent: true,
      data: model,
      lineStyle: { color: look.ink, width: 1.25 },
    });
  return {
    ...base(look),
    grid: { left: 58, right: 14, top: 12, bottom: 46 },
    xAxis: axis(look, "component of the query", { type: "category", data: keys.map(String), nameGap: 28 }),
    yAxis: axis(look, "share", {
      type: "value",
      nameGap: 42,
      splitLine: { show: true, lineStyle: { color: look.line } },
    }),
    tooltip: {
      ...tooltip(look, (item) => {
        const rows: Row[] = [["share", shown(bars[item.dataIndex])]];
        if (single) rows.push([`${view.middle} of heads`, shown(model[item.dataIndex])]);
        return tip(
          `Component ${keys[item.dataIndex]}${single ? ` of ${headName(data, view.head).toLowerCase()}` : ""}`,
          rows,
        );
      }),
    },
    series,
  };
}

function table(page: Page, cells: Cells): ChartTable {
  const { view, data } = page;
  const model = middleShares(page, cells);
  const single = view.scope === "head" && view.head >= 0;
  const own = single ? shares(cells, view.head) : null;
  const rows = Array.from(cells.keys.component, (key, i) => (own ? [key, own[i], model[i]] : [key, model[i]]));
  return {
    columns: ["component", ...(single ? [headName(data, view.head)] : []), middleOfHeads(page)],
    rows,
  };
}

export function componentChart(data: Dataset): Chart | null {
  const cells = data.tables.components;
  if (!cells) return null;
  return {
    id: "components",
    title: "Where position is written, pooled over positions",
    followsHead: true,
    option: (page) => option(page, cells),
    table: (page) => table(page, cells),
    height: (_page, width) => Math.round(Math.min(460, Math.max(300, width * 0.62))),
    caption: (page) => {
      const single = page.view.scope === "head" && page.view.head >= 0;
      const rest = "Share of each component in the queries' linear information about position; shares sum to 1.";
      if (!single) return `${middleOfHeads(page)}. ${rest}`;
      return `Bars: ${headName(data, page.view.head).toLowerCase()}; line: ${page.view.middle} of ${headCount(page)}. ${rest}`;
    },
  };
}
