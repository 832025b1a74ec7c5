// A worker that loads the path, and reads what was received: downloads here, uploads in the server's account.
//
// In: { begin: { session, token, isHttp2 } } once, { load: { down, up } } with numbers of transfers (0: none).
// Out: { ready } once, { down: { at_ms, bytes } } every so often, { account: { arrived_ms, server_ms, bytes } }, { trouble: words }.

import { Lines, Received } from "./account.js";
import { now } from "./clock.js";

const READING_MS = 50;

/** What may wait in the server's socket: else a download would go on for long after it was stopped, in front of the account. */
const UNSENT_MS = 50;

/** Of zeros nothing could be told if something on the way compresses. A call of getRandomValues fills 64 kB at most. */
const CHUNK = new Uint8Array(64 << 10);

/** Uploads of a body of known length: the next is so many times larger, until it takes seconds. */
const FIRST_BLOB_BYTES = 1 << 20;
const LAST_BLOB_BYTES = 32 << 20;
const GROWTH = 4;

/** After a transfer that failed. */
const PAUSE_MS = 300;

let session = null;
let headers = {};
let canStream = false;
let flow = 0;
let received = 0;
let running = new AbortController();

onmessage = ({ data }) => (data.begin ? begin(data.begin) : load(data.load));

async function begin({ session: id, token, isHttp2 }) {
  session = id;
  if (token) headers = { Authorization: `Bearer ${token}` };
  crypto.getRandomValues(CHUNK);
  canStream = isHttp2 && takesStreams();
  setInterval(() => postMessage({ down: { at_ms: now(), bytes: received } }), READING_MS);
  await account();
}

/** Chromium sends a body while it is made, over HTTP/2. Others would send the words "[object ReadableStream]". */
function takesStreams() {
  let asked = false;
  const request = new Request("/upload", {
    method: "POST",
    body: new ReadableStream(),
    get duplex() {
      asked = true;
      return "half";
    },
  });
  return asked && !request.headers.has("Content-Type");
}

async function account() {
  try {
    const response = await ask(`/unbloat/v1/session/${session}/account`);
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    const lines = new Lines();
    const total = new Received();
    postMessage({ ready: true });
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const arrived_ms = now();
      for (const line of lines.push(value)) {
        const reading = total.read(line);
        if (reading) postMessage({ account: { arrived_ms, ...reading } });
      }
    }
  } catch (error) {
    postMessage({ ready: true, trouble: `The server's account broke off: ${error.message}` });
  }
}

async function ask(path, options = {}) {
  const response = await fetch(path, { cache: "no-store", headers, ...options });
  if (!response.ok) throw new Error(`${response.status} ${(await response.text()).trim().slice(0, 200)}`);
  return response;
}

function load({ down, up }) {
  running.abort();
  running = new AbortController();
  const { signal } = running;
  for (let k = 0; k < down; k += 1) repeat("download", download, signal);
  for (let k = 0; k < up; k += 1) repeat("upload", canStream ? uploadStream : blobs(), signal);
}

/** Transfer after transfer until the stage ends. */
async function repeat(word, transfer, signal) {
  while (!signal.aborted) {
    try {
      await transfer(signal);
    } catch (error) {
      if (signal.aborted) return;
      postMessage({ trouble: `A ${word} failed: ${error.message}` });
      await new Promise((done) => setTimeout(done, PAUSE_MS));
    }
  }
}

/** Not of the session's account, which would say every 50 ms what we count ourselves. */
async function download(signal) {
  const response = await ask(`/large?unsent_ms=${UNSENT_MS}`, { signal });
  const reader = response.body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    received += value.length;
  }
}

const upload = (body, signal, more) => {
  flow += 1;
  return ask(`/upload?session=${session}&flow=${flow}`, { method: "POST", body, signal, ...more });
};

function uploadStream(signal) {
  const body = new ReadableStream({ pull: (stream) => stream.enqueue(CHUNK) }, { highWaterMark: 0 });
  return upload(body, signal, { duplex: "half" });
}

/** Where a body cannot be sent while it is made. */
function blobs() {
  let bytes = FIRST_BLOB_BYTES;
  return async (signal) => {
    const body = new Blob(Array(bytes / CHUNK.length).fill(CHUNK));
    await upload(body, signal);
    bytes = Math.min(bytes * GROWTH, LAST_BLOB_BYTES);
  };
}
