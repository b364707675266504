// Tests of the parts that need no browser.

import assert from "node:assert/strict";
import { test } from "node:test";
import { distanceBin, geometry, middleOf, shares } from "../src/cells.ts";
import {
  columnChoices,
  columnsWith,
  errorOf,
  mainColumn,
  meaning,
  rangeOf,
  usualFacts,
  valueOf,
} from "../src/columns.ts";
import { parseFilter, passes } from "../src/filter.ts";
import { sortedHeads } from "../src/head_table.ts";
import { quantile, shown, tokens, withError } from "../src/numbers.ts";
import { csv, fileName } from "../src/save.ts";
import { rankCorrelation, ranks } from "../src/scatter_chart.ts";
import { initialView, readView, writeView } from "../src/state.ts";

/** A column of the schema, as the program writes it into the page. */
function known(name, topic, more = {}) {
  const empty = { title: "", colors: null, error_of: "", in_facts: false, in_list: false };
  return { name, meaning: `The meaning of ${name}`, topic, ...empty, ...more };
}

const schema = {
  headline: ["ap_exact", "ap_overall"],
  topics: ["Plasticity", "Queries", "Other"],
  metrics: [
    known("layer", "Other"),
    known("q_R2_scalar", "Queries", { in_list: true }),
    known("ap_overall", "Plasticity", { colors: [0, 1], in_list: true, in_facts: true }),
    known("ap_exact", "Plasticity", { colors: [0, 1], in_list: true, in_facts: true }),
    known("ap_exact_se", "Plasticity", { error_of: "ap_exact" }),
    known("ap_exact_empirical", "Plasticity", { in_facts: true }),
    known("logit_fixed", "Plasticity", { in_list: true }),
  ],
  tables: {},
};

/** Data of two heads with some measures and labels. */
function dataWith(measures, labels = []) {
  const column = (name, isLabel) => [name, { name, values: Float64Array.of(1, 2), isLabel }];
  return {
    schema,
    labelsFile: "labels.csv",
    count: 2,
    layer: Int32Array.of(0, 3),
    qHead: Int32Array.of(1, 4),
    kHead: Int32Array.of(0, 1),
    columns: new Map([...measures.map((name) => column(name, false)), ...labels.map((name) => column(name, true))]),
    tables: {},
  };
}

test("the schema orders, groups and explains the columns", () => {
  const data = dataWith(
    ["of_another_program", "q_R2_scalar", "ap_exact_se", "logit_fixed", "ap_overall", "ap_exact"],
    ["induction"],
  );
  const listed = columnsWith(data, (column) => column.in_list);
  assert.deepEqual(listed, ["ap_exact", "ap_overall", "logit_fixed", "q_R2_scalar"]);
  assert.deepEqual(usualFacts(data), ["logit_fixed"]);
  assert.deepEqual(
    columnChoices(data, true).map(({ value, group }) => `${value} ${group ?? "-"}`),
    [
      "layer -",
      "logit_fixed Plasticity",
      "ap_overall Plasticity",
      "ap_exact Plasticity",
      "induction Labels",
      "q_R2_scalar Queries",
      "of_another_program Other",
    ],
  );
  assert.equal(meaning(data, "layer"), "The meaning of layer");
  assert.equal(meaning(data, "ap_exact_se"), "The meaning of ap_exact_se");
  assert.equal(meaning(data, "induction"), "Label from labels.csv");
  assert.equal(meaning(data, "of_another_program"), "");
  assert.deepEqual(rangeOf(data, "ap_exact", [0, 1]), [0, 1]);
  assert.deepEqual(rangeOf(data, "logit_fixed", [0, 1]), [1, 2]);
  assert.deepEqual(rangeOf(data, "logit_fixed", [0]), [0.5, 1.5]);
  assert.equal(valueOf(data, "layer", 1), 3);
});

