// A worker that measures delay: small messages over WebSockets to the server and back, at even intervals.
//
// A worker, so that neither painting nor the load delays a stamp. WebSockets, because each has a connection of its own over
// HTTP/1.1: over the browser's one HTTP/2 connection to this server answers would queue behind the load's own bytes.
// Many, because TCP hands over in order and sends little at a time after a loss: what waits for that is one lane's, and the
// others show it (see `held` in stages.js).
//
// In: { open: url } once, { finish: true } once. Out: { ready }, { sample: { lane, sent_ms, rtt_ms } },
// { lost_lane }, { failed }, { finished: { unanswered: [sent_ms], late_p95_ms } }.

import { now } from "./clock.js";
import { quantile } from "./numbers.js";
import { INTERVAL_MS, LANES } from "./stages.js";

/** How long the last answers are waited for. */
const PATIENCE_MS = 3000;

/** Number of the message and nothing else: the page's own memory says when it left. */
const MESSAGE_BYTES = 8;

const waiting = new Map();
const lates = [];
let lanes = [];
let next = 0;
let isOver = false;

onmessage = ({ data }) => (data.open ? open(data.open) : finish());

async function open(url) {
  try {
    lanes = await Promise.all(Array.from({ length: LANES }, (_, lane) => connect(url, lane)));
  } catch {
    postMessage({ failed: "no WebSocket to the server could be opened" });
    return;
  }
  postMessage({ ready: true });
  send(now());
}

function connect(url, lane) {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url);
    socket.binaryType = "arraybuffer";
    socket.onopen = () => resolve(socket);
    socket.onerror = reject;
    socket.onmessage = ({ data }) => receive(now(), lane, data);
    socket.onclose = () => {
      reject();
      if (!isOver) postMessage({ lost_lane: lane });
    };
  });
}

/** Sends the message that was due and sets the time of the next; those that the browser slept through are left out. */
function send(due_ms) {
  if (isOver) return;
  const sent_ms = now();
  lates.push(sent_ms - due_ms);
  const socket = lanes[next % LANES];
  if (socket.readyState === WebSocket.OPEN) {
    const message = new DataView(new ArrayBuffer(MESSAGE_BYTES));
    message.setUint32(0, next);
    waiting.set(next, sent_ms);
    socket.send(message.buffer);
  }
  next += 1;
  // Timers may be early, too.
  const missed = Math.max(0, Math.floor((now() - due_ms) / INTERVAL_MS));
  const next_ms = due_ms + (missed + 1) * INTERVAL_MS;
  setTimeout(send, next_ms - now(), next_ms);
}

function receive(at_ms, lane, data) {
  const number = data instanceof ArrayBuffer && data.byteLength === MESSAGE_BYTES ? new DataView(data).getUint32(0) : null;
  const sent_ms = waiting.get(number);
  if (sent_ms === undefined) return;
  waiting.delete(number);
  postMessage({ sample: { lane, sent_ms, rtt_ms: at_ms - sent_ms } });
}

async function finish() {
  isOver = true;
  const until_ms = now() + PATIENCE_MS;
  while (waiting.size > 0 && now() < until_ms) await new Promise((done) => setTimeout(done, 20));
  for (const socket of lanes) socket.close();
  postMessage({ finished: { unanswered: [...waiting.values()], late_p95_ms: quantile(lates, 0.95) ?? 0 } });
}
