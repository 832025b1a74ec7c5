import assert from "node:assert/strict";
import { test } from "node:test";
import { decoded, encoded } from "../../web/shared.js";

const stage = (name) => ({ name, added_p50_ms: 1.23, added_p95_ms: 778.04, added_p99_ms: null, down_bps: 19e6, up_bps: null, seconds: 7 });
const record = {
  host: "speed.example:4043",
  taken_at: "2026-01-01T00:00:00.000Z",
  verdict: {
    kind: "bloated",
    grade: "F",
    headline: "Bufferbloat: grade F. Uploads add 778 ms – “much”.",
    advice: [{ text: "Enable SQM", is_alternative: false, because: ["not shared"] }],
    doubts: [{ reason: "The CPU was busy", is_fatal: false }],
    directions: [],
  },
  uses: [{ name: "Calls", rating: "bad", text: "break up", rule: "ITU-T G.114" }],
  summary: { base_ms: 20.04, stages: ["idle", "up"].map(stage) },
};

test("a result comes out of a link as it went in", () => {
  const code = encoded(record);
  assert.match(code, /^[\w-]+$/);
  const back = decoded(code);
  assert.equal(back.verdict.headline, record.verdict.headline);
  assert.deepEqual(back.uses, record.uses);
  assert.deepEqual(back.summary.stages[1], { name: "up", added_p50_ms: 1.2, added_p95_ms: 778, added_p99_ms: null, down_bps: 19e6, up_bps: null });
  assert.deepEqual([back.host, back.taken_at, back.verdict.grade, back.summary.base_ms], [record.host, record.taken_at, "F", 20]);
});

test("a link that is not of this form is refused as a whole", () => {
  const code = (change) => {
    const said = JSON.parse(atob(encoded(record).replaceAll("-", "+").replaceAll("_", "/")));
    return btoa(unescape(encodeURIComponent(JSON.stringify(Object.assign(said, change))))).replaceAll("+", "-").replaceAll("/", "_");
  };
  assert.notEqual(decoded(code({})), null);
  for (const change of [
    { v: 2 },
    { kind: "clean evil" },
    { grade: "<b>" },
    { headline: 7 },
    { headline: "x".repeat(401) },
    { at: "yesterday" },
    { base: "20" },
    { base: 1e300 },
    { uses: [["Calls", "excellent", "", ""]] },
    { uses: Array(13).fill(["Calls", "bad", "", ""]) },
    { stages: [["idle", 1, 2, 3, 4, {}]] },
    { stages: null },
    { advice: [null] },
  ]) assert.equal(decoded(code(change)), null, JSON.stringify(change).slice(0, 60));
  for (const text of ["", "!", "AAAA", "e30", "x".repeat(20_001)]) assert.equal(decoded(text), null);
});
