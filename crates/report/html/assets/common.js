"use strict";
// What all pages draw with.
const unbloat = (() => {
  const root = document.documentElement;
  const css = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  function element(tag, attributes, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (name === "class") made.className = value;
      else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
      else made.setAttribute(name, value);
    }
    // append() makes text nodes of strings: nothing from a capture is ever parsed as HTML.
    made.append(...children.filter((c) => c !== null && c !== undefined));
    return made;
  }
  const digits = (x) => {
    const size = Math.abs(x);
    if (x === 0) return "0";
    if (size >= 100) return Math.round(x).toLocaleString("en");
    if (size < 0.001) return x.toExponential(1);
    return String(Number(x.toPrecision(3)));
  };
  const scaled = (units, base) => (x) => {
    let i = 0;
    while (i + 1 < units.length && Math.abs(x) >= base * 0.9999) { x /= base; i++; }
    return digits(x) + " " + units[i];
  };
  const format = {
    bytes: scaled(["B", "kB", "MB", "GB", "TB"], 1000),
    rate: scaled(["bit/s", "kbit/s", "Mbit/s", "Gbit/s"], 1000),
    mbit: (x) => digits(x) + " Mbit/s",
    seconds: (x) => (x !== 0 && Math.abs(x) < 1 ? digits(x * 1000) + " ms" : x >= 7200 ? digits(x / 3600) + " h" : digits(x) + " s"),
    ms: (x) => digits(x) + " ms",
    percent: (x) => digits(x) + " %",
    plain: digits,
  };
  return { css, element, digits, format };
})();
