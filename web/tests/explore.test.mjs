// The card of the chosen head, heads that are compared, the map's colours, the scatter chart and saved pictures.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { cellOf, choose, colorsOf, download, finish, open, picture, report, root, rowNames, sample } from "./browser.mjs";

let file;
const rows = (() => {
  const [header, ...lines] = readFileSync(join(sample, "head_metrics.csv"), "utf8").trim().split("\n");
  const columns = header.split(",");
  return lines.map((line) => Object.fromEntries(line.split(",").map((value, i) => [columns[i], Number(value)])));
})();

before(() => {
  file = report(sample, "explore", "--labels", join(root, "examples/smollm2-135m/head_labels.csv"));
});
after(finish);

const card = (page) => page.locator("#card-head");
const title = (page) => card(page).locator("h3").textContent();

test("the card shows a head's values with errors, ranks, labels and small charts", async () => {
  const { page, trouble } = await open(file);
  assert.equal(await title(page), "No head chosen");
  await page.locator("#chart-head-map").click({ position: await cellOf(page, 23, 2, 30, 9) });
  assert.equal(await title(page), "Layer 23, head 2");
  const head = rows.find((row) => row.layer === 23 && row.q_head === 2);
  const fact = card(page).locator(".head-facts tbody tr", { hasText: "logit_fixed" });
  const rank = 1 + rows.filter((row) => row.logit_fixed > head.logit_fixed).length;
  assert.equal(await fact.textContent(), `logit_fixed${head.logit_fixed.toFixed(3)}${rank}`);
  assert.equal(await card(page).locator(".head-facts thead").textContent(), "columnvaluerank of 40");
  const main = await card(page).locator(".head-facts tbody tr").first().textContent();
  assert.equal(main, `ap_exact${head.ap_exact.toFixed(4)} ± ${head.ap_exact_se.toFixed(4)}1`);
  assert.match(await card(page).locator(".labels").textContent(), /induction 0\.4125/);
  assert.match(await card(page).locator(".remark").first().textContent(), /KV head 0 · 4096 triples/);
  assert.equal(await card(page).locator(".small").count(), 2);
  assert.ok((await card(page).locator(".small rect").count()) > 20);
  // The card lies beside the map.
  const [map, beside] = [await page.locator("#card-head-map").boundingBox(), await card(page).boundingBox()];
  assert.ok(beside.x > map.x + map.width && Math.abs(beside.y - map.y) < 5);
  assert.deepEqual(trouble, []);
  await page.close();
});

test("the meaning of a column is told on a click, which is a touch as well", async () => {
  const { page } = await open(file, { fragment: "head=23.2", hasTouch: true, width: 390, height: 844 });
  const name = card(page).getByRole("button", { name: "logit_spread" });
  await name.tap();
  assert.equal(await name.getAttribute("aria-expanded"), "true");
  const text = card(page).locator(".explained");
  assert.match(await text.textContent(), /query/);
  await name.tap();
  assert.equal(await text.count(), 0);
  await page.locator("#head-table thead").getByRole("button", { name: "logit_fixed" }).tap();
  assert.match(await page.locator("#card-table .table-note").first().textContent(), /Sorted by logit_fixed: .{20}/);
  await page.locator("#glossary summary").tap();
  assert.ok(await page.locator("#glossary dt", { hasText: "logit_fixed" }).isVisible());
  await page.close();
});

test("keys and buttons walk through the heads in the order of the table", async () => {
  const { page } = await open(file);
  const order = (await rowNames(page)).map((name) => name.replace(/L(\d+) · H(\d+)/, "Layer $1, head $2"));
  await page.locator("#chart-head-map").focus();
  await page.keyboard.press("n");
  assert.equal(await title(page), order[0]);
  await page.keyboard.press("n");
  await page.keyboard.press("n");
  assert.equal(await title(page), order[2]);
  await page.keyboard.press("p");
  assert.equal(await title(page), order[1]);
  await card(page).getByRole("button", { name: "Next head of the table" }).click();
  await card(page).getByRole("button", { name: "Next head of the table" }).click();
  await card(page).getByRole("button", { name: "Previous head of the table" }).click();
  assert.equal(await title(page), order[2]);
  // In the fields of the map these letters are letters.
  await page.getByLabel("Lowest colour").focus();
  await page.keyboard.press("n");
  assert.equal(await title(page), order[2]);
  await page.close();
});

