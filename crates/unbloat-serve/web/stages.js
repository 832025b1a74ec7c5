// What a run does when, and which of its samples count.
//
// A sample is one message that the server sent back: `{ lane, sent_ms, rtt_ms }`; lanes are WebSockets, each a TCP connection
// of its own. A stage is `{ name, down, up, start_ms, end_ms }`. All times are of this page, in ms since the run began.

import { quantile, mean, rate } from "./numbers.js";

const stage = (name, down, up, seconds) => ({ name, down, up, seconds });

/** As `unbloat test` does it: 25 s and the pauses in which queues run empty. */
export const PLAN = [stage("idle", false, false, 4), stage("down", true, false, 7), stage("up", false, true, 7), stage("both", true, true, 7)];

/** Ten seconds. */
export const GLANCE = [stage("idle", false, false, 2), stage("down", true, false, 4), stage("up", false, true, 4)];

/** What a load needs until its rate and its queue stand, by a stage's length: not counted. */
export const rampMs = (stage_ms) => Math.min(2000, 0.4 * stage_ms);

/**
 * Messages leave this often, over all lanes together, each lane in its turn: so many lanes that each has few messages under
 * way even in a long queue. TCP that lost a packet lets no more than two or three segments go at a time.
 */
export const INTERVAL_MS = 20;
export const LANES = 8;

/** Who overtook left at least so much later and came at least so much earlier: less is the order in which a browser hands over. */
const LATER_MS = 2 * INTERVAL_MS;
const EARLIER_MS = 10;

/** The part of a stage whose samples count. */
export function window(stage) {
  const ramp_ms = stage.down || stage.up ? rampMs(stage.end_ms - stage.start_ms) : 0;
  return { from_ms: stage.start_ms + ramp_ms, to_ms: stage.end_ms };
}

/**
 * The samples that their own connection held back. TCP hands over in order: behind a lost segment a lane's answers wait for
 * its retransmission, and messages for leave to go. Those are waits of one lane, not of the queue, where all lanes stand in
 * one line; so a sample is held if later messages of at least half of the other lanes overtook it. A path that stands
 * still as a whole (a radio, a pause of the browser) holds all lanes: nothing overtakes, all count.
 */
export function held(samples) {
  const byArrival = [...samples].sort((a, b) => arrival(a) - arrival(b));
  const found = new Set();
  // Of what had arrived clearly before: when the message was sent that was sent last, for every lane.
  const latest = new Map();
  let before = 0;
  for (const sample of byArrival) {
    for (; arrival(byArrival[before]) < arrival(sample) - EARLIER_MS; before += 1) {
      const { lane, sent_ms } = byArrival[before];
      latest.set(lane, Math.max(sent_ms, latest.get(lane) ?? -Infinity));
    }
    const overtaking = [...latest].filter(([lane, sent_ms]) => lane !== sample.lane && sent_ms > sample.sent_ms + LATER_MS);
    if (overtaking.length >= (LANES - 1) / 2) found.add(sample);
  }
  return found;
}

const arrival = (sample) => sample.sent_ms + sample.rtt_ms;

/** What a run says of its stages. `down` and `up` are readings of counters of received bytes. */
export function summary({ stages, samples, unanswered, down, up }) {
  const isHeld = held(samples);
  const idle = stages.find((s) => s.name === "idle");
  const base_ms = quantile(within(samples, window(idle)).map((s) => s.rtt_ms), 0.5);
  return {
    base_ms,
    stages: stages.map((s) => {
      const span = window(s);
      const answered = within(samples, span);
      const lost = unanswered.filter((at) => at >= span.from_ms && at < span.to_ms).length;
      const counting = answered.filter((sample) => !isHeld.has(sample));
      return {
        name: s.name,
        seconds: (span.to_ms - span.from_ms) / 1000,
        ...delays(counting, base_ms),
        samples: counting.length,
        held: answered.length - counting.length,
        unanswered: lost,
        growing: isGrowing(counting, span),
        down_bps: s.down ? rate(down, span.from_ms, span.to_ms) : null,
        up_bps: s.up ? rate(up, span.from_ms, span.to_ms) : null,
      };
    }),
  };
}

const within = (samples, { from_ms, to_ms }) => samples.filter((s) => s.sent_ms >= from_ms && s.sent_ms < to_ms);

/** Added: above the median of the idle stage. Less than nothing is nothing. */
function delays(samples, base_ms) {
  const known = base_ms !== null;
  const added = known ? samples.map((s) => Math.max(0, s.rtt_ms - base_ms)) : [];
  return {
    rtt_p50_ms: quantile(samples.map((s) => s.rtt_ms), 0.5),
    added_mean_ms: mean(added),
    added_p50_ms: quantile(added, 0.5),
    added_p95_ms: quantile(added, 0.95),
    added_p99_ms: quantile(added, 0.99),
  };
}

/** Whether the last third waited clearly longer than the first: then the buffer is larger than the load could fill. */
function isGrowing(samples, { from_ms, to_ms }) {
  const third = (to_ms - from_ms) / 3;
  const median = (part) => quantile(part.map((s) => s.rtt_ms), 0.5);
  const first = median(within(samples, { from_ms, to_ms: from_ms + third }));
  const last = median(within(samples, { from_ms: to_ms - third, to_ms }));
  return first !== null && last !== null && last > 1.3 * first && last > first + 30;
}
