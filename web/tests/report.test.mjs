// The report of the embedded run, opened from disk.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { cellOf, choose, colorsOf, download, finish, open, picture, report, root, rowNames, sample } from "./browser.mjs";

const charts = ["head-map", "scatter", "distance", "curves", "buckets", "components"];
let file;

function metrics() {
  const [header, ...lines] = readFileSync(join(sample, "head_metrics.csv"), "utf8").trim().split("\n");
  const columns = header.split(",");
  return lines.map((line) =>
    Object.fromEntries(line.split(",").map((value, i) => [columns[i], value === "" ? NaN : Number(value)])),
  );
}
const nameOf = (head) => `L${head.layer} · H${head.q_head}`;
const names = (rows, count) => rows.slice(0, count).map(nameOf);

before(() => {
  file = report(sample, "sample", "--labels", join(root, "examples/smollm2-135m/head_labels.csv"));
});
after(finish);

test("opens without a message or a request, and draws every chart", async () => {
  const { page, trouble } = await open(file);
  for (const chart of charts) assert.ok((await colorsOf(page, chart)) > 20, `${chart} is blank`);
  assert.equal(await page.locator("h1").textContent(), "SmolLM2-135M-Instruct");
  assert.match(await page.locator(".status").textContent(), /40 heads measured.*230 not captured.*0 failed/);
  assert.match(await page.locator('[data-summary="ap_exact"] .figure').textContent(), /^0\.4959 ± 0\.0057$/);
  assert.match(
    await page.locator('[data-summary="ap_exact"] .shares').textContent(),
    /17\.5 % below 0\.25.*12\.5 % above 0\.75/,
  );
  assert.deepEqual(trouble, []);
  await page.close();
});

test("sorts by any column, either way", async () => {
  const { page } = await open(file);
  const rows = metrics();
  rows.sort((a, b) => b.ap_exact - a.ap_exact);
  assert.deepEqual((await rowNames(page)).slice(0, 5), names(rows, 5));
  await page.getByRole("button", { name: "logit_fixed" }).click();
  rows.sort((a, b) => b.logit_fixed - a.logit_fixed);
  assert.deepEqual((await rowNames(page)).slice(0, 5), names(rows, 5));
  await page.getByRole("button", { name: "logit_fixed" }).click();
  assert.deepEqual((await rowNames(page)).slice(0, 5), names(rows.reverse(), 5));
  assert.equal(await page.locator('th[aria-sort="ascending"]').textContent(), "logit_fixed↑");
  await page.close();
});

test("shows the heads that pass a filter, everywhere", async () => {
  const { page } = await open(file);
  await page.locator("#filter").fill("ap_exact>0.7 and layer<20, layer = 1");
  const expected = metrics().filter((head) => (head.ap_exact > 0.7 && head.layer < 20) || head.layer === 1);
  await page.waitForFunction(
    (text) => document.querySelector("#filter-says").textContent === text,
    `${expected.length} of 40`,
  );
  assert.deepEqual((await rowNames(page)).sort(), names(expected).sort());
  assert.match(
    await page.locator("#card-buckets figcaption").textContent(),
    new RegExp(`the ${expected.length} heads that the filter shows`),
  );
  await page.locator("#filter").fill("ap_exct>0.7");
  await page.waitForSelector("#filter-says.bad");
  assert.equal(
    await page.locator("#filter-says").textContent(),
    "there is no column “ap_exct”; did you mean ap_exact?: ap_exct>0.7",
  );
  assert.equal(await page.locator("#filter-says mark").textContent(), "ap_exct");
  await page.locator("#filter").fill("ap_exact>7");
  await page.getByText("No head passes the filter.").waitFor();
  await page.close();
});

test("a click on a head shows its own cells", async () => {
  const { page, trouble } = await open(file);
  const before = await picture(page, "distance");
  await page.locator("#chart-head-map").click({ position: await cellOf(page, 23, 2, 30, 9) });
  assert.equal(await page.locator(".chosen-name").textContent(), "Layer 23, head 2");
  assert.match(await page.locator("#card-distance figcaption").textContent(), /^Layer 23, head 2; /);
  assert.notDeepEqual(await picture(page, "distance"), before);
  const facts = await page.locator(".head-facts").textContent();
  const head = metrics().find((row) => row.layer === 23 && row.q_head === 2);
  assert.ok(facts.includes(`${head.ap_exact.toFixed(4)} ± ${head.ap_exact_se.toFixed(4)}`), facts);
  await page.locator("#head-table tbody tr").nth(2).click();
  assert.equal(await page.locator("tr.chosen .row-name").textContent(), (await rowNames(page))[2]);
  await page.getByRole("button", { name: "Clear the chosen head" }).click();
  assert.match(await page.locator("#card-distance figcaption").textContent(), /^Mean of 40 heads, weighted by/);
  // A click on a cell that was not measured chooses no head.
  await page.locator("#chart-head-map").click({ position: await cellOf(page, 0, 0, 30, 9) });
  assert.equal(await page.locator(".chosen-name").textContent(), "No head chosen");
  assert.deepEqual(trouble, []);
  await page.close();
});

