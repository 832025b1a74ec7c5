import assert from "node:assert/strict";
import { test } from "node:test";
import { delayText, mbits, msText, quantile, roundUp } from "../../web/numbers.js";

test("quantiles interpolate between the nearest", () => {
  assert.equal(quantile([4, 1, 3, 2], 0.5), 2.5);
  assert.equal(quantile([10, 20], 0.95), 19.5);
  assert.equal(quantile([7], 0.99), 7);
  assert.equal(quantile([], 0.5), null);
  assert.equal(quantile([9, 10, 100], 0.5), 10);
});

test("numbers are written in the digits that mean something", () => {
  assert.deepEqual([0.04, 9.94, 10.4, 999, 1234, 12345, null].map(delayText), ["0.0\u00a0ms", "9.9\u00a0ms", "10\u00a0ms", "999\u00a0ms", "1.23\u00a0s", "12.3\u00a0s", "–"]);
  assert.deepEqual([9.96, 1234, null].map(msText), ["10.0", "1234", "–"]);
  assert.deepEqual([123456, 18.94e6, 943.2e6, null].map(mbits), ["0.12", "18.9", "943", "–"]);
  assert.deepEqual([0, 0.3, 1, 11, 20, 21, 999].map(roundUp), [1, 0.4, 1, 20, 20, 40, 1000]);
});