test("a label is not described by the schema, even under the name of a measure", () => {
  const data = dataWith(["ap_overall"], ["ap_exact"]);
  assert.equal(meaning(data, "ap_exact"), "Label from labels.csv");
  assert.deepEqual(rangeOf(data, "ap_exact", [0, 1]), [1, 2]);
});

test("standard errors belong to their measure", () => {
  const both = dataWith(["ap_exact", "ap_exact_se", "ap_overall"]);
  assert.equal(errorOf(both, "ap_exact"), "ap_exact_se");
  assert.equal(errorOf(both, "ap_overall"), null);
  assert.equal(errorOf(dataWith(["ap_exact"]), "ap_exact"), null);
  const values = (data) => columnChoices(data, false).map((choice) => choice.value);
  assert.deepEqual(values(both), ["ap_exact", "ap_overall"]);
  assert.deepEqual(values(dataWith(["ap_exact_se"])), ["ap_exact_se"]);
});

test("the first headline that was measured is shown first", () => {
  assert.equal(mainColumn(dataWith(["ap_overall", "ap_exact"])), "ap_exact");
  assert.equal(mainColumn(dataWith(["q_R2_scalar", "ap_overall"])), "ap_overall");
  assert.equal(mainColumn(dataWith(["of_another_program", "q_R2_scalar"])), "q_R2_scalar");
  assert.equal(mainColumn(dataWith([])), "layer");
});

test("the view begins with what was measured", () => {
  const view = initialView(dataWith(["q_R2_scalar", "ap_exact", "ap_overall"], ["a", "previous_token", "c", "d"]));
  assert.deepEqual([view.map, view.x, view.y], ["ap_exact", "previous_token", "ap_exact"]);
  assert.deepEqual(view.columns, ["ap_exact", "ap_overall", "q_R2_scalar", "a", "previous_token", "c"]);
  assert.equal(initialView(dataWith(["ap_exact", "logit_fixed"])).x, "logit_fixed");
});

test("in a filter a comma means or, and `and` binds more tightly", () => {
  const knows = (column) => ["a", "b", "layer"].includes(column);
  const { filter, problem } = parseFilter("a>1 and b<=2, layer == 3", knows);
  assert.equal(problem, "");
  const of = (a, b, layer) => passes(filter, (column) => ({ a, b, layer })[column]);
  assert.ok(of(2, 2, 0) && of(0, 9, 3));
  assert.ok(!of(2, 3, 0) && !of(1, 2, 0) && !of(NaN, 2, 2));
  assert.ok(passes(parseFilter("  ", knows).filter, () => NaN));
  assert.equal(parseFilter("c>1", knows).problem, "there is no column “c”");
  assert.match(parseFilter("a>", knows).problem, /is not a condition/);
  assert.match(parseFilter("a>1,", knows).problem, /is not a condition/);
});

test("missing values sort last in both directions", () => {
  const columns = new Map([["x", { name: "x", values: Float64Array.of(2, NaN, 5, 2), isLabel: false }]]);
  const data = { columns };
  assert.deepEqual(sortedHeads(data, [0, 1, 2, 3], "x", true), [2, 0, 3, 1]);
  assert.deepEqual(sortedHeads(data, [0, 1, 2, 3], "x", false), [0, 3, 2, 1]);
});

test("equal values get the mean of their ranks", () => {
  assert.deepEqual(ranks([10, 20, 20, 5]), [2, 3.5, 3.5, 1]);
  assert.ok(Math.abs(rankCorrelation([1, 2, 3, 4], [1, 10, 100, 1000]) - 1) < 1e-12);
  assert.ok(Math.abs(rankCorrelation([1, 2, 3], [1, 3, 2]) - 0.5) < 1e-12);
  assert.ok(Number.isNaN(rankCorrelation([1, 2], [3, 3])));
});

