import assert from "node:assert/strict";
import { test } from "node:test";
import { Life } from "../../web/life.js";

test("a server is asked after a silence, or at once when its connections break", () => {
  const life = new Life(1000);
  assert.equal(life.doubts(5900, false), false);
  assert.equal(life.doubts(6100, false), true);
  life.heard(4000);
  assert.equal(life.doubts(6100, false), false);
  assert.equal(life.doubts(6100, true), true);
});

test("one that answered is left alone for a while", async () => {
  const life = new Life(0);
  assert.equal(await life.isGone(async () => {}, () => 10_000), false);
  assert.equal(life.doubts(11_000, true), false);
  assert.equal(life.doubts(12_000, true), true);
});

test("one that does not answer is gone, unless its load or account goes on", async () => {
  const lost = async () => {
    throw new Error("timed out");
  };
  const life = new Life(0);
  assert.equal(await life.isGone(lost, () => 10_000), true);
  const going = async () => {
    life.heard(12_000);
    return lost();
  };
  assert.equal(await life.isGone(going, () => 10_000), false);
});
