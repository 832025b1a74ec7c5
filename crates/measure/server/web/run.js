// One run: session, workers, stages, and what was seen meanwhile.

import { byPage, delivered, downloaded } from "./account.js";
import { now } from "./clock.js";
import { Life, PATIENCE_MS } from "./life.js";
import { INTERVAL_MS, LANES } from "./stages.js";

/** Between stages: until delay is what it was, at most so long. */
const PAUSE_MS = 5000;
const CALM_MS = 400;

/** For answers and account after the last stage. */
const LAST_MS = 4000;

/**
 * Messages go on for so long after the load's connections were reset. Others who keep a queue filled had little in it beside the load: for a moment
 * it is empty, and the least round trip of the run is that of the empty path.
 */
const FLOOR_MS = 1000;

/** The server refused: `status` is 401 if it wants a token or another. */
export class Refused extends Error {
  constructor(status, words) {
    super(words);
    this.status = status;
  }
}

/** The server does not answer any more; `at_ms`: since the test began, null if it never did. */
export class Gone extends Error {
  constructor(at_ms) {
    super("the server went away");
    this.name = "Gone";
    this.at_ms = at_ms;
  }
}

/** Between looks for signs that it did. */
const LOOK_MS = 500;

export class Run {
  #stopping = new AbortController();
  #session = null;
  #start_ms = now();
  #probe = null;
  #load = null;
  #samples = [];
  #stages = [];
  #down = [];
  #account = [];
  #failures = [];
  #connections = 0;
  #control = null;
  #lanesLost = 0;
  #finished = null;
  #networkChanged = false;
  #life = null;
  #watching = null;
  #isAsking = false;
  #isAccountOver = false;
  #hidden_ms = 0;
  #hiddenSince_ms = document.hidden ? now() : null;

  /** `on` may have `stage(stage)`: one began or (with `end_ms`) ended. */
  constructor({ plan, token, control, on }) {
    this.plan = plan;
    this.token = token;
    /** Congestion control asked of the server; null: its own. */
    this.control = control;
    this.on = on;
  }

