// Tests of the difference of two runs as a dataset, without a browser.

import assert from "node:assert/strict";
import { test } from "node:test";
import { countOf, errorOf, rangeOf, valueOf } from "../src/columns.ts";
import { comparedColumn, hasMoved, isSigned } from "../src/comparison.ts";
import { signed } from "../src/numbers.ts";
import { Runs } from "../src/runs.ts";
import { initialView, readView, writeView } from "../src/state.ts";

/** Numbers one after the other, and the blocks that name them. */
class Packer {
  numbers = [];
  doubles(...values) {
    this.numbers.push(...values);
    return { kind: "f64", offset: 8 * (this.numbers.length - values.length), count: values.length, scale: 1 };
  }
  integers(...values) {
    const bytes = new Int32Array(2 * Math.ceil(values.length / 2));
    bytes.set(values);
    const { offset } = this.doubles(...new Float64Array(bytes.buffer));
    return { kind: "i32", offset, count: values.length, scale: 1 };
  }
}

function known(name, topic, more = {}) {
  const nothing = { title: "", colors: null, error_of: "", counted_by: "", counts: "", range: [null, null] };
  return { name, meaning: `About ${name}`, topic, ...nothing, is_exact: false, in_facts: false, in_list: false, ...more };
}

const schema = {
  headline: ["ap_exact"],
  topics: ["Plasticity", "Queries", "Other"],
  metrics: [
    known("ap_exact", "Plasticity", { colors: [0, 1], range: [0, 1], counted_by: "n_triples", in_list: true }),
    known("ap_exact_se", "Plasticity", { error_of: "ap_exact" }),
    known("n_triples", "Other", { counts: "triples" }),
    known("slope", "Queries"),
  ],
  tables: {
    time: [known("ap_exact", "", { title: "Position-exact" }), known("ap_exact_se", "", { error_of: "ap_exact" }), known("n_triples", "", { counts: "triples" })],
  },
};

/** Two runs: the second has its heads and buckets in another order, one more head, and lacks a bucket. */
function report(more = {}) {
  const pack = new Packer();
  const run = (name, layers, heads, exact, errors, counts, slopes, buckets, cells) => ({
    name,
    source: `out/${name}`,
    run: { sampling: { strategy: "uniform", bucket_size: 64 } },
    model: { name: "toy", num_layers: 2, num_q_heads: 2, num_k_heads: 1, windows: {} },
    heads: {
      layer: pack.integers(...layers),
      q_head: pack.integers(...heads),
      k_head: pack.integers(...layers.map(() => 0)),
    },
    metrics: [
      { name: "ap_exact", block: pack.doubles(...exact) },
      { name: "ap_exact_se", block: pack.doubles(...errors) },
      { name: "n_triples", block: pack.doubles(...counts) },
      { name: "slope", block: pack.doubles(...slopes) },
    ],
    labels: name === "base" ? [{ name: "induction", block: pack.doubles(0.5, 0.25) }] : [],
    labels_file: null,
    tables: {
      time: {
        cells: buckets.length,
        keys: { q_bucket: pack.integers(...buckets) },
        columns: Object.fromEntries(Object.entries(cells).map(([column, values]) => [column, pack.doubles(...values)])),
      },
    },
  });
  const base = run("base", [0, 1], [0, 1], [0.25, 0.5], [0.01, 0.01], [100, 40], [1, 2], [1, 2], {
    ap_exact: [0.25, 0.5, 0.75, 1],
    ap_exact_se: [0.03, 0.03, 0.03, 0.03],
    n_triples: [10, 20, 30, 40],
  });
  const tuned = run("tuned", [0, 0, 1], [0, 1, 1], [0.75, 0.9, 0.375], [0.02, 0.02, 0.02], [50, 50, 50], [3, 3, 3], [2], {
    ap_exact: [0.625, 0, 0.5],
    ap_exact_se: [0.04, 0.04, 0.04],
    n_triples: [15, 0, 60],
  });
  const comparison = {
    a: 0,
    b: 1,
    problem: null,
    paired: true,
    documents: [4, 4],
    matched: 2,
    only_a: 0,
    only_b: 1,
    level: 0.05,
    caveats: [],
    heads: { layer: pack.integers(0, 1), q_head: pack.integers(0, 1), k_head: pack.integers(0, 0) },
    columns: [
      { name: "slope", has_errors: false, count: 2, up: 0, down: 0, rank_correlation: 1, model: {}, difference: pack.doubles(2, 1) },
      {
        name: "ap_exact",
        has_errors: true,
        count: 2,
        up: 1,
        down: 0,
        rank_correlation: null,
        model: {},
        difference: pack.doubles(0.5, -0.125),
        se: pack.doubles(0.01, 0.1),
        z: pack.doubles(50, -1.25),
        p: pack.doubles(0.001, 0.3),
        q: pack.doubles(0.002, 0.3),
      },
    ],
    ...more,
  };
  const head = { schema, program: {}, min_count: 30, runs: [base, tuned], comparisons: [comparison], series: null };
  return { head, bytes: Float64Array.from(pack.numbers).buffer };
}

