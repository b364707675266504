// The cache plan of the page and that of `attention-plasticity plan` are the same.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { datasetOf, decode } from "../src/data.ts";
import { planCache } from "../src/plan.ts";
import { finish, folder, open, picture, report, run, sample } from "./browser.mjs";
import { writeLargeResults } from "./large_results.mjs";

const results = join(folder, "windows");
const shape = { layers: 7, qHeads: 6, kHeads: 3, dim: 4, buckets: 3, bins: 3 };
let page = "";

before(() => {
  writeLargeResults(results, sample, shape);
  // Two layers have a sliding window.
  const file = join(results, "run.json");
  const json = JSON.parse(readFileSync(file, "utf8"));
  for (const layer of [2, 5]) Object.assign(json.model.layers[layer], { attention: "sliding", window: 1000 });
  writeFileSync(file, JSON.stringify(json));
  page = report(results, "windows");
});
after(finish);

async function dataOf(file) {
  const text = readFileSync(file, "utf8");
  const part = (id) => new RegExp(`id="${id}">(.*?)</script>`, "s").exec(text)[1];
  return datasetOf(await decode(part("report-head"), part("report-blocks")), 0);
}

const numbers = (text) => text.match(/\d+(\.\d+)?/g);

/** The plan that the program writes. */
function planned(source, options) {
  const { keep, column, group } = options;
  const flags = ["--keep", String(keep), "--column", column, "--group", group, "--missing", "full"];
  return JSON.parse(run("plan", source, ...flags, "--format", "json"));
}

const kindsOf = ({ heads }) =>
  heads.map(({ layer, kv_head, kind, score, window }) => ({ layer, kv_head, kind, score, window }));

test("every share and rule gives the program's plan", async () => {
  for (const [source, file] of [
    [results, page],
    [sample, report(sample, "partial")],
  ]) {
    const data = await dataOf(file);
    for (const column of ["ap_exact", "ap_overall", "q_R2_scalar"]) {
      for (const group of ["max", "mean"]) {
        for (const keep of [0, 0.1, 0.29, 0.5, 0.7, 1]) {
          const options = { column, keep, group, window: 64, sinks: 4 };
          const plan = planCache(data, options);
          const kinds = plan.heads.map(({ layer, kvHead, kind, score, window }) => ({
            layer,
            kv_head: kvHead,
            kind,
            score: Number.isNaN(score) ? null : score,
            window: window || null,
          }));
          const expected = planned(source, options);
          assert.deepEqual(kinds, kindsOf(expected), `${column} ${group} ${keep}`);
        }
      }
    }
  }
});

test("ties go to lower layers, then to lower heads", () => {
  const data = {
    count: 6,
    layer: Int32Array.of(0, 0, 1, 1, 2, 2),
    qHead: Int32Array.of(0, 1, 0, 1, 0, 1),
    kHead: Int32Array.of(0, 1, 0, 1, 0, 1),
    model: { num_layers: 3, num_q_heads: 2, num_k_heads: 2, windows: {} },
    columns: new Map([["x", { name: "x", isLabel: false, values: Float64Array.of(0.5, 0.5, 0.9, 0.5, NaN, 0.5) }]]),
  };
  const kinds = (keep) =>
    planCache(data, { column: "x", keep, group: "max", window: 64, sinks: 4 })
      .heads.map(({ kind }) => kind[0])
      .join("");
  // Five heads have a score. The fifth, which has none, stays full.
  assert.deepEqual([0, 0.2, 0.4, 0.5, 1].map(kinds), ["wwwwfw", "wwfwfw", "fwfwfw", "fffwfw", "ffffff"]);
  const uneven = { ...data, model: { ...data.model, num_k_heads: 3 } };
  assert.equal(planCache(uneven, { column: "x", keep: 1, group: "max", window: 1, sinks: 0 }), null);
});

test("the slider moves the plan over the map, and says what it saves", async () => {
  const { page: tab, trouble } = await open(page);
  const map = tab.locator("#chart-head-map");
  const without = await picture(tab, "head-map");
  await tab.getByLabel("Cache plan").check();
  const half = await picture(tab, "head-map");
  assert.notDeepEqual(half, without);
  await tab.getByLabel("Kept full").fill("0.3");
  await tab.waitForFunction(() => location.hash.includes("keep=0.3"));
  assert.notDeepEqual(await picture(tab, "head-map"), half);
  await tab.getByLabel("Score of a KV head").selectOption("mean");
  await tab.getByLabel("Window, in tokens").fill("256");
  await tab.getByLabel("Sinks, in tokens").fill("8");
  await tab.keyboard.press("Enter");
  const says = await tab.locator("#plan-summary").textContent();
  const flags = ["--keep", "0.3", "--group", "mean", "--window", "256", "--sinks", "8", "--missing", "full"];
  const summary = run("plan", results, ...flags, "--output", join(folder, "plan.json"));
  assert.deepEqual(numbers(says), numbers(summary.replace(/\(.*?\)/, "")), `${says} / ${summary}`);
  const command = await tab.locator("#plan-command").textContent();
  assert.equal(
    command,
    `attention-plasticity plan ${results} --keep 0.3 --missing full --group mean --window 256 --sinks 8`,
  );
  // The card says what becomes of the chosen head, and the table of values of all.
  await map.focus();
  await tab.keyboard.press("ArrowRight");
  const plan = planned(results, { keep: 0.3, column: "ap_exact", group: "mean" });
  const first = kindsOf(plan)[0].kind;
  assert.match(
    await tab.locator("#card-head .remark").first().textContent(),
    first === "full" ? /keeps its whole cache/ : /keeps 256 \+ 8 tokens/,
  );
  await tab.getByRole("button", { name: "Values of All heads, by layer as a table" }).click();
  assert.equal(await tab.locator("#values-head-map tbody tr").first().locator("td").last().textContent(), first);
  assert.deepEqual(trouble, []);
  await tab.close();
});
