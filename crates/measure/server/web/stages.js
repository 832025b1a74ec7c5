// What a run does when. What it comes to is the server's to say (POST /unbloat/v1/verdict).

const stage = (name, down, up, seconds) => ({ name, down, up, seconds });

/** As `unbloat test` does it: 25 s and the pauses in which queues run empty. */
export const PLAN = [stage("idle", false, false, 4), stage("down", true, false, 7), stage("up", false, true, 7), stage("both", true, true, 7)];

/** Ten seconds. */
export const GLANCE = [stage("idle", false, false, 2), stage("down", true, false, 4), stage("up", false, true, 4)];

/**
 * Messages leave this often, over all lanes together, each lane in its turn: so many lanes that each has few messages under
 * way even in a long queue. TCP that lost a packet lets no more than two or three segments go at a time.
 */
export const INTERVAL_MS = 20;
export const LANES = 8;
