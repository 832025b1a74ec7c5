import assert from "node:assert/strict";
import { test } from "node:test";
import { GLANCE, PLAN } from "../../web/stages.js";

test("a full run loads for 21 seconds and a glance lasts ten", () => {
  const length = (plan) => plan.reduce((sum, s) => sum + s.seconds, 0);
  assert.equal(length(PLAN), 25);
  assert.deepEqual(PLAN.map((s) => s.name), ["idle", "down", "up", "both"]);
  assert.equal(length(GLANCE), 10);
});