test("several heads are chosen at once and lie over each other in the curves", async () => {
  const { page, trouble } = await open(file);
  const map = page.locator("#chart-head-map");
  await map.click({ position: await cellOf(page, 23, 2, 30, 9) });
  const alone = await picture(page, "curves");
  await map.click({ position: await cellOf(page, 20, 6, 30, 9), modifiers: ["Shift"] });
  await map.click({ position: await cellOf(page, 1, 0, 30, 9), modifiers: ["Control"] });
  assert.equal(await title(page), "Layer 23, head 2");
  assert.match(await page.locator("#card-curves figcaption").textContent(), /colours of the card: L20 · H6, L1 · H0\./);
  assert.notDeepEqual(await picture(page, "curves"), alone);
  assert.deepEqual(await card(page).locator(".kept li .explain").allTextContents(), ["L20 · H6", "L1 · H0"]);
  assert.match(await page.evaluate(() => location.hash), /head=23\.2&with=20\.6&with=1\.0/);
  // A head stays where it is kept, and other heads are chosen beside it.
  await card(page).getByRole("button", { name: "Keep", exact: true }).click();
  await map.focus();
  await page.keyboard.press("n");
  assert.equal(await card(page).locator(".kept li").count(), 3);
  await card(page).getByRole("button", { name: "Compare Layer 20, head 6 no more" }).click();
  assert.equal(await card(page).locator(".kept li").count(), 2);
  // The table of values has all lines.
  await page.getByRole("button", { name: "Values of Plasticity over position as a table" }).click();
  const lines = new Set(await page.locator("#values-curves tbody th").allTextContents());
  assert.ok(lines.has("Layer 1, head 0") && lines.has("Mean of 40 heads"), [...lines].join());
  await card(page).getByRole("button", { name: "Clear all chosen heads" }).click();
  assert.equal(await card(page).locator(".kept").count(), 0);
  assert.deepEqual(trouble, []);
  await page.close();
});

test("the map has means of layers and KV groups at its margins", async () => {
  const { page } = await open(file);
  const means = await page.locator("#card-head-map figcaption").textContent();
  assert.match(means, /Strip above: mean of the shown heads of a layer\. Brackets: query heads that read one KV head\./);
  const at = await cellOf(page, 23, 0, 30, 9);
  await page.locator("#chart-head-map").hover({ position: { x: at.x, y: 15 } });
  await page.locator("#chart-head-map .tip").waitFor();
  const heads = rows.filter((row) => row.layer === 23);
  const mean = heads.reduce((sum, row) => sum + row.ap_exact, 0) / heads.length;
  const tip = await page.locator("#chart-head-map .tip").textContent();
  assert.equal(tip, `Layer 23mean ap_exact${mean.toFixed(4)}heads${heads.length}`);
  const svg = await download(page, () => page.getByRole("button", { name: "Save All heads, by layer as SVG" }).click());
  for (const words of [">mean<", ">KV<", ">ap_exact, position-exact<", ">0.25<"]) {
    assert.ok(svg.content.toString().includes(words), words);
  }
  await page.close();
});

