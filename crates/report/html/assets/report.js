(() => {
  const { css, element, digits, format } = unbloat;
  const data = JSON.parse(document.getElementById("data").textContent);

  // ---- figures ------------------------------------------------------------------------------
  const CDF = "share of all";
  const figures = [
    { id: "2", title: "Flow size", x: ["payload", "bytes"], log: 1, least: 10 },
    { id: "3", title: "Flow duration, and silence before the end", x: ["time", "seconds"], log: 1, least: 0.001 },
    { id: "4", title: "Radio of the median late close", x: ["time since the last payload", "seconds"], y: ["radio on", "plain"], radio: true, note: "On for a tail after the last payload, off, and on again for the FIN or RST and another tail." },
    { id: "5", title: "Flow rate", x: ["rate", "rate"], log: 1, least: 10 },
    { id: "6", title: "Concurrent flows of a user", x: ["flows with downlink data in the last second", "plain"], least: 0 },
    { id: "7", title: "Handshake RTT and DNS", x: ["time", "ms"], log: 1, least: 0.01 },
    { id: "8", title: "Handshake RTT to the server over that to the client", x: ["RTT(M-S) / RTT(C-M)", "plain"], least: 0, most: 10 },
    { id: "10", title: "RTT against bytes in flight, downstream", x: ["bytes in flight", "bytes"], y: ["RTT", "ms"], log: 3, map: true, note: "Stronger colour: more samples." },
    { id: "13", title: "Bytes in flight of large flows", x: ["bytes in flight", "bytes"], log: 1, least: 1000 },
    { id: "14", title: "Duplicate ACKs and reordering in large flows", x: ["packets", "plain"], log: 1, least: 1 },
    { id: "19", title: "Bandwidth estimates", x: ["rate", "rate"], log: 1, least: 10000 },
    { id: "20", title: "Estimates over time, flow with most of them", x: ["time", "seconds"], y: ["rate", "mbit"] },
    { id: "21", title: "Bandwidth used of that available, large flows", x: ["used / available", "percent"], least: 0, most: 200 },
    { id: "22", title: "Estimates over time, two flows", x: ["time since its first estimate", "seconds"], y: ["rate", "mbit"] },
    { id: "model-delay", of: "model", name: "CellNet 2012, Figure 4", title: "Mean delay", x: ["buffer, packets", "plain"], y: ["delay", "ms"], note: "Dashed: as published." },
    { id: "model-throughput", of: "model", name: "CellNet 2012, Figure 4", title: "Throughput", x: ["buffer, packets", "plain"], y: ["throughput", "rate"], note: "Dashed: as published." },
    { id: "model-fit", of: "model", name: "Measured curve", title: "Delay against throughput, and what explains it", x: ["throughput", "rate"], y: ["delay", "ms"] },
  ];
  const course = (id, title, y) => ({ id, of: "sim", name: "Over time", title, x: ["time", "seconds"], y, note: "Of samples between two points the largest." });
  figures.push(
    course("sim-backlog", "On the path, queued and under way", ["bytes", "bytes"]),
    course("sim-layers", "Backlog by hop and place", ["bytes", "bytes"]),
    course("sim-srtt", "Smoothed round-trip time", ["RTT", "ms"]),
    course("sim-cwnd", "Congestion window", ["window", "bytes"]),
    course("sim-in-flight", "In flight", ["bytes", "bytes"]),
    course("test-added", "Delay added one way", ["added delay", "ms"]),
    course("test-goodput", "Goodput of the load, stage by stage", ["rate", "rate"]),
    course("test-in-flight", "In flight, all connections of a direction", ["bytes", "bytes"]),
    ...data.sweep.map((f) => ({ ...f, of: "sim" })),
  );
  const colours = ["--c1", "--c2", "--c3", "--c4", "--c5", "--c6"];
  const isPaper = (curve) => curve.series.startsWith("paper");
  // The CellNet paper's equations, in the colour of the exact curve.
  const isPublished = (curve) => /^Eq\. \d/.test(curve.series);
  // What curves are held against.
  const isProduct = (curve) => curve.series.startsWith("bandwidth-delay product");

  function axes(figure) {
    const axis = (label, kind, size) => ({
      label, size, labelSize: 18, labelFont: "12px system-ui, sans-serif", font: "11px system-ui, sans-serif",
      stroke: css("--soft"), grid: { stroke: css("--line"), width: 1 }, ticks: { stroke: css("--line"), size: 4 },
      values: (u, splits) => splits.map((v) => (v === null || v === undefined ? "" : format[kind](v))),
    });
    const y = figure.y || [CDF, "plain"];
    const across = axis(figure.x[0], figure.x[1], 32);
    if (figure.ticks) {
      across.splits = () => figure.ticks.map((_, i) => i);
      across.values = (u, splits) => splits.map((i) => figure.ticks[i]);
    }
    return [across, axis(y[0], y[1], 66)];
  }

  // The hovered value of each curve is that of its own nearest point, not of the common grid.
  function nearestOfOwn(u, series, index) {
    const values = u.data[series];
    for (let reach = 0; reach < values.length; reach++) {
      if (values[index - reach] !== null && values[index - reach] !== undefined) return index - reach;
      if (values[index + reach] !== null && values[index + reach] !== undefined) return index + reach;
    }
    return index;
  }

  function curveData(figure, curve) {
    const floor = figure.least ?? -Infinity;
    const points = curve.x.map((x, i) => [Math.max(x, figure.log ? floor : x), curve.y[i]]);
    if (figure.most !== undefined && !figure.y) {
      const inside = points.filter((p) => p[0] <= figure.most);
      const last = inside[inside.length - 1];
      if (inside.length < points.length && last) inside.push([figure.most, last[1]]);
      points.splice(0, points.length, ...inside);
    }
    // One ordinate for each abscissa: of several the last, as a distribution needs.
    const kept = [];
    for (const point of points) {
      const last = kept[kept.length - 1];
      if (last && last[0] >= point[0]) {
        if (figure.radio) kept.push([last[0] + 1e-6, point[1]]); else last[1] = point[1];
      } else kept.push(point);
    }
    // A distribution rises from nothing at its smallest value.
    if (!figure.y && !isPaper(curve) && kept.length) kept.unshift([kept[0][0] * (1 - 1e-6) - (kept[0][0] === 0 ? 1e-6 : 0), 0]);
    return [kept.map((p) => p[0]), kept.map((p) => p[1])];
  }

  function drawMap(figure, cells) {
    const step = 2 ** 0.125;
    const most = Math.max(...cells.weight);
    return (u) => {
      const context = u.ctx;
      context.save();
      context.fillStyle = css("--c1");
      cells.x.forEach((x, i) => {
        const [left, right] = [x / step, x * step].map((v) => u.valToPos(v, "x", true));
        const [bottom, top] = [cells.y[i] / step, cells.y[i] * step].map((v) => u.valToPos(v, "y", true));
        context.globalAlpha = 0.08 + 0.62 * (Math.log1p(cells.weight[i]) / Math.log1p(most));
        context.fillRect(left, top, right - left, bottom - top);
      });
      context.restore();
    };
  }

  // What is measured in stages alone has no line from one to the next.
  function stopAtStages([x, y]) {
    const stopped = [[], []];
    x.forEach((at, i) => {
      const end = i > 0 && data.stages.find((stage) => x[i - 1] < stage.end_s && stage.end_s <= at);
      if (end) { stopped[0].push((x[i - 1] + at) / 2); stopped[1].push(null); }
      stopped[0].push(at); stopped[1].push(y[i]);
    });
    return stopped;
  }

  // When each stage of a test began and ended, and which it was.
  function drawStages(u) {
    const context = u.ctx;
    const { left, top, width, height } = u.bbox;
    context.save();
    context.beginPath(); context.rect(left, top, width, height); context.clip();
    context.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
    context.fillStyle = css("--soft");
    context.textBaseline = "top";
    data.stages.forEach((stage) => {
      const [from, to] = [stage.begin_s, stage.end_s].map((s) => u.valToPos(s, "x", true));
      context.globalAlpha = 0.08;
      context.fillRect(from, top, to - from, height);
      context.globalAlpha = 1;
      context.fillText(stage.name, Math.max(from, left) + 4 * devicePixelRatio, top + 4 * devicePixelRatio);
    });
    context.restore();
  }

  function drawFigure(figure, holder) {
    const curves = (data.figures[figure.id] || []).slice();
    holder.replaceChildren(element("h3", {}, `${figure.name ?? `Figure ${figure.id}`}. ${figure.title}`));
    const own = curves.filter((c) => !isPaper(c));
    if (own.length === 0) {
      holder.append(element("div", { class: "empty" }, "Nothing of the kind in this run."));
      return;
    }
    if (figure.note) holder.append(element("p", {}, figure.note));
    const cells = figure.map ? curves.find((c) => c.weight) : null;
    const drawn = new Set(own.map((c) => c.series));
    const lines = curves.filter((c) => c !== cells && (!isPaper(c) || drawn.has(c.series.replace(/^paper: /, ""))));
    const colour = (curve) => {
      const name = curve.series.replace(/^paper: /, "").replace(/^Eq\. \d/, "M/M/1/K");
      const at = own.filter((c) => c !== cells && !isPublished(c)).findIndex((c) => c.series === name);
      return css(colours[(Math.max(at, 0) + (figure.map ? 1 : 0)) % colours.length]);
    };
    const steps = !figure.y;
    const inStages = figure.id.startsWith("test-");
    const series = lines.map((curve) => isPaper(curve)
      ? { label: curve.series, class: "paper", stroke: colour(curve), paths: () => null, points: { show: true, size: 9, width: 2, fill: css("--paper"), stroke: colour(curve) } }
      : { label: curve.series, stroke: colour(curve), width: 2, spanGaps: !inStages, dash: isPublished(curve) || isProduct(curve) ? [6, 5] : undefined, points: { show: curve.x.length < 2 || !!figure.ticks || curve.series === "measured" }, paths: steps ? uPlot.paths.stepped({ align: 1 }) : undefined });
    const value = (kind) => (u, v) => (v === null || v === undefined ? "–" : format[kind](v));
    const yKind = figure.y ? figure.y[1] : "plain";
    series.forEach((s) => { s.value = value(yKind); });
    const tables = lines.map((curve) => (inStages ? stopAtStages(curveData(figure, curve)) : curveData(figure, curve)));
    const joined = tables.length ? uPlot.join(tables) : [[...cells.x].sort((a, b) => a - b), cells.x.map(() => null)];
    const spread = (values) => { const v = values.filter((x) => x > 0); return uPlot.rangeLog(Math.min(...v) / 1.1, Math.max(...v) * 1.1, 10, false); };
    const xLog = (figure.log & 1) === 1, yLog = (figure.log & 2) === 2;
    const scales = {
      x: { time: false, distr: xLog ? 3 : 1 },
      y: { distr: yLog ? 3 : 1 },
    };
    if (steps) scales.y.range = [0, 1.02];
    if (figure.radio) scales.y.range = [0, 1.2];
    if (cells) { scales.x.range = spread(cells.x); scales.y.range = spread(cells.y); }
    const bars = (u) => {
      u.ctx.save();
      u.ctx.lineWidth = 2;
      for (const curve of lines.filter((c) => c.error)) {
        u.ctx.strokeStyle = colour(curve);
        u.ctx.beginPath();
        curve.error.forEach((half, i) => {
          const x = u.valToPos(curve.x[i], "x", true);
          u.ctx.moveTo(x, u.valToPos(curve.y[i] - half, "y", true));
          u.ctx.lineTo(x, u.valToPos(curve.y[i] + half, "y", true));
        });
        u.ctx.stroke();
      }
      u.ctx.restore();
    };
    if (figure.ticks) {
      const margin = 0.3, last = figure.ticks.length - 1;
      const tops = own.flatMap((c) => c.y.map((y, i) => y + (c.error ? c.error[i] : 0)));
      scales.x.range = [-margin, last + margin];
      scales.y.range = [0, Math.max(...tops, 1e-9) * 1.05];
    }
    const chart = element("div");
    holder.append(chart);
    new uPlot({
      width: Math.max(280, holder.clientWidth), height: 270, scales, axes: axes(figure),
      series: [{ label: figure.x[0], value: value(figure.x[1]) }, ...series],
      cursor: { dataIdx: nearestOfOwn, points: { size: 6 } },
      hooks: cells ? { drawAxes: [drawMap(figure, cells)] } : figure.ticks ? { draw: [bars] } : inStages ? { drawAxes: [drawStages] } : {},
    }, joined, chart);
  }

  function drawFigures() {
    const grid = document.getElementById("figures");
    grid.replaceChildren();
    // A capture's run shows which of the study's figures it lacks; a model's run has its own only.
    const shown = figures.filter((f) => data.figures[f.id] || (!f.of && document.getElementById("picker")));
    for (const figure of shown) {
      const holder = element("div", { class: "figure", id: `figure-${figure.id}` });
      grid.append(holder);
      drawFigure(figure, holder);
    }
  }

  // ---- the list of flows --------------------------------------------------------------------
  const columnAt = new Map(data.columns.map(([name], i) => [name, i]));
  const cell = (flow, name) => { const v = flow.values[columnAt.get(name)]; return v === undefined ? null : v; };
  const suffering = (flow) => Math.max(cell(flow, "added_down_p95_ms") ?? 0, cell(flow, "added_up_p95_ms") ?? 0);
  const host = (flow) => `${cell(flow, "server_name") ?? cell(flow, "server") ?? "?"}:${cell(flow, "server_port") ?? "?"}`;
  const listColumns = [
    ["flow", (f) => f.id, null, "number of the flow's first packet"],
    ["client", (f) => cell(f, "client"), "text"],
    ["server", host, "text"],
    ["start", (f) => (cell(f, "start_ns") ?? 0) / 1e9, "seconds"],
    ["duration", (f) => (cell(f, "duration_ms") ?? 0) / 1e3, "seconds"],
    ["down", (f) => cell(f, "payload_down_bytes"), "bytes", "payload towards the client"],
    ["up", (f) => cell(f, "payload_up_bytes"), "bytes", "payload towards the server"],
    ["added p95 downstream", (f) => cell(f, "added_down_p95_ms"), "ms", "RTT over its floor between capture point and client, p95"],
    ["added p95 upstream", (f) => cell(f, "added_up_p95_ms"), "ms", "RTT over its floor between capture point and server, p95"],
    ["limited by", (f) => (cell(f, "limit_down") ?? "").replace(/_/g, " "), "text"],
  ];
  const picker = { text: "", sort: null, down: true, flow: null, side: "down" };

  function compare(a, b) {
    if (picker.sort === null) return suffering(b) - suffering(a) || a.id - b.id;
    const [x, y] = [a, b].map(listColumns[picker.sort][1]);
    if (x === null || y === null) return (x === null) - (y === null);
    const order = typeof x === "string" ? x.localeCompare(y) : x - y;
    return (picker.down ? -order : order) || a.id - b.id;
  }

  function drawList() {
    const words = picker.text.toLowerCase().split(/\s+/).filter(Boolean);
    const matches = (flow) => { const text = listColumns.map((c) => c[1](flow)).join(" ").toLowerCase(); return words.every((w) => text.includes(w)); };
    const shown = data.flows.filter(matches).sort(compare);
    const rows = shown.map((flow) => element("tr", { "data-flow": flow.id, class: flow === picker.flow ? "picked" : "", onclick: () => pick(flow, true) },
      ...listColumns.map(([name, get, kind]) => {
        const value = get(flow);
        const high = name.startsWith("added") && data.threshold_ms !== null && value > data.threshold_ms;
        const text = value === null ? "" : kind && kind !== "text" ? format[kind](value) : String(value);
        return element("td", { class: (kind === "text" ? "text" : "") + (high ? " high" : ""), title: text }, text);
      })));
    document.querySelector("#picker tbody").replaceChildren(...rows);
    document.querySelectorAll("#picker th").forEach((head, i) => {
      if (i === picker.sort) head.setAttribute("aria-sort", picker.down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
  }

  function drawPicker() {
    const heads = listColumns.map(([name, , kind, doc], i) => element("th", {
      class: kind === "text" ? "text" : "", title: doc || name,
      onclick: () => { picker.down = picker.sort === i ? !picker.down : kind !== "text"; picker.sort = i; drawList(); },
    }, name));
    document.getElementById("picker").replaceChildren(
      element("input", { type: "search", placeholder: "search: address, name, number", "aria-label": "search flows", oninput: (e) => { picker.text = e.target.value; drawList(); } }),
      element("div", { class: "list" }, element("table", {}, element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}))));
    drawList();
  }

  // ---- the time line of one flow ------------------------------------------------------------
  const kinds = { retransmission: "--c2", spurious: "--c4", reordering: "--c3", upstream_loss: "--c5", fast_retransmit: "--c2", rto: "--bad", slow_start: "--c4", zero_window: "--c5", full_window: "--c6", dup_ack_train: "--c1", hole: "--c6" };
  const kindColour = (kind) => css(kinds[kind] || "--soft");

  function drawEvents(events) {
    return (u) => {
      const context = u.ctx;
      const { left, top, width, height } = u.bbox;
      context.save();
      context.setLineDash([]);
      context.beginPath(); context.rect(left, top, width, height); context.clip();
      for (const event of events) {
        const x = u.valToPos(event.t / 1e6, "x", true);
        if (x < left || x > left + width) continue;
        context.strokeStyle = context.fillStyle = kindColour(event.kind);
        context.globalAlpha = 0.35;
        context.beginPath(); context.moveTo(x, top); context.lineTo(x, top + height); context.stroke();
        context.globalAlpha = 1;
        if (u.title_ === "bytes" && event.seq !== null) {
          const y = u.valToPos(event.seq, "y", true);
          context.beginPath(); context.arc(x, y, 3 * devicePixelRatio, 0, 7); context.fill();
        } else {
          context.fillRect(x - devicePixelRatio, top, 2 * devicePixelRatio, 6 * devicePixelRatio);
        }
      }
      context.restore();
    };
  }

  function panels(flow) {
    const side = flow[picker.side];
    const line = (label, values, colour, more) => ({ label, values, series: { label, stroke: css(colour), width: 1.5, spanGaps: true, ...more } });
    const { rtt, in_flight: inFlight, bandwidth } = side;
    return [
      { title: "bytes", name: "sequence and ACKs", kind: "bytes", height: 260, t: inFlight.t, lines: [line("sent", inFlight.v[0], "--c1"), line("acknowledged", inFlight.v[1], "--c3"), line("window edge", inFlight.v[2], "--c6", { dash: [5, 4] })] },
      { title: "rtt", name: "RTT", kind: "ms", height: 180, t: rtt.t, lines: [line("smallest", rtt.v[0], "--c3"), line("RTT", rtt.v[1], "--c1"), line("largest", rtt.v[2], "--c2")] },
      { title: "flight", name: "bytes in flight", kind: "bytes", height: 180, t: inFlight.t, lines: [line("in flight", inFlight.v[3], "--c1"), line("window", inFlight.v[2].map((edge, i) => (edge === null || inFlight.v[1][i] === null ? null : edge - inFlight.v[1][i])), "--c6", { dash: [5, 4] })] },
      { title: "rate", name: "estimated bandwidth", kind: "rate", height: 180, t: bandwidth.t, lines: [line("bandwidth", bandwidth.v[0], "--c1", { points: { show: true, size: 4 } }), line("sending rate", bandwidth.v[1], "--c4")] },
    ];
  }

  function drawPanel(panel, events, end, group, holder) {
    if (panel.t.length === 0) return null;
    const kind = panel.kind;
    let busy = false;
    const plot = new uPlot({
      width: Math.max(300, holder.clientWidth), height: panel.height,
      scales: { x: { time: false, range: (u, from, to) => (from === null ? [0, end] : [from, to]) } },
      axes: axes({ x: ["", "seconds"], y: [panel.name, kind] }).map((axis, i) => ({ ...axis, size: i === 0 ? 24 : 76, labelSize: i === 0 ? 0 : 18, label: i === 0 ? undefined : axis.label })),
      series: [{ label: "time", value: (u, v) => (v === null || v === undefined ? "–" : format.seconds(v)) }, ...panel.lines.map((l) => ({ ...l.series, value: (u, v) => (v === null || v === undefined ? "–" : format[kind](v)) }))],
      cursor: { sync: { key: "timeline", scales: ["x", null] }, dataIdx: nearestOfOwn, drag: { x: true, y: false } },
      hooks: {
        draw: [drawEvents(events)],
        init: [(u) => { u.title_ = panel.title; }],
        setScale: [(u, key) => {
          if (key !== "x" || busy || group.busy) return;
          group.busy = true;
          const { min, max } = u.scales.x;
          group.plots.filter((p) => p !== u).forEach((p) => p.setScale("x", { min, max }));
          group.busy = false;
        }],
      },
    }, [panel.t.map((t) => t / 1e6), ...panel.lines.map((l) => l.values)], holder);
    plot.over.addEventListener("dblclick", () => group.plots.forEach((p) => p.setScale("x", { min: 0, max: end })));
    return plot;
  }

  function drawTimeline() {
    const holder = document.getElementById("timeline");
    const flow = picker.flow;
    if (holder) holder.replaceChildren();
    if (!flow) return;
    const button = (side, text) => element("button", { "aria-pressed": String(picker.side === side), onclick: () => { picker.side = side; drawTimeline(); } }, text);
    holder.append(element("div", { class: "bar" },
      element("h3", {}, `Flow ${flow.id}: ${cell(flow, "client")} – ${host(flow)}`),
      button("down", "data to the client"), button("up", "data to the server"),
      element("span", { class: "note" }, "Drag to zoom all charts, double-click to zoom out.")));
    const events = flow.events.filter((e) => e.side === picker.side);
    const counts = new Map();
    events.forEach((e) => counts.set(e.kind, (counts.get(e.kind) || 0) + 1));
    const keys = [...counts].map(([kind, n]) => {
      const mark = element("i", {});
      mark.style.background = kindColour(kind);
      return element("span", {}, mark, `${kind.replace(/_/g, " ")} (${n})`);
    });
    if (flow.events.length < flow.events_total) keys.push(element("span", { class: "note" }, `the first ${flow.events.length} of ${flow.events_total} events`));
    holder.append(element("div", { class: "keys" }, ...keys));
    const drawn = panels(flow);
    const end = Math.max(...drawn.flatMap((p) => p.t.slice(-1)), 1) / 1e6;
    const group = { plots: [], busy: true };
    for (const panel of drawn) {
      const plot = drawPanel(panel, events, end, group, holder);
      if (plot) group.plots.push(plot);
      else holder.append(element("p", { class: "note" }, `No ${panel.name} on this side.`));
    }
    group.busy = false;
    const facts = data.columns.map(([name, doc], i) => [name, doc, flow.values[i]]).filter((f) => f[2] !== null);
    holder.append(element("details", {}, element("summary", {}, "All columns of this flow"),
      element("div", { class: "columns" }, ...facts.map(([name, doc, value]) => element("div", { title: doc }, element("span", {}, name), element("b", {}, String(value)))))));
  }

  function pick(flow, byHand) {
    picker.flow = flow;
    const samples = (side) => flow[side].in_flight.t.length;
    picker.side = samples("up") > samples("down") ? "up" : "down";
    document.querySelectorAll("#picker tr.picked").forEach((row) => row.classList.remove("picked"));
    const row = document.querySelector(`#picker tr[data-flow="${flow.id}"]`);
    if (row) row.classList.add("picked");
    if (byHand) history.replaceState(null, "", `#flow=${flow.id}`);
    drawTimeline();
  }

  function pickFromAddress() {
    const asked = location.hash.match(/^#flow=(\d+)$/);
    const flow = asked && data.flows.find((f) => String(f.id) === asked[1]);
    if (flow) {
      pick(flow, false);
      document.getElementById("flows-section").scrollIntoView();
    }
    return Boolean(flow);
  }

  // ---- beginning, and again when colours or width change --------------------------------------
  if (document.getElementById("picker")) drawPicker();
  if (!pickFromAddress() && data.flows.length) pick([...data.flows].sort(compare)[0], false);
  drawFigures();
  addEventListener("hashchange", pickFromAddress);
  const redraw = () => { drawFigures(); drawTimeline(); };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  matchMedia("print").addEventListener("change", redraw);
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    redraw();
  });
})();
