import assert from "node:assert/strict";
import { test } from "node:test";
import { advice, doubts, grade, verdict } from "../../web/verdict.js";

const QUIET = { hidden_ms: 0, late_p95_ms: 1, failures: [], lanes_lost: 0, network_changed: false, from_account: true, limit_bps: null };

function stage(name, added_ms, more = {}) {
  const delays = Object.fromEntries(["mean", "p50", "p95", "p99"].map((which) => [`added_${which}_ms`, added_ms]));
  const loads = { down_bps: name === "down" || name === "both" ? 20e6 : null, up_bps: name === "up" || name === "both" ? 5e6 : null };
  return { name, seconds: 5, ...delays, samples: 250, held: 0, unanswered: 0, growing: false, ...loads, ...more };
}

const summary = (down_ms, up_ms, more = {}) => ({
  base_ms: 20,
  stages: [stage("idle", 0, more.idle), stage("down", down_ms, more.down), stage("up", up_ms, more.up), stage("both", down_ms + up_ms, more.both)],
});
const texts = (found) => found.map((doubt) => doubt.text).join(" ");

test("grades are DSLReports' at their edges", () => {
  assert.deepEqual([0, 4.9, 5, 29, 30, 59, 60, 199, 200, 399, 400, 5000].map(grade), ["A+", "A+", "A", "A", "B", "B", "C", "C", "D", "D", "F", "F"]);
});

test("the grade is of the mean of both directions", () => {
  const said = verdict(summary(100, 400), []);
  assert.deepEqual([said.kind, said.grade, said.grade_mean_ms, said.headline], ["bloated", "D", 250, "Bloated in both directions"]);
  assert.match(said.words, /download runs at 20.0\sMbit\/s, everything else waits 100\sms longer/);
});

test("the direction that is bloated is named, and only it is to be shaped", () => {
  const only = summary(4, 400);
  const said = verdict(only, []);
  assert.deepEqual([said.headline, said.bloated], ["Bloated when uploading", ["up"]]);
  const words = advice(only, said)[0];
  assert.match(words, /upload to 4.75\sMbit\/s/);
  assert.doesNotMatch(words, /download to/);
});

test("a clean path is told to be left alone", () => {
  const clean = summary(3, 4);
  const said = verdict(clean, []);
  assert.deepEqual([said.kind, said.grade], ["clean", "A+"]);
  assert.match(advice(clean, said)[0], /Nothing needs to be done/);
});

test("a good run leaves no doubt", () => {
  assert.deepEqual(doubts(summary(100, 400), QUIET), []);
});

test("a page in the background, a busy browser and another network are reasons for no verdict", () => {
  for (const more of [{ hidden_ms: 4000 }, { late_p95_ms: 80 }, { network_changed: true }]) {
    const found = doubts(summary(100, 400), { ...QUIET, ...more });
    assert.equal(verdict(summary(100, 400), found).kind, "inconclusive", JSON.stringify(more));
  }
});

test("bursts in a busy browser are a reason for no verdict", () => {
  const burst = summary(100, 400, { down: { samples: 130, held: 120 } });
  assert.match(verdict(burst, doubts(burst, { ...QUIET, late_p95_ms: 12 })).words, /in bursts during the download/);
  assert.equal(verdict(burst, doubts(burst, QUIET)).kind, "bloated");
});

test("lesser doubts are told beside the verdict", () => {
  const odd = summary(100, 400, { idle: { added_p95_ms: 70 }, up: { growing: true, held: 40, samples: 170 } });
  const found = doubts(odd, { ...QUIET, late_p95_ms: 20, lanes_lost: 1, from_account: false, failures: ["A download failed: 429", "A download failed: 429"] });
  assert.equal(verdict(odd, found).kind, "bloated");
  for (const part of [/busy/, /unsteady/, /still growing/, /lost packets/, /connections that measure delay broke/, /no account/]) assert.match(texts(found), part);
  assert.equal(found.filter((doubt) => /429/.test(doubt.text)).length, 1);
});

test("a load that carried nothing is a reason for no verdict", () => {
  const dead = summary(0, 0, { up: { up_bps: 0 } });
  const said = verdict(dead, doubts(dead, QUIET));
  assert.deepEqual([said.kind, said.words], ["inconclusive", "The upload carried nothing during the upload."]);
});

test("no answers under load is no clean path", () => {
  const silent = summary(null, null, { down: { samples: 0 }, up: { samples: 0 } });
  assert.equal(verdict(silent, doubts(silent, QUIET)).kind, "inconclusive");
  assert.equal(verdict(silent, []).kind, "inconclusive");
});

test("the server's own limit is told", () => {
  assert.match(texts(doubts(summary(3, 3), { ...QUIET, limit_bps: 21e6 })), /server's own limit/);
});
