import assert from "node:assert/strict";
import { test } from "node:test";
import { byPage, delivered, downloaded, Lines, Received } from "../../web/account.js";

const flow = (number, bytes, more = {}) => ({ flow: number, direction: "up", bytes, open: true, ...more });
const line = (time_ns, flows, bytes) => JSON.stringify({ time_ns, flows, bytes });

test("lines come out of pieces cut anywhere", () => {
  const lines = new Lines();
  assert.deepEqual(lines.push('{"a"'), []);
  assert.deepEqual(lines.push(":1}\n{}\n{"), ['{"a":1}', "{}"]);
  assert.deepEqual(lines.push("}\n"), ["{}"]);
});

test("a line without end is refused before it fills the memory", () => {
  const lines = new Lines();
  assert.throws(() => {
    for (;;) lines.push("x".repeat(100_000));
  }, /does not end/);
});

test("uploads that have left the account still count, downloads do not", () => {
  const received = new Received();
  assert.deepEqual(received.read(line(5e9, [flow(1, 100), flow(2, 50), flow(9, 7000, { direction: "down" })])), { server_ms: 5000, bytes: 150, rtts_ms: [], came: [], went: [] });
  assert.deepEqual(received.read(line(6e9, [flow(1, 110, { open: false }), flow(3, 1)], [[2, 80], [9, 8000]])), { server_ms: 6000, bytes: 191, rtts_ms: [], came: [], went: [] });
  assert.deepEqual(received.read(line(7e9)), { server_ms: 7000, bytes: 191, rtts_ms: [], came: [], went: [] });
});

test("what is no line of an account is passed over", () => {
  const received = new Received();
  for (const text of ["", "{", "null", "[]", '{"time_ns":"x","flows":[]}', '{"flows":[]}']) assert.equal(received.read(text), null);
  assert.deepEqual(received.read('{"time_ns":1000000,"flows":[null,{"flow":1,"direction":"up","bytes":"9"}],"bytes":[null,[1,5]]}'), { server_ms: 1, bytes: 0, rtts_ms: [], came: [], went: [] });
});

test("round trips are those that a line tells anew", () => {
  const connections = [{ connection: 1, tcp: { rtt_ms: 25.5 } }, { connection: 2, tcp: { acked_bytes: 9 } }, { connection: 3, tcp: null }, null, { tcp: { rtt_ms: "1" } }];
  assert.deepEqual(new Received().read(JSON.stringify({ time_ns: 2e6, connections })).rtts_ms, [25.5]);
});

test("the fastest line tells the clocks apart, and late lines are placed where they were written", () => {
  const placed = byPage([
    { arrived_ms: 120, server_ms: 9100, bytes: 0 },
    { arrived_ms: 700, server_ms: 9200, bytes: 10 },
  ]);
  assert.deepEqual(placed, [{ at_ms: 120, bytes: 0 }, { at_ms: 220, bytes: 10 }]);
});

test("what arrived behind a hole counts when it arrives, and what was carried twice counts twice", () => {
  const total = new Received();
  // A connection of before, 1,000 bytes a segment. The hole of the second reading is filled in the fourth, by a segment that had come already.
  const said = [
    { received_bytes: 200_000, received_segments: 200 },
    { received_segments: 300 },
    { received_segments: 400 },
    { received_bytes: 500_000, received_segments: 501 },
  ];
  const readings = said.map((tcp, i) => total.read(JSON.stringify({ time_ns: i * 1e9, connections: [{ connection: 7, tcp }] })));
  assert.deepEqual(delivered(readings).map(({ bytes }) => bytes), [0, 100_000, 200_000, 301_000]);
});

test("few segments tell their size where a connection is known from its begin", () => {
  const total = new Received();
  const said = [
    { received_bytes: 1_000, received_segments: 5 },
    { received_bytes: 31_000, received_segments: 25 },
    { received_segments: 35 },
  ];
  const readings = said.map((tcp, i) => total.read(JSON.stringify({ time_ns: i * 1e9, connections: [{ connection: 7, tcp }] })));
  assert.deepEqual(delivered(readings).map(({ bytes }) => bytes), [0, 30_000, 45_000]);
});

test("downloads are what the server's kernel knows to have arrived", () => {
  const total = new Received();
  const told = (connection, delivered_bytes) => ({ connection, tcp: { delivered_bytes } });
  const said = [[told(1, 5_000), told(2, 6_000)], [told(1, 15_000)], [told(2, 26_000), { connection: 1, tcp: { rtt_ms: 9 } }]];
  const readings = said.map((connections, i) => ({ at_ms: 1000 * i, ...total.read(JSON.stringify({ time_ns: i * 1e9, connections })) }));
  // And what of the account itself had arrived by then.
  const page = [{ at_ms: 0, beside: 0 }, { at_ms: 900, beside: 100 }, { at_ms: 1900, beside: 250 }, { at_ms: 2100, beside: 900 }];
  assert.deepEqual(downloaded(readings, page).map(({ bytes }) => bytes), [0, 10_100, 30_250]);
  assert.equal(downloaded([new Received().read('{"time_ns":1}')], page), null);
});

test("without the kernel's counts there are those of the application", () => {
  const readings = [1, 2].map((ms) => ({ server_ms: ms, bytes: 100 * ms, rtts_ms: [], came: [], went: [] }));
  assert.deepEqual(delivered(readings), readings);
});
