// What is kept of a run.

import { FORMAT, thinned } from "./history.js";

const SAMPLES = 600;
const READINGS = 200;

/** Of what a run resolves to: the server's verdict and numbers, and the series for the plot. */
export function record({ judged, seen }, { id, taken_at, host, protocol }) {
  return { format: FORMAT, id, taken_at, host, protocol, ...judged, series: series(seen) };
}

const short = (value) => Math.round(value * 10) / 10;

/** Short forms of the plot's series: pairs of numbers. */
function series({ stages, samples, down, up }) {
  const pairs = (readings) => thinned(readings, READINGS).map((r) => [short(r.at_ms), Math.round(r.bytes)]);
  return {
    stages: stages.map((s) => ({ ...s, start_ms: short(s.start_ms), end_ms: short(s.end_ms) })),
    delay_ms: thinned(samples, SAMPLES).map((s) => [short(s.sent_ms), short(s.rtt_ms)]),
    down_bytes: pairs(down),
    up_bytes: pairs(up),
  };
}

/** The plot's series out of their short forms. */
export function plotted({ stages, delay_ms, down_bytes, up_bytes }) {
  const readings = (pairs) => pairs.map(([at_ms, bytes]) => ({ at_ms, bytes }));
  return {
    stages,
    samples: delay_ms.map(([sent_ms, rtt_ms]) => ({ sent_ms, rtt_ms })),
    down: readings(down_bytes),
    up: readings(up_bytes),
    now_ms: stages.at(-1).end_ms,
  };
}
