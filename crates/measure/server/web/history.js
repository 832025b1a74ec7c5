// Past runs, kept in this browser only.

import { delayText } from "./numbers.js";

const KEY = "unbloat.runs";
const KEPT = 50;
/** Of the records below; others are not read. */
export const FORMAT = 2;

/** Over what behaves like localStorage, which may be full, forbidden or hold anything. */
export class History {
  constructor(storage) {
    this.storage = storage;
  }

  /** Newest first. */
  list() {
    try {
      const runs = JSON.parse(this.storage.getItem(KEY) ?? "[]");
      return Array.isArray(runs) ? runs.filter((run) => run?.format === FORMAT) : [];
    } catch {
      return [];
    }
  }

  /** Whether it was kept. */
  add(run) {
    return this.#write([run, ...this.list()].slice(0, KEPT));
  }

  remove(id) {
    return this.#write(this.list().filter((run) => run.id !== id));
  }

  clear() {
    return this.#write([]);
  }

  /** For a file of its own. */
  exported() {
    return JSON.stringify({ program: "unbloat", format: FORMAT, runs: this.list() }, null, 1);
  }

  #write(runs) {
    try {
      this.storage.setItem(KEY, JSON.stringify(runs));
      return true;
    } catch {
      return false;
    }
  }
}

/** Differences that say nothing: added delay varies so much from test to test. */
const NOISE_MS = 5;
const NOISE = 0.25;

/** The newest run before this one to the same server that has a verdict. */
export function before(runs, run) {
  const isBefore = (other) => other.id !== run.id && other.host === run.host && other.verdict.grade && other.taken_at < run.taken_at;
  return runs.find(isBefore) ?? null;
}

/** What is otherwise than in an earlier run, in words: "grade D then, A now; uploads add 228 ms less". */
export function compared(run, earlier) {
  if (!earlier || !run.verdict.grade) return "";
  const grades = earlier.verdict.grade === run.verdict.grade ? `grade ${run.verdict.grade} then and now` : `grade ${earlier.verdict.grade} then, ${run.verdict.grade} now`;
  const changes = run.verdict.directions.flatMap(({ direction, added_ms }) => {
    const then = earlier.verdict.directions.find((one) => one.direction === direction);
    if (!then) return [];
    const [now_ms, then_ms] = [added_ms, then.added_ms].map((ms) => Math.max(0, ms));
    const more_ms = now_ms - then_ms;
    const isNoise = Math.abs(more_ms) < Math.max(NOISE_MS, NOISE * Math.max(now_ms, then_ms));
    return [`${direction}loads add ${isNoise ? "about as much" : `${delayText(Math.abs(more_ms))} ${more_ms > 0 ? "more" : "less"}`}`];
  });
  return [grades, ...changes].join("; ");
}

/** At most so many of a series, evenly: for keeping. */
export function thinned(series, most) {
  const step = Math.max(1, series.length / most);
  const kept = [];
  for (let place = 0; place < series.length; place += step) kept.push(series[Math.floor(place)]);
  return kept;
}
