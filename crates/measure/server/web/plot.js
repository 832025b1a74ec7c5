// Delay and rates over time on one canvas: delay above, rates below, stages as bands.

import { roundUp } from "./numbers.js";

const LEFT = 44;
const RIGHT = 8;
const TOP = 24;
const GAP = 30;
const BOTTOM = 20;
const STAGE_WORDS = { idle: "idle", down: "download", up: "upload", both: "both" };

/** Rates are over this long, so that single reads do not show. */
const RATE_MS = 400;

/** `seen`: `{ stages, samples, down, up, now_ms }` as a run has it; `end_ms`: what the time axis has room for. */
export function draw(canvas, seen, end_ms) {
  const { width, height } = canvas.getBoundingClientRect();
  const scale = devicePixelRatio || 1;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const pen = canvas.getContext("2d");
  pen.scale(scale, scale);
  const style = getComputedStyle(canvas);
  const color = (name) => style.getPropertyValue(name).trim();
  pen.font = `12px ${style.fontFamily}`;
  const middle = TOP + (height - TOP - GAP - BOTTOM) * 0.6;
  const x = axis(0, Math.max(end_ms, seen.now_ms ?? 0), LEFT, width - RIGHT);
  const delays = { top: TOP, bottom: middle, unit: "ms" };
  const rates = { top: middle + GAP, bottom: height - BOTTOM, unit: "Mbit/s" };
  bands(pen, seen, x, height - BOTTOM, color);
  times(pen, x, height, color);
  dots(pen, seen.samples, x, scaled(pen, delays, most(seen.samples.map((s) => s.rtt_ms)), width, color), color("--c5"));
  const down = steps(seen.down);
  const up = steps(seen.up);
  const y = scaled(pen, rates, most([...down, ...up].map((r) => r.mbits)), width, color);
  line(pen, down, x, y, color("--c1"), []);
  line(pen, up, x, y, color("--c4"), [5, 3]);
}

const most = (values) => roundUp(values.reduce((high, value) => Math.max(high, value), 0));

function axis(low, high, from, to) {
  const place = (value) => from + ((value - low) / (high - low || 1)) * (to - from);
  return Object.assign(place, { high, from, to });
}

function bands(pen, { stages, now_ms }, x, bottom, color) {
  pen.textAlign = "center";
  pen.textBaseline = "alphabetic";
  for (const stage of stages) {
    const [from, to] = [x(stage.start_ms), x(stage.end_ms ?? now_ms)];
    pen.fillStyle = color(stage.name === "idle" ? "--ground" : "--band");
    pen.fillRect(from, TOP, to - from, bottom - TOP);
    pen.fillStyle = color("--soft");
    const word = STAGE_WORDS[stage.name] ?? "";
    if (pen.measureText(word).width < to - from) pen.fillText(word, (from + to) / 2, TOP - 10);
  }
}

function times(pen, x, height, color) {
  const step_ms = roundUp(x.high / 7);
  pen.fillStyle = color("--soft");
  pen.textAlign = "center";
  for (let at = 0; at <= x.high; at += step_ms) pen.fillText(at === 0 ? "0 s" : `${at / 1000}`, x(at), height - 5);
}

/** Draws a scale from 0 and gives its places. */
function scaled(pen, { top, bottom, unit }, high, width, color) {
  const y = axis(0, high, bottom, top);
  pen.strokeStyle = color("--line");
  pen.lineWidth = 1;
  pen.setLineDash([]);
  pen.fillStyle = color("--soft");
  pen.textBaseline = "middle";
  pen.textAlign = "right";
  for (const value of [0, high / 2, high]) {
    const at = Math.round(y(value)) + 0.5;
    pen.beginPath();
    pen.moveTo(LEFT, at);
    pen.lineTo(width - RIGHT, at);
    pen.stroke();
    pen.fillText(Number(value.toPrecision(3)).toString(), LEFT - 5, at);
  }
  pen.textBaseline = "alphabetic";
  pen.fillText(unit, LEFT - 5, top - 10);
  return y;
}

function dots(pen, samples, x, y, color) {
  pen.fillStyle = color;
  for (const sample of samples) pen.fillRect(x(sample.sent_ms) - 1, y(sample.rtt_ms) - 1, 2, 2);
}

/** Of a counter's readings since the run began: rates over short spans. */
function steps(all) {
  const readings = all.filter((reading) => reading.at_ms >= 0);
  const found = [];
  let last = readings[0];
  for (const reading of readings) {
    if (reading.at_ms < last.at_ms + RATE_MS) continue;
    found.push({ at_ms: reading.at_ms, mbits: (reading.bytes - last.bytes) / 125 / (reading.at_ms - last.at_ms) });
    last = reading;
  }
  return found;
}

function line(pen, points, x, y, color, dashes) {
  pen.strokeStyle = color;
  pen.lineWidth = 1.8;
  pen.setLineDash(dashes);
  pen.beginPath();
  for (const point of points) pen.lineTo(x(point.at_ms), y(point.mbits));
  pen.stroke();
}
