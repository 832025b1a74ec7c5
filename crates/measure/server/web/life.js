// Whether the server is still there: asked only once there are signs that it is not, by the rules of `unbloat test`.

/** For so long neither an answer nor load nor a line of the account came: longer than the deepest buffers hold. */
const SILENCE_MS = 5000;
/** A server that answered is not asked again for so long. */
const AGAIN_MS = 2000;
/** For an answer, which may have to wait in such a buffer. */
export const PATIENCE_MS = 10_000;

export class Life {
  #not_before_ms = 0;

  /** When the server was last heard. */
  constructor(now_ms) {
    this.last_ms = now_ms;
  }

  heard(at_ms) {
    this.last_ms = Math.max(this.last_ms, at_ms);
  }

  /** Whether to ask now. `isBroken`: every connection of the probes is closed, or the account ended early. */
  doubts(now_ms, isBroken) {
    return now_ms >= this.#not_before_ms && (isBroken || now_ms - this.last_ms > SILENCE_MS);
  }

  /** Asks. On a full line the request may be lost again and again while the load goes on: who was heard meanwhile is there. */
  async isGone(ask, now) {
    const asked_ms = now();
    const isAnswered = await ask().then(() => true, () => false);
    if (!isAnswered && this.last_ms <= asked_ms) return true;
    this.#not_before_ms = now() + AGAIN_MS;
    return false;
  }
}
