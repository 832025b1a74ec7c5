// The page in Chromium while its server goes away: node gone.mjs URL FOLDER
//
// Says "loaded" on standard output once data flow; then somebody has to end the server.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Chromium } from "./chromium.mjs";

const [url, folder] = process.argv.slice(2);
const LONGEST_MS = 60_000;

const chromium = new Chromium();
try {
  const tab = await chromium.tab({ width: 390, height: 844 });
  await tab.open(url);
  await tab.evaluate("document.getElementById('start').click()");
  await tab.until("document.getElementById('status').textContent.startsWith('Downloading')", LONGEST_MS);
  console.log("loaded");
  const said = await tab.until("document.getElementById('start').textContent === 'Start' && document.getElementById('status').textContent", LONGEST_MS);
  assert.match(said, /^The server went away [\d.]+\u00a0s into the test/);
  const [isHidden, kept, live] = await tab.evaluate("[document.getElementById('result').hidden, localStorage.getItem('unbloat.runs'), document.getElementById('live').hidden]");
  assert.deepEqual([isHidden, kept, live], [true, null, true], "no result and no history of it");
  const stages = await tab.evaluate("document.getElementById('progress').value");
  assert.ok(stages < 0.95, `it went on: ${stages}`);
  writeFileSync(join(folder, "gone.png"), await tab.picture());
  // And afterwards there is nobody.
  await tab.evaluate("document.getElementById('start').click()");
  assert.equal(await tab.until("document.getElementById('start').textContent === 'Start' && document.getElementById('status').textContent", LONGEST_MS), "The server does not answer.");
} finally {
  await chromium.close();
}
