// Charts of a simulation that measured nothing between 10 and 20 s, used as a person would: node charts.mjs FILE FOLDER

import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { Chromium, complaints } from "../../../../measure/server/tests/web/chromium.mjs";

const [file, folder] = process.argv.slice(2);
const WINDOW = "#figure-sim-cwnd [role=img]";
const QUEUES = "#figure-sim-backlog [role=img]";
const RTT = "#figure-sim-srtt [role=img]";
const SAVED_MS = 20_000;
const KEYS = { "+": { text: "+" }, "-": { text: "-" }, Escape: { windowsVirtualKeyCode: 27 }, ArrowRight: { windowsVirtualKeyCode: 39 } };

const chromium = new Chromium();
try {
  const saved = join(folder, "saved");
  mkdirSync(saved);
  await chromium.saveTo(saved);
  const tab = await chromium.tab({ width: 1400, height: 900 });
  await tab.open(pathToFileURL(resolve(file)).href);
  await saysWhatItShows(tab);
  await hasGap(tab);
  await savesChart(tab);
  await savesCard(tab);
  await zooms(tab);
  assert.deepEqual(complaints(chromium.events), [], "errors in the console");
} finally {
  await chromium.close();
}

function label(tab, chart) {
  return tab.evaluate(`document.querySelector(${JSON.stringify(chart)}).getAttribute("aria-label")`);
}

async function saysWhatItShows(tab) {
  assert.equal(await label(tab, WINDOW), "Congestion window. window against time from 0 s to 29.9 s. download: p95 78.9 kB.");
  assert.equal(await tab.evaluate(`document.querySelector("#figure-sim-cwnd .legend").textContent.trim()`), "download p95 78.9 kB");
}

/** Pixels of the line's colour in a column of the chart at this time, of 29.9 s: the first line is blue, the second red. */
function inked(tab, second, chart = WINDOW, isRed = false) {
  return tab.evaluate(`(() => {
  const canvas = document.querySelector("${chart} canvas"), over = document.querySelector("${chart} .u-over");
  const [outer, inner] = [canvas, over].map((one) => one.getBoundingClientRect());
  const ratio = canvas.width / outer.width;
  const [x, y] = [inner.left - outer.left + inner.width * ${second} / 29.9, inner.top - outer.top].map((px) => Math.round(px * ratio));
  const { data } = canvas.getContext("2d").getImageData(x, y, 1, Math.round(inner.height * ratio));
  let count = 0;
  for (let i = 0; i < data.length; i += 4) if (${isRed ? -1 : 1} * (data[i + 2] - data[i]) > 100) count++;
  return count;
})()`);
}

async function hasGap(tab) {
  for (const second of [5, 9, 21, 25]) assert.ok(await inked(tab, second) > 0, `a line at ${second} s`);
  for (const second of [10.5, 13, 15, 19]) assert.equal(await inked(tab, second), 0, `no line at ${second} s`);
  // Beside a line that has points in it.
  for (const second of [5, 9, 21, 25]) assert.ok(await inked(tab, second, QUEUES, true) > 0, `a second line at ${second} s`);
  for (const second of [10.5, 13, 15, 19]) assert.equal(await inked(tab, second, QUEUES, true), 0, `no second line at ${second} s`);
}

async function press(tab, name) {
  await tab.evaluate(`document.querySelector(${JSON.stringify(`button[aria-label="${name}"]`)}).click()`);
}

