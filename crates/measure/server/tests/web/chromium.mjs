// Chromium without a window, driven by its DevTools protocol over a pipe: messages of JSON, each with a zero byte behind it.

import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** None of these may call home, and none may need a device or a keyring. */
const SWITCHES = [
  "--headless=new",
  "--remote-debugging-pipe",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-dev-shm-usage",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-default-apps",
  "--disable-extensions",
  "--disable-sync",
  "--no-first-run",
  "--no-default-browser-check",
  "--password-store=basic",
  "--ignore-certificate-errors",
];

export class Chromium {
  #answers = new Map();
  #number = 0;
  #rest = "";

  constructor() {
    this.folder = mkdtempSync(join(tmpdir(), "unbloat-chromium-"));
    const home = { ...process.env, HOME: this.folder };
    this.process = spawn("chromium", [...SWITCHES, `--user-data-dir=${this.folder}`, "about:blank"], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"], env: home });
    this.ended = new Promise((resolve) => this.process.on("close", resolve));
    this.process.on("error", (error) => this.#fail(error));
    this.process.on("close", () => this.#fail(new Error("Chromium ended")));
    this.process.stdio[4].setEncoding("utf8").on("data", (piece) => this.#take(piece));
    this.events = [];
  }

  call(method, params = {}, sessionId = undefined) {
    this.#number += 1;
    const id = this.#number;
    return new Promise((resolve, reject) => {
      this.#answers.set(id, { resolve, reject, method });
      this.process.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    });
  }

  /** A tab whose events are kept in `events`, those of its workers included. */
  async tab({ width, height }) {
    const { targetId } = await this.call("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await this.call("Target.attachToTarget", { targetId, flatten: true });
    const tab = new Tab(this, sessionId);
    for (const domain of ["Page", "Runtime", "Log", "Network"]) await tab.call(`${domain}.enable`);
    await tab.call("Target.setAutoAttach", { autoAttach: true, waitForDebuggerOnStart: true, flatten: true });
    await tab.resize({ width, height });
    return tab;
  }

  /** Where downloads go from now on. */
  async saveTo(folder) {
    this.downloads = folder;
    await this.call("Browser.setDownloadBehavior", { behavior: "allow", downloadPath: folder, eventsEnabled: true });
  }

  /** The content of the download whose name ends so. A file of its name exists, empty, before it is complete. */
  async saved(ending, most_ms) {
    const events = (method) => this.events.filter((event) => event.method === method).map(({ params }) => params);
    for (const until = Date.now() + most_ms; Date.now() < until;) {
      const download = events("Browser.downloadWillBegin").find(({ suggestedFilename }) => suggestedFilename.endsWith(ending));
      const isComplete = events("Browser.downloadProgress").some(({ guid, state }) => guid === download?.guid && state === "completed");
      if (isComplete) return readFileSync(join(this.downloads, download.suggestedFilename));
      await new Promise((done) => setTimeout(done, 50));
    }
    throw new Error(`no ${ending} was saved within ${most_ms} ms`);
  }

  async close() {
    await Promise.race([this.call("Browser.close").catch(() => {}), this.ended]);
    const late = setTimeout(() => this.process.kill("SIGKILL"), 5000);
    await this.ended;
    clearTimeout(late);
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }

  #take(piece) {
    const messages = (this.#rest + piece).split("\0");
    this.#rest = messages.pop();
    for (const text of messages) this.#heard(JSON.parse(text));
  }

  #heard(message) {
    const waiting = this.#answers.get(message.id);
    this.#answers.delete(message.id);
    if (waiting && message.error) waiting.reject(new Error(`${waiting.method}: ${message.error.message}`));
    else if (waiting) waiting.resolve(message.result);
    else if (message.method === "Target.attachedToTarget" && message.params.targetInfo.type === "worker") this.#watchWorker(message.params.sessionId);
    else this.events.push(message);
  }

  /** A worker waits until it is watched, so that none of its requests is missed. */
  #watchWorker(sessionId) {
    for (const method of ["Runtime.enable", "Network.enable", "Runtime.runIfWaitingForDebugger"]) this.call(method, {}, sessionId).catch(() => {});
  }

  #fail(error) {
    for (const { reject } of this.#answers.values()) reject(error);
    this.#answers.clear();
  }
}

class Tab {
  constructor(chromium, sessionId) {
    this.chromium = chromium;
    this.sessionId = sessionId;
  }

  call(method, params) {
    return this.chromium.call(method, params, this.sessionId);
  }

  resize({ width, height }) {
    return this.call("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 2, mobile: width < 500 });
  }

  async evaluate(expression) {
    const { result, exceptionDetails } = await this.call("Runtime.evaluate", { expression, returnByValue: true, awaitPromise: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  async until(expression, most_ms) {
    const until = Date.now() + most_ms;
    for (;;) {
      const value = await this.evaluate(expression);
      if (value) return value;
      if (Date.now() > until) throw new Error(`not within ${most_ms} ms: ${expression}`);
      await new Promise((done) => setTimeout(done, 100));
    }
  }

  async open(url) {
    const { errorText } = await this.call("Page.navigate", { url });
    if (errorText) throw new Error(`${url}: ${errorText}`);
    await this.until("document.readyState === 'complete'", 20_000);
  }

  async picture() {
    const { data } = await this.call("Page.captureScreenshot", { format: "png", captureBeyondViewport: true });
    return Buffer.from(data, "base64");
  }
}

/** What the page asked of whom, with what its workers asked. */
export const requests = (events) => events.flatMap(({ method, params }) => {
  if (method === "Network.requestWillBeSent") return [params.request.url];
  return method === "Network.webSocketCreated" ? [params.url] : [];
});

/** What a developer would see in red. */
export const complaints = (events) => events.flatMap(({ method, params }) => {
  if (method === "Runtime.exceptionThrown") return [params.exceptionDetails.exception?.description ?? params.exceptionDetails.text];
  if (method === "Log.entryAdded" && params.entry.level === "error") return [`${params.entry.text} ${params.entry.url ?? ""}`];
  const isError = method === "Runtime.consoleAPICalled" && ["error", "warning", "assert"].includes(params.type);
  return isError ? [params.args.map((arg) => arg.value ?? arg.description).join(" ")] : [];
});
