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

  // ---- numbers and times --------------------------------------------------------------------
  const isNumber = (x) => x !== null && x !== undefined && Number.isFinite(x);
  // With so many figures, or as many as its whole part has.
  const digits = (x, figures = 3) => {
    const size = Math.abs(x);
    if (x === 0) return "0";
    const whole = Math.max(figures, Math.floor(Math.log10(size)) + 1);
    if (size >= 100) return Number(x.toPrecision(whole)).toLocaleString("en", { maximumFractionDigits: 12 });
    if (size < 0.001) return x.toExponential(figures - 2);
    return String(Number(x.toPrecision(whole)));
  };
  const scaled = (units, base) => (x, figures) => {
    let i = 0;
    while (i + 1 < units.length && Math.abs(x) >= base * 0.9999) { x /= base; i++; }
    return digits(x, figures) + " " + units[i];
  };
  const within = (unit) => (x, figures) => `${digits(x, figures)} ${unit}`;
  // Labels of an axis, each with as many figures as tell them all apart.
  function apart(values, show) {
    for (let figures = 3; ; figures++) {
      const labels = values.map((v) => (isNumber(v) ? show(v, figures) : ""));
      const told = labels.filter((text) => text !== "");
      if (new Set(told).size === told.length || figures >= 12) return labels;
    }
  }
  const format = {
    bytes: scaled(["B", "kB", "MB", "GB", "TB"], 1000),
    rate: scaled(["bit/s", "kbit/s", "Mbit/s", "Gbit/s"], 1000),
    mbit: within("Mbit/s"),
    seconds: (x, figures) => (x !== 0 && Math.abs(x) < 1 ? digits(x * 1000, figures) + " ms" : x >= 7200 ? digits(x / 3600, figures) + " h" : digits(x, figures) + " s"),
    ms: within("ms"),
    percent: within("%"),
    packets: within("packets"),
    plain: digits,
  };
  // The unit in which numbers of a kind are written to CSV files.
  const units = { bytes: "bytes", rate: "bit/s", mbit: "Mbit/s", seconds: "s", ms: "ms", percent: "%", packets: "packets" };
  const utc = (milliseconds) => new Date(milliseconds).toISOString().replace("T", " ").replace(/\.?0*Z$/, "") + " UTC";
  const median = (values) => {
    const sorted = values.filter(isNumber).sort((a, b) => a - b);
    return sorted.length ? sorted[(sorted.length - 1) >> 1] : null;
  };
  const smallest = (values) => values.reduce((a, b) => Math.min(a, b), Infinity);
  const largest = (values) => values.reduce((a, b) => Math.max(a, b), -Infinity);

  // ---- files to keep ------------------------------------------------------------------------
  const fileName = (title, extension) => `${title.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 60) || "chart"}.${extension}`;
  function save(name, blob) {
    const url = URL.createObjectURL(blob);
    element("a", { href: url, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(url), 60_000);
  }
  const saveText = (name, type, text) => save(name, new Blob([text], { type }));
  // A picture of points: the drawing at twice its size, for dense screens.
  async function savePicture(name, svg, width, height) {
    const image = new Image();
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
    await image.decode();
    const canvas = element("canvas", { width: 2 * width, height: 2 * height });
    canvas.getContext("2d").drawImage(image, 0, 0, 2 * width, 2 * height);
    canvas.toBlob((blob) => save(name, blob), "image/png");
  }
  // A word that a spreadsheet would take for a formula stays a word.
  const csvCell = (text) => `"${(/^[=+@-]/.test(text) ? "'" : "") + text.replace(/"/g, '""')}"`;

  // ---- drawings as text ---------------------------------------------------------------------
  const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
  const escaped = (text) => String(text).replace(/[\u0000-\u001f\u007f-\u009f\ufffe\uffff]/g, "\ufffd").replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);
  const ruler = document.createElement("canvas").getContext("2d");
  function widthOf(text, size, weight) {
    ruler.font = `${weight || 400} ${size}px ${FONT}`;
    return ruler.measureText(text).width;
  }
  // The text in lines of at most this width; a word that is longer is cut.
  function lines(text, width, size, weight) {
    const found = [""];
    for (let word of text.trim().split(/\s+/)) {
      const last = found[found.length - 1];
      if (widthOf(last ? `${last} ${word}` : word, size, weight) <= width) { found[found.length - 1] = last ? `${last} ${word}` : word; continue; }
      if (last) found.push("");
      while (widthOf(word, size, weight) > width) {
        let end = word.length - 1;
        while (end > 1 && widthOf(word.slice(0, end), size, weight) > width) end--;
        found[found.length - 1] = word.slice(0, end);
        found.push("");
        word = word.slice(end);
      }
      found[found.length - 1] = word;
    }
    return found;
  }
  const round = (x) => Math.round(x * 100) / 100;
  class Drawing {
    constructor(width) { this.width = width; this.parts = []; }
    text(x, y, text, { size = 12, weight = 400, colour = "--ink", anchor = "start", turn = "" } = {}) {
      this.parts.push(`<text x="${round(x)}" y="${round(y)}" font-size="${size}" font-weight="${weight}" fill="${css(colour) || colour}" text-anchor="${anchor}"${turn && ` transform="rotate(${turn} ${round(x)} ${round(y)})"`}>${escaped(text)}</text>`);
    }
    path(points, { colour, width = 1, dash, alpha = 1 }) {
      const runs = [];
      let pen = "M";
      for (const point of points) {
        if (!point) { pen = "M"; continue; }
        runs.push(`${pen}${round(point[0])} ${round(point[1])}`);
        pen = "L";
      }
      this.parts.push(`<path d="${runs.join("")}" fill="none" stroke="${colour}" stroke-width="${width}" stroke-linejoin="round"${dash ? ` stroke-dasharray="${dash.join(" ")}"` : ""}${alpha < 1 ? ` stroke-opacity="${alpha}"` : ""}/>`);
    }
    rect(x, y, width, height, { colour, alpha = 1 }) {
      this.parts.push(`<rect x="${round(x)}" y="${round(y)}" width="${round(Math.max(0, width))}" height="${round(Math.max(0, height))}" fill="${colour}"${alpha < 1 ? ` fill-opacity="${alpha}"` : ""}/>`);
    }
    dot(x, y, radius, { colour, hollow }) {
      this.parts.push(`<circle cx="${round(x)}" cy="${round(y)}" r="${radius}" fill="${hollow ? css("--paper") : colour}"${hollow ? ` stroke="${colour}" stroke-width="2"` : ""}/>`);
    }
    clipped(box, draw) {
      const id = `inside-${this.parts.length}`;
      this.parts.push(`<clipPath id="${id}"><rect x="${round(box.left)}" y="${round(box.top)}" width="${round(box.width)}" height="${round(box.height)}"/></clipPath><g clip-path="url(#${id})">`);
      draw();
      this.parts.push("</g>");
    }
    svg(height) {
      return `<svg xmlns="http://www.w3.org/2000/svg" width="${this.width}" height="${Math.ceil(height)}" viewBox="0 0 ${this.width} ${Math.ceil(height)}" font-family="${escaped(FONT)}"><rect width="100%" height="100%" fill="${css("--paper")}"/>${this.parts.join("")}</svg>`;
    }
  }
  // The same on a chart's canvas, in pixels of the page.
  function brush(context) {
    const styled = ({ colour, width = 1, dash = [], alpha = 1 }) => {
      context.strokeStyle = context.fillStyle = colour;
      context.lineWidth = width;
      context.globalAlpha = alpha;
      context.setLineDash(dash);
    };
    return {
      path(points, style) {
        styled(style);
        context.beginPath();
        let pen = false;
        for (const point of points) {
          if (point && pen) context.lineTo(...point);
          else if (point) context.moveTo(...point);
          pen = Boolean(point);
        }
        context.stroke();
      },
      rect(x, y, width, height, style) { styled(style); context.fillRect(x, y, width, height); },
      dot(x, y, radius, style) {
        styled({ ...style, width: 2 });
        context.beginPath();
        context.arc(x, y, radius, 0, 7);
        if (style.hollow) { context.fillStyle = css("--paper"); context.fill(); context.stroke(); } else context.fill();
      },
      text(x, y, text, { size = 12, colour = "--ink" } = {}) {
        styled({ colour: css(colour) || colour });
        context.font = `${size}px ${FONT}`;
        context.textAlign = "left";
        context.textBaseline = "alphabetic";
        context.fillText(text, x, y);
      },
    };
  }

  // ---- charts -------------------------------------------------------------------------------
  // A line is solid, or has dashes of its own: colours alone do not tell lines apart.
  const colours = ["--c1", "--c2", "--c3", "--c4", "--c5", "--c6"];
  const dashes = [undefined, [10, 3], [3, 3], [10, 3, 3, 3], [16, 4], [6, 6]];
  const look = (at) => ({ colour: colours[at % colours.length], dash: dashes[(at + Math.floor(at / colours.length)) % dashes.length] });

  // Charts of one time: the same range of it, zoomed together.
  let groups = 0;
  const group = (from, to) => ({ key: `group-${groups++}`, home: [from, to], view: [from, to], plots: [], drawings: [] });

  // When each stage of a test began and ended, and which it was. A name is left out where it has no room.
  const shades = (stages) => (pen, at) => stages.forEach((stage, i) => {
    const [from, to] = [stage.begin_s, stage.end_s].map(at.x);
    pen.rect(from, at.box.top, to - from, at.box.height, { colour: css("--soft"), alpha: i % 2 ? 0.13 : 0.06 });
    if (to - from > 7 * stage.name.length) pen.text(Math.max(from, at.box.left) + 4, at.box.top + 14, stage.name, { size: 11, colour: "--soft" });
  });

  // Where a line was not measured, it has a point without a value: much longer than its usual step, and long enough to be seen.
  function broken(whole, span) {
    const measured = whole.x.map((_, i) => i).filter((i) => isNumber(whole.y[i]));
    const { x, y, ...line } = { ...whole, x: measured.map((i) => whole.x[i]), y: measured.map((i) => whole.y[i]) };
    const steps = x.slice(1).map((at, i) => at - x[i]).filter((step) => step > 0);
    const longest = Math.max(5 * (median(steps) ?? 0), 0.01 * span);
    const kept = { ...line, x: [], y: [] };
    x.forEach((at, i) => {
      const before = x[i - 1];
      const isEnd = i > 0 && (line.ends || []).some((end) => before < end && end <= at);
      if (i > 0 && (at - before > longest || isEnd)) { kept.x.push((before + at) / 2); kept.y.push(null); }
      kept.x.push(at); kept.y.push(y[i]);
    });
    return kept;
  }

  // A gap of a line reaches over the times at which only others have points: without them, uPlot would end it at the next of these.
  function withGaps([times, ...lines]) {
    for (const values of lines) {
      let [last, isGap] = [-1, false];
      values.forEach((value, i) => {
        isGap ||= value === null;
        if (!isNumber(value)) return;
        if (isGap && last >= 0) values.fill(null, last + 1, i);
        [last, isGap] = [i, false];
      });
    }
    return [times, ...lines];
  }

  // The point of a line that is nearest to the pointer; none in a gap of it.
  function nearest(u, series, index) {
    const values = u.data[series];
    for (let reach = 0; reach < values.length; reach++) {
      for (const at of [index - reach, index + reach]) {
        if (values[at] === null) return index;
        if (values[at] !== undefined) return at;
      }
    }
    return index;
  }

  function frame(u) {
    const ratio = devicePixelRatio;
    const box = { left: u.bbox.left / ratio, top: u.bbox.top / ratio, width: u.bbox.width / ratio, height: u.bbox.height / ratio };
    return { box, x: (v) => box.left + u.valToPos(v, "x"), y: (v) => box.top + u.valToPos(v, "y") };
  }

  // Draws `spec` at the end of `holder`, with its legend, the buttons that save it and its values as a table.
  //
  // spec: title, height, x and y of { label, kind or show, isLog, range, ticks }, lines of { label, x, y, colour, dash, width, low, high, isMarks, hasPoints, isTotal (only grows), ends },
  // isDistribution (share of all over x), isTime (lines break, and zoom together if `group` is given), startMs (absolute time of x = 0),
  // under and over (draw with a pen below and above the lines), keepsTable (the page has a table already).
  function chart(holder, spec) {
    const { x, y } = spec;
    const showX = x.show || format[x.kind], showY = y.show || format[y.kind];
    const all = spec.lines.flatMap((line) => line.x);
    const span = largest(all) - smallest(all);
    const drawn = spec.lines.map((line) => (spec.isTime ? broken(line, spec.group ? spec.group.home[1] - spec.group.home[0] : span) : line));
    const stroke = (line) => css(line.colour) || line.colour;
    const home = spec.group ? spec.group.home
      : x.range || (x.isLog ? uPlot.rangeLog(smallest(all.filter((v) => v > 0)), largest(all), 10, false) : span > 0 ? [smallest(all), largest(all)] : [smallest(all) - 1, largest(all) + 1]);
    const shared = spec.group || { home, view: home, plots: [], drawings: [] };

    // What a line says while nobody points at it.
    function rest(line) {
      const values = line.y.filter(isNumber);
      if (line.isMarks || values.length === 0) return "";
      if (spec.isDistribution) {
        const at = line.y.findIndex((share) => share >= 0.5);
        return at < 0 ? "" : `median ${showX(line.x[at])}`;
      }
      // Of what is loaded for a part of the time, the median says nothing; of what only grows, nothing but its end does.
      if (spec.isTime && line.isTotal) return `${showY(values.at(-1))} at the end`;
      if (spec.isTime) return `p95 ${showY([...values].sort((a, b) => a - b)[Math.ceil(0.95 * values.length) - 1])}`;
      const [low, high] = [smallest(values), largest(values)];
      return low === high ? showY(low) : `${showY(low)} to ${showY(high)}`;
    }
    const named = drawn.filter((line) => !line.isMarks);
    const summary = named.slice(0, 12).map((line) => `${line.label}: ${rest(line)}`).join("; ");
    const described = () => `${spec.title}. ${y.label} against ${x.label}${x.ticks ? "" : ` from ${showX(shared.view[0])} to ${showX(shared.view[1])}`}. ${summary}.`;

    // Bars of uncertainty, points that have no neighbour to draw a line to, and what the page adds.
    function over(pen, at) {
      for (const line of drawn.filter((l) => l.isShown !== false)) {
        const colour = stroke(line);
        if (line.low) pen.path(line.x.flatMap((v, i) => (isNumber(line.low[i]) ? [[at.x(v), at.y(line.low[i])], [at.x(v), at.y(line.high[i])], null] : [])), { colour, width: 2 });
        line.y.forEach((v, i) => {
          if (!isNumber(v)) return;
          const alone = !isNumber(line.y[i - 1]) && !isNumber(line.y[i + 1]);
          if (line.isMarks) pen.dot(at.x(line.x[i]), at.y(v), 4.5, { colour, hollow: true });
          else if (line.hasPoints || (alone && !spec.isDistribution)) pen.dot(at.x(line.x[i]), at.y(v), line.hasPoints ? 3 : 2, { colour });
        });
      }
      if (spec.over) spec.over(pen, at);
    }
    const paint = (draw) => (u) => {
      const at = frame(u);
      u.ctx.save();
      u.ctx.scale(devicePixelRatio, devicePixelRatio);
      u.ctx.beginPath();
      u.ctx.rect(at.box.left, at.box.top, at.box.width, at.box.height);
      u.ctx.clip();
      draw(brush(u.ctx), at);
      u.ctx.restore();
    };

    const axis = (of, show, size) => ({
      label: of.label, size: of.tickSize || size, labelSize: 18, labelFont: "12px system-ui, sans-serif", font: "11px system-ui, sans-serif",
      stroke: css("--soft"), grid: { stroke: css("--line"), width: 1 }, ticks: { stroke: css("--line"), size: 4 }, rotate: of.rotate,
      values: (u, splits) => (of.ticks ? splits.map((v) => of.ticks[v] ?? "") : apart(splits, show)),
      ...(of.ticks ? { splits: () => of.ticks.map((_, i) => i) } : {}),
    });
    const legend = element("ul", { class: "legend" });
    const values = [];
    function tell(u) {
      const { idx } = u.cursor;
      const isPointed = isNumber(idx) && u.cursor.left >= 0;
      const where = isPointed ? u.data[0][idx] : null;
      head.textContent = isPointed ? `${x.label}: ${x.ticks ? x.ticks[Math.round(where)] ?? "" : showX(where)}${isNumber(spec.startMs) ? ` (${utc(spec.startMs + where * 1000)})` : ""}` : "";
      drawn.forEach((line, i) => {
        if (!values[i]) return;
        const found = isPointed ? u.data[i + 1][u.cursor.idxs[i + 1] ?? idx] : undefined;
        values[i].textContent = isPointed ? (isNumber(found) ? showY(found) : "not measured") : rest(line);
      });
    }

    const place = element("div", { class: "plot" });
    const head = element("span", { class: "note pointed" });
    holder.append(place);
    const u = new uPlot({
      width: Math.max(240, holder.clientWidth), height: spec.height || 270,
      scales: {
        x: { time: false, distr: x.isLog ? 3 : 1, range: () => shared.view },
        y: { distr: y.isLog ? 3 : 1, ...(y.range ? { range: typeof y.range === "function" ? y.range : () => y.range } : {}) },
      },
      axes: [axis(x, showX, 32), axis(y, showY, 66)],
      legend: { show: false },
      series: [{}, ...drawn.map((line) => ({
        label: line.label, stroke: stroke(line), width: line.width || 2, dash: line.dash, spanGaps: false, points: { show: false },
        paths: line.isMarks || spec.hasBarsOnly ? () => null : spec.isDistribution || line.isSteps ? uPlot.paths.stepped({ align: 1 }) : undefined,
      }))],
      focus: { alpha: 0.25 },
      cursor: {
        dataIdx: nearest, points: { size: 6 }, drag: { x: true, y: false, setScale: false }, bind: { dblclick: () => () => zoom(home) },
        ...(spec.group ? { sync: { key: spec.group.key, scales: ["x", null] } } : {}),
      },
      hooks: {
        drawAxes: spec.under ? [paint(spec.under)] : [], draw: [paint(over)], setCursor: [tell], setLegend: [tell],
        setScale: [(plot, key) => { if (key === "x") plot.root.querySelector(".u-wrap").setAttribute("aria-label", described()); }],
        setSelect: [(plot) => {
          const { left, width } = plot.select;
          if (width < 4) return;
          const ends = [left, left + width].map((px) => plot.posToVal(px, "x"));
          plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          zoom(ends);
        }],
      },
    }, withGaps(uPlot.join(drawn.map((line) => [line.x, line.y]))), place);
    shared.plots.push(u);

    // ---- zoom ----
    const [toScale, fromScale] = x.isLog ? [Math.log, Math.exp] : [(v) => v, (v) => v];
    function zoom([from, to]) {
      const [least, most] = home.map(toScale);
      let [low, high] = [from, to].map(toScale);
      const width = Math.min(Math.max(high - low, (most - least) / 5000), most - least);
      low = Math.min(Math.max(low, least), most - width);
      high = low + width;
      shared.view = width >= most - least ? home : [fromScale(low), fromScale(high)];
      shared.plots.forEach((plot) => plot.setScale("x", { min: shared.view[0], max: shared.view[1] }));
    }
    // By a factor around a place of the view, 0 at its left and 1 at its right; then along by a share of it.
    function scale(factor, place, along) {
      const [low, high] = shared.view.map(toScale);
      const width = (high - low) * factor;
      const from = low + (high - low) * place - width * place + (high - low) * along;
      zoom([from, from + width].map(fromScale));
    }
    const wrap = place.querySelector(".u-wrap");
    for (const [name, value] of Object.entries({ role: "img", tabindex: "0", "aria-label": described(), "aria-keyshortcuts": "+ - ArrowLeft ArrowRight Escape" })) wrap.setAttribute(name, value);
    wrap.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const moves = { "+": [0.8, 0.5, 0], "=": [0.8, 0.5, 0], "-": [1.25, 0.5, 0], ArrowLeft: [1, 0, -0.1], ArrowRight: [1, 0, 0.1] };
      if (event.key === "Escape" || event.key === "0") zoom(home);
      else if (moves[event.key]) scale(...moves[event.key]);
      else return;
      event.preventDefault();
    });
    const along = (clientX) => { const { left, width } = u.over.getBoundingClientRect(); return (clientX - left) / width; };
    // A wheel alone scrolls the page. Two fingers on a touchpad come as a wheel with Ctrl.
    u.over.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      scale(Math.exp(Math.max(-100, Math.min(100, event.deltaY)) / 400), along(event.clientX), 0);
    }, { passive: false });
    const fingers = new Map();
    const spread = () => { const [a, b] = [...fingers.values()]; return { width: Math.max(Math.abs(a - b), 20), middle: (a + b) / 2 }; };
    u.over.addEventListener("pointerdown", (event) => { if (event.pointerType === "touch") fingers.set(event.pointerId, event.clientX); });
    u.over.addEventListener("pointermove", (event) => {
      if (!fingers.has(event.pointerId)) return;
      const before = fingers.size === 2 ? spread() : null;
      fingers.set(event.pointerId, event.clientX);
      if (!before) return;
      const now = spread();
      scale(before.width / now.width, along(now.middle), (along(before.middle) - along(now.middle)) * (before.width / now.width));
    });
    for (const end of ["pointerup", "pointercancel"]) u.over.addEventListener(end, (event) => fingers.delete(event.pointerId));

    // ---- legend ----
    drawn.forEach((line, i) => {
      if (line.isMarks) return;
      values[i] = element("span", { class: "value" });
      const button = element("button", { type: "button", "aria-pressed": "true" }, sample(line, stroke(line)), line.label, " ", values[i]);
      button.addEventListener("click", () => {
        line.isShown = line.isShown === false;
        button.setAttribute("aria-pressed", String(line.isShown));
        u.setSeries(i + 1, { show: line.isShown });
      });
      for (const [event, focus] of [["mouseenter", true], ["mouseleave", false], ["focus", true], ["blur", false]]) button.addEventListener(event, () => u.setSeries(focus ? i + 1 : null, { focus }));
      legend.append(element("li", {}, button));
    });
    tell(u);

    // ---- files ----
    function csv() {
      const heads = [x.ticks ? x.label : withUnit(x.label, units[x.kind]), ...drawn.map((line) => withUnit(line.label, units[y.kind]))];
      const absolute = isNumber(spec.startMs);
      const rows = uPlot.join(spec.lines.map((line) => [line.x, line.y]));
      const cell = (v) => (isNumber(v) ? String(v) : "");
      const body = rows[0].map((at, i) => [...(absolute ? [new Date(spec.startMs + at * 1000).toISOString()] : []), x.ticks ? csvCell(x.ticks[Math.round(at)] ?? "") : cell(at), ...rows.slice(1).map((column) => cell(column[i]))].join(","));
      return [[...(absolute ? ["time UTC"] : []), ...heads].map(csvCell).join(","), ...body, ""].join("\r\n");
    }
    // Into a drawing from `shift` on; to where it reaches.
    function drawOn(drawing, shift) {
      const titles = lines(spec.title, u.width - 24, 14, 600);
      titles.forEach((line, i) => drawing.text(12, shift + 22 + 18 * i, line, { size: 14, weight: 600 }));
      shift += 12 + 18 * titles.length;
      const inner = frame(u);
      const box = { ...inner.box, top: inner.box.top + shift };
      const at = { box, x: inner.x, y: (v) => inner.y(v) + shift };
      const bottom = box.top + box.height;
      const ticks = (axis) => (axis._splits || []).map((v, i) => [v, axis._values[i]]).filter(([v, text]) => isNumber(v) && text !== "" && text !== null);
      for (const [v, text] of ticks(u.axes[0])) {
        const px = at.x(v);
        if (px < box.left - 1 || px > box.left + box.width + 1) continue;
        drawing.path([[px, box.top], [px, bottom + 4]], { colour: css("--line") });
        drawing.text(px, bottom + 18, text, { size: 11, colour: "--soft", ...(x.rotate ? { anchor: "end", turn: x.rotate } : { anchor: "middle" }) });
      }
      for (const [v, text] of ticks(u.axes[1])) {
        const py = at.y(v);
        if (py < box.top - 1 || py > bottom + 1) continue;
        drawing.path([[box.left - 4, py], [box.left + box.width, py]], { colour: css("--line") });
        drawing.text(box.left - 8, py + 4, text, { size: 11, colour: "--soft", anchor: "end" });
      }
      drawing.text(box.left + box.width / 2, shift + u.height - 4, x.label, { colour: "--soft", anchor: "middle" });
      drawing.text(14, box.top + box.height / 2, y.label, { colour: "--soft", anchor: "middle", turn: "-90" });
      drawing.clipped(box, () => {
        if (spec.under) spec.under(drawing, at);
        for (const line of drawn) {
          if (line.isMarks || spec.hasBarsOnly || line.isShown === false) continue;
          const isStepped = spec.isDistribution || line.isSteps;
          const points = line.x.flatMap((v, i) => {
            if (!isNumber(line.y[i])) return [null];
            const point = [at.x(v), at.y(line.y[i])];
            return isStepped && i > 0 && isNumber(line.y[i - 1]) ? [[point[0], at.y(line.y[i - 1])], point] : [point];
          });
          drawing.path(points, { colour: stroke(line), width: line.width || 2, dash: line.dash });
        }
        over(drawing, at);
      });
      let below = shift + u.height + 20;
      for (const line of named.filter((l) => l.isShown !== false)) {
        drawing.path([[box.left, below - 4], [box.left + 26, below - 4]], { colour: stroke(line), width: 2, dash: line.dash });
        for (const text of lines(`${line.label}  ${rest(line)}`, u.width - box.left - 46, 12)) { drawing.text(box.left + 34, below, text); below += 18; }
      }
      return below;
    }
    shared.drawings.push({ width: u.width, drawOn });
    holder.append(element("div", { class: "below" }, legend, head), saveButtons(spec.title, () => picture([{ width: u.width, drawOn }], spec.startMs), { CSV: () => saveText(fileName(spec.title, "csv"), "text/csv", csv()) }));
    if (!spec.keepsTable) holder.append(valueTable(spec, named, { showX, showY }));
    return u;
  }

  // Charts below each other, with what they are of.
  function picture(drawings, startMs, heading = "") {
    const width = largest(drawings.map((one) => one.width));
    const drawing = new Drawing(width);
    let below = 0;
    const write = (text, style) => { for (const line of lines(text, width - 24, style.size, style.weight)) { drawing.text(12, below + style.size + 4, line, style); below += Math.round(1.4 * style.size); } };
    if (heading) { below = 8; write(heading, { size: 18, weight: 700 }); }
    for (const { drawOn } of drawings) below = drawOn(drawing, below);
    below -= 11;
    write([document.title, isNumber(startMs) ? `time 0 is ${utc(startMs)}` : ""].filter(Boolean).join(", "), { size: 11, colour: "--soft" });
    return { text: drawing.svg(below + 8), width, height: Math.ceil(below + 8) };
  }
  function saveButtons(title, draw, others = {}, label = "") {
    const saves = {
      PNG: () => { const { text, width, height } = draw(); savePicture(fileName(title, "png"), text, width, height); },
      SVG: () => saveText(fileName(title, "svg"), "image/svg+xml", draw().text),
      ...others,
    };
    return element("div", { class: "tools" }, label, ...Object.entries(saves).map(([type, act]) => element("button", { type: "button", "aria-label": `Save as ${type}: ${title}`, onclick: act }, type)));
  }
  // Buttons that save the widest charts of one time, which share its axis, as one picture below what the page says first.
  function saveTogether(holder, title, charts, startMs) {
    const most = largest(charts.drawings.map((one) => one.width));
    const drawings = charts.drawings.filter((one) => one.width === most);
    if (drawings.length < 2) return;
    const said = document.querySelector(".card h2")?.textContent;
    holder.append(saveButtons(title, () => picture(drawings, startMs, said), {}, "Save these charts as one picture: "));
  }

  const withUnit = (label, unit) => (unit && !label.endsWith(`(${unit})`) ? `${label} (${unit})` : label);

  // A piece of a line, as the legend shows it.
  function sample(line, colour) {
    const space = "http://www.w3.org/2000/svg";
    const picture = document.createElementNS(space, "svg");
    const stroke = document.createElementNS(space, "line");
    for (const [name, value] of Object.entries({ width: 26, height: 8, "aria-hidden": "true" })) picture.setAttribute(name, value);
    for (const [name, value] of Object.entries({ x1: 0, y1: 4, x2: 26, y2: 4, stroke: colour, "stroke-width": 2.5, "stroke-dasharray": (line.dash || []).join(" ") })) stroke.setAttribute(name, value);
    picture.append(stroke);
    return picture;
  }

  const ROWS = 24;
  // A chart in numbers, filled when it is opened: quantiles of a distribution, values at some times, or all points.
  function valueTable(spec, named, { showX, showY }) {
    const { x, y } = spec;
    const details = element("details", { class: "values" }, element("summary", { "aria-label": `Values: ${spec.title}` }, "Values"));
    const cells = (texts) => texts.map((text) => element("td", {}, text));
    function rows() {
      if (spec.isDistribution) {
        return [5, 25, 50, 75, 95].map((percent) => [`p${percent}`, named.map((line) => {
          const at = line.y.findIndex((share) => share >= percent / 100);
          return at < 0 ? "" : showX(line.x[at]);
        })]);
      }
      const all = [...new Set(named.flatMap((line) => line.x.filter((_, i) => isNumber(line.y[i]))))].sort((a, b) => a - b);
      if (all.length <= ROWS || x.ticks) {
        return all.map((at) => [x.ticks ? x.ticks[at] ?? "" : showX(at), named.map((line) => { const i = line.x.indexOf(at); return i >= 0 && isNumber(line.y[i]) ? showY(line.y[i]) : ""; })]);
      }
      // The median of what was measured around each of these times.
      const first = all[0], step = (all[all.length - 1] - first) / ROWS;
      return Array.from({ length: ROWS }, (_, row) => [`${showX(first + row * step)} to ${showX(first + (row + 1) * step)}`, named.map((line) => {
        const inside = line.y.filter((_, i) => line.x[i] >= first + row * step && (line.x[i] < first + (row + 1) * step || row === ROWS - 1));
        const middle = median(inside);
        return middle === null ? "not measured" : showY(middle);
      })]);
    }
    details.addEventListener("toggle", () => {
      if (details.children.length > 1) return;
      const head = (text, scope) => element("th", { scope, class: scope === "row" ? "text" : "" }, text);
      const isThinned = spec.isTime && new Set(named.flatMap((line) => line.x)).size > ROWS;
      details.append(element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Values of ${spec.title}` }, element("table", {},
        element("caption", {}, spec.isDistribution ? `${x.label}: percentiles` : `${y.label}${isThinned ? ": medians" : ""}`),
        element("thead", {}, element("tr", {}, head(spec.isDistribution ? "percentile" : x.label, "col"), ...named.map((line) => head(line.label, "col")))),
        element("tbody", {}, ...rows().map(([name, values]) => element("tr", {}, head(name, "row"), ...cells(values)))))));
    });
    return details;
  }

  // ---- the verdict's card as a picture ------------------------------------------------------
  function cardDrawing(card) {
    const width = 760, left = 30, inner = width - left - 24;
    const drawing = new Drawing(width);
    let y = 18;
    const write = (text, { size = 15, weight = 400, colour = "--ink", indent = 0, gap = 6 } = {}) => {
      for (const line of lines(text, inner - indent, size, weight)) { y += size * 1.4; drawing.text(left + indent, y, line, { size, weight, colour }); }
      y += gap;
    };
    const accent = getComputedStyle(card).borderLeftColor;
    for (const part of card.children) {
      if (part.tagName === "H2") write(part.textContent, { size: 23, weight: 700, colour: getComputedStyle(part).color, gap: 12 });
      else if (part.tagName === "H3") write(part.textContent, { weight: 700 });
      else if (part.classList.contains("tiles")) {
        const tiles = [...part.children].map((tile) => [...tile.children].map((piece) => piece.innerText));
        let at = 0, tallest = 0;
        for (const [number, text] of tiles) {
          const wide = Math.max(widthOf(number, 26, 700), Math.min(widthOf(text, 13), 190)) + 30;
          if (at > 0 && at + wide > inner) { y += tallest; at = 0; tallest = 0; }
          drawing.text(left + at, y + 30, number, { size: 26, weight: 700 });
          const below = lines(text, wide - 20, 13);
          below.forEach((line, i) => drawing.text(left + at, y + 50 + 17 * i, line, { size: 13, colour: "--soft" }));
          tallest = Math.max(tallest, 50 + 17 * below.length);
          at += wide;
        }
        y += tallest + 6;
      } else if (part.tagName === "DL") {
        const wide = Math.min(150, Math.max(...[...part.querySelectorAll("dt")].map((term) => widthOf(term.textContent, 15, 600)))) + 18;
        for (const piece of part.children) {
          if (piece.tagName === "DT") drawing.text(left, y + 21, piece.textContent, { size: 15, weight: 600 });
          else write(piece.innerText, { indent: wide, gap: 4 });
        }
      } else if (part.tagName === "P") write(part.innerText);
      else if (part.tagName === "UL") for (const item of part.children) write(`• ${item.innerText}`);
    }
    y += 8;
    write(document.title, { size: 12, colour: "--soft", gap: 14 });
    drawing.parts.unshift(`<rect width="6" height="${Math.ceil(y)}" fill="${accent}"/>`);
    return { text: drawing.svg(y), width, height: Math.ceil(y) };
  }
  function addCardButtons() {
    const card = document.querySelector(".card");
    if (card) card.append(saveButtons("unbloat verdict", () => cardDrawing(card), {}, "Save this card: "));
  }
  addCardButtons();

  // Draws now, and again when colours or the width change.
  function drawAndRedraw(draw) {
    draw();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
    matchMedia("print").addEventListener("change", draw);
    let width = innerWidth;
    addEventListener("resize", () => {
      if (innerWidth === width) return;
      width = innerWidth;
      draw();
    });
  }

  return { css, element, digits, format, utc, smallest, largest, look, group, shades, chart, saveTogether, drawAndRedraw };
})();