async function savesChart(tab) {
  await press(tab, "Save as CSV: Congestion window");
  const rows = (await chromium.saved("congestion-window.csv", SAVED_MS)).toString().split("\r\n");
  const { x, y } = await tab.evaluate(`JSON.parse(document.getElementById("data").textContent).figures["sim-cwnd"][0]`);
  assert.equal(x.length, 200);
  assert.deepEqual(rows, ['"time (s)","download (bytes)"', ...x.map((at, i) => `${at},${y[i]}`), ""]);

  await press(tab, "Save as SVG: Congestion window");
  const svg = (await chromium.saved("congestion-window.svg", SAVED_MS)).toString();
  assert.match(svg, /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" width="\d+" height="\d+"/);
  assert.ok(svg.includes(">Congestion window</text>") && svg.includes("p95 78.9 kB"));
  const line = [...svg.matchAll(/<path d="([^"]*)"[^>]*stroke-width="2"/g)].map(([, path]) => path).find((path) => path.length > 500);
  assert.equal(line.split("M").length - 1, 2, "a line of two pieces");

  await press(tab, "Save as PNG: Congestion window");
  const [, width, height] = svg.match(/width="(\d+)" height="(\d+)"/);
  isPicture(await chromium.saved("congestion-window.png", SAVED_MS), 2 * width, 2 * height);
}

function isPicture(bytes, width, height) {
  assert.equal(bytes.subarray(0, 8).toString("hex"), "89504e470d0a1a0a");
  assert.deepEqual([bytes.readUInt32BE(16), bytes.readUInt32BE(20)], [width, height]);
}

/** Words of a drawing, without where its lines break. */
function words(svg) {
  return [...svg.matchAll(/<text[^>]*>([^<]*)<\/text>/g)].map(([, text]) => text).join(" ");
}

async function savesCard(tab) {
  await press(tab, "Save as SVG: unbloat verdict");
  const svg = (await chromium.saved("unbloat-verdict.svg", SAVED_MS)).toString();
  for (const said of ["Grade D: downloads wait 338 ms in queues on average.", "338 ms", "mean added delay", "19.40 Mbit/s", "What to do Try CAKE or fq_codel"]) assert.ok(words(svg).includes(said), `${said}: ${words(svg)}`);
  assert.ok(await tab.evaluate(`new DOMParser().parseFromString(${JSON.stringify(svg)}, "image/svg+xml").querySelector("parsererror") === null`), "well-formed");
  await press(tab, "Save as PNG: unbloat verdict");
  const [, width, height] = svg.match(/width="(\d+)" height="(\d+)"/);
  isPicture(await chromium.saved("unbloat-verdict.png", SAVED_MS), 2 * width, 2 * height);
}

async function zooms(tab) {
  const whole = await label(tab, WINDOW);
  const range = async (chart) => (await label(tab, chart)).match(/from (.*?) to (.*?)\./)?.slice(1, 3);
  const span = async () => (await label(tab, WINDOW)).match(/from ([\d.]+) s to ([\d.]+) s/).slice(1).map(Number);
  const key = async (name) => {
    for (const type of ["keyDown", "keyUp"]) await tab.call("Input.dispatchKeyEvent", { type, key: name, ...KEYS[name] });
  };
  await tab.evaluate(`document.querySelector("${WINDOW}").focus()`);
  await key("+");
  await tab.until(`!document.querySelector("${WINDOW}").getAttribute("aria-label").includes("from 0 s to 29.9 s")`, 5000);
  assert.deepEqual(await span(), [2.99, 26.9], "by a fifth around the middle");
  assert.deepEqual(await range(RTT), await range(WINDOW), "charts of one time show the same");
  await key("ArrowRight");
  const moved = await span();
  assert.ok(moved[0] > 2.99 && moved[1] > 26.9, `${moved}`);
  await key("-");
  await key("Escape");
  assert.equal(await label(tab, WINDOW), whole);

  const { x, y } = await tab.evaluate(`(() => { const one = document.querySelector("${WINDOW} .u-over"); one.scrollIntoView({ block: "center" }); const { left, top, width, height } = one.getBoundingClientRect(); return { x: left + width / 2, y: top + height / 2 }; })()`);
  const wheel = (modifiers) => tab.call("Input.dispatchMouseEvent", { type: "mouseWheel", x, y, deltaX: 0, deltaY: -120, modifiers });
  await wheel(2);
  await tab.until(`document.querySelector("${WINDOW}").getAttribute("aria-label") !== ${JSON.stringify(whole)}`, 5000);
  const [low, high] = await span();
  assert.ok(low > 0 && high < 29.9 && high - low > 10, "a part around the pointer");
  for (const clickCount of [1, 2]) for (const type of ["mousePressed", "mouseReleased"]) await tab.call("Input.dispatchMouseEvent", { type, x, y, button: "left", clickCount });
  await tab.until(`document.querySelector("${WINDOW}").getAttribute("aria-label") === ${JSON.stringify(whole)}`, 5000);

  await tab.call("Emulation.setTouchEmulationEnabled", { enabled: true, maxTouchPoints: 2 });
  const touch = (type, ...places) => tab.call("Input.dispatchTouchEvent", { type, touchPoints: places.map((at, id) => ({ x: x + at, y, id })) });
  await touch("touchStart", -30, 30);
  for (const reach of [45, 60, 75]) await touch("touchMove", -reach, reach);
  await touch("touchEnd");
  await tab.until(`document.querySelector("${WINDOW}").getAttribute("aria-label") !== ${JSON.stringify(whole)}`, 5000);
}
