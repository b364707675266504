// Tests of the parts that need no browser.

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  countsOf,
  curveColumns,
  curves,
  distanceBin,
  geometry,
  jackknife,
  meanError,
  middleOf,
  shares,
} from "../src/cells.ts";
import {
  columnChoices,
  columnsWith,
  countOf,
  errorOf,
  hasLittleData,
  mainColumn,
  meaning,
  measureWord,
  rangeOf,
  usualFacts,
  valueOf,
} from "../src/columns.ts";
import { parseFilter, passes } from "../src/filter.ts";
import { sortedHeads } from "../src/head_table.ts";
import { planCommand } from "../src/plan.ts";
import { brief, counted, quantiles, shown, span, ticks, tokens, weighted, withError } from "../src/numbers.ts";
import { csv, fileName } from "../src/save.ts";
import { rankCorrelation, ranks } from "../src/scatter_chart.ts";
import { rankOf } from "../src/head_card.ts";
import { logTicks } from "../src/scatter_axes.ts";
import { initialView, readView, writeView } from "../src/state.ts";

/** A column of the schema, as the program writes it into the page. */
function known(name, topic, more = {}) {
  const nothing = { title: "", colors: null, error_of: "", counted_by: "", counts: "" };
  const empty = { ...nothing, range: [null, null], is_exact: false, in_facts: false, in_list: false };
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

const columns = ["a", "b", "ap_exact", "layer", "q_head", "a&b,=c", "two words"];

test("in a filter a comma means or, and `and` binds more tightly", () => {
  const { filter, problem } = parseFilter("a>1 and b<=2, layer == 3", columns);
  assert.equal(problem, null);
  const of = (a, b, layer) => passes(filter, (column) => ({ a, b, layer })[column]);
  assert.ok(of(2, 2, 0) && of(0, 9, 3));
  assert.ok(!of(2, 3, 0) && !of(1, 2, 0) && !of(NaN, 2, 2));
  assert.ok(passes(parseFilter("  ", columns).filter, () => NaN));
});

test("a filter has not, or, brackets and chains", () => {
  const heads = [];
  for (const a of [0, 0.3, 0.5, NaN]) for (const b of [0, 1]) for (const layer of [0, 12]) heads.push({ a, b, layer });
  const holds = {
    "0.2<a<0.5": ({ a }) => a > 0.2 && a < 0.5,
    "0.2 <= a ≤ 0.5 & layer!=0": ({ a, layer }) => a >= 0.2 && a <= 0.5 && layer !== 0,
    "not (a<0.4 or b=1)": ({ a, b }) => !Number.isNaN(a) && !(a < 0.4 || b === 1),
    "NOT a<0.4 AND b=1 OR layer>5": ({ a, b, layer }) => (a >= 0.4 && b === 1) || layer > 5,
    "(a>0.4, b>0) and layer<10": ({ a, b, layer }) => (a > 0.4 || b > 0) && layer < 10,
    "not not b=1": ({ b }) => b === 1,
    "b>a": ({ a, b }) => b > a,
    "!(b=1)&&layer<1": ({ b, layer }) => b !== 1 && layer < 1,
  };
  for (const [text, expected] of Object.entries(holds)) {
    const { filter, problem } = parseFilter(text, columns);
    assert.equal(problem, null, text);
    for (const head of heads) {
      assert.equal(passes(filter, (column) => head[column]), expected(head), `${text} of ${JSON.stringify(head)}`);
    }
  }
  // A missing value meets no condition, negated or not.
  assert.ok(!passes(parseFilter("not a>1", columns).filter, () => NaN));
  // Names of labels may hold signs and blanks.
  const odd = parseFilter("0<a&b,=c<1 and two words>3 or head=2", columns).filter;
  const of = (label, words, q_head) => passes(odd, (column) => ({ "a&b,=c": label, "two words": words, q_head })[column]);
  assert.deepEqual([of(0.5, 4, 0), of(2, 4, 0), of(0.5, 3, 0), of(2, 0, 2)], [true, false, false, true]);
});

test("errors of a filter point at the place", () => {
  const wrong = {
    "c>1": [0, 1, /no column “c”/],
    "a>1 and ap_exct<0.5": [8, 7, /no column “ap_exct”; did you mean ap_exact\?/],
    "a>": [2, 1, /expected a column or a number here/],
    "a>1,": [4, 1, /expected a column or a number here/],
    "(a>1 and b<2": [0, 1, /never closed/],
    "a>1)": [3, 1, /never opened/],
    "a>1 b<2": [4, 1, /expected “and” or “or” before “b”/],
    "(a>1 b<2)": [5, 1, /expected “\)” before “b”/],
    "layer": [0, 5, /“layer” needs a comparison, such as layer>0.5/],
    "1<2": [0, 3, /needs a column/],
    "a>1 and and b>2": [8, 3, /no column “and”/],
    "a=<1": [2, 1, /expected a column or a number before “<”/],
  };
  for (const [text, [at, length, message]] of Object.entries(wrong)) {
    const { problem } = parseFilter(text, columns);
    assert.match(problem.message, message, text);
    assert.deepEqual([problem.at, problem.length], [at, length], text);
  }
});

