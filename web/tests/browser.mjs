// What the tests share: the program that writes reports, and a browser that opens them from disk.

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { chromium } from "playwright-core";

export const root = resolve(import.meta.dirname, "../..");
const program = resolve(root, process.env.AP_PROGRAM ?? "build/release/attention-plasticity");

export const folder = mkdtempSync(join(tmpdir(), "attention-plasticity-web-"));
export const sample = join(root, "results/smollm2-135m");

export function run(...words) {
  return execFileSync(program, words, { encoding: "utf8", cwd: root, stdio: ["ignore", "pipe", "ignore"] });
}

export function report(results, name, ...flags) {
  const file = join(folder, `${name}.html`);
  run("report", results, "--output", file, ...flags);
  return file;
}

const quiet = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
let browser = null;

/** Opens a page and waits until it is drawn. `trouble` collects what must not happen: messages on the console, errors,
 * dialogs, requests to the network. */
export async function open(file, { fragment = "", width = 1440, height = 900, ...more } = {}) {
  browser ??= await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: quiet });
  const page = await browser.newPage({ viewport: { width, height }, ...more });
  const trouble = [];
  page.on("console", (message) => trouble.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => trouble.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => {
    trouble.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("request", (request) => {
    if (!/^(file|data|blob):/.test(request.url())) trouble.push(`request: ${request.url()}`);
  });
  const started = performance.now();
  await page.goto(`file://${file}${fragment === "" ? "" : `#${fragment}`}`);
  await page.waitForSelector("html[data-ready]", { timeout: 30_000 });
  return { page, trouble, took: performance.now() - started };
}

export async function finish() {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
}

/** A picture of a chart, taken when all charts are drawn. */
export async function picture(page, chart) {
  await page.waitForSelector("html:not([data-drawing])");
  return page.locator(`#chart-${chart}`).screenshot();
}

/** The number of colours in a chart: a blank chart has one or none. */
export function colorsOf(page, chart) {
  return page.locator(`#chart-${chart} canvas`).evaluateAll((layers) => {
    const colors = new Set();
    for (const canvas of layers) {
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      for (let i = 0; i < data.length; i += 16) colors.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
    }
    return colors.size;
  });
}

/** The middle of a head's cell in the map, computed from the margins in head_map.ts for a model with KV groups. */
export async function cellOf(page, layer, head, layers, heads) {
  const box = await page.locator("#chart-head-map").boundingBox();
  return {
    x: 46 + ((layer + 0.5) / layers) * (box.width - 84),
    y: 30 + ((head + 0.5) / heads) * (box.height - 134),
  };
}

export function rowNames(page) {
  return page.locator("#head-table tbody tr:not(.spacer) .row-name").allTextContents();
}

export function choose(page, card, label, value) {
  return page.locator(`#card-${card}`).getByLabel(label, { exact: true }).selectOption(value);
}

export async function download(page, act) {
  const [file] = await Promise.all([page.waitForEvent("download"), act()]);
  const chunks = [];
  for await (const chunk of await file.createReadStream()) chunks.push(chunk);
  return { name: file.suggestedFilename(), content: Buffer.concat(chunks) };
}
