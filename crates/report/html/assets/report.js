(() => {
  const { css, element, format, utc, smallest, largest, look, group, shades, chart, saveTogether, drawAndRedraw } = unbloat;
  const data = JSON.parse(document.getElementById("data").textContent);

  // ---- figures ------------------------------------------------------------------------------
  const SHARE = ["fraction of all", "plain"];
  // Of the study of an LTE network; `least` keeps what is too small for a logarithmic axis on its edge.
  const study = [
    { id: "2", title: "Flow size", x: ["payload", "bytes"], isLog: true, least: 10 },
    { id: "3", title: "Flow duration, and silence before the end", x: ["time", "seconds"], isLog: true, least: 0.001 },
    { id: "4", title: "Radio of the median late close", x: ["time since the last payload", "seconds"], y: ["radio on", "plain"], isRadio: true, note: "On for a tail after the last payload, off, and on again for the FIN or RST and another tail." },
    { id: "5", title: "Flow rate", x: ["rate", "rate"], isLog: true, least: 10 },
    { id: "6", title: "Concurrent flows of a user", x: ["flows with downlink data in the last second", "plain"], least: 0 },
    { id: "7", title: "Handshake RTT and DNS", x: ["time", "ms"], isLog: true, least: 0.01 },
    { id: "8", title: "Handshake RTT to the server over that to the client", x: ["server-side RTT / client-side RTT", "plain"], least: 0, most: 10 },
    { id: "10", title: "RTT against bytes in flight, downstream", x: ["bytes in flight", "bytes"], y: ["round-trip time", "ms"], isLog: true, isMap: true, note: "Stronger colour: more samples." },
    { id: "13", title: "Bytes in flight of large flows", x: ["bytes in flight", "bytes"], isLog: true, least: 1000 },
    { id: "14", title: "Duplicate ACKs and reordering in large flows", x: ["packets", "plain"], isLog: true, least: 1 },
    { id: "19", title: "Bandwidth estimates", x: ["rate", "rate"], isLog: true, least: 10000 },
    { id: "20", title: "Estimates over time, flow with most of them", x: ["time", "seconds"], y: ["rate", "mbit"], isTime: true },
    { id: "21", title: "Bandwidth used of that available, large flows", x: ["used / available", "percent"], least: 0, most: 200 },
    { id: "22", title: "Estimates over time, two flows", x: ["time since its first estimate", "seconds"], y: ["rate", "mbit"], isTime: true },
  ].map((figure) => ({ ...figure, title: `Figure ${figure.id}: ${figure.title}` }));
  const course = (id, title, y) => ({ id, title, x: ["time", "seconds"], y, isTime: true, isCourse: true });
  const own = [
    course("link-delay", "Delay added on the link", ["added delay", "ms"]),
    course("link-rate", "Rate by flow", ["rate", "rate"]),
    { ...course("test-added", "Added delay, one way", ["added delay", "ms"]), isWide: true },
    { ...course("test-goodput", "Rate of the load", ["delivered", "rate"]), isWide: true },
    { ...course("test-loss", "Datagrams lost, by second", ["lost", "percent"]), isWide: true },
    { id: "test-rtt", title: "Round trips by load", x: ["round-trip time", "ms"], isLog: true, least: 0.01 },
    course("test-in-flight", "Bytes in flight, all connections of a direction", ["bytes in flight", "bytes"]),
    course("sim-backlog", "Bytes on the path, queued and in flight", ["bytes", "bytes"]),
    course("sim-layers", "Backlog by hop and place", ["backlog", "bytes"]),
    course("sim-srtt", "Smoothed round-trip time", ["round-trip time", "ms"]),
    course("sim-cwnd", "Congestion window", ["window", "bytes"]),
    course("sim-in-flight", "Bytes in flight", ["bytes in flight", "bytes"]),
    { id: "model-delay", title: "Mean delay (CellNet 2012, Figure 4)", x: ["buffer size, packets", "plain"], y: ["delay", "ms"], note: "Eq.: as published." },
    { id: "model-throughput", title: "Throughput (CellNet 2012, Figure 4)", x: ["buffer size, packets", "plain"], y: ["throughput", "rate"], note: "Eq.: as published." },
    { id: "model-fit", title: "Delay against throughput, measured and fitted", x: ["throughput", "rate"], y: ["delay", "ms"] },
    ...data.sweep,
  ];
  const isPaper = (curve) => curve.series.startsWith("paper");

  function curveData(figure, curve) {
    const floor = figure.least ?? -Infinity;
    const points = curve.x.map((x, i) => [Math.max(x, figure.isLog ? floor : x), curve.y[i]]);
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
        if (figure.isRadio) kept.push([last[0] + 1e-6, point[1]]); else last[1] = point[1];
      } else kept.push(point);
    }
    // A distribution rises from nothing at its smallest value.
    if (!figure.y && !isPaper(curve) && kept.length) kept.unshift([kept[0][0] * (1 - 1e-6) - (kept[0][0] === 0 ? 1e-6 : 0), 0]);
    return { x: kept.map((p) => p[0]), y: kept.map((p) => p[1]) };
  }

  function drawMap(cells) {
    const step = 2 ** 0.125;
    const most = largest(cells.weight);
    return (pen, at) => cells.x.forEach((x, i) => {
      const [left, right] = [x / step, x * step].map(at.x);
      const [bottom, top] = [cells.y[i] / step, cells.y[i] * step].map(at.y);
      pen.rect(left, top, right - left, bottom - top, { colour: css("--c1"), alpha: 0.08 + 0.62 * (Math.log1p(cells.weight[i]) / Math.log1p(most)) });
    });
  }

  function drawFigure(figure, holder, times) {
    const curves = data.figures[figure.id];
    const measured = curves.filter((c) => !isPaper(c));
    const cells = figure.isMap ? curves.find((c) => c.weight) : null;
    const names = measured.filter((c) => c !== cells).map((c) => c.series);
    const lines = curves.filter((c) => c !== cells && (!isPaper(c) || names.includes(c.series.replace(/^paper: /, "")))).map((curve) => {
      // What the study gives has the colour of what was measured here.
      const place = names.indexOf(curve.series.replace(/^paper: /, ""));
      const { colour, dash } = look(Math.max(place, 0) + (cells ? 1 : 0));
      return {
        label: curve.series, colour, dash: isPaper(curve) ? undefined : dash, isMarks: isPaper(curve), ...curveData(figure, curve),
        ...(curve.error ? { low: curve.y.map((y, i) => y - curve.error[i]), high: curve.y.map((y, i) => y + curve.error[i]) } : {}),
        hasPoints: Boolean(figure.ticks) || curve.series === "measured",
        // What is measured in stages alone has no line from one to the next.
        ends: figure.id.startsWith("test-") ? data.stages.map((stage) => stage.end_s) : [],
      };
    });
    const title = figure.y || figure.ticks ? figure.title : `${figure.title}, distribution`;
    holder.append(element("h3", {}, title));
    if (figure.note) holder.append(element("p", {}, figure.note));
    const spread = (values) => { const v = values.filter((x) => x > 0); return uPlot.rangeLog(smallest(v) / 1.1, largest(v) * 1.1, 10, false); };
    const [y, kind] = figure.y || SHARE;
    const spec = { title, x: { label: figure.x[0], kind: figure.x[1], isLog: figure.isLog }, y: { label: y, kind }, lines, isDistribution: !figure.y, isTime: figure.isTime };
    if (figure.isCourse) Object.assign(spec, { group: times, startMs: data.start_ms });
    if (figure.isWide) spec.height = 190;
    if (figure.id === "test-loss") spec.y.range = [0, 1.05 * largest([1, ...lines.flatMap((line) => line.y)])];
    if (figure.isCourse) spec.under = shades(data.stages);
    if (figure.id === "link-delay") {
      spec.y.range = [0, 1.05 * Math.max(data.threshold_ms, ...lines.flatMap((line) => line.y))];
      spec.over = (pen, at) => {
        const y = at.y(data.threshold_ms);
        pen.path([[at.box.left, y], [at.box.left + at.box.width, y]], { colour: css("--bad"), dash: [4, 4] });
        pen.text(at.box.left + 4, y - 4, "bufferbloat from here", { size: 11, colour: "--bad" });
      };
    }
    if (!figure.y) spec.y.range = [0, 1.02];
    if (figure.isRadio) spec.y.range = [0, 1.2];
    if (cells) {
      Object.assign(spec, { under: drawMap(cells) });
      Object.assign(spec.x, { range: spread(cells.x) });
      Object.assign(spec.y, { isLog: true, range: spread(cells.y) });
      if (!lines.length) lines.push({ label: "", colour: "--c1", isMarks: true, x: [...cells.x].sort((a, b) => a - b), y: cells.x.map(() => null) });
    }
    if (figure.ticks) {
      const tops = lines.flatMap((line) => line.high || line.y);
      const isCrowded = figure.ticks.join("").length > 45;
      Object.assign(spec.x, { ticks: figure.ticks, range: [-0.3, figure.ticks.length - 0.7], ...(isCrowded ? { rotate: -30, tickSize: 70 } : {}) });
      // An interval may end below 0 where no value can be.
      spec.y.range = [Math.min(0, ...lines.flatMap((line) => line.y)), Math.max(...tops, 1e-9) * 1.05];
    }
    chart(holder, spec);
  }

  function drawInto(grid, figures) {
    // Charts of a closed part have no width to be drawn in.
    if (!grid || (grid.clientWidth === 0 && !grid.closest("section").hidden)) return;
    grid.replaceChildren();
    grid.closest("section").hidden = figures.length === 0 && grid.id === "figures";
    const ends = figures.filter((f) => f.isCourse).flatMap((f) => data.figures[f.id].flatMap((c) => c.x.slice(-1))).concat(data.stages.map((stage) => stage.end_s));
    const times = group(0, largest([...ends, 0.001]));
    for (const figure of figures) {
      const holder = element("div", { class: figure.isWide ? "figure wide" : "figure", id: `figure-${figure.id}` });
      grid.append(holder);
      drawFigure(figure, holder, times);
    }
    const together = element("div", { class: "wide" });
    saveTogether(together, document.title.replace(/^unbloat: /, ""), times, data.start_ms);
    grid.append(together);
  }

  // Nothing that is empty: curves of the study alone, or results that were 0 all the time, are no figure. That nothing was lost is worth one.
  const hasOwn = (figure) => (data.figures[figure.id] || []).some((c) => !isPaper(c) && (figure.id === "test-loss" || c.y.some((y) => y !== 0)));
  function drawFigures() {
    drawInto(document.getElementById("figures"), own.filter(hasOwn));
    drawInto(document.getElementById("study-figures"), study.filter(hasOwn));
  }

  // ---- the list of flows --------------------------------------------------------------------
  const columnAt = new Map(data.columns.map(([name], i) => [name, i]));
  const cell = (flow, name) => { const v = flow.values[columnAt.get(name)]; return v === undefined ? null : v; };
  const suffering = (flow) => Math.max(cell(flow, "added_down_p95_ms") ?? 0, cell(flow, "added_up_p95_ms") ?? 0);
  const host = (flow) => `${cell(flow, "server_name") ?? cell(flow, "server") ?? "?"}:${cell(flow, "server_port") ?? "?"}`;
  const columns = [
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
  // A column that is the same for all flows tells nothing.
  const listColumns = columns.filter(([, get], i) => i === 0 || data.flows.length === 1 || new Set(data.flows.map(get)).size > 1);
  const picker = { text: "", sort: null, down: true, flow: null, side: "down", hidden: new Set() };

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
        // A button in the row, which the keyboard reaches; the rest of the row is there for pointers.
        if (name === "flow") return element("td", {}, element("button", { type: "button", class: "link", "aria-label": `Show flow ${flow.id}`, "aria-pressed": String(flow === picker.flow) }, String(flow.id)));
        const value = get(flow);
        const high = name.startsWith("added") && data.threshold_ms !== null && value > data.threshold_ms;
        const text = value === null ? "" : kind && kind !== "text" ? format[kind](value) : String(value);
        return element("td", { class: (kind === "text" ? "text" : "") + (high ? " high" : ""), title: text }, high ? `${text} ▲` : text);
      })));
    document.querySelector("#picker tbody").replaceChildren(...rows);
    document.querySelectorAll("#picker th").forEach((head, i) => {
      if (i === picker.sort) head.setAttribute("aria-sort", picker.down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
  }

  function drawPicker() {
    const heads = listColumns.map(([name, , kind, doc], i) => element("th", { scope: "col", class: kind === "text" ? "text" : "", title: doc || name },
      element("button", { type: "button", onclick: () => { picker.down = picker.sort === i ? !picker.down : kind !== "text"; picker.sort = i; drawList(); } }, name)));
    document.getElementById("picker").replaceChildren(
      element("input", { type: "search", placeholder: "search: address, name, number", "aria-label": "search flows", oninput: (e) => { picker.text = e.target.value; drawList(); } }),
      element("div", { class: "list", tabindex: "0", role: "region", "aria-label": "Flows with a time line" }, element("table", {}, element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}))));
    drawList();
  }

  // ---- the link -----------------------------------------------------------------------------
  const SIDES = { down: "download", up: "upload" };
  const FILLERS = 5;
  const begin = (flow) => (cell(flow, "start_ns") ?? 0) / 1e9;
  // Bytes that passed between points, as [seconds since the flow began, bytes].
  const passed = ({ t, v }) => t.map((at, i) => [at / 1e6, i === 0 ? 0 : Math.max(0, (v[0][i] ?? 0) - (v[0][i - 1] ?? 0))]);

  // Of all flows of this report, in bins of one time: in the median how late their round trips were, and how fast the largest ones were.
  function linkFigures() {
    const sides = Object.keys(SIDES);
    const points = data.flows.flatMap((flow) => sides.flatMap((side) => [flow[side].rtt, flow[side].in_flight].flatMap(({ t }) => t.slice(-1).map((at) => begin(flow) + at / 1e6))));
    const end = largest(points);
    if (!(end > 0)) return;
    const width = Math.max(end / 300, 0.5), count = Math.ceil(end / width) + 1;
    const bin = (flow, at) => Math.floor((begin(flow) + at) / width);
    const x = Array.from({ length: count }, (_, i) => (i + 0.5) * width);
    const known = (series, values) => {
      const kept = x.map((_, i) => i).filter((i) => values[i] !== null);
      return { series, x: kept.map((i) => x[i]), y: kept.map((i) => values[i]) };
    };
    data.figures["link-delay"] = sides.map((side) => {
      const bins = x.map(() => []);
      // A flow that begins in a queue takes it for its smallest round trip: others between the same hosts know better.
      const hosts = (flow) => `${cell(flow, "client")} ${cell(flow, "server")}`;
      const least = (flow) => cell(flow, `rtt_${side}_min_ms`) ?? smallest(flow[side].rtt.v[0]);
      const floors = new Map();
      for (const flow of data.flows) floors.set(hosts(flow), Math.min(floors.get(hosts(flow)) ?? Infinity, least(flow)));
      for (const flow of data.flows) {
        const { t, v } = flow[side].rtt;
        const floor = floors.get(hosts(flow));
        t.forEach((at, i) => { if (v[0][i] !== null) bins[bin(flow, at / 1e6)].push(v[0][i] - floor); });
      }
      return known(SIDES[side], bins.map((values) => (values.length ? values.sort((a, b) => a - b)[values.length >> 1] : null)));
    }).filter((curve) => curve.x.length);
    const bytes = (flow, side) => cell(flow, `payload_${side}_bytes`) ?? 0;
    const total = (side) => data.flows.reduce((sum, flow) => sum + bytes(flow, side), 0);
    const side = total("up") > total("down") ? "up" : "down";
    const rates = (flows) => {
      const bins = x.map(() => 0);
      for (const flow of flows) for (const [at, size] of passed(flow[side].in_flight)) bins[bin(flow, at)] += (8 * size) / width;
      return bins;
    };
    const fillers = [...data.flows].sort((a, b) => bytes(b, side) - bytes(a, side)).slice(0, FILLERS).filter((flow) => bytes(flow, side) > 0);
    const all = data.flows.length > fillers.length || fillers.length > 1 ? [known(`${SIDES[side]}, all`, rates(data.flows))] : [];
    data.figures["link-rate"] = [...all, ...fillers.map((flow) => known(`flow ${flow.id}`, rates([flow])))];
  }

  // ---- the time line of one flow ------------------------------------------------------------
  const kinds = { retransmission: "--c2", spurious: "--c4", reordering: "--c3", upstream_loss: "--c5", fast_retransmit: "--c2", rto: "--bad", slow_start: "--c4", zero_window: "--c5", full_window: "--c6", dup_ack_train: "--c1", hole: "--c6" };
  const kindColour = (kind) => css(kinds[kind] || "--soft");

  function drawEvents(events, isOfBytes) {
    return (pen, at) => {
      for (const event of events.filter((e) => !picker.hidden.has(e.kind))) {
        const x = at.x(event.t / 1e6), { top, height } = at.box;
        const colour = kindColour(event.kind);
        pen.path([[x, top], [x, top + height]], { colour, alpha: 0.35 });
        if (isOfBytes && event.seq !== null) pen.dot(x, at.y(event.seq), 3, { colour });
        else pen.rect(x - 1, top, 2, 6, { colour });
      }
    };
  }

  // By second.
  function throughput(inFlight) {
    const seconds = [];
    for (const [at, size] of passed(inFlight)) seconds[Math.floor(at)] = (seconds[Math.floor(at)] ?? 0) + 8 * size;
    const y = Array.from(seconds, (bits) => bits ?? 0);
    return { label: "throughput", colour: "--c3", width: 1.5, isSteps: true, x: y.map((_, i) => i), y };
  }

  function panels(flow) {
    const { rtt, in_flight: inFlight, bandwidth } = flow[picker.side];
    const line = (series, values, label, colour, more) => ({ label, colour, width: 1.5, x: series.t.map((t) => t / 1e6), y: values, ...more });
    const window = inFlight.v[2].map((edge, i) => (edge === null || inFlight.v[1][i] === null ? null : edge - inFlight.v[1][i]));
    return [
      { name: "Round-trip time", label: "round-trip time", kind: "ms", lines: [line(rtt, rtt.v[1], "RTT", "--c1"), line(rtt, rtt.v[0], "RTT min in bin", "--c3", { dash: [10, 3] }), line(rtt, rtt.v[2], "RTT max in bin", "--c2", { dash: [3, 3] })] },
      { name: "Bytes in flight", label: "bytes in flight", kind: "bytes", lines: [line(inFlight, inFlight.v[3], "in flight", "--c1"), line(inFlight, window, "receive window", "--c6", { dash: [5, 4] })] },
      { name: "Throughput and bandwidth", label: "rate", kind: "rate", lines: [throughput(inFlight), line(bandwidth, bandwidth.v[0], "estimated bandwidth", "--c1", { hasPoints: bandwidth.t.length < 100 }), line(bandwidth, bandwidth.v[1], "sending rate", "--c4", { dash: [10, 3] })] },
      { name: "Sequence numbers and ACKs", label: "bytes", kind: "bytes", height: 260, isOfBytes: true, lines: [line(inFlight, inFlight.v[0], "sent", "--c1", { isTotal: true }), line(inFlight, inFlight.v[1], "acknowledged", "--c3", { isTotal: true, dash: [10, 3] }), line(inFlight, inFlight.v[2], "window edge", "--c6", { isTotal: true, dash: [3, 3] })] },
    ].map((panel) => ({ ...panel, lines: panel.lines.filter((l) => l.y.some((y) => y !== null)) }));
  }

  function drawTimeline() {
    const holder = document.getElementById("timeline");
    const flow = picker.flow;
    if (holder) holder.replaceChildren();
    if (!flow) return;
    const button = (side, text) => element("button", { type: "button", "aria-pressed": String(picker.side === side), onclick: () => { picker.side = side; drawTimeline(); } }, text);
    const start = data.start_ms === null ? null : data.start_ms + (cell(flow, "start_ns") ?? 0) / 1e6;
    holder.append(element("div", { class: "head" },
      element("h3", {}, `Flow ${flow.id}: ${cell(flow, "client")} – ${host(flow)}`),
      button("down", "data to the client"), button("up", "data to the server")));
    if (start !== null) holder.append(element("p", { class: "note" }, `Time 0 is ${utc(start)}.`));
    const events = flow.events.filter((e) => e.side === picker.side);
    const counts = new Map();
    events.forEach((e) => counts.set(e.kind, (counts.get(e.kind) || 0) + 1));
    const keys = [...counts].map(([kind, n]) => {
      const mark = element("i", {});
      mark.style.background = kindColour(kind);
      const isShown = !picker.hidden.has(kind);
      return element("button", { type: "button", "aria-pressed": String(isShown), onclick: () => { if (isShown) picker.hidden.add(kind); else picker.hidden.delete(kind); drawTimeline(); } }, mark, `${kind.replace(/_/g, " ")} (${n})`);
    });
    if (keys.length) keys.unshift(element("span", {}, "Events:"));
    if (flow.events.length < flow.events_total) keys.push(element("span", { class: "note" }, `the first ${flow.events.length} of ${flow.events_total} events`));
    if (keys.length) holder.append(element("div", { class: "keys" }, ...keys));
    const drawn = panels(flow).filter((panel) => panel.lines.length);
    const end = Math.max(...drawn.flatMap((panel) => panel.lines.flatMap((l) => l.x.slice(-1))), 0.001);
    const times = group(0, end);
    for (const panel of drawn) {
      const place = element("div", { class: "figure" });
      holder.append(place);
      place.append(element("h4", {}, panel.name));
      chart(place, {
        title: `${panel.name} of flow ${flow.id}, ${picker.side === "down" ? "data to the client" : "data to the server"}`, height: panel.height || 190,
        x: { label: "time since the flow began", kind: "seconds" }, y: { label: panel.label, kind: panel.kind }, lines: panel.lines,
        isTime: true, group: times, startMs: start, over: drawEvents(events, panel.isOfBytes),
      });
    }
    if (!drawn.length) holder.append(element("p", { class: "note" }, "Nothing was measured on this side of the flow."));
    const facts = data.columns.map(([name, doc], i) => [name, doc, flow.values[i]]).filter((f) => f[2] !== null);
    holder.append(element("details", {}, element("summary", {}, "All columns of this flow"),
      element("div", { class: "columns" }, ...facts.map(([name, doc, value]) => element("div", { title: doc }, element("span", {}, name), element("b", {}, String(value)))))));
  }

  function pick(flow, byHand) {
    picker.flow = flow;
    const samples = (side) => flow[side].in_flight.t.length;
    picker.side = samples("up") > samples("down") ? "up" : "down";
    document.querySelectorAll("#picker tbody tr").forEach((row) => {
      const isPicked = row.dataset.flow === String(flow.id);
      row.classList.toggle("picked", isPicked);
      row.querySelector("button").setAttribute("aria-pressed", String(isPicked));
    });
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

  if (data.flows.length) linkFigures();
  // ---- beginning ----------------------------------------------------------------------------
  if (document.getElementById("picker")) drawPicker();
  if (!pickFromAddress() && data.flows.length) pick([...data.flows].sort(compare)[0], false);
  addEventListener("hashchange", pickFromAddress);
  document.getElementById("study")?.addEventListener("toggle", drawFigures);
  drawAndRedraw(() => { drawFigures(); drawTimeline(); });
})();
