// A result in the address of the page, behind its "#": browsers do not send that part to any server. What comes in by a link is from anybody: only what
// has the right form is taken.

const VERSION = 1;
const KINDS = ["bloated", "slight", "clean", "unknown"];
const RATINGS = ["good", "fair", "bad"];
const STAGES = ["idle", "down", "up", "both"];
const NUMBERS = ["added_p50_ms", "added_p95_ms", "added_p99_ms", "down_bps", "up_bps"];
const LONGEST_TEXT = 400;
const LONGEST_LIST = 12;
/** Longer links are none of ours. */
const LONGEST = 20_000;

/** The part of an address behind "#result=". */
export function encoded({ host, taken_at, verdict, uses, summary }) {
  const stage = (one) => [one.name, ...NUMBERS.map((name) => short(one[name]))];
  const said = {
    v: VERSION,
    host,
    at: taken_at,
    kind: verdict.kind,
    grade: verdict.grade,
    headline: verdict.headline,
    advice: verdict.advice.map((one) => [one.text, one.is_alternative === true]),
    doubts: verdict.doubts.map((one) => one.reason),
    uses: (uses ?? []).map((one) => [one.name, one.rating, one.text, one.rule]),
    base: short(summary.base_ms),
    stages: summary.stages.map(stage),
  };
  const bytes = new TextEncoder().encode(JSON.stringify(said));
  const text = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  return text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

const short = (value) => (Number.isFinite(value) ? Math.round(value * 10) / 10 : null);

/** A record as `showResult` takes it; null from what is none. */
export function decoded(code) {
  try {
    if (code.length > LONGEST) return null;
    const letters = atob(code.replaceAll("-", "+").replaceAll("_", "/"));
    return record(JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(Uint8Array.from(letters, (letter) => letter.charCodeAt(0)))));
  } catch {
    return null;
  }
}

function record(said) {
  if (said?.v !== VERSION) throw new Error("another version");
  const stage = ([name, ...values]) => {
    const numbers = NUMBERS.map((key, place) => [key, number(values[place])]);
    return { name: among(STAGES, name), ...Object.fromEntries(numbers) };
  };
  const taken_at = text(said.at);
  if (Number.isNaN(Date.parse(taken_at))) throw new Error("not a time");
  return {
    host: text(said.host),
    taken_at,
    verdict: {
      kind: among(KINDS, said.kind),
      grade: said.grade === null ? null : among(["A+", "A", "B", "C", "D", "F"], said.grade),
      headline: text(said.headline),
      advice: list(said.advice).map(([words, is_alternative]) => ({ text: text(words), is_alternative: is_alternative === true })),
      doubts: list(said.doubts).map((reason) => ({ reason: text(reason) })),
      directions: [],
    },
    uses: list(said.uses).map(([name, rating, words, rule]) => ({ name: text(name), rating: among(RATINGS, rating), text: text(words), rule: text(rule) })),
    summary: { base_ms: number(said.base), stages: list(said.stages).map(stage) },
    limits: [],
  };
}

function text(value) {
  if (typeof value !== "string" || value.length > LONGEST_TEXT) throw new Error("not a text");
  return value;
}

function number(value) {
  if (value !== null && !(Number.isFinite(value) && Math.abs(value) < 1e15)) throw new Error("not a number");
  return value;
}

function among(known, value) {
  if (!known.includes(value)) throw new Error("unknown");
  return value;
}

function list(value) {
  if (!Array.isArray(value) || value.length > LONGEST_LIST) throw new Error("not a list");
  return value;
}
