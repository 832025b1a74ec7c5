// A worker that loads the path, and reads what was received: downloads here, uploads in the server's account.
//
// Over HTTP/2 a browser has one connection to a server. WebSockets are connections of their own, so the load is carried by several of them, as
// `unbloat test` does: 4 at first, 4 more each second, 16 at most. They are opened before anything is loaded, since browsers open them one
// after the other.
//
// In: { begin: { session, token, control } } once, { load: { down, up } } with booleans.
// Out: { ready } once, { down: { at_ms, bytes, beside } } every so often, `beside` of the account, { account: { arrived_ms, server_ms, bytes, rtts_ms, came, went } }, { connections }, { control: name },
// { trouble: words }, { isAccountOver } when the server says no more.

import { Lines, Received } from "./account.js";
import { now } from "./clock.js";

const READING_MS = 50;
const CONNECTIONS = 16;
const AT_ONCE = 4;
const MORE_EVERY_MS = 1000;
/** For the last of them. */
const OPENING_MS = 15_000;
/** What may wait unsent in the server's sockets. */
const UNSENT_MS = 5;

const FILL_MS = 5;
const LEAST_MESSAGE = 4 << 10;
const MOST_MESSAGE = 64 << 10;
/** Messages that wait in the browser on one connection. */
const WAITING = 3;

/** Of zeros nothing could be told if something on the way compresses. A call of getRandomValues fills 64 kB at most. */
const NOISE = new Uint8Array(MOST_MESSAGE);

let headers = {};
let received = 0;
let beside = 0;
let sockets = [];
let loading = { down: false, up: false };
let active = 0;
let growing = null;

onmessage = ({ data }) => (data.begin ? begin(data.begin) : load(data.load));

async function begin({ session, token, control }) {
  if (token) headers = { Authorization: `Bearer ${token}` };
  crypto.getRandomValues(NOISE);
  setInterval(() => postMessage({ down: { at_ms: now(), bytes: received, beside } }), READING_MS);
  setInterval(fill, FILL_MS);
  account(session);
  const opening = Array.from({ length: CONNECTIONS }, (_, flow) => open(session, flow, control));
  await Promise.race([Promise.allSettled(opening), new Promise((done) => setTimeout(done, OPENING_MS))]);
  sockets = sockets.filter((one) => one.socket.readyState === WebSocket.OPEN);
  if (sockets.length === 0) postMessage({ failed: "no WebSocket for the load could be opened" });
  postMessage({ ready: true, connections: sockets.length });
}

function open(session, flow, control) {
  const url = new URL(`/unbloat/v1/ws/load?session=${session}&flow=${flow}&unsent_ms=${UNSENT_MS}`, location.href);
  url.protocol = location.protocol === "https:" ? "wss:" : "ws:";
  if (control) url.searchParams.set("congestion_control", control);
  const socket = new WebSocket(url);
  socket.binaryType = "arraybuffer";
  sockets.push({ socket, sent: 0 });
  return new Promise((resolve, reject) => {
    socket.onmessage = ({ data }) => {
      if (typeof data !== "string") {
        received += data.byteLength;
        return;
      }
      postMessage({ control: JSON.parse(data).congestion_control });
      resolve();
    };
    socket.onclose = () => {
      reject(new Error("closed"));
      postMessage({ trouble: "a connection of the load broke" });
    };
  });
}

async function account(session) {
  try {
    const response = await fetch(`/unbloat/v1/session/${session}/account`, { cache: "no-store", headers });
    if (!response.ok) throw new Error(`${response.status} ${(await response.text()).trim().slice(0, 200)}`);
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    const lines = new Lines();
    const total = new Received();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return postMessage({ isAccountOver: true });
      const arrived_ms = now();
      beside += value.length;
      for (const line of lines.push(value)) {
        const reading = total.read(line);
        if (reading) postMessage({ account: { arrived_ms, ...reading } });
      }
    }
  } catch (error) {
    postMessage({ isAccountOver: true, trouble: `the server's account broke off: ${error.message}` });
  }
}

function load(wanted) {
  clearInterval(growing);
  for (const { socket } of sockets.slice(0, active)) tell(socket, "stop");
  loading = wanted;
  active = 0;
  if (!loading.down && !loading.up) return;
  grow();
  growing = setInterval(grow, MORE_EVERY_MS);
}

function grow() {
  const until = Math.min(active + AT_ONCE, sockets.length);
  if (loading.down) for (const { socket } of sockets.slice(active, until)) tell(socket, "down");
  active = until;
}

function tell(socket, text) {
  if (socket.readyState === WebSocket.OPEN) socket.send(text);
}

/** Uploads: little waits in the browser, so that an upload ends when its stage does. Messages grow with what a connection carries. */
function fill() {
  if (!loading.up) return;
  for (const one of sockets.slice(0, active)) {
    const bytes = Math.min(MOST_MESSAGE, Math.max(LEAST_MESSAGE, 2 ** Math.floor(Math.log2(one.sent / 64 + 1))));
    while (one.socket.readyState === WebSocket.OPEN && one.socket.bufferedAmount < WAITING * bytes) {
      one.socket.send(NOISE.subarray(0, bytes));
      one.sent += bytes;
    }
  }
}