test("the range of the colours can be set", async () => {
  const { page, trouble } = await open(file);
  const before = await picture(page, "head-map");
  await page.getByLabel("Lowest colour").fill("0.3");
  await page.getByLabel("Highest colour").fill("0.7");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => location.hash.includes("range=0.3%3A0.7"));
  assert.notDeepEqual(await picture(page, "head-map"), before);
  const svg = await download(page, () => page.getByRole("button", { name: "Save All heads, by layer as SVG" }).click());
  for (const words of [">≤ 0.3<", ">≥ 0.7<"]) assert.ok(svg.content.toString().includes(words), words);
  // The wrong way round: said, and not taken.
  await page.getByLabel("Lowest colour").fill("0.9");
  await page.keyboard.press("Enter");
  assert.equal(await page.getByLabel("Lowest colour").getAttribute("aria-invalid"), "true");
  assert.match(await page.evaluate(() => location.hash), /range=0\.3%3A0\.7/);
  // Another column has colours of its own.
  await choose(page, "head-map", "Column", "logit_fixed");
  assert.equal(await page.getByLabel("Lowest colour").inputValue(), "");
  assert.deepEqual(trouble, []);
  await page.close();
});

test("saved pictures name the model and the head", async () => {
  const { page } = await open(file, { fragment: "head=23.2&scope=head&filter=layer%3E0" });
  const distance = page.locator("#card-distance");
  const svg = await download(page, () => distance.getByRole("button", { name: "SVG" }).click());
  assert.equal(svg.name, "SmolLM2-135M-Instruct-distance-layer-23-head-2.svg");
  const text = svg.content.toString();
  assert.ok(text.includes(">Position-exact, by distance of the two keys<"), "title");
  assert.ok(text.includes(">SmolLM2-135M-Instruct · Layer 23, head 2<"), "model and head");
  const png = await download(page, () => distance.getByRole("button", { name: "PNG" }).click());
  // Three times the pixels, with 56 pixels for the title: the width and the height stand at bytes 16 and 20.
  const box = await page.locator("#chart-distance").boundingBox();
  assert.equal(png.content.readUInt32BE(16), Math.floor(box.width) * 3);
  assert.equal(png.content.readUInt32BE(20), (Math.round(box.height) + 56) * 3);
  // A chart that only marks heads names them in their colours.
  await page.locator("#card-head").getByRole("button", { name: "Keep", exact: true }).click();
  await page.locator("#chart-head-map").focus();
  await page.keyboard.press("ArrowRight");
  const curves = await download(page, () => page.locator("#card-curves").getByRole("button", { name: "SVG" }).click());
  for (const words of ["● L24 · H2", "● L23 · H2"]) assert.ok(curves.content.toString().includes(words), words);
  await page.close();
});

/** Drags a rectangle in the scatter chart, from one share of its size to another. */
async function drag(page, from, to) {
  await page.locator("#chart-scatter").scrollIntoViewIfNeeded();
  const box = await page.locator("#chart-scatter").boundingBox();
  await page.mouse.move(box.x + from[0] * box.width, box.y + from[1] * box.height);
  await page.mouse.down();
  await page.mouse.move(box.x + (from[0] + to[0]) * 0.5 * box.width, box.y + to[1] * box.height, { steps: 3 });
  await page.mouse.move(box.x + to[0] * box.width, box.y + to[1] * box.height, { steps: 3 });
  await page.mouse.up();
}

test("the scatter chart zooms by a drag, by buttons and by keys", async () => {
  const { page, trouble } = await open(file);
  const chart = page.locator("#chart-scatter");
  const whole = await picture(page, "scatter");
  await drag(page, [0.1, 0.1], [0.5, 0.6]);
  await page.waitForFunction(() => location.hash.includes("zoom="));
  const first = await page.evaluate(() => location.hash);
  assert.notDeepEqual(await picture(page, "scatter"), whole);
  await page.getByRole("button", { name: "Zoom in" }).click();
  assert.notEqual(await page.evaluate(() => location.hash), first);
  await chart.focus();
  for (const key of ["-", "ArrowLeft", "+", "ArrowUp"]) {
    const before = await page.evaluate(() => location.hash);
    await page.keyboard.press(key);
    assert.notEqual(await page.evaluate(() => location.hash), before, key);
  }
  await page.keyboard.press("0");
  assert.equal(await page.evaluate(() => location.hash), "");
  // A click still chooses a head.
  await drag(page, [0.1, 0.1], [0.5, 0.6]);
  await page.getByRole("button", { name: "Show the whole chart" }).click();
  assert.equal(await page.evaluate(() => location.hash), "");
  assert.deepEqual(trouble, []);
  await page.close();
});

