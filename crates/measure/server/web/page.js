// The page: one button, and what follows from it.

import { before, compared, History } from "./history.js";
import { liveNumber } from "./live.js";
import { delayText } from "./numbers.js";
import { plotted, record } from "./record.js";
import { Run } from "./run.js";
import { decoded, encoded } from "./shared.js";
import { element, find, showHistory, showLive, showPlot, showResult } from "./show.js";
import { GLANCE, PLAN } from "./stages.js";

const plan = new URLSearchParams(location.search).has("glance") ? GLANCE : PLAN;
/** Of the server's sockets: ?cc=cubic. */
const control = new URLSearchParams(location.search).get("cc");
const length_ms = plan.reduce((sum, stage) => sum + stage.seconds * 1000, 0);

const NOW = { idle: "Measuring without load…", down: "Downloading…", up: "Uploading…", both: "Downloading and uploading…" };
const BETWEEN = "Waiting for queues to run empty…";

/** Where a token comes with the address (#token=T), which no server sees, or was given before in this tab. */
const TOKEN = "unbloat.token";
const history = new History(stored("localStorage"));
let run = null;
/** In the plot. */
let shown = null;
/** The result that is shown. */
let result = null;

/** A browser may forbid its stores: then nothing is kept. */
function stored(name) {
  try {
    return globalThis[name];
  } catch {
    return { getItem: () => null, setItem: () => {} };
  }
}

function token() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  return given ?? stored("sessionStorage").getItem(TOKEN);
}

async function start() {
  find("token-form").hidden = true;
  find("result").hidden = true;
  find("plot-block").hidden = true;
  find("start").textContent = "Stop";
  run = new Run({ plan, token: token(), control, on: { stage } });
  status("Calling the server…");
  const watching = live();
  const awake = stayAwake();
  try {
    finish(await run.all(), run);
  } catch (error) {
    fail(error);
  } finally {
    run = null;
    clearInterval(watching);
    awake.then((lock) => lock?.release());
    find("start").textContent = "Start";
    find("progress").hidden = true;
    showLive(null);
  }
}

const status = (text) => (find("status").textContent = text);

function stage({ name, end_ms }) {
  status(end_ms === null ? NOW[name] : BETWEEN);
}

/** Draws what is there, ten times a second; once a second where motion is not wanted. */
function live() {
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  return setInterval(() => requestAnimationFrame(show), calm ? 1000 : 100);
}

function show() {
  const seen = run?.seen();
  if (!seen || seen.stages.length === 0) return;
  find("progress").hidden = false;
  find("progress").value = Math.min(1, seen.now_ms / length_ms);
  showLive(liveNumber(seen));
  shown = { seen, end_ms: length_ms, words: "A test is running" };
  showPlot(seen, length_ms, shown.words);
}

/** Phones switch off after a while without a touch. */
async function stayAwake() {
  try {
    return await navigator.wakeLock?.request("screen");
  } catch {
    return null;
  }
}

function finish(measured, { protocol, started }) {
  const about = { id: crypto.getRandomValues(new Uint32Array(2)).join("-"), taken_at: started.toISOString(), host: location.host, protocol };
  const made = record(measured, about);
  const isKept = history.add(made);
  open(made);
  list();
  status(isKept ? "Done." : "Done. This browser keeps no history.");
}

function open(made) {
  result = made;
  const earlier = before(history.list(), made);
  const words = compared(made, earlier);
  showResult(made, { compared: words && `Compared with your test of ${when(earlier)}: ${words}.` });
  shown = { seen: plotted(made.series), end_ms: 0, words: `Delay and rates over time. ${made.verdict.headline}` };
  showPlot(shown.seen, shown.end_ms, shown.words);
  find("headline").focus();
}

const when = ({ taken_at }) => new Date(taken_at).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });

/** The code of a result in the address, if there is one. */
const sharedCode = () => new URLSearchParams(location.hash.slice(1)).get("result");

/** Shows the result that came with the address. */
function openShared() {
  const code = sharedCode();
  if (code === null || run) return;
  const made = decoded(code);
  if (made === null) return status("The link contains no result that this page can read.");
  result = made;
  showResult(made, { origin: `A shared result: measured to ${made.host} on ${when(made)}. Its numbers are those of the link.` });
  shown = null;
  find("plot-block").hidden = true;
  find("headline").focus();
}

async function copyLink() {
  const link = new URL(location.pathname, location.href);
  link.hash = `result=${encoded(result)}`;
  try {
    await navigator.clipboard.writeText(link.href);
    find("shared").textContent = "Copied.";
  } catch {
    location.hash = link.hash;
    find("shared").textContent = "This browser does not let pages copy. The link is in the address bar.";
  }
}

function fail(error) {
  if (error.name === "AbortError") return status("Stopped. Nothing was kept.");
  if (error.status === 401) return askToken();
  if (error.name === "Gone") return status(gone(error));
  status(`It did not work: ${error.message}`);
}

function gone({ at_ms }) {
  if (at_ms === null) return "The server does not answer.";
  return `The server went away ${delayText(Math.max(1000, at_ms))} into the test, or the network did. Without the server there is no verdict; nothing was kept.`;
}

function askToken() {
  status("This server is not open to everybody.");
  find("token-why").textContent = token() ? "The server does not know this one." : "Who runs the server can give you one.";
  find("token-form").hidden = false;
  find("token").focus();
}

function list() {
  showHistory(history.list(), {
    open,
    remove: ({ id }) => {
      history.remove(id);
      list();
    },
  });
}

function save(name, blob) {
  const url = URL.createObjectURL(blob);
  element("a", "", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

find("start").onclick = () => (run ? run.stop() : start());
find("token-form").onsubmit = (event) => {
  event.preventDefault();
  location.hash = "";
  stored("sessionStorage").setItem(TOKEN, find("token").value.trim());
  find("token").value = "";
  start();
};
find("export").onclick = () => save("unbloat.json", new Blob([history.exported()], { type: "application/json" }));
find("copy").onclick = copyLink;
find("clear").onclick = () => {
  if (!confirm("Delete all earlier tests?")) return;
  history.clear();
  list();
};
const redraw = () => shown && showPlot(shown.seen, shown.end_ms, shown.words);
addEventListener("resize", redraw);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
addEventListener("pagehide", () => run?.stop());
addEventListener("hashchange", openShared);
find("server").textContent = location.host;
document.title = `unbloat: delay under load to ${location.host}`;
list();
openShared();
