// What every page must be, whatever it shows.

import assert from "node:assert/strict";

/** Desk and phone, by day and at night. */
export const VIEWS = [[1400, 900], [390, 844]].flatMap(([width, height]) => ["light", "dark"].map((scheme) => ({ name: `${width}-${scheme}`, width, height, scheme })));

/** A tab of this size and these colours, with the page in it and all that is folded opened. */
export async function opened(chromium, url, view) {
  const tab = await chromium.tab(view);
  await tab.call("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: view.scheme }] });
  await tab.open(url);
  await tab.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })");
  // Charts in what was folded are drawn now, and their tables filled.
  await tab.evaluate("new Promise((done) => setTimeout(done, 300))");
  await tab.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })");
  await tab.evaluate("new Promise((done) => setTimeout(done, 300))");
  return tab;
}

export async function fits(tab, name) {
  const [content, window] = await tab.evaluate("[document.documentElement.scrollWidth, innerWidth]");
  assert.ok(content <= window, `${name}: the page is ${content} px wide in a window of ${window}`);
}

/** Charts have a name that says what they show, and nothing to press is without one. */
export async function isNamed(tab, name) {
  const unnamed = await tab.evaluate(`[...document.querySelectorAll("canvas")].filter((chart) => !chart.closest("[role=img][aria-label]")).length`);
  assert.equal(unnamed, 0, `${name}: charts without a name`);
  const controls = await tab.evaluate(`[...document.querySelectorAll("button, input, a[href], summary")].filter((one) => !(one.getAttribute("aria-label") || one.textContent).trim()).map((one) => one.outerHTML)`);
  assert.deepEqual(controls, [], `${name}: controls without a name`);
}

export { isAccessible } from "../../../../measure/server/tests/web/accessible.mjs";