test("columns are switched in map, scatter and table", async () => {
  const { page } = await open(file);
  for (const [card, label] of [
    ["head-map", "Column"],
    ["scatter", "Across"],
    ["scatter", "Up"],
    ["scatter", "Colour"],
  ]) {
    const before = await picture(page, card);
    await choose(page, card, label, "induction");
    assert.notDeepEqual(await picture(page, card), before, `${card}, ${label}`);
  }
  assert.match(
    await page.locator("#card-scatter figcaption").textContent(),
    /coloured by induction\. Rank correlation \+1\.00/,
  );
  await page.locator("#card-table summary").click();
  await page.getByLabel("entropy", { exact: true }).check();
  await page.getByLabel("logit_fixed", { exact: true }).uncheck();
  const columns = await page.locator("#head-table thead th").allTextContents();
  assert.ok(columns.includes("entropy") && !columns.includes("logit_fixed"), columns.join());
  const curves = await picture(page, "buckets");
  await page.getByRole("button", { name: "Median" }).click();
  assert.notDeepEqual(await picture(page, "buckets"), curves);
  const distance = await picture(page, "distance");
  await page.getByRole("button", { name: "Fixed logit" }).click();
  assert.notDeepEqual(await picture(page, "distance"), distance);
  await page.close();
});

test("curves are position-exact with errors, and pooled on request", async () => {
  const { page, trouble } = await open(file);
  const card = page.locator("#card-curves");
  assert.equal(await card.locator("h3").textContent(), "Position-exact plasticity over position");
  assert.match(
    await card.locator("figcaption").textContent(),
    /weighted by triples\. 5,369 to 11,918 triples in a bucket\. Bands: ± 1 standard error over documents\./,
  );
  const exact = await picture(page, "curves");
  await card.getByRole("button", { name: "Pooled" }).click();
  assert.equal(await card.locator("h3").textContent(), "Pooled plasticity over position");
  assert.doesNotMatch(await card.locator("figcaption").textContent(), /standard error/);
  assert.match(await card.locator("figcaption").textContent(), /weighted by pairs of keys/);
  assert.notDeepEqual(await picture(page, "curves"), exact);
  assert.match(await page.evaluate(() => location.hash), /curve=plasticity/);
  // The other charts say it in their titles as well.
  assert.match(await page.locator("#card-distance h3").textContent(), /^Position-exact/);
  assert.match(await page.locator("#card-buckets h3").textContent(), /^Pooled/);
  assert.match(await page.locator("#card-head-map h3").textContent(), /ap_exact, position-exact$/);
  await choose(page, "head-map", "Column", "ap_overall");
  assert.match(await page.locator("#card-head-map h3").textContent(), /ap_overall, pooled$/);
  assert.deepEqual(trouble, []);
  await page.close();
});

test("little data is hatched and said so", async () => {
  const { page, trouble } = await open(file);
  const caption = page.locator("#card-distance figcaption");
  assert.match(
    await caption.textContent(),
    /35 to 7,661 triples in a cell\. Hatched, little data: triples × share of heads with any below 30\./,
  );
  // Two keys that are both 3 to 6 tokens away: the third of eleven columns, the second of ten rows.
  const box = await page.locator("#chart-distance").boundingBox();
  const across = 58 + (2.5 / 11) * (box.width - 72);
  const down = 10 + (8.5 / 10) * (box.height - 112);
  await page.locator("#chart-distance").hover({ position: { x: across, y: down } });
  await page.locator("#chart-distance .tip").waitFor();
  const tip = await page.locator("#chart-distance .tip").textContent();
  assert.match(tip, /heads17triples35little data/);
  const all = report(sample, "all", "--min_count", "0");
  const { page: other } = await open(all);
  assert.doesNotMatch(await other.locator("#card-distance figcaption").textContent(), /little data/);
  assert.deepEqual(trouble, []);
  await page.close();
  await other.close();
});

test("every chart saves PNG and SVG", async () => {
  const { page } = await open(file);
  for (const chart of charts) {
    const card = page.locator(`#card-${chart}`);
    const png = await download(page, () => card.getByRole("button", { name: "PNG" }).click());
    assert.equal(png.name, `SmolLM2-135M-Instruct-${chart}.png`);
    assert.equal(png.content.subarray(1, 4).toString(), "PNG");
    assert.ok(png.content.length > 5000);
    const svg = await download(page, () => card.getByRole("button", { name: "SVG" }).click());
    const shapes = await page.evaluate((text) => {
      const parsed = new DOMParser().parseFromString(text, "image/svg+xml");
      return parsed.querySelector("parsererror") ? -1 : parsed.querySelectorAll("path, rect").length;
    }, svg.content.toString());
    assert.ok(shapes > 20, `${chart}: ${shapes} shapes`);
    const [exact, pooled] = ["position-exact plasticity", "pooled plasticity"];
    const says = { distance: exact, curves: exact, buckets: pooled }[chart] ?? "";
    assert.ok(svg.content.toString().includes(says), `${chart} does not say what it shows`);
    // Chromium drops a page's downloads beyond ten in a second.
    await page.waitForTimeout(300);
  }
  await page.close();
});