test("missing values sort last in both directions", () => {
  const columns = new Map([["x", { name: "x", values: Float64Array.of(2, NaN, 5, 2), isLabel: false }]]);
  const data = { columns };
  assert.deepEqual(sortedHeads(data, [0, 1, 2, 3], "x", true), [2, 0, 3, 1]);
  assert.deepEqual(sortedHeads(data, [0, 1, 2, 3], "x", false), [0, 3, 2, 1]);
});

test("the command of a plan names the results; those in memory have no folder", () => {
  const options = { column: "ap_exact", keep: 0.5, group: "max", window: 64, sinks: 4 };
  assert.equal(planCommand({ source: "out/my run" }, options), "attention-plasticity plan 'out/my run' --keep 0.5 --missing full");
  assert.equal(planCommand({ source: null }, options), "attention-plasticity plan RESULTS --keep 0.5 --missing full");
});

test("a rank counts the measured heads with a greater value", () => {
  const columns = new Map([["x", { name: "x", values: Float64Array.of(2, NaN, 5, 2), isLabel: false }]]);
  assert.deepEqual(rankOf({ columns }, "x", 2), { rank: 1, of: 3 });
  assert.deepEqual(rankOf({ columns }, "x", 3), { rank: 2, of: 3 });
});

test("equal values get the mean of their ranks", () => {
  assert.deepEqual(ranks([10, 20, 20, 5]), [2, 3.5, 3.5, 1]);
  assert.ok(Math.abs(rankCorrelation([1, 2, 3, 4], [1, 10, 100, 1000]) - 1) < 1e-12);
  assert.ok(Math.abs(rankCorrelation([1, 2, 3], [1, 3, 2]) - 0.5) < 1e-12);
  assert.ok(Number.isNaN(rankCorrelation([1, 2], [3, 3])));
});

test("cells are averaged over the heads that have them", () => {
  const cells = { count: 2, keys: {}, columns: { plasticity: Float64Array.of(0.1, NaN, 0.2, 0.5, 0.9, 0.7) } };
  const { values, heads, totals, support } = middleOf(cells, "plasticity", [0, 1, 2], "mean");
  assert.deepEqual(
    [...values].map((value) => value.toFixed(4)),
    ["0.4000", "0.6000"],
  );
  assert.deepEqual([...heads], [3, 2]);
  // Without counts nothing is little data.
  assert.ok([...totals, ...support].every(Number.isNaN));
  assert.deepEqual(
    [...middleOf(cells, "plasticity", [0, 1, 2], "median").values].map((value) => value.toFixed(4)),
    ["0.2000", "0.6000"],
  );
  assert.ok(Number.isNaN(middleOf(cells, "plasticity", [], "mean").values[0]));
});

