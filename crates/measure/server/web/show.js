// Puts a run on the page. Text goes in as text: nothing that a server or the store said is ever taken for HTML.

import { delayText, mbits, msText } from "./numbers.js";
import { draw } from "./plot.js";

const STAGE_WORDS = { idle: "none", down: "download", up: "upload", both: "both" };

export const find = (id) => document.getElementById(id);

export function element(name, text, more = {}) {
  return Object.assign(document.createElement(name), { textContent: text, ...more });
}

/** What stands between backticks is typed. */
function item(text) {
  const li = element("li", "");
  li.append(...text.split("`").map((part, at) => (at % 2 === 1 ? element("code", part) : part)));
  return li;
}

const items = (list, texts) => list.replaceChildren(...texts.map(item));

/** `record` as `record.js` makes it; the words are the server's. `origin`: whose result it is, if not of this page; `compared`: with an earlier one. */
export function showResult({ summary, verdict, limits, uses = [] }, { origin = "", compared = "" } = {}) {
  const result = find("result");
  find("origin").textContent = origin;
  find("compared").textContent = compared;
  find("shared").textContent = "";
  find("uses").replaceChildren(...uses.map(use));
  items(find("rules"), uses.map(({ name, rule }) => `${name}: ${rule}.`));
  find("uses-block").hidden = uses.length === 0;
  find("limits-block").hidden = limits.length === 0;
  result.className = verdict.kind;
  find("grade").textContent = verdict.grade ?? "";
  find("headline").textContent = verdict.headline;
  find("words").textContent = summary.base_ms === null ? "" : `Without load an answer takes ${delayText(summary.base_ms)}.`;
  items(find("doubts"), verdict.doubts.map((doubt) => doubt.reason));
  find("doubts-block").hidden = verdict.doubts.length === 0;
  items(find("advice"), verdict.advice.map((advice) => (advice.is_alternative ? `Or: ${advice.text}` : advice.text)));
  items(find("limits"), limits);
  find("numbers").tBodies[0].replaceChildren(...summary.stages.map(row));
  result.hidden = false;
}

function use({ name, rating, text }) {
  const group = element("div", "");
  group.append(element("dt", name), element("dd", rating, { className: `rating ${rating}` }), element("dd", text, { className: "text" }));
  return group;
}

/** The large number, or nothing. */
export function showLive(live) {
  find("live").hidden = live === null;
  find("live-number").textContent = live?.number ?? "";
  find("live-words").textContent = live?.words ?? "";
  find("live-rates").textContent = live?.rates ?? "";
}

function row(stage) {
  const tr = element("tr", "");
  const added = [stage.added_p50_ms, stage.added_p95_ms, stage.added_p99_ms].map(msText);
  const rates = [stage.down_bps, stage.up_bps].map(mbits);
  tr.append(element("th", STAGE_WORDS[stage.name] ?? "", { scope: "row" }), ...[...added, ...rates].map((text) => element("td", text)));
  return tr;
}

/** Draws, and says the same to those who do not see it. */
export function showPlot(seen, end_ms, words) {
  find("plot-block").hidden = false;
  const canvas = find("plot");
  canvas.setAttribute("aria-label", words);
  draw(canvas, seen, end_ms);
}

/** `on`: `{ open(run), remove(run) }`. */
export function showHistory(runs, on) {
  find("history-block").hidden = runs.length === 0;
  find("history").replaceChildren(...runs.map((run) => entry(run, on)));
}

/** Nothing under a run that has no verdict. */
function added({ verdict }) {
  return verdict.grade ? verdict.directions.map((one) => `${one.direction} ${delayText(Math.max(0, one.added_ms))}`).join(", ") : "";
}

function entry(run, on) {
  const when = new Date(run.taken_at).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
  const what = element("div", `${when}: ${run.verdict.headline}`, { className: "what" });
  what.append(element("span", added(run)));
  const small = { type: "button", className: "small" };
  const show = element("button", "Show", { ...small, ariaLabel: `Show the test of ${when}`, onclick: () => on.open(run) });
  const remove = element("button", "Delete", { ...small, ariaLabel: `Delete the test of ${when}`, onclick: () => on.remove(run) });
  const li = element("li", "");
  li.append(element("span", run.verdict.grade ?? "?", { className: "grade" }), what, show, remove);
  return li;
}
