// The page without a mouse and without sight: axe-core, the keyboard, tables in place of charts.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { finish, open, report, root, sample } from "./browser.mjs";

const charts = ["head-map", "scatter", "distance", "curves", "buckets", "components"];
const axe = readFileSync(resolve(import.meta.dirname, "../node_modules/axe-core/axe.min.js"), "utf8");
let file;

before(() => {
  file = report(sample, "access", "--labels", join(root, "examples/smollm2-135m/head_labels.csv"));
});
after(finish);

/** What axe-core finds, a line for each rule and element. */
async function findings(page) {
  // The page's own policy forbids scripts that are added to it; the test's channel to the browser does not need any.
  await page.evaluate(axe);
  return page.evaluate(async () => {
    const { violations } = await window.axe.run(document);
    return violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html.slice(0, 140)}`));
  });
}

test("axe-core finds nothing, in any state of the page", async () => {
  const chosen = "head=23.2&scope=head&with=1.0&with=20.6&plan=on&range=0.2:0.8&zoom=0:0.5:0.2:0.8&logs=y";
  for (const [fragment, more] of [
    ["", {}],
    [chosen, {}],
    [chosen, { colorScheme: "dark" }],
    [`${chosen}&filter=ap_exct%3E0.5`, { width: 320, height: 700 }],
    ["filter=ap_exact%3E7", { colorScheme: "dark", width: 390, height: 844 }],
  ]) {
    const { page } = await open(file, { fragment, ...more });
    await page.evaluate(() => {
      document.querySelectorAll("button[aria-controls^=values]").forEach((one) => one.click());
      const names = [...document.querySelectorAll("#card-head [data-fact]")].map((one) => one.dataset.fact);
      for (const name of names) document.querySelector(`#card-head [data-fact="${name}"]`).click();
      document.querySelectorAll("details").forEach((one) => (one.open = true));
    });
    assert.deepEqual(await findings(page), [], `${fragment} ${JSON.stringify(more)}`);
    await page.close();
  }
});

test("the tab key reaches every chart, its table and its controls", async () => {
  const { page } = await open(file, { fragment: "head=23.2" });
  const reached = new Set();
  await page.evaluate(() => document.body.focus());
  for (let i = 0; i < 220; ++i) {
    await page.keyboard.press("Tab");
    const place = await page.evaluate(() => {
      const { activeElement: at } = document;
      const style = getComputedStyle(at);
      return { id: at.id, label: at.getAttribute("aria-label") ?? "", seen: style.outlineStyle !== "none" };
    });
    if (place.id === "" && place.label === "" && i > 200) break;
    reached.add(place.id);
    reached.add(place.label);
    if (place.id.startsWith("chart-")) assert.ok(place.seen, `${place.id} shows no focus`);
  }
  for (const chart of charts) assert.ok(reached.has(`chart-${chart}`), chart);
  for (const label of ["Values of Plasticity over position as a table", "Zoom in", "Lowest colour", "Next head of the table"]) {
    assert.ok(reached.has(label), label);
  }
  await page.close();
});

test("every chart has its values as a table", async () => {
  const { page, trouble } = await open(file, { fragment: "head=23.2&scope=head" });
  for (const chart of charts) {
    const card = page.locator(`#card-${chart}`);
    const toggle = card.getByRole("button", { name: /^Values of .* as a table$/ });
    await toggle.click();
    assert.equal(await toggle.getAttribute("aria-expanded"), "true");
    assert.ok((await card.locator(".values tbody tr").count()) > 10, chart);
    assert.ok((await page.locator(`#chart-${chart}`).getAttribute("aria-label")).length > 40, chart);
  }
  // The table follows the view.
  const cells = () => page.locator("#values-distance tbody tr").count();
  const own = await cells();
  await page.getByRole("button", { name: "All heads", exact: true }).click();
  assert.ok((await cells()) > own);
  const [first] = await page.locator("#values-buckets tbody tr").first().locator("td, th").allTextContents();
  assert.match(first, /^\d[\d,]*–\d/);
  await page.locator("#card-distance").getByRole("button", { name: /as a table$/ }).click();
  assert.equal(await page.locator("#values-distance").isVisible(), false);
  assert.deepEqual(trouble, []);
  await page.close();
});