test("cells are averaged over the heads that have them", () => {
  const cells = { count: 2, keys: {}, columns: { plasticity: Float64Array.of(0.1, NaN, 0.2, 0.5, 0.9, 0.7) } };
  const { values, counts } = middleOf(cells, "plasticity", [0, 1, 2], "mean");
  assert.deepEqual(
    [...values].map((value) => value.toFixed(4)),
    ["0.4000", "0.6000"],
  );
  assert.deepEqual([...counts], [3, 2]);
  assert.deepEqual(
    [...middleOf(cells, "plasticity", [0, 1, 2], "median").values].map((value) => value.toFixed(4)),
    ["0.2000", "0.6000"],
  );
  assert.ok(Number.isNaN(middleOf(cells, "plasticity", [], "mean").values[0]));
});

test("the weights of a head are scaled to sum to 1", () => {
  const cells = { count: 2, keys: {}, columns: { weight: Float64Array.of(0, 0, 1, 3) } };
  assert.deepEqual([...shares(cells, 1)], [0.25, 0.75]);
  assert.ok([...shares(cells, 0)].every(Number.isNaN));
});

test("positions of buckets and bins follow the capture", () => {
  const place = (strategy, bucket_size) => geometry({ run: { sampling: { strategy, bucket_size } } });
  assert.deepEqual([0, 1, 3].map(place("uniform", 128).start), [0, 128, 384]);
  assert.deepEqual([0, 1, 3].map(place("log", 4).start), [0, 8, 32]);
  assert.equal(place("uniform", 128).center(1), 192);
  assert.equal(geometry({ run: null }).known, false);
  assert.deepEqual([0, 1, 2, 10].map(distanceBin), ["0", "1–2", "3–6", "1023–2046"]);
});

test("numbers have about four digits", () => {
  assert.deepEqual([0.83561, 4.7556, -131.09, 4096, 0, 2.1e-7, NaN, 12345.6].map(shown), [
    "0.8356",
    "4.756",
    "−131.1",
    "4096",
    "0",
    "2.1e−7",
    "–",
    "12,346",
  ]);
  assert.equal(withError(0.5, 0.01), "0.5000 ± 0.0100");
  assert.equal(withError(0.5, NaN), "0.5000");
  assert.deepEqual([0, 1152, 8191, 131071].map(tokens), ["0", "1152", "8191", "128k"]);
  assert.equal(quantile([4, 1, 3, 2], 0.5), 2.5);
});

test("saved files have plain names and whole fields", () => {
  assert.equal(fileName("a/b <c>", "head-map", ""), "a-b-c-head-map");
  assert.equal(fileName("../..", "x"), "x");
  assert.equal(
    csv(
      ['a,"b"', "c"],
      [
        [1, NaN],
        [0.1, -2e-9],
      ],
    ),
    '"a,""b""",c\n1,\n0.1,-2e-9\n',
  );
});

test("a view survives its fragment, and nonsense is ignored", () => {
  const data = {
    ...dataWith(["ap_exact", "ap_overall"], ["a&b,=c"]),
    tables: {
      distance: {
        count: 1,
        keys: {},
        columns: { plasticity: Float64Array.of(1, 1), logit_fixed: Float64Array.of(1, 1) },
      },
    },
  };
  const initial = initialView(data);
  assert.equal(writeView(initial, data), "");
  assert.deepEqual(readView("", data), initial);
  const view = {
    ...initial,
    head: 1,
    scope: "head",
    middle: "median",
    map: "a&b,=c",
    distance: "logit_fixed",
    x: "layer",
  };
  Object.assign(view, { sort: "a&b,=c", descending: false, filter: "layer>1, a&b,=c<2 # ü", columns: ["a&b,=c"] });
  assert.deepEqual(readView(`#${writeView(view, data)}`, data), view);
  assert.deepEqual(readView(writeView({ ...view, columns: [] }, data), data).columns, []);
  const nonsense = "head=9.9&scope=head&map=none&distance=constructor&x=&sort=-none&middle=mode&other=1";
  assert.deepEqual(readView(nonsense, data), initial);
});
