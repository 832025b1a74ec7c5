// One test by the page of `unbloat serve` in Chromium: node page.mjs URL FILE. What the page kept goes to FILE, what it measured to FILE.measured.

import { writeFileSync } from "node:fs";
import { Chromium } from "../../crates/measure/server/tests/web/chromium.mjs";

const [url, file] = process.argv.slice(2);
const LONGEST_MS = 120_000;

const chromium = new Chromium();
try {
  const tab = await chromium.tab({ width: 1100, height: 900 });
  await tab.open(url);
  await tab.evaluate("const send = fetch; fetch = (to, what) => { if (`${to}`.includes('/v1/verdict')) window.measured = what.body; return send(to, what); }");
  await tab.evaluate("document.getElementById('start').click()");
  const [is, was] = ["document.getElementById('start').textContent === 'Stop'", "document.getElementById('start').textContent === 'Start'"];
  await tab.until(is, LONGEST_MS);
  await tab.until(was, LONGEST_MS);
  const [run] = JSON.parse((await tab.evaluate("localStorage.getItem('unbloat.runs')")) ?? "[]");
  if (!run) throw new Error(await tab.evaluate("document.getElementById('status').textContent"));
  writeFileSync(file, JSON.stringify(run, null, 1));
  writeFileSync(`${file}.measured`, await tab.evaluate("window.measured"));
} finally {
  await chromium.close();
}
