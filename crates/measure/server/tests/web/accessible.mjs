// Whether all can use a page, as axe-core sees it.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** Nothing that axe calls serious or critical; contrast is among it. `modules`: folder of npm packages. */
export async function isAccessible(tab, modules, name) {
  await tab.evaluate(readFileSync(join(modules, "axe-core/axe.min.js"), "utf8"));
  const found = await tab.evaluate(`axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) => violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => ({ id, nodes: nodes.slice(0, 3).map((node) => node.html + " " + node.any.map((one) => one.message).join("; ")) })))`);
  assert.deepEqual(found, [], `${name}: axe`);
}
