// Pages of several runs: one of them is shown, or the difference of two.

import assert from "node:assert/strict";
import { cpSync, existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { cellOf, choose, colorsOf, download, finish, folder, open, picture, rowNames, run, sample } from "./browser.mjs";

const axe = readFileSync(resolve(import.meta.dirname, "../node_modules/axe-core/axe.min.js"), "utf8");
const steps = [0, 500, 1000];
const results = (step) => join(folder, `step-${step}`);
const pages = {};

/** Runs of one model whose queries are the less constant the later the step; all measured the same documents. */
before(() => {
  steps.forEach((step, i) => {
    const dump = join(folder, `dump-${step}`);
    const shape = ["--layers", "6", "--q_heads", "4", "--k_heads", "2", "--rows", "400", "--rope_theta", "10000"];
    const seeds = ["--seed", String(i + 1), "--document_seed", "7", "--example_effect", "1", "--truth_pairs", "0"];
    run("synth", dump, ...shape, ...seeds, "--mean", String(2 - 0.6 * i), "--quiet");
    run("analyze", "--dataset_local_root", dump, "--output_dir", results(step), "--num_triples", "1024", "--quiet");
  });
  const page = (name, ...words) => {
    pages[name] = join(folder, `${name}.html`);
    run("report", ...words, "--output", pages[name]);
  };
  page("two", results(0), results(1000));
  page("three", ...steps.map(results));
  page("other", sample, results(0));
  run("compare", results(0), results(1000), "--output", join(folder, "diff"), "--quiet");
});
after(finish);

/** The rows of a CSV file as objects. */
function rowsOf(text) {
  const [header, ...lines] = text.trim().split("\n");
  const columns = header.split(",");
  return lines.map((line) => Object.fromEntries(line.split(",").map((value, i) => [columns[i], value])));
}

const differences = () =>
  rowsOf(readFileSync(join(folder, "diff/head_differences.csv"), "utf8")).filter(({ column }) => column === "ap_exact");
const summary = () =>
  JSON.parse(readFileSync(join(folder, "diff/comparison.json"), "utf8")).columns.find(({ column }) => column === "ap_exact");
const shownRun = (page) => page.getByLabel("Shown", { exact: true });
/** Shows another run, and waits until it is drawn. */
async function show(page, label) {
  await shownRun(page).selectOption({ label });
  await page.waitForSelector("html[data-ready]");
}
const caption = (page, chart) => page.locator(`#card-${chart} figcaption`).textContent();

test("the page of two runs shows their difference, with the numbers of compare", async () => {
  const { page, trouble } = await open(pages.two);
  assert.equal(await page.locator("h1").textContent(), "step-1000 − step-0");
  assert.match(await page.locator(".status").textContent(), /^24 heads in both runs$/);
  assert.match(await page.locator("#card-run").textContent(), /the same 16 documents in both, so errors are paired/);
  const { difference, se, up, down } = summary();
  const card = page.locator('[data-summary="ap_exact"]');
  assert.equal(await card.locator(".figure").textContent(), `+${difference.toFixed(4)} ± ${se.toFixed(4)}`);
  assert.match(await card.locator(".moved-counts").textContent(), new RegExp(`^${up} up${down} down${24 - up - down} not moved$`));
  for (const chart of ["head-map", "scatter", "distance", "curves", "buckets"]) {
    assert.ok((await colorsOf(page, chart)) > 20, `${chart} is blank`);
  }
  const { content } = await download(page, () => page.getByRole("button", { name: "Save the table as CSV" }).click());
  const saved = rowsOf(content.toString());
  const expected = differences();
  assert.equal(saved.length, expected.length);
  for (const row of saved) {
    const head = expected.find(({ layer, q_head }) => layer === row.layer && q_head === row.q_head);
    const names = { ap_exact: "difference", ap_exact_se: "se", ap_exact_a: "a", ap_exact_b: "b", ap_exact_q: "q" };
    for (const [column, name] of Object.entries(names)) assert.equal(Number(row[column]), Number(head[name]), column);
  }
  assert.deepEqual(trouble, []);
  await page.close();
});

test("another run can be shown, and the chosen head stays", async () => {
  const { page, trouble } = await open(pages.two);
  await page.locator("#head-table tbody tr").first().click();
  const name = await page.locator("#card-head h3").textContent();
  await page.locator("#filter").fill("ap_exact_q<0.05");
  await page.waitForFunction(() => location.hash.includes("filter"));
  await show(page, "step-0");
  assert.match(page.url(), /show=0/);
  assert.equal(await page.locator("h1").textContent(), "synthetic");
  assert.match(await page.locator(".eyebrow").textContent(), /run step-0, one of 2$/);
  assert.equal(await page.locator("#card-head h3").textContent(), name);
  // A condition on a difference means nothing for a run.
  assert.equal(await page.locator("#filter").inputValue(), "");
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-label")), "Shown");
  assert.ok((await colorsOf(page, "components")) > 20);
  const first = Number(await page.locator('#card-head [data-fact="ap_exact"]').locator("xpath=../../td[1]").textContent().then((text) => text.split(" ")[0]));
  await show(page, "step-1000");
  const second = Number(await page.locator('#card-head [data-fact="ap_exact"]').locator("xpath=../../td[1]").textContent().then((text) => text.split(" ")[0]));
  assert.ok(second > first);
  // The way from the first run stands in the card of each run.
  assert.match(await page.locator(".head-runs").textContent(), /step-0.*step-1000.*\+0\.\d+± 0\.\d+q/);
  // The address holds what is shown.
  const again = await open(pages.two, { fragment: page.url().split("#")[1] });
  assert.match(await again.page.locator(".eyebrow").textContent(), /run step-1000/);
  await again.page.close();
  await show(page, "step-1000 − step-0");
  assert.equal(await page.locator("h1").textContent(), "step-1000 − step-0");
  assert.doesNotMatch(page.url(), /show=/);
  // The colours of the page can be changed after another run was chosen.
  await page.getByRole("button", { name: "Dark" }).click();
  assert.ok((await colorsOf(page, "head-map")) > 5);
  assert.deepEqual(trouble, []);
  await page.close();
});

test("the address chooses what is shown while the page is open", async () => {
  const { page, trouble } = await open(pages.three, { fragment: "show=1" });
  await page.evaluate(() => (location.hash = "#show=1-2&head=2.1"));
  await page.waitForFunction(() => document.querySelector("h1").textContent === "step-1000 − step-500");
  await page.waitForSelector("html[data-ready]");
  assert.equal(await page.locator("#card-head h3").textContent(), "Layer 2, head 1");
  await page.evaluate(() => (location.hash = "#show=7-9"));
  await page.waitForFunction(() => document.querySelector("h1").textContent === "step-1000 − step-0");
  assert.deepEqual(trouble, []);
  await page.close();
});

test("the map of differences is centred at zero and fades what did not move", async () => {
  const { page, trouble } = await open(pages.three, { fragment: "show=0-1" });
  const ends = await page
    .locator(".range-fields input")
    .evaluateAll((inputs) => inputs.map((input) => Number(input.placeholder.replace("−", "-"))));
  assert.equal(ends[0], -ends[1]);
  assert.match(await caption(page, "head-map"), /\d+ heads of 24 moved \(q < 0\.05\); the others are paler\./);
  const whole = await picture(page, "head-map");
  await choose(page, "head-map", "Column", "ap_exact_b");
  assert.notEqual(await picture(page, "head-map"), whole);
  assert.deepEqual(
    await page.locator(".range-fields input").evaluateAll((inputs) => inputs.map((input) => input.placeholder)),
    ["0", "1"],
  );
  await choose(page, "head-map", "Column", "logit_fixed");
  assert.match(await caption(page, "head-map"), /This column has no errors/);
  await choose(page, "head-map", "Column", "ap_exact");
  await page.locator("#chart-head-map").hover({ position: await cellOf(page, 2, 1, 6, 4) });
  await page.locator("#chart-head-map .tip").waitFor();
  assert.match(await page.locator("#chart-head-map .tip").textContent(), /^Layer 2, head 1ap_exact.*ap_exact_a.*ap_exact_b.*ap_exact_q/);
  assert.equal(await page.getByLabel("Cache plan").count(), 0);
  assert.deepEqual(trouble, []);
  await page.close();
});

test("a level of 0 moves no head", async () => {
  const file = join(folder, "level.html");
  run("report", results(0), results(1000), "--output", file, "--level", "1e-300");
  const { page } = await open(file);
  assert.match(await caption(page, "head-map"), /0 heads of 24 moved/);
  await page.close();
});

test("the filter and the table know the tests of a difference", async () => {
  const { page } = await open(pages.two);
  const moved = differences().filter(({ q }) => Number(q) < 0.05);
  await page.locator("#filter").fill("ap_exact_q<0.05 and ap_exact_z>0");
  await page.waitForFunction(
    (text) => document.querySelector("#filter-says").textContent === text,
    `${moved.filter(({ z }) => Number(z) > 0).length} of 24`,
  );
  await page.locator("#filter").fill("");
  await page.locator("#head-table thead").getByRole("button", { name: "ap_exact_q" }).click();
  await page.locator("#head-table thead").getByRole("button", { name: "ap_exact_q" }).click();
  const [first] = differences().sort((a, b) => Number(a.q) - Number(b.q));
  assert.equal((await rowNames(page))[0], `L${first.layer} · H${first.q_head}`);
  await page.close();
});

test("the scatter chart has one run against the other", async () => {
  const { page, trouble } = await open(pages.two);
  assert.equal(await page.locator("#card-scatter h3").textContent(), "ap_exact_b against ap_exact_a");
  assert.match(await caption(page, "scatter"), /Whiskers show one standard error of the difference\..*dashed line/);
  await choose(page, "scatter", "Up", "ap_exact");
  assert.doesNotMatch(await caption(page, "scatter"), /dashed line/);
  await choose(page, "scatter", "Across", "logit_fixed_a");
  await choose(page, "scatter", "Up", "logit_fixed_b");
  assert.match(await caption(page, "scatter"), /dashed line/);
  assert.deepEqual(trouble, []);
  await page.close();
});

test("the card of a head has both runs and the difference", async () => {
  const { page, trouble } = await open(pages.two, { fragment: "head=2.1&scope=head" });
  const head = differences().find(({ layer, q_head }) => layer === "2" && q_head === "1");
  const cells = page.locator('#card-head [data-fact="ap_exact"]').locator("xpath=../../td");
  const texts = await cells.allTextContents();
  assert.equal(texts[0], Number(head.a).toFixed(4));
  assert.equal(texts[1], Number(head.b).toFixed(4));
  assert.ok(texts[2].startsWith(`+${Number(head.difference).toFixed(4)}± ${Number(head.se).toFixed(4)}q `), texts[2]);
  assert.equal(await cells.nth(2).getAttribute("class"), Number(head.q) < 0.05 ? "moved" : null);
  assert.equal(await page.locator("#card-head .small").count(), 2);
  await page.locator('#card-head [data-fact="ap_exact"]').click();
  assert.match(await page.locator("#card-head .explained").textContent(), /Difference, second run less first/);
  assert.deepEqual(trouble, []);
  await page.close();
});

test("curves are the difference or both runs", async () => {
  const { page, trouble } = await open(pages.two);
  assert.match(await page.locator("#card-curves h3").textContent(), /^Difference: /);
  const difference = await picture(page, "curves");
  await page.getByRole("button", { name: "Both runs" }).click();
  assert.match(await page.locator("#card-curves h3").textContent(), /^Both runs: /);
  assert.match(await caption(page, "curves"), /in blue in step-0, in orange in step-1000/);
  const both = await picture(page, "curves");
  assert.notEqual(both, difference);
  await page.locator("#card-curves").getByRole("button", { name: /as a table$/ }).click();
  const rows = await page.locator("#values-curves tbody tr").allTextContents();
  assert.ok(rows.some((row) => row.startsWith("step-0")) && rows.some((row) => row.startsWith("step-1000")));
  // The chosen head is drawn alone, in both runs.
  await page.locator("#head-table tbody tr").first().click();
  assert.notEqual(await picture(page, "curves"), both);
  assert.match(page.url(), /curves=both/);
  assert.deepEqual(trouble, []);
  await page.close();
});

test("three runs are a series", async () => {
  const { page, trouble } = await open(pages.three, { fragment: "head=2.1&scope=head" });
  assert.equal(await page.locator("#card-series h3").textContent(), "ap_exact over the runs");
  assert.ok((await colorsOf(page, "series")) > 20);
  assert.match(await caption(page, "series"), /Thin lines: 24 heads\..*a large point is a change from the run before/);
  await page.locator("#card-series").getByRole("button", { name: /as a table$/ }).click();
  const rows = await page.locator("#values-series tbody tr").allTextContents();
  assert.equal(rows.length, 6);
  assert.match(rows[1], /^meanstep-5005000\.\d{4}0\.\d{4}––$/);
  assert.match(rows[5], /^Layer 2, head 1step-10001,?0000\.\d{4}/);
  const table = await page.locator(".head-runs tbody tr").allTextContents();
  assert.equal(table.length, 3);
  const before = await picture(page, "series");
  await choose(page, "head-map", "Column", "logit_fixed");
  assert.equal(await page.locator("#card-series h3").textContent(), "logit_fixed over the runs");
  assert.notEqual(await picture(page, "series"), before);
  // What is shown does not change the series.
  await show(page, "step-500");
  assert.ok((await colorsOf(page, "series")) > 20);
  const labels = await shownRun(page).locator("option").allTextContents();
  const pairs = ["step-500 − step-0", "step-1000 − step-0", "step-1000 − step-500"];
  assert.deepEqual(labels, ["step-0", "step-500", "step-1000", ...pairs]);
  assert.deepEqual(trouble, []);
  await page.close();
});

test("runs of other shapes are shown one by one, with the reason", async () => {
  const { page, trouble } = await open(pages.other);
  assert.equal(await page.locator("h1").textContent(), "SmolLM2-135M-Instruct");
  assert.match(await page.locator(".caveats").textContent(), /cannot be compared with .*6 layers of 4 query heads/);
  assert.deepEqual(await shownRun(page).locator("option").allTextContents(), ["smollm2-135m", "step-0"]);
  await page.locator("#head-table tbody tr").first().click();
  await show(page, "step-0");
  assert.equal(await page.locator("h1").textContent(), "synthetic");
  assert.deepEqual(trouble, []);
  await page.close();
});

test("caveats and saved pictures name the runs; hostile names stay texts", async () => {
  const other = join(folder, "<img src=x onerror=alert(1)> & co");
  cpSync(sample, other, { recursive: true });
  const file = join(folder, "hostile-runs.html");
  run("report", sample, other, "--output", file, "--x", "<b>=2,1");
  const { page, trouble } = await open(file);
  const name = "<img src=x onerror=alert(1)> & co";
  assert.equal(await page.locator("h1").textContent(), `smollm2-135m − ${name}`);
  // compare(a, a) is zero everywhere, and says nothing about chance.
  assert.match(await page.locator('[data-summary="ap_exact"] .figure').textContent(), /^0 ± 0$/);
  const svg = await download(page, () => page.getByRole("button", { name: "Save All heads, by layer as SVG" }).click());
  assert.match(svg.name, /^SmolLM2-135M-Instruct-smollm2-135m-less-img.*head-map\.svg$/);
  assert.ok(svg.content.toString().includes("&lt;img"));
  assert.deepEqual(trouble, []);
  await page.close();
});

test("compare writes the page as well", async () => {
  const file = join(folder, "diff/report.html");
  assert.ok(existsSync(file));
  const { page, trouble } = await open(file);
  assert.equal(await page.locator("h1").textContent(), "step-1000 − step-0");
  assert.deepEqual(trouble, []);
  await page.close();
});

test("axe-core finds nothing in a page of several runs", async () => {
  for (const [fragment, more] of [
    ["head=2.1&scope=head", {}],
    ["head=2.1&scope=head&with=1.0&curves=both", { colorScheme: "dark" }],
    ["show=1&head=2.1&scope=head", { width: 320, height: 700 }],
  ]) {
    const { page } = await open(pages.three, { fragment, ...more });
    await page.evaluate(() => document.querySelectorAll("button[aria-controls^=values]").forEach((one) => one.click()));
    await page.evaluate(axe);
    const found = await page.evaluate(async () => {
      const { violations } = await window.axe.run(document);
      return violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html.slice(0, 140)}`));
    });
    assert.deepEqual(found, [], `${fragment} ${JSON.stringify(more)}`);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
    assert.equal(wide, false, "the page is wider than the screen");
    await page.close();
  }
});
