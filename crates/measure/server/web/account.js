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

/** Fewer segments do not tell their mean size: those of the handshakes are small. */
const ENOUGH_SEGMENTS = 100;

/** Bytes of all uploads of a session, those that have left the account included. */
export class Received {
  #flows = new Map();
  #connections = new Map();

  /**
   * From a line to `{ server_ms, bytes, rtts_ms, came }`; null from what is none. `bytes` are what the server's application got, `came` is what its
   * kernel says of each connection in the line: `[number, bytes in order, segments]`.
   */
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
    const connections = list(said.connections).filter((one) => one?.tcp);
    const rtts_ms = connections.map(({ tcp }) => tcp.rtt_ms).filter(Number.isFinite);
    const came = connections.map(({ connection, tcp }) => {
      // What is not told is as it was.
      const { received_bytes, received_segments } = { ...this.#connections.get(connection), ...tcp };
      this.#connections.set(connection, { received_bytes, received_segments });
      return [connection, received_bytes, received_segments];
    });
    return { server_ms: said.time_ns / 1e6, bytes, rtts_ms, came: came.filter((one) => one.every(Number.isFinite)) };
  }
}

/**
 * Readings with all bytes that arrived in place of those that came in order: segments times their mean size. That is the most bytes in order for a
 * segment that a connection ever had: while nothing is missing, all that came is in order. Where the kernel says nothing of it, they stay as they are.
 */
export function delivered(readings) {
  const sizes = new Map();
  for (const [connection, bytes, segments] of readings.flatMap(({ came }) => came)) {
    if (segments >= ENOUGH_SEGMENTS) sizes.set(connection, Math.max(sizes.get(connection) ?? 0, bytes / segments));
  }
  if (sizes.size === 0) return readings;
  const first = new Map();
  const arrived = new Map();
  return readings.map(({ came, ...rest }) => {
    for (const [connection, bytes, segments] of came) {
      const all = Math.max(bytes, segments * (sizes.get(connection) ?? 0));
      if (!first.has(connection)) first.set(connection, all);
      arrived.set(connection, Math.max(arrived.get(connection) ?? 0, all - first.get(connection)));
    }
    return { ...rest, bytes: [...arrived.values()].reduce((sum, value) => sum + value, 0) };
  });
}

/**
 * Readings by the page's clock from `[{ arrived_ms, server_ms, ... }]`. The line that was fastest gives the difference of
 * the clocks, too large by its way: tens of ms beside seconds. Lines that waited in a queue are placed rightly so.
 */
export function byPage(lines) {
  const ahead = Math.min(...lines.map((line) => line.arrived_ms - line.server_ms));
  return lines.map(({ arrived_ms, server_ms, ...rest }) => ({ at_ms: server_ms + ahead, ...rest }));
}
