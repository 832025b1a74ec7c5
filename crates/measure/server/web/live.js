// The one large number while a test runs.

import { delayText, mbits, quantile } from "./numbers.js";

/** Long enough for a steady number, short enough to be of now. */
const RECENT_MS = 1000;

const WORDS = {
  down: "longer while downloading",
  up: "longer while uploading",
  both: "longer while downloading and uploading",
};

/** `seen` as a run has it; from it `{ number, words, rates }`, or null as long as nothing was measured. */
export function liveNumber({ stages, samples, down, up, now_ms }) {
  const idle = stages[0];
  const stage = stages.at(-1);
  if (!stage) return null;
  const recent = samples.filter((s) => s.sent_ms + s.rtt_ms > now_ms - RECENT_MS).map((s) => s.rtt_ms);
  const trip = quantile(recent, 0.5);
  if (trip === null) return null;
  const isIdle = stage.name === "idle" || stage.end_ms !== null;
  const base = quantile(samples.filter((s) => s.sent_ms < (idle.end_ms ?? now_ms)).map((s) => s.rtt_ms), 0.5) ?? trip;
  if (isIdle) return { number: delayText(trip), words: "for an answer, without load", rates: "" };
  const rates = [["down", stage.down, down], ["up", stage.up, up]];
  return {
    number: `+${delayText(Math.max(0, trip - base))}`,
    words: WORDS[stage.name] ?? "",
    rates: rates.filter(([, isLoaded]) => isLoaded).map(([name, , readings]) => `${mbits(rate(readings, now_ms))} Mbit/s ${name}`).join(", "),
  };
}

/** Of a counter's readings over the last second, bit/s; null without two of them. */
function rate(readings, now_ms) {
  const recent = readings.filter((r) => r.at_ms > now_ms - RECENT_MS);
  const [first, last] = [recent[0], recent.at(-1)];
  return recent.length > 1 ? ((last.bytes - first.bytes) * 8000) / (last.at_ms - first.at_ms) : null;
}
