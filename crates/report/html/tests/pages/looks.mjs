// Pages on a desk and on a phone, by day and at night: node looks.mjs MODULES FOLDER FILE...
//
// Fails if something is wider than the window, has no name, is faint, or the console complains. Pictures go to FOLDER.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { Chromium, complaints, requests } from "../../../../measure/server/tests/web/chromium.mjs";
import { VIEWS, fits, isAccessible, isNamed, opened } from "./checks.mjs";

const [modules, folder, ...files] = process.argv.slice(2);

const chromium = new Chromium();
try {
  for (const file of files) {
    const url = pathToFileURL(resolve(file)).href;
    for (const view of VIEWS) {
      const name = `${basename(file, ".html")}-${view.name}`;
      const tab = await opened(chromium, url, view);
      await fits(tab, name);
      await isNamed(tab, name);
      // Slow; colours do not depend on the width.
      if ((view.width < 1000) === (view.scheme === "dark")) await isAccessible(tab, modules, name);
      await tab.call("Emulation.setEmulatedMedia", { media: "print" });
      await fits(tab, `${name}, printed`);
      await tab.call("Emulation.setEmulatedMedia", { media: "screen", features: [{ name: "prefers-color-scheme", value: view.scheme }] });
      writeFileSync(join(folder, `${name}.png`), await tab.picture());
      await tab.call("Page.close");
    }
  }
  assert.deepEqual(requests(chromium.events).filter((to) => !to.startsWith("file:") && !to.startsWith("data:")), [], "requests to elsewhere");
  assert.deepEqual(complaints(chromium.events), [], "errors in the console");
} finally {
  await chromium.close();
}
