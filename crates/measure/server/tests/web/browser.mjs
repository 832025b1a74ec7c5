// The page in Chromium, used as a person would: node browser.mjs URL FOLDER [TOKEN]
//
// Fails if it does not behave. What it measured goes to FOLDER/run.json, how it looked to FOLDER/*.png; whether the numbers
// are right is for the caller to say, who knows the path.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Chromium, complaints, requests } from "./chromium.mjs";

const [url, folder, token] = process.argv.slice(2);
const PHONE = { width: 360, height: 740 };
const DESK = { width: 1100, height: 900 };
const LONGEST_MS = 90_000;
/** For what happens at once, on a machine that has other things to do. */
const ANSWER_MS = 30_000;

const chromium = new Chromium();
try {
  const tab = await chromium.tab(PHONE);
  await tab.open(url);
  await fits(tab, "before");
  if (token) await giveToken(tab, token);
  else await press(tab, "Enter");
  await measures(tab);
  await keepsHistory(tab);
  await stops(tab);
  await looks(tab);
  await forgets(tab);
  const asked = requests(chromium.events);
  const others = asked.filter((to) => new URL(to).host !== new URL(url).host && !to.startsWith("data:"));
  assert.deepEqual(others, [], "requests to elsewhere");
  assert.ok(asked.some((to) => to.includes("/account")) && asked.some((to) => to.includes("/v1/ws")), "requests of workers are seen");
  // A refusal for want of a token is one that a browser always shows.
  assert.deepEqual(complaints(chromium.events).filter((text) => !(token && text.includes("401"))), [], "errors in the console");
} finally {
  await chromium.close();
}

/** Nobody has to scroll sideways. */
async function fits(tab, name) {
  const [content, window] = await tab.evaluate("[document.documentElement.scrollWidth, innerWidth]");
  assert.ok(content <= window, `${name}: the page is ${content} px wide in a window of ${window}`);
  writeFileSync(join(folder, `${name}.png`), await tab.picture());
}

/** By keyboard alone: the first thing that Tab reaches starts the test. */
async function press(tab, key) {
  const keys = { Tab: [9, ""], Enter: [13, "\r"] };
  for (const name of ["Tab", key]) {
    const [windowsVirtualKeyCode, text] = keys[name];
    for (const type of ["keyDown", "keyUp"]) await tab.call("Input.dispatchKeyEvent", { type, key: name, code: name, windowsVirtualKeyCode, text });
    // Before the next key: what that one starts may move the focus.
    if (name === "Tab") assert.equal(await tab.evaluate("document.activeElement.id"), "start");
  }
}

async function giveToken(tab, text) {
  const submit = (value) => tab.evaluate(`document.getElementById("token").value = ${JSON.stringify(value)}; document.getElementById("token-form").requestSubmit()`);
  const isAsked = "!document.getElementById('token-form').hidden && document.getElementById('token-why').textContent";
  await press(tab, "Enter");
  await tab.until(isAsked, ANSWER_MS);
  await submit("not this one");
  assert.match(await tab.until(isAsked, ANSWER_MS), /does not know this one/);
  await fits(tab, "token");
  await submit(text);
}

async function measures(tab) {
  await tab.until("document.getElementById('start').textContent === 'Stop'", ANSWER_MS);
  await tab.until("document.getElementById('status').textContent.startsWith('Uploading')", LONGEST_MS);
  await fits(tab, "under-way");
  await tab.until("document.getElementById('start').textContent === 'Start'", LONGEST_MS);
  assert.equal(await tab.evaluate("document.getElementById('status').textContent"), "Done.");
  const [run] = await kept(tab);
  writeFileSync(join(folder, "run.json"), JSON.stringify(run, null, 1));
  await fits(tab, "phone");
  assert.equal(await tab.evaluate("document.getElementById('headline').textContent"), run.verdict.headline);
  assert.equal(await tab.evaluate("document.activeElement.id"), "headline");
  assert.equal(await tab.evaluate("document.querySelectorAll('#numbers tbody tr').length"), run.summary.stages.length);
  assert.match(await tab.evaluate("document.getElementById('plot').getAttribute('aria-label')"), /rade|No verdict/);
}

async function kept(tab) {
  return JSON.parse((await tab.evaluate("localStorage.getItem('unbloat.runs')")) ?? "[]");
}

async function keepsHistory(tab) {
  const before = await tab.evaluate("document.getElementById('headline').textContent + document.getElementById('words').textContent");
  await tab.open(url);
  await tab.until("document.querySelectorAll('#history li').length === 1", ANSWER_MS);
  assert.equal(await tab.evaluate("document.getElementById('result').hidden"), true);
  await tab.evaluate("document.querySelector('#history button').click()");
  assert.equal(await tab.evaluate("document.getElementById('headline').textContent + document.getElementById('words').textContent"), before);
}

async function stops(tab) {
  await tab.evaluate("document.getElementById('start').click()");
  await tab.until("document.getElementById('status').textContent.startsWith('Downloading')", LONGEST_MS);
  await tab.evaluate("document.getElementById('start').click()");
  await tab.until("document.getElementById('start').textContent === 'Start'", ANSWER_MS);
  assert.match(await tab.evaluate("document.getElementById('status').textContent"), /^Stopped/);
  assert.equal((await kept(tab)).length, 1, "a run that was stopped is not kept");
}

/** For people to look at. */
async function looks(tab) {
  await tab.evaluate("document.querySelector('#history button').click()");
  for (const [name, scheme, size] of [["phone-dark", "dark", PHONE], ["desk", "light", DESK], ["desk-dark", "dark", DESK]]) {
    await tab.resize(size);
    await tab.call("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: scheme }] });
    await new Promise((done) => setTimeout(done, 300));
    await fits(tab, name);
  }
}

async function forgets(tab) {
  await tab.evaluate("document.querySelector('#history li button:last-child').click()");
  const entries = await tab.evaluate("document.querySelectorAll('#history li').length");
  assert.deepEqual([entries, (await kept(tab)).length], [0, 0]);
}
