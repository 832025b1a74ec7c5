// Past runs, kept in this browser only.

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

/** At most so many of a series, evenly: for keeping. */
export function thinned(series, most) {
  const step = Math.max(1, series.length / most);
  const kept = [];
  for (let place = 0; place < series.length; place += step) kept.push(series[Math.floor(place)]);
  return kept;
}
