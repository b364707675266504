// Reports of other results: hostile names, tables of the Python toolkit, a large model.

import assert from "node:assert/strict";
import { cpSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import {
  cellOf,
  choose,
  colorsOf,
  download,
  finish,
  folder,
  open,
  report,
  root,
  rowNames,
  run,
  sample,
} from "./browser.mjs";

after(finish);

const hostile = "</script><script>alert(1)</script><img src=x onerror=alert(2)><!-- &amp; \u2028 '\"";
// A break of lines is told by its number.
const hostileShown = hostile.replace("\u2028", "\\u2028");

test("hostile texts show as texts", async () => {
  const results = join(folder, "hostile");
  cpSync(sample, results, { recursive: true });
  const run = JSON.parse(readFileSync(join(results, "run.json"), "utf8"));
  run.model.name = hostile;
  run.input.root = hostile;
  run.config.method = hostile;
  run.heads.failed = [{ layer: 3, q_head: 4, file: hostile, error: hostile }];
  writeFileSync(join(results, "run.json"), JSON.stringify(run));
  const name = `<script>alert(3)</script>`;
  const labels = join(folder, "labels.csv");
  writeFileSync(labels, `layer,q_head,${name}\n23,2,0.5\n1,0,0.25\n`);
  const { page, trouble } = await open(report(results, "hostile", "--labels", labels));
  assert.equal(await page.locator("h1").textContent(), hostileShown);
  assert.match(await page.title(), /^<\/script><script>alert\(1\)/);
  assert.ok((await page.locator(".failures").textContent()).includes(hostileShown));
  assert.ok((await page.locator("#card-run").textContent()).includes(hostileShown));
  assert.ok((await page.locator("#head-table thead").textContent()).includes(name));
  assert.match(await page.locator(".status").textContent(), /1 failed/);
  for (const label of ["Across", "Up", "Colour"]) await choose(page, "scatter", label, name);
  await choose(page, "head-map", "Column", name);
  await page.locator("#chart-head-map").hover({ position: await cellOf(page, 23, 2, 30, 9) });
  await page.locator("#chart-head-map .tip").waitFor();
  assert.ok((await page.locator("#chart-head-map .tip").textContent()).includes(name));
  const svg = await download(page, () =>
    page.getByRole("button", { name: "Save One column against another as SVG" }).click(),
  );
  const saved = await page.evaluate((text) => {
    const parsed = new DOMParser().parseFromString(text, "image/svg+xml");
    return {
      broken: parsed.querySelector("parsererror") !== null,
      scripts: parsed.querySelectorAll("script").length,
      text: parsed.documentElement.textContent,
    };
  }, svg.content.toString());
  assert.equal(saved.broken, false);
  assert.equal(saved.scripts, 0);
  assert.ok(saved.text.includes(name));
  assert.equal(await page.locator("img").count(), 0);
  assert.equal(await page.locator("script").count(), 3);
  await page.evaluate(() => window.dispatchEvent(new Event("beforeprint")));
  assert.equal(await page.locator("script").count(), 3);
  assert.deepEqual(trouble, []);
  await page.close();
});

test("tables of the Python toolkit need no run.json", async () => {
  const file = report(join(root, "tests/golden/minidoc-qwen3/python-compat"), "python");
  const { page, trouble } = await open(file, { fragment: "head=3.2&scope=head" });
  assert.equal(await page.locator("h1").textContent(), "Unnamed model");
  for (const chart of ["head-map", "scatter", "curves", "buckets", "components"]) {
    assert.ok((await colorsOf(page, chart)) > 20, `${chart} is blank`);
  }
  assert.equal(await page.locator("#chart-distance").count(), 0);
  assert.equal(await page.locator("#card-curves h3").textContent(), "Pooled plasticity over position");
  assert.equal(await page.getByRole("button", { name: "Position-exact" }).count(), 0);
  assert.match(
    await page.locator('[data-summary="ap_overall"]').textContent(),
    /Mean of 60 heads; its error is not known/,
  );
  assert.deepEqual(trouble, []);
  await page.close();
});

test("one head is one head, and its values are its own", async () => {
  const results = join(folder, "one");
  const only = ["--layers", "20", "--q_heads", "6", "--output_dir", results, "--quiet"];
  run("analyze", "--config", "configs/example-smollm2-135m.yaml", ...only);
  const { page, trouble } = await open(report(results, "one"));
  const text = await page.locator("body").textContent();
  assert.doesNotMatch(text, /\b1 heads|Mean of 1 head|Mean of Layer/);
  assert.match(await page.locator("#card-curves figcaption").textContent(), /Layer 20, head 6\./);
  assert.match(await page.locator("#card-distance figcaption").textContent(), /^Layer 20, head 6; 2 to 204 triples/);
  assert.match(await page.locator('[data-summary="ap_exact"]').textContent(), /1 head\./);
  assert.match(await page.locator("#card-head-map figcaption").textContent(), /1 head, 4,096 triples\./);
  for (const chart of ["curves", "distance", "head-map"]) {
    assert.ok((await colorsOf(page, chart)) > 20, `${chart} is blank`);
  }
  assert.deepEqual(trouble, []);
  await page.close();
});

test("a run with few triples says that it has little data", async () => {
  const results = join(folder, "few");
  const little = ["--layers", "20-23", "--num_triples", "20", "--num_pairs_per_bucket", "2", "--output_dir", results];
  run("analyze", "--config", "configs/example-smollm2-135m.yaml", ...little, "--quiet");
  const { page, trouble } = await open(report(results, "few"));
  assert.match(await page.locator("#card-curves figcaption").textContent(), /Dotted, little data/);
  assert.match(await page.locator("#card-buckets figcaption").textContent(), /Hatched, little data/);
  assert.match(await page.locator("#card-head-map figcaption").textContent(), /Hatched: fewer than 30 triples\./);
  // A hatched head can be chosen.
  await page.locator("#chart-head-map").click({ position: await cellOf(page, 20, 6, 30, 9) });
  assert.equal(await page.locator(".chosen-name").textContent(), "Layer 20, head 6");
  assert.deepEqual(trouble, []);
  await page.close();
});

test("one table of one head is enough", async () => {
  const results = join(folder, "small");
  mkdirSync(results);
  writeFileSync(join(results, "head_metrics.csv"), "layer,q_head,k_head,something\n0,0,0,\n");
  const { page, trouble } = await open(report(results, "small"));
  assert.deepEqual(await rowNames(page), ["L0 · H0"]);
  assert.deepEqual(trouble, []);
  await page.close();
});

test("1,152 heads are there in under 4 MB and answer at once", async () => {
  const [dump, results] = [join(folder, "dump"), join(folder, "large")];
  run(
    "synth",
    dump,
    "--layers",
    "36",
    "--q_heads",
    "32",
    "--k_heads",
    "8",
    "--rows",
    "144",
    "--dim",
    "128",
    "--examples",
    "3",
    "--buckets",
    "16",
    "--spectrum",
    "0",
    "--rope_theta",
    "1000000",
    "--truth_pairs",
    "0",
    "--quiet",
  );
  run(
    "analyze",
    "--dataset_local_root",
    dump,
    "--output_dir",
    results,
    "--num_triples",
    "512",
    "--empirical_queries",
    "64",
    "--num_pairs_per_bucket",
    "16",
    "--quiet",
  );
  const started = performance.now();
  const file = report(results, "large");
  const written = performance.now() - started;
  const { size } = statSync(file);
  assert.ok(size < 4e6, `${size} bytes`);
  const { page, trouble, took } = await open(file);
  assert.equal(await page.locator("#head-table table").getAttribute("aria-rowcount"), "1153");
  const timed = async (act) => {
    const begin = performance.now();
    await act();
    return performance.now() - begin;
  };
  const sorting = await timed(() => page.getByRole("button", { name: "logit_fixed" }).click());
  const choosing = await timed(() => page.locator("#head-table tbody tr").nth(3).click());
  assert.ok((await rowNames(page)).length < 60);
  console.log(
    `1,152 heads: ${(size / 1e6).toFixed(1)} MB, written in ${written.toFixed(0)} ms, drawn in ${took.toFixed(0)} ms, ` +
      `sorted in ${sorting.toFixed(0)} ms, a head chosen in ${choosing.toFixed(0)} ms`,
  );
  // Twice the promised times: a machine that runs tests has other work.
  assert.ok(written < 4000 && took < 6000 && sorting < 2000 && choosing < 3000);
  assert.deepEqual(trouble, []);
  await page.close();
});
