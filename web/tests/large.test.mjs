// Pages of 1,152 and of 16,000 heads: their size, and what loading them and choosing a head costs.

import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { colorsOf, finish, folder, open, report, sample } from "./browser.mjs";
import { writeLargeResults } from "./large_results.mjs";

after(finish);

/** Milliseconds until a key has done its work and the next frame is drawn. */
function pressed(page, key) {
  return page.evaluate(async (pressedKey) => {
    const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    await frame();
    const begin = performance.now();
    const event = new KeyboardEvent("keydown", { key: pressedKey, bubbles: true });
    document.getElementById("chart-head-map").dispatchEvent(event);
    await frame();
    return performance.now() - begin;
  }, key);
}

async function measured(name, shape) {
  const results = join(folder, name);
  writeLargeResults(results, sample, shape);
  const file = report(results, name);
  const tries = [];
  let page;
  let trouble;
  for (let i = 0; i < 3; ++i) {
    await page?.close();
    const opened = await open(file);
    ({ page, trouble } = opened);
    tries.push(opened.took);
  }
  const choices = [];
  for (const key of ["ArrowRight", "ArrowDown", "ArrowDown", "ArrowRight", "ArrowUp", "ArrowRight", "ArrowDown"]) {
    choices.push(await pressed(page, key));
  }
  const [ready, chosen] = [Math.min(...tries), Math.min(...choices)];
  const { size } = statSync(file);
  console.log(
    `${name}: ${(size / 1e6).toFixed(1)} MB, ready in ${ready.toFixed(0)} ms, a head chosen in ${chosen.toFixed(0)} ms`,
  );
  return { page, trouble, size, ready, chosen };
}

test("16,000 heads are there in under 40 MB", async () => {
  const some = await measured("1152", { layers: 36, qHeads: 32, kHeads: 8 });
  await some.page.close();
  const { page, trouble, size, ready } = await measured("16000", { layers: 125, qHeads: 128, kHeads: 16 });
  console.log(`ratio of loading: ${(ready / some.ready).toFixed(1)}`);
  assert.ok(size < 40e6, `${size} bytes`);
  assert.equal(await page.locator("#head-table table").getAttribute("aria-rowcount"), "16001");
  for (const chart of ["head-map", "scatter", "distance", "curves", "buckets", "components"]) {
    assert.ok((await colorsOf(page, chart)) > 20, `${chart} is blank`);
  }
  assert.match(await page.locator("#card-curves figcaption").textContent(), /middle half and nine tenths of 16,000 heads/);
  assert.match(await page.locator("#card-head h3").textContent(), /^Layer \d+, head \d+$/);
  await page.getByLabel("Cache plan").check();
  assert.match(await page.locator("#plan-summary").textContent(), /^2,000 KV heads: 1,000 full, 1,000 windowed\./);
  assert.deepEqual(trouble, []);
  await page.close();
});
