// The flows of a capture, chosen without a mouse: node flows.mjs FILE

import assert from "node:assert/strict";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { Chromium, complaints } from "../../../../measure/server/tests/web/chromium.mjs";

const [file] = process.argv.slice(2);

const chromium = new Chromium();
try {
  const tab = await chromium.tab({ width: 1400, height: 900 });
  await tab.open(pathToFileURL(resolve(file)).href);
  // The link comes first, with the threshold on its scale.
  const shows = (id) => tab.evaluate(`document.querySelector("#figure-${id} [role=img]").getAttribute("aria-label")`);
  assert.match(await shows("link-delay"), /^Delay added on the link\. added delay against time .*download: p95 [\d,.]+ ms/);
  assert.match(await shows("link-rate"), /^Rate by flow\. .*download, all: p95 .*bit\/s; flow \d+: p95 /);
  const enter = async () => {
    for (const type of ["keyDown", "keyUp"]) await tab.call("Input.dispatchKeyEvent", { type, key: "Enter", windowsVirtualKeyCode: 13, text: "\r" });
  };
  const title = "document.querySelector('#timeline h3').textContent";
  const other = await tab.evaluate(`(() => { const one = document.querySelectorAll("#picker tbody button")[1]; one.focus(); return one.textContent; })()`);
  assert.ok(!(await tab.evaluate(title)).startsWith(`Flow ${other}:`));
  await enter();
  await tab.until(`${title}.startsWith("Flow ${other}:")`, 5000);
  assert.equal(await tab.evaluate("document.querySelector('#picker button[aria-pressed=true]').textContent"), other);
  assert.equal(await tab.evaluate("document.activeElement.textContent"), other, "the focus stays");

  // Sorted by a head, and back.
  await tab.evaluate(`document.querySelector("#picker th button").focus()`);
  await enter();
  assert.equal(await tab.evaluate("document.querySelector('#picker th').getAttribute('aria-sort')"), "descending");
  await enter();
  assert.equal(await tab.evaluate("document.querySelector('#picker th').getAttribute('aria-sort')"), "ascending");
  assert.equal(await tab.evaluate("document.querySelector('#picker tbody button').textContent"), "1");

  // Absolute time, and a line of the legend switched off.
  assert.match(await tab.evaluate("document.querySelector('#timeline .note').textContent"), /^Time 0 is 2012-10-12 08:\d\d:\d\d(\.\d+)? UTC\.$/);
  await tab.evaluate(`document.querySelector("#timeline .legend button").focus()`);
  await enter();
  assert.equal(await tab.evaluate("document.activeElement.getAttribute('aria-pressed')"), "false");
  assert.deepEqual(complaints(chromium.events), [], "errors in the console");
} finally {
  await chromium.close();
}