  /** Until the end, or rejects: with `Refused` or `Gone`, or an AbortError after `stop()`. */
  async all() {
    document.addEventListener("visibilitychange", this.#seen);
    navigator.connection?.addEventListener("change", this.#changed);
    try {
      await this.#open();
      for (const stage of this.plan) await this.#stage(stage);
      return await this.#result();
    } finally {
      this.#close();
    }
  }

  stop() {
    this.#stopping.abort();
  }

  /** What there is by now, on the page's time from the run's start: for the plot. */
  seen() {
    return { stages: this.#stages, samples: this.#samples, down: this.#down, up: delivered(this.#accounted()), now_ms: this.#time() };
  }

  #accounted() {
    return this.#account.length > 0 ? byPage(this.#account) : [];
  }

  /** When its time 0 was. */
  get started() {
    return new Date(this.#start_ms);
  }

  #time = (at_ms = now()) => at_ms - this.#start_ms;

  #seen = () => {
    if (document.hidden) this.#hiddenSince_ms ??= now();
    else this.#endHidden();
  };

  #endHidden() {
    if (this.#hiddenSince_ms !== null) this.#hidden_ms += now() - this.#hiddenSince_ms;
    this.#hiddenSince_ms = null;
  }

  #changed = () => {
    this.#networkChanged = true;
  };

  async #open() {
    this.#session = await this.#begin();
    const protocol = performance.getEntriesByName(new URL("/unbloat/v1/session", location.href).href).at(-1)?.nextHopProtocol;
    this.protocol = protocol ?? "";
    this.#load = this.#worker("load.js", this.#fromLoad);
    this.#probe = this.#worker("probe.js", this.#fromProbe);
    this.#load.postMessage({ begin: { session: this.#session.session, token: this.token, control: this.control } });
    const socket = new URL(`/unbloat/v1/ws?session=${this.#session.session}`, location.href);
    socket.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    this.#probe.postMessage({ open: socket.href });
    await Promise.all([this.#load.ready, this.#probe.ready]);
    this.#start_ms = now();
    this.#samples = [];
    this.#down = [];
    this.#life = new Life(now());
    this.#watching = setInterval(() => this.#look(), LOOK_MS);
  }

  /** Ends the test if the server is not there any more: what follows would be stages without anything in them. */
  async #look() {
    const isBroken = this.#lanesLost >= LANES || this.#isAccountOver;
    if (this.#isAsking || this.#stopping.signal.aborted || !this.#life.doubts(now(), isBroken)) return;
    this.#isAsking = true;
    const ask = () => fetch("/", { method: "HEAD", cache: "no-store", signal: AbortSignal.timeout(PATIENCE_MS) });
    if (await this.#life.isGone(ask, now)) this.#stopping.abort(new Gone(this.#time(this.#life.last_ms)));
    this.#isAsking = false;
  }

  /** A request; that nobody answers it is said in our words. */
  async #fetch(path, more) {
    try {
      return await fetch(path, more);
    } catch (error) {
      if (error instanceof TypeError) throw new Gone(this.#session ? this.#time() : null);
      throw error;
    }
  }

  async #begin() {
    const headers = this.token ? { Authorization: `Bearer ${this.token}` } : {};
    const response = await this.#fetch("/unbloat/v1/session", { method: "POST", headers, signal: this.#stopping.signal });
    if (!response.ok) throw new Refused(response.status, (await response.text()).trim().slice(0, 300));
    const session = await response.json();
    if (session.version !== 1 || !/^[0-9a-f]{32}$/.test(session.session)) throw new Refused(0, "this page does not know the server's version");
    return session;
  }

  /** With `ready`, a promise that the worker's own words settle. */
  #worker(file, take) {
    const worker = new Worker(file, { type: "module" });
    worker.ready = new Promise((resolve, reject) => {
      worker.onmessage = ({ data }) => {
        if (data.ready) resolve();
        if (data.failed) reject(new Refused(0, data.failed));
        take(data);
      };
      worker.onerror = (event) => reject(new Refused(0, event.message || `${file} did not start`));
      this.#stopping.signal.addEventListener("abort", () => reject(this.#stopping.signal.reason));
    });
    // Somebody may have stopped before anyone waits.
    worker.ready.catch(() => {});
    return worker;
  }

  #fromProbe = (data) => {
    if (data.sample) this.#life?.heard(data.sample.sent_ms + data.sample.rtt_ms);
    if (data.sample) this.#samples.push({ ...data.sample, sent_ms: this.#time(data.sample.sent_ms) });
    if (data.lost_lane !== undefined) this.#lanesLost += 1;
    if (data.finished) this.#finished = data.finished;
  };

