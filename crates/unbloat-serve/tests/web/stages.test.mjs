import assert from "node:assert/strict";
import { test } from "node:test";
import { GLANCE, held, INTERVAL_MS, LANES, PLAN, summary, window } from "../../web/stages.js";

/** Messages at even intervals, lanes in turn; `rtt_ms(sent_ms, lane)` says how long each took. */
function messages(from_ms, to_ms, rtt_ms) {
  const count = (to_ms - from_ms) / INTERVAL_MS;
  return Array.from({ length: count }, (_, k) => {
    const sent_ms = from_ms + k * INTERVAL_MS;
    return { lane: k % LANES, sent_ms, rtt_ms: rtt_ms(sent_ms, k % LANES) };
  });
}

const stage = (name, start_ms, end_ms) => ({ name, down: name === "down" || name === "both", up: name === "up" || name === "both", start_ms, end_ms });
const line = (bps) => [{ at_ms: 0, bytes: 0 }, { at_ms: 60000, bytes: (bps * 60) / 8 }];

test("a full run loads for 21 seconds and a glance lasts ten", () => {
  const length = (plan) => plan.reduce((sum, s) => sum + s.seconds, 0);
  assert.equal(length(PLAN), 25);
  assert.deepEqual(PLAN.map((s) => s.name), ["idle", "down", "up", "both"]);
  assert.equal(length(GLANCE), 10);
});

test("the ramp of a load does not count, all of the idle stage does", () => {
  assert.deepEqual(window(stage("idle", 0, 4000)), { from_ms: 0, to_ms: 4000 });
  assert.deepEqual(window(stage("down", 4000, 11000)), { from_ms: 6000, to_ms: 11000 });
  assert.deepEqual(window(stage("up", 0, 3000)), { from_ms: 1200, to_ms: 3000 });
});

test("added delay is what stands above the idle median, by stage", () => {
  const samples = [...messages(0, 4000, () => 20), ...messages(4000, 11000, (t) => (t < 6000 ? 999 : 120)), ...messages(11000, 18000, (t) => (t < 13000 ? 999 : 420))];
  const stages = [stage("idle", 0, 4000), stage("down", 4000, 11000), stage("up", 11000, 18000)];
  const made = summary({ stages, samples, unanswered: [16000], down: line(20e6), up: line(5e6) });
  assert.equal(made.base_ms, 20);
  const [idle, down, up] = made.stages;
  assert.deepEqual([idle.added_p50_ms, down.added_p50_ms, up.added_p99_ms], [0, 100, 400]);
  assert.deepEqual([idle.down_bps, down.down_bps, down.up_bps, up.up_bps], [null, 20e6, null, 5e6]);
  assert.deepEqual([down.samples, down.unanswered, up.unanswered, up.growing], [250, 0, 1, false]);
});

test("less than idle is no added delay", () => {
  const samples = [...messages(0, 4000, () => 20), ...messages(4000, 11000, () => 15)];
  const made = summary({ stages: [stage("idle", 0, 4000), stage("down", 4000, 11000)], samples, unanswered: [], down: [], up: [] });
  assert.equal(made.stages[1].added_p99_ms, 0);
  assert.equal(made.stages[1].down_bps, null);
});

test("a queue that still fills at the end is told", () => {
  const samples = [...messages(0, 4000, () => 20), ...messages(4000, 11000, (t) => 20 + (t - 4000) / 5)];
  const made = summary({ stages: [stage("idle", 0, 4000), stage("up", 4000, 11000)], samples, unanswered: [], down: [], up: [] });
  assert.equal(made.stages[1].growing, true);
});

test("a run without any answer has no delays, and does not fail", () => {
  const made = summary({ stages: [stage("idle", 0, 4000), stage("up", 4000, 11000)], samples: [], unanswered: [], down: [], up: [] });
  assert.equal(made.base_ms, null);
  assert.equal(made.stages[1].added_p50_ms, null);
});

test("what a lost packet held back in one lane is told from a queue by the other lanes", () => {
  // Lane 1 loses the message of 1140 ms; until 1650 ms nothing comes out of it, then all at once.
  const lossy = messages(0, 3000, (t, lane) => (lane === 1 && t >= 1140 && t < 1620 ? 1650 - t : 50));
  const found = [...held(lossy)].map((s) => s.sent_ms).sort();
  assert.deepEqual(found, [1140, 1300, 1460]);
});

test("a lane whose messages wait for leave to go is held, however often", () => {
  const slow = messages(0, 3000, (t, lane) => (lane === 2 ? 400 : 100));
  assert.ok([...held(slow)].every((s) => s.lane === 2));
  assert.ok(held(slow).size > 15);
});

test("a path that stood still as a whole held nothing back: all had to wait", () => {
  // After the pause the browser hands over lane by lane.
  const stalled = messages(0, 3000, (t, lane) => (t >= 1000 && t < 1400 ? 1440 + lane - t : 40));
  assert.equal(held(stalled).size, 0);
});

test("lanes of which half are slower are two ways, not one lane's wait; nor is a queue that fills and empties", () => {
  assert.equal(held(messages(0, 3000, (t, lane) => (lane < 5 ? 200 : 40))).size, 0);
  assert.equal(held(messages(0, 6000, (t) => 40 + Math.abs(3000 - t) / 4)).size, 0);
});
