// The page: one button, and what follows from it.

import { History } from "./history.js";
import { plotted, record } from "./record.js";
import { Run } from "./run.js";
import { element, find, showHistory, showPlot, showResult } from "./show.js";
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
let shown = null;

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
  shown = { seen, end_ms: length_ms, words: "A test is under way" };
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
  showResult(made);
  shown = { seen: plotted(made.series), end_ms: 0, words: `Delay and rates over time. ${made.verdict.headline}` };
  showPlot(shown.seen, shown.end_ms, shown.words);
  find("headline").focus();
}

function fail(error) {
  if (error.name === "AbortError") return status("Stopped. Nothing was kept.");
  if (error.status === 401) return askToken();
  status(`It did not work: ${error.message}`);
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

function download(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: "application/json" }));
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
find("export").onclick = () => download("unbloat.json", history.exported());
find("clear").onclick = () => {
  if (!confirm("Delete all earlier tests?")) return;
  history.clear();
  list();
};
const redraw = () => shown && showPlot(shown.seen, shown.end_ms, shown.words);
addEventListener("resize", redraw);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
addEventListener("pagehide", () => run?.stop());
list();
