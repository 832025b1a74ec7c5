// From numbers to words: the grade, what it means, what to do, and what speaks against believing it.

import { delayText, mbits } from "./numbers.js";
import { INTERVAL_MS } from "./stages.js";

/** https://www.dslreports.com/faq/17930 */
const STEPS = [["A+", 5], ["A", 30], ["B", 60], ["C", 200], ["D", 400]];

export const RULE =
  "Grade by DSLReports' table, from the mean of the average delays that download and upload add: " +
  "below 5\u00a0ms A+, below 30\u00a0ms A, below 60\u00a0ms B, below 200\u00a0ms C, below 400\u00a0ms D, else F.";

/** From here on a direction is called bloated: what is worse than A. */
const BLOATED_MS = 30;

/** Of the sum of what the wire carries, for a shaper. */
const SHAPED = 0.95;

/** Of the timer that sends: from here on the browser has other things to do, from there on too many. */
const BUSY_MS = 8;
const TOO_BUSY_MS = 50;

/** Of a stage's samples in a busy browser: more held back than this is no loss, but the browser falling behind. */
const MOST_HELD = 0.25;

export function grade(mean_ms) {
  const step = STEPS.find(([, below_ms]) => mean_ms < below_ms);
  return step ? step[0] : "F";
}

/**
 * `summary` is what `stages.js` makes; `doubts` what is below. Kind is `clean`, `bloated` or `inconclusive`.
 */
export function verdict(summary, doubts) {
  const down = find(summary, "down");
  const up = find(summary, "up");
  const serious = doubts.find((doubt) => doubt.serious);
  const added = [down?.added_mean_ms, up?.added_mean_ms];
  if (serious || added.some((ms) => !Number.isFinite(ms))) {
    return { kind: "inconclusive", grade: null, headline: "No verdict", words: serious?.text ?? "There were no answers under load." };
  }
  const mean_ms = (down.added_mean_ms + up.added_mean_ms) / 2;
  const bloated = [down, up].filter((stage) => stage.added_mean_ms >= BLOATED_MS);
  return {
    kind: bloated.length > 0 ? "bloated" : "clean",
    grade: grade(mean_ms),
    grade_mean_ms: mean_ms,
    bloated: bloated.map((stage) => stage.name),
    headline: headline(bloated),
    words: `${sentence("a download", down)} ${sentence("an upload", up)} Without load an answer takes ${delayText(summary.base_ms)}.`,
  };
}

const find = (summary, name) => summary.stages.find((stage) => stage.name === name);

function headline(bloated) {
  if (bloated.length === 0) return "Not bloated";
  if (bloated.length === 2) return "Bloated in both directions";
  return bloated[0].name === "down" ? "Bloated when downloading" : "Bloated when uploading";
}

function sentence(what, stage) {
  const rate = stage.down_bps ?? stage.up_bps;
  const at = rate === null ? "" : ` at ${mbits(rate)}\u00a0Mbit/s`;
  return `While ${what} runs${at}, everything else waits ${delayText(stage.added_p50_ms)} longer, one in twenty ${delayText(stage.added_p95_ms)}.`;
}

/** What to do, the most useful first. */
export function advice(summary, said) {
  if (said.kind === "inconclusive") return ["Close what else is open, keep this page in front, and start again."];
  if (said.kind === "clean") return ["Nothing needs to be done. If calls or games still falter, test again while they do."];
  const rates = said.bloated.map((name) => shaper(find(summary, name)));
  return [
    `In the router, switch on smart queue management (SQM with CAKE or FQ-CoDel) and set ${rates.join(" and ")}: 95\u00a0% of what was measured. Then test again; if the delay is still there, set less.`,
    "On Wi-Fi, test once more by cable or beside the access point: if the delay is gone, the queue was in the Wi-Fi, and a shaper in the router will not empty it.",
    "On a mobile network the queue is the operator's or the phone's: let backups and downloads run slower than the line, or at another time.",
    "On a computer, “unbloat locate” says at which hop the queue stands, and “unbloat test” tells the directions apart by one-way delays.",
  ];
}

