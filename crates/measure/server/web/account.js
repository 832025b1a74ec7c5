// The server's account: what it received of uploads, what its kernel knows to have arrived of downloads, and its round trips, by its own clock. See
// docs/protocol.md, "Account".

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

/** Fewer segments do not tell their mean size. */
const ENOUGH_SEGMENTS = 20;

/** Bytes of all transfers of a session, those that have left the account included. */
export class Received {
  #flows = new Map();
  #connections = new Map();

  /**
   * Parses a line to `{ server_ms, bytes, rtts_ms, came, went }`; null if it is not one. `bytes`: what the server's application has received. Of each
   * connection in the line, the counters of the server's kernel: `came`, uploads, `[number, bytes in order, segments]`; `went`, downloads,
   * `[number, bytes delivered]`.
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
    const kernel = connections.map(({ connection, tcp }) => {
      // What is not told is as it was.
      const { received_bytes, received_segments, delivered_bytes } = { ...this.#connections.get(connection), ...tcp };
      this.#connections.set(connection, { received_bytes, received_segments, delivered_bytes });
      return [connection, received_bytes, received_segments, delivered_bytes];
    });
    const isTold = (one) => one.every(Number.isFinite);
    const came = kernel.map(([connection, bytes, segments]) => [connection, bytes, segments]).filter(isTold);
    const went = kernel.map(([connection, , , bytes]) => [connection, bytes]).filter(isTold);
    return { server_ms: said.time_ns / 1e6, bytes, rtts_ms, came, went };
  }
}

/**
 * Readings whose `bytes` are the sum over all connections of what each carried since the first reading that has it. `list`: `came` or `went`; `count`:
 * bytes from a connection's entry there and its first one.
 */
function summed(readings, list, count) {
  const first = new Map();
  const arrived = new Map();
  return readings.map((reading) => {
    for (const said of reading[list]) {
      const [connection] = said;
      if (!first.has(connection)) first.set(connection, said);
      arrived.set(connection, Math.max(arrived.get(connection) ?? 0, count(said, first.get(connection))));
    }
    return { ...reading, bytes: [...arrived.values()].reduce((sum, value) => sum + value, 0) };
  });
}

/**
 * Readings with all bytes of uploads that arrived in place of those that came in order: segments times their mean size. That is the most bytes in order
 * for a segment that any connection ever had: while nothing is missing, all that came is in order. Where the kernel says nothing of it, they stay as
 * they are.
 */
export function delivered(readings) {
  let size = 0;
  summed(readings, "came", ([, bytes, segments], [, bytesBefore, before]) => {
    // Segments of the handshakes are small, and a connection may be known late.
    for (const [sum, of] of [[bytes, segments], [bytes - bytesBefore, segments - before]]) {
      if (of >= ENOUGH_SEGMENTS) size = Math.max(size, sum / of);
    }
    return 0;
  });
  if (size === 0) return readings;
  return summed(readings, "came", ([, bytes, segments], [, bytesBefore, before]) => Math.max(bytes - bytesBefore, (segments - before) * size));
}

/**
 * Readings with all bytes of downloads that arrived, the account's own included: a tenth of a slow line. Those are in `page`, `[{ at_ms, beside }]`. A
 * browser hands over whole messages in order: behind a lost segment, or in a message that has not ended, is a second of such a line. Null where the
 * kernel says nothing of it.
 */
export function downloaded(readings, page) {
  if (!readings.some(({ went }) => went.length > 0)) return null;
  let next = 0;
  return summed(readings, "went", ([, bytes], [, before]) => bytes - before).map((reading) => {
    while (next < page.length && page[next].at_ms <= reading.at_ms) next += 1;
    return { ...reading, bytes: reading.bytes + (page[next - 1]?.beside ?? 0) };
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
