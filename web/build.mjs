// node build.mjs OUTPUT: bundles src/ into one HTML page, with two marks where `report` puts a run's data.

import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const output = process.argv[2];

async function bundle(entry) {
  const result = await build({
    entryPoints: [entry],
    bundle: true,
    minify: true,
    write: false,
    format: "iife",
    target: ["chrome103", "firefox113", "safari16.4"],
    charset: "ascii",
    legalComments: "none",
    logLevel: "warning",
  });
  return result.outputFiles[0].text.trim();
}

// An inline element ends at the first end tag in its text, whatever the language of the text.
function inlined(element, text) {
  if (new RegExp(`</${element}|<!--`, "i").test(text)) throw new Error(`the ${element} would end early`);
  return text;
}

const script = inlined("script", await bundle("src/main.ts"));
const style = inlined("style", await bundle("src/page.css"));
const hash = createHash("sha256").update(script).digest("base64");
// The notices of the libraries that the page contains.
const notice = ["echarts/NOTICE", "zrender/LICENSE"]
  .map((file) => readFileSync(`node_modules/${file}`, "utf8").trim())
  .join("\n\n");
if (notice.includes("--")) throw new Error("the notice would end its comment early");

const page = readFileSync("src/page.html", "utf8").replace(
  /%(\w+)%/g,
  (mark, name) => ({ SCRIPT: script, STYLE: style, SCRIPT_HASH: hash, NOTICE: notice })[name] ?? mark,
);
for (const mark of ["%REPORT_HEAD%", "%REPORT_BLOCKS%"]) {
  if (page.split(mark).length !== 2) throw new Error(`${mark} should occur once`);
}
writeFileSync(output, page);
