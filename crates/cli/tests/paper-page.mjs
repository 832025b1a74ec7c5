// The page of a paper in Chromium, on a desk and on a phone: node paper-page.mjs FILE FOLDER
//
// Fails if something is wider than the window, if a chart is missing or has no name, or if the console complains. Pictures go to FOLDER.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { Chromium, complaints, requests } from "../../measure/server/tests/web/chromium.mjs";

const [file, folder] = process.argv.slice(2);
const url = pathToFileURL(resolve(file)).href;
const PANELS = "JSON.parse(document.getElementById('data').textContent)";

const chromium = new Chromium();
try {
  for (const [name, size] of [["desk", { width: 1400, height: 900 }], ["phone", { width: 390, height: 844 }]]) {
    const tab = await chromium.tab(size);
    await tab.open(url);
    await tab.until("document.querySelector('canvas') !== null", 30_000);
    const [content, window] = await tab.evaluate("[document.documentElement.scrollWidth, innerWidth]");
    assert.ok(content <= window, `${name}: the page is ${content} px wide in a window of ${window}`);
    const empty = await tab.evaluate(`${PANELS}.filter((panel) => !document.querySelector('#' + CSS.escape(panel.id) + ' canvas')).map((panel) => panel.id)`);
    assert.deepEqual(empty, [], `${name}: panels without a chart`);
    const unnamed = await tab.evaluate("[...document.querySelectorAll('canvas')].filter((chart) => !chart.closest('[role=img][aria-label]')).length");
    assert.equal(unnamed, 0, `${name}: charts without a name for those who cannot see them`);
    const faint = await tab.evaluate("[...document.querySelectorAll('.badge')].filter((badge) => getComputedStyle(badge).color === getComputedStyle(badge.closest('section')).backgroundColor).length");
    assert.equal(faint, 0, `${name}: words in the colour of their ground`);
    writeFileSync(join(folder, `${name}.png`), await tab.picture());
  }
  assert.deepEqual(requests(chromium.events).filter((to) => !to.startsWith("file:") && !to.startsWith("data:")), [], "requests to elsewhere");
  assert.deepEqual(complaints(chromium.events), [], "errors in the console");
} finally {
  await chromium.close();
}