function shaper(stage) {
  const rate = stage.name === "down" ? stage.down_bps : stage.up_bps;
  return `${stage.name === "down" ? "download" : "upload"} to ${rate === null ? "a little less than the line has" : `${mbits(rate * SHAPED)}\u00a0Mbit/s`}`;
}

/**
 * Reasons to distrust a run: `[{ text, serious }]`; after a serious one there is no verdict.
 *
 * `watched` is what the page saw of itself: `hidden_ms`, `late_p95_ms` (of the timer that sends), `failures` (words),
 * `lanes_lost`, `network_changed`, `from_account` (whether uploads were counted by the server), `limit_bps` (the server's, or null).
 */
export function doubts(summary, watched) {
  return [...ofPage(watched), ...ofAnswers(summary, watched), ...ofLoads(summary, watched)];
}

const doubt = (text, serious = false) => ({ text, serious });

function ofPage(watched) {
  const found = [];
  if (watched.hidden_ms > 500) found.push(doubt(`This page was in the background for ${delayText(watched.hidden_ms)}: browsers slow such pages down.`, true));
  if (watched.late_p95_ms > TOO_BUSY_MS) found.push(doubt(`This browser or its device was too busy: one in twenty messages left ${delayText(watched.late_p95_ms)} late.`, true));
  else if (watched.late_p95_ms > BUSY_MS) found.push(doubt(`This browser was busy: one in twenty messages left ${delayText(watched.late_p95_ms)} late, and answers may have waited as long.`));
  if (watched.network_changed) found.push(doubt("The device changed its network during the test.", true));
  if (watched.lanes_lost > 0) found.push(doubt(`${watched.lanes_lost} of the connections that measure delay broke.`));
  return found;
}

function ofAnswers(summary, watched) {
  return summary.stages.flatMap((stage) => {
    const found = [];
    const due = (stage.seconds * 1000) / INTERVAL_MS;
    const came = stage.samples + stage.held;
    const words = STAGE_WORDS[stage.name];
    if (stage.samples < 0.2 * due) found.push(doubt(`Only ${stage.samples} of ${Math.round(due)} messages told the delay ${words}.`, true));
    else if (came < 0.8 * due) found.push(doubt(`Only ${came} of ${Math.round(due)} messages came back ${words}.`));
    if (stage.held > MOST_HELD * came && watched.late_p95_ms > BUSY_MS) found.push(doubt(`Answers came in bursts ${words}: this browser or its device was too busy to measure.`, true));
    else if (stage.held > 0.05 * came) found.push(doubt(`${Math.round((100 * stage.held) / came)}\u00a0% of the answers ${words} waited for their own connection, which had lost packets; they are left out.`));
    if (stage.name === "idle" && stage.added_p95_ms > 30) found.push(doubt(`The delay was unsteady before any load: one in twenty answers took ${delayText(stage.added_p95_ms)} longer. Something else uses the network, or the radio is weak.`));
    if (stage.growing) found.push(doubt(`The delay was still growing at the end ${words}: the buffer is larger than this test could fill, so the truth is worse.`));
    return found;
  });
}

const STAGE_WORDS = { idle: "without load", down: "during the download", up: "during the upload", both: "during both at once" };

function ofLoads(summary, watched) {
  const found = [];
  for (const stage of summary.stages) {
    for (const [loads, bps, word] of [[stage.name !== "up", stage.down_bps, "download"], [stage.name !== "down", stage.up_bps, "upload"]]) {
      if (stage.name === "idle" || !loads) continue;
      const serious = stage.name !== "both";
      if (bps === null || bps < 1000) found.push(doubt(`The ${word} carried nothing ${STAGE_WORDS[stage.name]}.`, serious));
      else if (watched.limit_bps !== null && bps > 0.9 * watched.limit_bps) found.push(doubt(`The server's own limit of ${mbits(watched.limit_bps)}\u00a0Mbit/s held the ${word} back: your line may carry more, and be bloated then.`));
    }
  }
  if (!watched.from_account) found.push(doubt("The server gave no account of uploads: their rates are not known."));
  for (const failure of new Set(watched.failures)) found.push(doubt(failure));
  return found;
}
