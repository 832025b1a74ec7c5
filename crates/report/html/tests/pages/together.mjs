// What a page shows at one time, as one picture: node together.mjs TEST COMPARISON MONITOR FOLDER

import assert from "node:assert/strict";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { Chromium, complaints } from "../../../../measure/server/tests/web/chromium.mjs";

const [test, comparison, monitor, folder] = process.argv.slice(2);
const chromium = new Chromium();
try {
  await chromium.saveTo(join(folder, "together"));
  const open = async (file) => {
    const tab = await chromium.tab({ width: 1400, height: 900 });
    await tab.call("Emulation.setTimezoneOverride", { timezoneId: "UTC" });
    await tab.open(pathToFileURL(resolve(file)).href);
    return tab;
  };
  await isOfOneTest(await open(test));
  await isOfTwoTests(await open(comparison));
  await hasHours(await open(monitor));
  assert.deepEqual(complaints(chromium.events), [], "errors in the console");
} finally {
  await chromium.close();
}

/** Words of a picture, without where its lines break. */
function words(svg) {
  return [...svg.matchAll(/<text[^>]*>([^<]*)<\/text>/g)].map(([, text]) => text).join(" ");
}

async function saved(tab, title, file) {
  for (const type of ["SVG", "PNG"]) await tab.evaluate(`document.querySelector(${JSON.stringify(`button[aria-label^="Save as ${type}: ${title}"]`)}).click()`);
  const svg = (await chromium.saved(`${file}.svg`, 20_000)).toString();
  const [, width, height] = svg.match(/width="(\d+)" height="(\d+)"/);
  const png = await chromium.saved(`${file}.png`, 20_000);
  assert.deepEqual([png.readUInt32BE(16), png.readUInt32BE(20)], [2 * width, 2 * height]);
  assert.ok(await tab.evaluate(`new DOMParser().parseFromString(${JSON.stringify(svg)}, "image/svg+xml").querySelector("parsererror") === null`), "well-formed");
  const ids = [...svg.matchAll(/<clipPath id="([^"]*)"/g)].map(([, id]) => id);
  assert.equal(new Set(ids).size, ids.length, "each chart is cut to its own box");
  return { svg, charts: ids.length };
}

function contains(svg, all) {
  for (const said of all) assert.ok(words(svg).includes(said), `${said}: ${words(svg)}`);
}

async function isOfOneTest(tab) {
  const order = await tab.evaluate(`[...document.querySelectorAll("#figures .figure")].map((one) => one.id)`);
  assert.deepEqual(order.slice(0, 4), ["figure-test-added", "figure-test-goodput", "figure-test-loss", "figure-test-rtt"]);
  const lefts = await tab.evaluate(`[...document.querySelectorAll(".wide .u-over")].map((one) => one.getBoundingClientRect()).map(({ left, width }) => [left, width])`);
  assert.deepEqual(lefts, Array(3).fill(lefts[0]), "one axis of time");
  const { svg, charts } = await saved(tab, "test of box:4043", "test-of-box-4043-from-laptop-2023-11-14-22-13-20-utc-line-of");
  assert.equal(charts, 3);
  contains(svg, ["Bufferbloat: grade", "Added delay, one way", "Rate of the load", "Datagrams lost, by second", "test of box:4043 from laptop, 2023-11-14 22:13:20 UTC, line of 20.00 Mbit/s down, 5.00 Mbit/s up"]);
  const { loss, rtt } = await tab.evaluate(`(({ figures }) => ({ loss: figures["test-loss"], rtt: figures["test-rtt"] }))(JSON.parse(document.getElementById("data").textContent))`);
  const lost = ({ series, x, y }) => [series, x.filter((_, i) => y[i] > 0), y.filter((percent) => percent > 0)];
  assert.deepEqual(loss.map(lost), [["down", [], []], ["up", [17.5], [30]]]);
  const median = ({ series, x, y }) => [series, x[y.findIndex((share) => share >= 0.5)]];
  assert.deepEqual(rtt.map(median), [["idle", 23], ["download", 35], ["upload", 501], ["both", 513]]);
  const rows = await tab.evaluate(`[...document.querySelectorAll("[aria-label=Stages] tr")].map((row) => [...row.children].map((cell) => cell.textContent).join("|"))`);
  assert.deepEqual(rows, ["result|idle|download|upload|both", "added round trip, mean||12 ms|478 ms|", "rate of the link||20.00 Mbit/s|5.00 Mbit/s|", "round trip, median|20 ms|20 ms|20 ms|20 ms", "lost on the way up|10 %|10 %|10 %|10 %"]);
}

async function isOfTwoTests(tab) {
  assert.match(await tab.evaluate(`document.querySelector(".card h2").textContent`), /^B is better in delay.*: delay added upstream.* while uploading from 501 ms to 10.6 ms\./);
  const titles = await tab.evaluate(`[...document.querySelectorAll("#figures .wide h3")].map((one) => one.textContent)`);
  assert.deepEqual(titles, ["Over time: added delay", "Over time: delivered", "Delays: median, half and nine tenths of the values"]);
  const { svg, charts } = await saved(tab, "before and after", "before-and-after");
  assert.equal(charts, 2);
  contains(svg, ["idle", "download", "upload", "unbloat: before and after"]);
  // The uploads of both begin at one time, 12.5 s, though one was idle for 3 s longer. Points are 40 ms apart.
  const courses = await tab.evaluate(`JSON.parse(document.getElementById("data").textContent).courses[0]`);
  const first = ({ x, y }) => x[y.findIndex((ms) => ms > 5)];
  assert.deepEqual([courses.a, courses.b].map(first), [12.48, 12.48]);
  const boxes = await tab.evaluate(`JSON.parse(document.getElementById("data").textContent).boxes`);
  assert.deepEqual(boxes.map(({ title }) => title), ["delay added downstream while downloading", "delay added upstream while downloading", "delay added downstream while idle", "delay added upstream while idle", "delay added downstream while uploading", "delay added upstream while uploading"]);
  assert.ok(boxes[5].a.every((ms) => ms > 490) && boxes[5].b.every((ms) => ms < 11));
}

async function hasHours(tab) {
  const rows = await tab.evaluate(`[...document.querySelectorAll(".hours tbody tr")].map((row) => [...row.children].map((cell) => cell.textContent))`);
  assert.ok(rows.length >= 14, `${rows.length} days`);
  assert.ok(rows.slice(1, 6).every((row) => Number(row[1 + 20]) >= 410 && Number(row[1 + 12]) < 10 && row[1 + 3] === ""), `${rows[1]}`);
  const { charts } = await saved(tab, "Day: delay and rates", "day-delay-and-rates");
  assert.equal(charts, 2);
}