test("the table saves all digits of what it shows", async () => {
  const { page } = await open(file, {
    fragment: "sort=layer&column=ap_exact&column=q_resid0_skew&filter=layer%3E%3D20",
  });
  const { name, content } = await download(page, () =>
    page.getByRole("button", { name: "Save the table as CSV" }).click(),
  );
  assert.equal(name, "SmolLM2-135M-Instruct-heads.csv");
  const [header, ...lines] = content.toString().trim().split("\n");
  assert.equal(header, "layer,q_head,k_head,ap_exact,ap_exact_se,q_resid0_skew");
  const expected = metrics().filter((head) => head.layer >= 20);
  assert.deepEqual(
    lines.map((line) => line.split(",").map(Number)),
    expected.map((head) => header.split(",").map((column) => head[column])),
  );
  await page.close();
});

test("the address restores the view", async () => {
  const { page } = await open(file);
  await page.locator("#chart-head-map").click({ position: await cellOf(page, 20, 6, 30, 9) });
  await choose(page, "head-map", "Column", "q_R2_scalar");
  await choose(page, "scatter", "Across", "entropy");
  await page.getByRole("button", { name: "induction" }).click();
  await page.locator("#filter").fill("layer>10");
  await page.waitForFunction(() => location.hash.includes("filter"));
  const state = (one) =>
    one.evaluate(() => ({
      rows: [...document.querySelectorAll("#head-table tbody tr")].map((row) => row.textContent),
      captions: [...document.querySelectorAll("figcaption")].map((caption) => caption.textContent),
      chosen: document.querySelector(".chosen-name").textContent,
      filter: document.querySelector("#filter").value,
      choices: [...document.querySelectorAll("select")].map((list) => list.value),
    }));
  const fragment = await page.evaluate(() => location.hash.slice(1));
  const { page: other, trouble } = await open(file, { fragment });
  assert.deepEqual(await state(other), await state(page));
  assert.match(fragment, /head=20\.6/);
  // An open page follows a fragment that is typed in, and ignores nonsense.
  await other.evaluate(() => (location.hash = "head=1.0&map=no_such&filter=layer%3C2"));
  await other.locator(".chosen-name").getByText("Layer 1, head 0", { exact: true }).waitFor();
  assert.equal(await other.locator("#card-head-map").getByLabel("Column", { exact: true }).inputValue(), "ap_exact");
  assert.deepEqual(trouble, []);
  await page.close();
  await other.close();
});

test("heads, columns and rows can be reached by the keyboard", async () => {
  const { page } = await open(file);
  await page.locator("#chart-head-map").focus();
  await page.keyboard.press("ArrowRight");
  assert.equal(await page.locator(".chosen-name").textContent(), "Layer 1, head 0");
  await page.keyboard.press("ArrowDown");
  assert.equal(await page.locator(".chosen-name").textContent(), "Layer 1, head 2");
  await page.keyboard.press("Escape");
  assert.equal(await page.locator(".chosen-name").textContent(), "No head chosen");
  await page.getByRole("button", { name: "ap_overall" }).focus();
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement.dataset.column), "ap_overall");
  const rows = await rowNames(page);
  await page.locator('#head-table tbody button[tabindex="0"]').focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  assert.equal(await page.locator("tr.chosen .row-name").textContent(), rows[1]);
  await page.keyboard.press("End");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), (await rowNames(page)).at(-1));
  const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
  assert.equal(outline, "solid");
  await page.close();
});

test("light and dark follow the system, and the switch", async () => {
  const { page, trouble } = await open(file, { colorScheme: "dark" });
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const dark = await ground();
  await page.getByRole("button", { name: "Light" }).click();
  assert.notEqual(await ground(), dark);
  await page.reload();
  await page.waitForSelector("html[data-ready]");
  assert.notEqual(await ground(), dark);
  await page.getByRole("button", { name: "Auto" }).click();
  assert.equal(await ground(), dark);
  assert.deepEqual(trouble, []);
  await page.close();
});

test("prints every chart as vectors", async () => {
  const { page } = await open(file, { colorScheme: "dark" });
  await page.evaluate(() => window.dispatchEvent(new Event("beforeprint")));
  await page.emulateMedia({ media: "print" });
  for (const chart of charts) {
    assert.ok((await page.locator(`#card-${chart} .printed-chart svg path`).count()) > 10, chart);
    assert.ok(await page.locator(`#card-${chart} .printed-chart svg`).isVisible(), chart);
  }
  assert.equal((await rowNames(page)).length, 40);
  await page.evaluate(() => window.dispatchEvent(new Event("afterprint")));
  assert.equal(await page.locator(".printed-chart svg").count(), 0);
  assert.ok((await page.pdf({ format: "A4" })).length > 50_000);
  await page.close();
});

test("fits a phone", async () => {
  for (const width of [320, 390]) {
    const { page } = await open(file, { width, height: 844, fragment: "head=23.2&with=1.0&plan=on&filter=ap_exct%3E0" });
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width);
    for (const chart of charts) assert.ok((await colorsOf(page, chart)) > 20, `${chart} is blank`);
    await page.close();
  }
});