test("means and medians weigh heads by their counts", () => {
  assert.equal(weighted("mean", [0.2, 0.8], [1, 3]).toFixed(4), "0.6500");
  assert.equal(weighted("median", [0.9, 0.1, 0.5, 0.2], [1, 1, 3, 1]), 0.5);
  assert.equal(weighted("median", [0.9, 0.1, 0.5, 0.3], [7, 7, 7, 7]), 0.4);
  assert.ok(Number.isNaN(weighted("mean", [], [])));
  const cells = { count: 2, keys: {}, columns: { plasticity: Float64Array.of(0.2, 1, 0.8, 0.5) } };
  const counts = Float64Array.of(30, 0, 10, 4);
  const { values, totals, support } = middleOf(cells, "plasticity", [0, 1], "mean", counts);
  assert.equal(values[0].toFixed(4), "0.3500");
  assert.deepEqual([...totals], [40, 4]);
  // The second cell has values in one of two heads.
  assert.deepEqual([...support], [40, 2]);
  assert.equal(values[1], 0.5);
});

/** Two heads over three query buckets, with exact values, errors and groups. */
function dataOverTime() {
  const time = {
    count: 3,
    keys: { q_bucket: Int32Array.of(0, 1, 2) },
    columns: {
      plasticity: Float64Array.of(NaN, 0.9, 0.8, NaN, 0.7, 0.6),
      n_pairs: Float64Array.of(0, 50, 50, 0, 50, 50),
      ap_exact: Float64Array.of(0.5, 0.4, 0.3, 0.6, 0.5, NaN),
      ap_exact_se: Float64Array.of(0.1, 0.1, 0.1, 0.3, NaN, NaN),
      n_triples: Float64Array.of(100.001, 100, 100, 299.999, 300, 0),
    },
  };
  const times = [
    known("plasticity", "Other", { title: "Pooled", counted_by: "n_pairs" }),
    known("n_pairs", "Other", { counts: "pairs of keys" }),
    known("ap_exact", "Other", { title: "Position-exact", counted_by: "n_triples", is_exact: true }),
    known("ap_exact_se", "Other", { error_of: "ap_exact", counted_by: "n_triples" }),
    known("n_triples", "Other", { counts: "triples" }),
  ];
  const tables = { time };
  return { ...dataWith(["ap_exact"]), schema: { ...schema, tables: { time: times } }, tables, minCount: 30 };
}

test("curves are position-exact first, with errors and counts", () => {
  const data = dataOverTime();
  assert.deepEqual(curveColumns(data), ["ap_exact", "plasticity"]);
  const exact = curves(data, "ap_exact");
  assert.deepEqual([exact.y(0, 2), exact.error(1, 0), exact.count(1, 0), exact.counts], [0.3, 0.3, 300, "triples"]);
  const pooled = curves(data, "plasticity");
  assert.deepEqual([pooled.y(1, 1), pooled.count(1, 1), pooled.counts], [0.7, 50, "pairs of keys"]);
  assert.ok(Number.isNaN(pooled.error(1, 1)));
  assert.equal(initialView(data).curve, "ap_exact");
  assert.equal(readView(writeView({ ...initialView(data), curve: "plasticity" }, data), data).curve, "plasticity");
  data.tables.time.columns.ap_exact.fill(NaN);
  assert.deepEqual(curveColumns(data), ["plasticity"]);
  assert.equal(readView("curve=ap_exact", data).curve, "plasticity");
  assert.equal(countsOf(data, "buckets", "plasticity"), null);
  assert.deepEqual(curveColumns(dataWith([])), []);
});