  #fromLoad = (data) => {
    const carried = this.#down.at(-1)?.bytes ?? 0;
    if (data.down?.bytes > carried) this.#life?.heard(data.down.at_ms);
    if (data.account) this.#life?.heard(data.account.arrived_ms);
    if (data.down) this.#down.push({ ...data.down, at_ms: this.#time(data.down.at_ms) });
    if (data.account) this.#account.push({ ...data.account, arrived_ms: this.#time(data.account.arrived_ms) });
    if (data.isAccountOver) this.#isAccountOver = true;
    if (data.trouble) this.#failures.push(data.trouble);
    if (data.control) this.#control = data.control;
    if (data.connections) this.#connections = data.connections;
  };

  async #stage({ name, down, up, seconds }) {
    const stage = { name, down, up, start_ms: this.#time(), end_ms: null };
    this.#stages.push(stage);
    this.#load.postMessage({ load: { down, up } });
    this.on.stage(stage);
    await this.#sleep(seconds * 1000);
    stage.end_ms = this.#time();
    this.#load.postMessage({ load: { down: false, up: false } });
    this.on.stage(stage);
    const isLast = name === this.plan.at(-1).name;
    if ((down || up) && !isLast) await this.#until(() => this.#isCalm(), PAUSE_MS);
  }

  #isCalm() {
    const idle = this.#stages[0];
    const before = this.#samples.filter((s) => s.sent_ms < idle.end_ms).map((s) => s.rtt_ms);
    const most_ms = 1.25 * Math.max(...before.slice(-50)) + 10;
    const recent = this.#samples.filter((s) => s.sent_ms + s.rtt_ms > this.#time() - CALM_MS);
    return recent.length > CALM_MS / INTERVAL_MS / 2 && recent.every((s) => s.rtt_ms < most_ms);
  }

  async #result() {
    clearInterval(this.#watching);
    const end_ms = this.#stages.at(-1).end_ms;
    const accountIsThere = () => this.#account.length === 0 || byPage(this.#account).at(-1).at_ms >= end_ms;
    await this.#until(accountIsThere, LAST_MS);
    await this.#endLoad();
    await this.#sleep(FLOOR_MS);
    this.#probe.postMessage({ finish: true });
    await this.#until(() => this.#finished !== null, LAST_MS);
    this.#endHidden();
    // The account may be a queue's length late: what the page itself received is for the live view.
    const seen = { ...this.seen(), down: downloaded(this.#accounted(), this.#down) ?? this.#down };
    const unanswered = (this.#finished?.unanswered ?? []).map((at) => this.#time(at));
    return { judged: await this.#judged(seen, unanswered), seen };
  }

  /** Without its session the server resets the load's connections; else what waits in their send buffers keeps a slow uplink full for a minute. */
  async #endLoad() {
    this.#load.terminate();
    await this.#endSession();
  }

  #endSession() {
    const id = this.#session?.session;
    this.#session = this.#session && { ...this.#session, session: null };
    return id ? fetch(`/unbloat/v1/session/${id}`, { method: "DELETE", keepalive: true }).catch(() => {}) : null;
  }

  /** The server's verdict: the same code as that of `unbloat test`. */
  async #judged({ stages, samples, down, up }, unanswered) {
    const pairs = (readings) => readings.map((reading) => [reading.at_ms, reading.bytes]);
    const run = {
      stages: stages.map(({ name, start_ms, end_ms }) => ({ name, start_ms, end_ms })),
      samples: samples.map(({ lane, sent_ms, rtt_ms }) => [lane, sent_ms, rtt_ms]),
      unanswered,
      down: pairs(down),
      up: pairs(up),
      round_trips: up.flatMap((reading) => reading.rtts_ms.map((rtt_ms) => [reading.at_ms, rtt_ms])),
      watched: this.#watched(),
    };
    const headers = { "Content-Type": "application/json", ...(this.token ? { Authorization: `Bearer ${this.token}` } : {}) };
    // That of the test has ended with its load.
    this.#session = await this.#begin();
    const response = await this.#fetch(`/unbloat/v1/verdict?session=${this.#session.session}`, { method: "POST", headers, body: JSON.stringify(run), signal: this.#stopping.signal });
    if (!response.ok) throw new Refused(response.status, (await response.text()).trim().slice(0, 300));
    return response.json();
  }

  #watched() {
    return {
      hidden_ms: this.#hidden_ms,
      late_p95_ms: this.#finished?.late_p95_ms ?? 0,
      failures: this.#failures,
      lanes: LANES,
      lanes_lost: Math.min(this.#lanesLost, LANES),
      interval_ms: INTERVAL_MS,
      network_changed: this.#networkChanged,
      connections: this.#connections,
      congestion_control: this.#control,
      limit_bps: this.#session.limits?.rate_bps ?? null,
    };
  }

  /** Rejects when stopped. */
  #sleep(ms) {
    const { signal } = this.#stopping;
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const stopped = () => {
        clearTimeout(timer);
        reject(signal.reason);
      };
      const timer = setTimeout(() => {
        signal.removeEventListener("abort", stopped);
        resolve();
      }, ms);
      signal.addEventListener("abort", stopped, { once: true });
    });
  }

  async #until(holds, most_ms) {
    const until_ms = now() + most_ms;
    while (!holds() && now() < until_ms) await this.#sleep(50);
  }

  /** Whatever happened: transfers and sockets end with their workers, the session by request. */
  #close() {
    this.#stopping.abort();
    clearInterval(this.#watching);
    this.#load?.terminate();
    this.#probe?.terminate();
    document.removeEventListener("visibilitychange", this.#seen);
    navigator.connection?.removeEventListener("change", this.#changed);
    this.#endSession();
  }
}
