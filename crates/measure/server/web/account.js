// The server's account: what it received of uploads, and its kernel's round trips, by its own clock. See docs/protocol.md, "Account".

/** Longer is none of our server's. */
const LINE_CHARACTERS = 1 << 20;

/** Lines out of pieces of text. */
export class Lines {
  #rest = "";

  /** The lines that end in this piece. */
  push(piece) {
    const lines = (this.#rest + piece).split("\n");
    this.#rest = lines.pop();
    if (this.#rest.length > LINE_CHARACTERS) throw new Error("a line of the account does not end");
    return lines;
  }
}

/** Lines have lists only of what is new. */
const list = (value) => (Array.isArray(value) ? value : []);

/** Bytes of all uploads of a session, those that have left the account included. */
export class Received {
  #flows = new Map();

  /** From a line to `{ server_ms, bytes, rtts_ms }`; null from what is none. */
  read(line) {
    let said;
    try {
      said = JSON.parse(line);
    } catch {
      return null;
    }
    if (!Number.isFinite(said?.time_ns)) return null;
    for (const flow of list(said.flows)) {
      if (flow?.direction === "up" && Number.isFinite(flow.bytes)) this.#flows.set(flow.flow, flow.bytes);
    }
    for (const [number, bytes] of list(said.bytes).filter(Array.isArray)) {
      if (this.#flows.has(number) && Number.isFinite(bytes)) this.#flows.set(number, bytes);
    }
    const bytes = [...this.#flows.values()].reduce((sum, value) => sum + value, 0);
    const rtts_ms = list(said.connections)
      .map((connection) => connection?.tcp?.rtt_ms)
      .filter(Number.isFinite);
    return { server_ms: said.time_ns / 1e6, bytes, rtts_ms };
  }
}

/**
 * Readings by the page's clock from `[{ arrived_ms, server_ms, ... }]`. The line that was fastest gives the difference of
 * the clocks, too large by its way: tens of ms beside seconds. Lines that waited in a queue are placed rightly so.
 */
export function byPage(lines) {
  const ahead = Math.min(...lines.map((line) => line.arrived_ms - line.server_ms));
  return lines.map(({ arrived_ms, server_ms, ...rest }) => ({ at_ms: server_ms + ahead, ...rest }));
}
