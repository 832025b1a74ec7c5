// Plain numbers: quantiles, and how they are written for people.

/** By linear interpolation between order statistics (type 7 of Hyndman and Fan 1996); null of nothing. */
export function quantile(values, share) {
  if (values.length === 0) return null;
  const sorted = Float64Array.from(values).sort();
  const place = share * (sorted.length - 1);
  const below = Math.floor(place);
  const above = Math.min(below + 1, sorted.length - 1);
  return sorted[below] + (place - below) * (sorted[above] - sorted[below]);
}

const NONE = "–";

/** With the digits that mean something: 3.4 ms, 34 ms, 1.23 s. The space does not break. */
export function delayText(ms) {
  if (ms === null) return NONE;
  return ms < 1000 ? `${msText(ms)}\u00a0ms` : `${(ms / 1000).toFixed(ms < 10000 ? 2 : 1)}\u00a0s`;
}

/** ms without the unit. */
export function msText(ms) {
  return ms === null ? NONE : ms.toFixed(ms < 10 ? 1 : 0);
}

/** Mbit/s in three digits, without the unit. */
export function mbits(bps) {
  if (bps === null) return NONE;
  const value = bps / 1e6;
  return value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0);
}

/** The next of 1, 2, 4, 6, 8, 10, 20, … at or above a number: half of it is as round. */
export function roundUp(value) {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  const step = [1, 2, 4, 6, 8, 10].find((s) => s * power >= value * (1 - 1e-9));
  return step * power;
}
