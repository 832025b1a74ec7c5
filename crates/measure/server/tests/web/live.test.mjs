import assert from "node:assert/strict";
import { test } from "node:test";
import { liveNumber } from "../../web/live.js";

/** Answers every 20 ms from a time on, each after this long. */
const answers = (from_ms, to_ms, rtt_ms) => Array.from({ length: (to_ms - from_ms) / 20 }, (_, k) => ({ sent_ms: from_ms + 20 * k, rtt_ms }));
const idle = { name: "idle", down: false, up: false, start_ms: 0, end_ms: 4000 };
const up = { name: "up", down: false, up: true, start_ms: 4000, end_ms: null };
const counter = [5000, 5500, 6000].map((at_ms) => ({ at_ms, bytes: at_ms * 625 }));

test("before the load the number is the round trip", () => {
  const seen = { stages: [{ ...idle, end_ms: null }], samples: answers(0, 2000, 20), down: [], up: [], now_ms: 2000 };
  assert.deepEqual(liveNumber(seen), { number: "20\u00a0ms", words: "for an answer, without load", rates: "" });
});

test("under load it is what the load adds, of the last second, with its rate", () => {
  const samples = [...answers(0, 4000, 20), ...answers(4000, 5000, 500), ...answers(5000, 6000, 220)];
  const seen = { stages: [idle, up], samples, down: [], up: counter, now_ms: 6100 };
  assert.deepEqual(liveNumber(seen), { number: "+200\u00a0ms", words: "longer while uploading", rates: "5.00 Mbit/s up" });
});

test("without answers there is no number", () => {
  assert.equal(liveNumber({ stages: [], samples: [], down: [], up: [], now_ms: 0 }), null);
  const silent = { stages: [idle, up], samples: answers(0, 4000, 20), down: [], up: [], now_ms: 9000 };
  assert.equal(liveNumber(silent), null);
});