test("a drag in the scatter chart becomes the filter", async () => {
  const { page, trouble } = await open(file);
  await choose(page, "scatter", "Across", "ap_overall");
  await page.getByRole("button", { name: "Drag filters" }).click();
  await drag(page, [0.4, 0.1], [0.9, 0.6]);
  await page.waitForFunction(() => document.querySelector("#filter").value !== "");
  const filter = await page.locator("#filter").inputValue();
  const bounds = /^([\d.]+)<ap_overall<([\d.]+) and ([\d.]+)<ap_exact<([\d.]+)$/.exec(filter);
  assert.ok(bounds, filter);
  const [left, right, low, high] = bounds.slice(1).map(Number);
  const inside = rows.filter(
    (row) => row.ap_overall > left && row.ap_overall < right && row.ap_exact > low && row.ap_exact < high,
  );
  assert.ok(inside.length > 0 && inside.length < 40);
  assert.equal(await page.locator("#filter-says").textContent(), `${inside.length} of 40`);
  // A second drag replaces the first one; what was typed stays.
  await page.locator("#filter").fill("layer>1");
  await page.waitForFunction(() => location.hash.includes("layer%3E1"));
  for (const to of [0.9, 0.8]) await drag(page, [0.2, 0.1], [to, 0.6]);
  assert.match(await page.locator("#filter").inputValue(), /^\(layer>1\) and [\d.]+<ap_overall<[\d.]+ and [\d.]+<ap_exact<[\d.]+$/);
  assert.deepEqual(trouble, []);
  await page.close();
});

test("the scatter chart has logarithmic axes", async () => {
  const { page, trouble } = await open(file);
  const linear = await picture(page, "scatter");
  await page.getByLabel("Across: logarithmic axis").check();
  await page.getByLabel("Up: logarithmic axis").check();
  assert.match(await page.evaluate(() => location.hash), /logs=xy/);
  assert.notDeepEqual(await picture(page, "scatter"), linear);
  const svg = await download(page, () => page.getByRole("button", { name: "Save One column against another as SVG" }).click());
  for (const words of [">0.01<", ">0.2<", ">previous_token (logarithmic)<"]) {
    assert.ok(svg.content.toString().includes(words), words);
  }
  // Values of 0 and below have no place there.
  await choose(page, "scatter", "Across", "q_resid0_skew");
  const positive = rows.filter((row) => row.q_resid0_skew > 0).length;
  assert.match(
    await page.locator("#card-scatter figcaption").textContent(),
    new RegExp(`Only ${positive} have both values, above 0 on logarithmic axes`),
  );
  assert.ok((await colorsOf(page, "scatter")) > 20);
  assert.deepEqual(trouble, []);
  await page.close();
});

test("points with little data are faded", async () => {
  const little = report(sample, "faded", "--min_count", "5000");
  const { page } = await open(little);
  assert.match(await page.locator("#card-scatter figcaption").textContent(), /Faded points: counts below 5000\./);
  const { page: other } = await open(file);
  assert.doesNotMatch(await other.locator("#card-scatter figcaption").textContent(), /Faded/);
  await page.close();
  await other.close();
});

test("links jump to the parts of the page and keep the view", async () => {
  const { page } = await open(file, { fragment: "head=23.2" });
  for (const [name, id] of [
    ["Curves", "title-curves"],
    ["Table", "title-table"],
    ["How to read", "guide"],
  ]) {
    await page.getByRole("navigation").getByRole("link", { name }).click();
    assert.equal(await page.evaluate(() => document.activeElement.id), id);
    const { y } = await page.locator(`#${id}`).boundingBox();
    const { height } = await page.locator(".bar").boundingBox();
    assert.ok(y >= height - 1 && y < 900, `${name} at ${y}`);
  }
  assert.equal(await page.evaluate(() => location.hash), "#head=23.2");
  await page.close();
});
