// The parts that need no browser.

import assert from "node:assert/strict";
import { test } from "node:test";
import { distanceBin, geometry, middleOf, shares } from "../src/cells.ts";
import { parseFilter, passes } from "../src/filter.ts";
import { sortedHeads } from "../src/head_table.ts";
import { quantile, shown, tokens, withError } from "../src/numbers.ts";
import { csv, fileName } from "../src/save.ts";
import { rankCorrelation, ranks } from "../src/scatter_chart.ts";
import { initialView, readView, writeView } from "../src/state.ts";

test("a comma means or, and binds closer", () => {
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

test("missing values sort last, either way", () => {
  const columns = new Map([["x", { name: "x", values: Float64Array.of(2, NaN, 5, 2), isLabel: false }]]);
  const data = { columns };
  assert.deepEqual(sortedHeads(data, [0, 1, 2, 3], "x", true), [2, 0, 3, 1]);
  assert.deepEqual(sortedHeads(data, [0, 1, 2, 3], "x", false), [0, 3, 2, 1]);
});

test("ranks of equal values are shared", () => {
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

test("weights of a head are brought to 1 in sum", () => {
  const cells = { count: 2, keys: {}, columns: { weight: Float64Array.of(0, 0, 1, 3) } };
  assert.deepEqual([...shares(cells, 1)], [0.25, 0.75]);
  assert.ok([...shares(cells, 0)].every(Number.isNaN));
});

test("buckets and bins lie where the capture put them", () => {
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

test("a view survives its fragment, and nonsense is left out", () => {
  const column = (name, isLabel) => [name, { name, values: Float64Array.of(1, 2), isLabel }];
  const data = {
    count: 2,
    layer: Int32Array.of(0, 3),
    qHead: Int32Array.of(1, 4),
    kHead: Int32Array.of(0, 1),
    columns: new Map([column("ap_exact", false), column("a&b,=c", true), column("ap_overall", false)]),
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