test("a comparison has the program's differences, and both runs by head", () => {
  const data = new Runs(report()).shown("0-1");
  assert.equal(data.name, "tuned − base");
  assert.equal(data.count, 2);
  const all = (column) => [0, 1].map((head) => valueOf(data, column, head));
  assert.deepEqual(all("ap_exact"), [0.5, -0.125]);
  assert.deepEqual(all("ap_exact_se"), [0.01, 0.1]);
  assert.deepEqual(all("ap_exact_a"), [0.25, 0.5]);
  assert.deepEqual(all("ap_exact_b"), [0.75, 0.375]);
  assert.deepEqual(all("ap_exact_q"), [0.002, 0.3]);
  assert.deepEqual(all("slope"), [2, 1]);
  assert.deepEqual(all("induction"), [0.5, 0.25]);
  assert.equal(data.columns.has("slope_q"), false);
  assert.equal(errorOf(data, "ap_exact"), "ap_exact_se");
  assert.equal(errorOf(data, "ap_exact_b"), null);
  assert.deepEqual([0, 1].map((head) => countOf(data, "ap_exact", head)), [
    { count: 50, word: "triples" },
    { count: 40, word: "triples" },
  ]);
});

test("differences have zero in the middle, and heads move by their q", () => {
  const data = new Runs(report()).shown("0-1");
  assert.deepEqual(rangeOf(data, "ap_exact", [0, 1]), [-0.5, 0.5]);
  assert.deepEqual(rangeOf(data, "ap_exact_z", [0, 1]), [-50, 50]);
  assert.deepEqual(rangeOf(data, "ap_exact_a", [0, 1]), [0, 1]);
  assert.deepEqual([0, 1].map((head) => hasMoved(data, "ap_exact", head)), [true, false]);
  assert.equal(hasMoved(data, "ap_exact_b", 0), true);
  assert.equal(hasMoved(data, "slope", 0), null);
  assert.equal(isSigned(data, "ap_exact_q"), false);
  assert.equal(comparedColumn(data, "induction"), null);
  assert.equal(comparedColumn(data, "ap_exact_z").name, "ap_exact");
});

test("cells are subtracted where both runs have them; errors add, and the smaller count holds", () => {
  const { time } = new Runs(report()).shown("0-1").tables;
  assert.equal(time.count, 1);
  assert.deepEqual([...time.keys.q_bucket], [2]);
  assert.deepEqual([...time.columns.ap_exact], [0.125, -0.5]);
  assert.deepEqual([...time.columns.ap_exact_se], [0.05, 0.05]);
  assert.deepEqual([...time.columns.n_triples], [15, 40]);
});

test("buckets at other positions are not subtracted", () => {
  const made = report();
  made.head.runs[1].run = { sampling: { strategy: "uniform", bucket_size: 128 } };
  assert.equal(new Runs(made).shown("0-1").tables.time, undefined);
});

test("what is shown at first is the difference, or the first run where there is none", () => {
  const runs = new Runs(report());
  assert.equal(runs.initial(), "0-1");
  assert.deepEqual(runs.choices().map(({ label }) => label), ["base", "tuned", "tuned − base"]);
  assert.deepEqual(["0", "1", "2", "0-1", "1-0", "", "x"].map((show) => runs.has(show)), [true, true, false, true, false, false, false]);
  const apart = new Runs(report({ problem: "other shapes" }));
  assert.equal(apart.initial(), "0");
  assert.equal(apart.has("0-1"), false);
  assert.deepEqual(apart.problems(), ["other shapes"]);
});

test("the first view of a comparison has one run against the other, and its words are read back", () => {
  const data = new Runs(report()).shown("0-1");
  const view = initialView(data);
  assert.equal(view.x, "ap_exact_a");
  assert.equal(view.y, "ap_exact_b");
  assert.deepEqual(view.columns, ["ap_exact", "ap_exact_a", "ap_exact_b", "ap_exact_q", "induction"]);
  assert.equal(writeView({ ...view, both: true }, data), "curves=both");
  assert.equal(readView("#curves=both", data).both, true);
  assert.equal(readView("#curves=both", new Runs(report()).shown("0")).both, false);
});

test("differences have a sign", () => {
  assert.deepEqual([signed(0.5), signed(-0.25), signed(0), signed(NaN), signed(0.987, 2), signed(-1, 2)], ["+0.5000", "−0.2500", "0", "–", "+0.99", "−1.00"]);
});