test("the error of a mean over heads follows the groups of documents", () => {
  const data = dataOverTime();
  assert.equal(jackknife([0.4, 0.5, 0.6]).toFixed(6), (0.1 * Math.sqrt(4 / 3)).toFixed(6));
  assert.ok(Number.isNaN(jackknife([1, 2])));
  // Without groups: the upper bound, (0.1 x 100 + 0.3 x 300) / 400. A head without an error is left out.
  assert.equal(meanError(data, [0, 1], [100, 300], [0.1, 0.3]).toFixed(6), "0.250000");
  assert.equal(meanError(data, [0, 1], [100, 300], [0.1, NaN]), 0.1);
  assert.ok(Number.isNaN(meanError(data, [0], [100], [NaN])));
  const groups = (values) => ({ count: 3, keys: {}, columns: { ap_exact: Float64Array.from(values) } });
  const error = (values) => {
    const one = { ...data, tables: { ...data.tables, groups: groups(values) } };
    return meanError(one, [0, 1], [1, 1], [0.3, 0.3]).toFixed(6);
  };
  // Heads that move as one; heads that move apart, the second by half as much: (1 - 0.5) / (1 + 0.5) of the bound.
  assert.equal(error([0.4, 0.5, 0.6, 0.1, 0.2, 0.3]), "0.300000");
  assert.equal(error([0.4, 0.5, 0.6, 0.75, 0.7, 0.65]), "0.100000");
  assert.equal(error([0.5, 0.5, 0.5, 0.5, 0.5, 0.5]), "0.300000");
});

test("heads with little data set no colour, and one value no colour beyond its range", () => {
  const data = dataWith(["share", "n"]);
  data.schema = {
    ...schema,
    metrics: [
      known("share", "Other", { range: [0, 1], counted_by: "n" }),
      known("n", "Other", { counts: "triples" }),
      known("exact", "Other", { counted_by: "n", is_exact: true }),
    ],
  };
  data.minCount = 30;
  data.columns.get("share").values = Float64Array.of(0.5, 0.9);
  data.columns.get("n").values = Float64Array.of(4096, 29);
  assert.deepEqual(countOf(data, "share", 1), { count: 29, word: "triples" });
  assert.deepEqual([0, 1].map((head) => hasLittleData(data, "share", head)), [false, true]);
  assert.deepEqual(rangeOf(data, "share", [0, 1]), [0, 1]);
  data.columns.get("n").values = Float64Array.of(4096, 30);
  assert.deepEqual(rangeOf(data, "share", [0, 1]), [0.5, 0.9]);
  assert.deepEqual(rangeOf(data, "share", [1]), [0.4, 1]);
  const words = ["share", "exact", "n", "other"].map((column) => measureWord(data, column));
  assert.deepEqual(words, ["pooled", "position-exact", "", ""]);
});

test("counts are told in words", () => {
  assert.deepEqual([counted(1, "head"), counted(1152, "head")], ["1 head", "1,152 heads"]);
  assert.deepEqual([span([35, NaN, 11918]), span([4096, 4096]), span([NaN])], ["35 to 11,918", "4,096", ""]);
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
  assert.deepEqual(quantiles([4, 1, 3, 2], [0, 0.5, 1]), [1, 2.5, 4]);
  assert.deepEqual([0.25, -3, 1200, 2e-7, 0.1 + 0.2].map(brief), ["0.25", "−3", "1,200", "2e−7", "0.3"]);
  assert.deepEqual(ticks(0, 1), [0, 0.25, 0.5, 0.75, 1]);
  assert.deepEqual(ticks(0.013, 0.62), [0.013, 0.2, 0.4, 0.62]);
  assert.deepEqual(logTicks(0.9, 2000), [1, 10, 100, 1000]);
  assert.deepEqual(logTicks(0.9, 60), [1, 2, 5, 10, 20, 50]);
  assert.deepEqual(logTicks(0.11, 0.9), [0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]);
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
  Object.assign(view, { kept: [0], range: ":0.5", logs: "y", zoom: "0:1:0.5:2" });
  Object.assign(view, { plan: true, keep: 0.29, group: "mean", window: 128, sinks: 0 });
  Object.assign(view, { sort: "a&b,=c", descending: false, filter: "layer>1, a&b,=c<2 # ü", columns: ["a&b,=c"] });
  assert.deepEqual(readView(`#${writeView(view, data)}`, data), view);
  assert.deepEqual(readView(writeView({ ...view, columns: [] }, data), data).columns, []);
  const nonsense = "head=9.9&scope=head&map=none&distance=constructor&x=&sort=-none&middle=mode&other=1" +
    "&with=7.7&range=2:1&plan=yes&keep=2&window=0&sinks=x&group=sum&logs=z&zoom=1:0:0:1";
  assert.deepEqual(readView(nonsense, data), initial);
});
