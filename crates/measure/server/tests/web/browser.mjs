// The page in Chromium, used as a person would: node browser.mjs URL FOLDER TOKEN [MODULES]
//
// Without MODULES it only measures; with it, all that the page does besides is tried.
// Fails if it does not behave. What it measured goes to FOLDER/run.json, how it looked to FOLDER/*.png; whether the numbers
// are right is for the caller to say, who knows the path.

import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isAccessible } from "./accessible.mjs";
import { Chromium, complaints, requests } from "./chromium.mjs";

const [url, folder, token, modules] = process.argv.slice(2);
const PHONE = { width: 390, height: 844 };
const DESK = { width: 1400, height: 900 };
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
  if (modules) {
    await keepsHistory(tab);
    await shares(tab);
    await stops(tab);
    await looks(tab);
    await forgets(tab);
  }
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
  assert.match(await tab.until("document.getElementById('live-number').textContent", ANSWER_MS), /^\+?[\d.]+\u00a0m?s$/);
  assert.match(await tab.until("document.getElementById('live-words').textContent.includes('uploading') && document.getElementById('live-rates').textContent", ANSWER_MS), /Mbit\/s up$/);
  await tab.until("document.getElementById('start').textContent === 'Start'", LONGEST_MS);
  assert.equal(await tab.evaluate("document.getElementById('status').textContent"), "Done.");
  const [run] = await kept(tab);
  writeFileSync(join(folder, "run.json"), JSON.stringify(run, null, 1));
  await fits(tab, "phone");
  assert.equal(await tab.evaluate("document.getElementById('headline').textContent"), run.verdict.headline);
  assert.equal(await tab.evaluate("document.activeElement.id"), "headline");
  assert.equal(await tab.evaluate("document.querySelectorAll('#numbers tbody tr').length"), run.summary.stages.length);
  assert.doesNotMatch(await tab.evaluate("document.getElementById('result').innerText"), /`/);
  assert.equal(await tab.evaluate("document.getElementById('live').hidden"), true);
  assert.equal(await tab.evaluate("document.getElementById('server').textContent"), new URL(url).host);
  const uses = run.verdict.kind === "unknown" ? 0 : 4;
  assert.equal(await tab.evaluate("document.querySelectorAll('#uses div').length"), uses, JSON.stringify(run.uses));
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

/** By a link that another browser opens, which is sent nowhere. */
async function shares(tab) {
  await chromium.call("Browser.grantPermissions", { origin: new URL(url).origin, permissions: ["clipboardReadWrite", "clipboardSanitizedWrite"] });
  await tab.call("Page.bringToFront");
  await tab.evaluate("document.getElementById('copy').click()");
  const said = await tab.until("document.getElementById('shared').textContent", ANSWER_MS);
  const link = said === "Copied." ? await tab.evaluate("navigator.clipboard.readText()") : await tab.evaluate("location.href");
  assert.ok(link.includes("#result=") && !link.includes("token"), link);
  const headline = await tab.evaluate("document.getElementById('headline').textContent");
  const other = await chromium.tab(DESK);
  await other.open(link);
  await other.until("!document.getElementById('result').hidden", ANSWER_MS);
  assert.equal(await other.evaluate("document.getElementById('headline').textContent"), headline);
  assert.match(await other.evaluate("document.getElementById('origin').textContent"), /^A shared result/);
  await fits(other, "shared");
  await other.open(link.replace("#result=", "#result=x"));
  await other.until("document.getElementById('status').textContent.startsWith('The link contains no result')", ANSWER_MS);
  await other.call("Page.close");
  await tab.evaluate("history.replaceState(null, '', location.pathname + location.search)");
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
    if (existsSync(modules)) await isAccessible(tab, modules, name);
  }
}

async function forgets(tab) {
  await tab.evaluate("document.querySelector('#history li button:last-child').click()");
  const entries = await tab.evaluate("document.querySelectorAll('#history li').length");
  assert.deepEqual([entries, (await kept(tab)).length], [0, 0]);
}
