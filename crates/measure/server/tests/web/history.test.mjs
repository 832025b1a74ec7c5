import assert from "node:assert/strict";
import { test } from "node:test";
import { before, compared, FORMAT, History, thinned } from "../../web/history.js";
import { plotted, record } from "../../web/record.js";

class Store {
  #kept = new Map();
  getItem = (key) => this.#kept.get(key) ?? null;
  setItem = (key, value) => this.#kept.set(key, value);
}

const run = (id) => ({ format: FORMAT, id });
const ids = (history) => history.list().map((kept) => kept.id);

test("runs are kept newest first, the oldest of many goes", () => {
  const history = new History(new Store());
  for (let id = 0; id < 60; id += 1) assert.equal(history.add(run(id)), true);
  assert.equal(ids(history).length, 50);
  assert.deepEqual(ids(history).slice(0, 2), [59, 58]);
  history.remove(58);
  assert.deepEqual(ids(history).slice(0, 2), [59, 57]);
  assert.equal(JSON.parse(history.exported()).runs.length, 49);
  history.clear();
  assert.deepEqual(ids(history), []);
});

test("a store that holds something else, is full or forbidden is none", () => {
  for (const text of ["{", "7", "null", '[1, null, {"format": 99}]']) assert.deepEqual(new History({ getItem: () => text }).list(), []);
  const refuse = () => {
    throw new Error("denied");
  };
  const closed = new History({ getItem: refuse, setItem: refuse });
  assert.deepEqual([closed.list(), closed.add(run(1))], [[], false]);
});

test("a long series is thinned evenly, a short one stays", () => {
  const long = Array.from({ length: 1000 }, (_, k) => k);
  assert.deepEqual(thinned(long, 4), [0, 250, 500, 750]);
  assert.deepEqual(thinned([1, 2], 4), [1, 2]);
});

test("a record survives the store and is plotted as it was", () => {
  const stages = [{ name: "idle", down: false, up: false, start_ms: 0, end_ms: 4000.04 }];
  const seen = { stages, samples: [{ lane: 0, sent_ms: 1.23, rtt_ms: 20.06 }], down: [{ at_ms: 50, bytes: 10 }], up: [] };
  const summary = { base_ms: 20, stages: [{ name: "idle", seconds: 4, samples: 200, held: 0, added_p95_ms: 0 }] };
  const watched = { hidden_ms: 0, late_p95_ms: 0, failures: [], lanes_lost: 0, network_changed: false, from_account: true, limit_bps: null };
  const made = record({ summary, watched, seen }, { id: "1", taken_at: "2026-01-01T00:00:00Z", host: "h", protocol: "h2" });
  const back = plotted(JSON.parse(JSON.stringify(made)).series);
  assert.deepEqual(back.samples, [{ sent_ms: 1.2, rtt_ms: 20.1 }]);
  assert.deepEqual(back.down, [{ at_ms: 50, bytes: 10 }]);
  assert.equal(back.now_ms, 4000);
});

const graded = (id, grade, down, up, more = {}) => ({
  id,
  host: "h",
  taken_at: `2026-01-0${id}T00:00:00Z`,
  verdict: { grade, directions: [["down", down], ["up", up]].map(([direction, added_ms]) => ({ direction, added_ms })) },
  ...more,
});

test("a run is compared with the last one to the same server that has a verdict", () => {
  const now = graded(5, "A", 4, 12);
  const runs = [now, graded(4, null, 0, 0), graded(3, "F", 1, 1, { host: "other" }), graded(2, "D", 5, 240), graded(1, "B", 1, 1)];
  assert.equal(before(runs, now).id, 2);
  assert.equal(compared(now, before(runs, now)), "grade D then, A now; downloads add about as much; uploads add 228\u00a0ms less");
  assert.equal(before(runs, runs[4]), null);
  assert.equal(compared(now, null), "");
});

test("differences within noise are none", () => {
  assert.equal(compared(graded(2, "C", 100, 3), graded(1, "C", 80, 0)), "grade C then and now; downloads add about as much; uploads add about as much");
  assert.match(compared(graded(2, "C", 150, 3), graded(1, "C", 80, 0)), /downloads add 70.ms more/);
});
