(() => {
  const { css, element, smallest, largest, look, group, shades, chart, saveTogether, drawAndRedraw } = unbloat;
  const data = JSON.parse(document.getElementById("data").textContent);
  const kinds = { "ms": "ms", "s": "seconds", "bit/s": "rate", "B": "bytes", "%": "percent", "packets": "packets" };
  const kindOf = (unit) => kinds[unit] || "plain";
  const pair = (figure, more) => [["A", figure.a], ["B", figure.b]].map(([label, curve], at) => ({ label, ...look(at), x: curve.x, y: curve.y, ...more(curve) }));

  // One ordinate for each abscissa, rising from none at the smallest value.
  function steps(curve, isLog) {
    const points = [[], []];
    const first = curve.x[0];
    points[0].push(isLog ? first * (1 - 1e-6) : first - Math.abs(first) * 1e-6 - 1e-9); points[1].push(0);
    curve.x.forEach((x, i) => {
      const last = points[0].length - 1;
      if (points[0][last] >= x) points[1][last] = curve.y[i];
      else { points[0].push(x); points[1].push(curve.y[i]); }
    });
    return { x: points[0], y: points[1] };
  }

  function distribution(figure) {
    const all = [...figure.a.x, ...figure.b.x];
    const least = smallest(all), most = largest(all);
    const isLog = least > 0 && most / least > 30;
    return {
      x: { label: figure.title, kind: kindOf(figure.unit), isLog }, y: { label: "fraction of all", kind: "plain", range: [0, 1.02] },
      lines: pair(figure, (curve) => steps(curve, isLog)), isDistribution: true,
    };
  }

  function course(figure, times) {
    return {
      x: { label: "time", kind: "seconds" }, y: { label: figure.title, kind: kindOf(figure.unit), range: (u, low, high) => [Math.min(0, low ?? 0), (high || 1) * 1.05] },
      lines: pair(figure, () => ({ width: 1.5 })), isTime: true, group: times, under: shades(data.stages),
    };
  }

  // From p25 to p75 a box, from p5 to p95 a line, and the median; what is below LEAST is drawn there.
  const LEAST = 0.1;
  function boxes(all) {
    const most = largest([10 * LEAST, ...all.flatMap(({ a, b }) => [...a, ...b])]);
    const high = (value) => Math.max(value, LEAST);
    const lines = [["A", "a", -0.17], ["B", "b", 0.17]].map(([label, side, beside], at) => ({
      label, ...look(at), hasPoints: true, x: all.map((_, i) => i + beside), y: all.map((one) => high(one[side][2])),
      boxes: all.map((one) => one[side].map(high)),
    }));
    const title = "Delays: median, half and nine tenths of the values";
    const isNarrow = innerWidth < 800;
    const ticks = all.map((one) => (isNarrow ? one.title : one.title.replace(" while ", "\nwhile ")));
    return {
      title, height: isNarrow ? 430 : 300, keepsTable: true, hasBarsOnly: true, lines,
      x: { label: "", kind: "plain", ticks, range: [-0.5, all.length - 0.5], tickSize: 50, ...(isNarrow ? { rotate: -90, tickSize: 190 } : {}) },
      y: { label: "delay", kind: "ms", isLog: true, range: [LEAST, 1.2 * most] },
      over: (pen, at) => lines.filter((line) => line.isShown !== false).forEach((line) => line.boxes.forEach(([p5, p25, , p75, p95], i) => {
        const colour = css(line.colour), [x, left, right] = [0, -0.12, 0.12].map((by) => at.x(line.x[i] + by));
        pen.path([[x, at.y(p5)], [x, at.y(p95)]], { colour, width: 1.5 });
        pen.rect(left, at.y(p75), right - left, Math.max(2, at.y(p25) - at.y(p75)), { colour, alpha: 0.35 });
      })),
    };
  }

  function sweep(figure) {
    const ends = [figure.a, figure.b].flatMap((c) => [...c.low, ...c.high]);
    // What all ticks begin with goes without saying.
    const common = figure.ticks.every((t) => t.startsWith(figure.ticks[0].split("=")[0] + "=") && !t.includes(", ")) ? figure.ticks[0].split("=")[0] : "";
    const ticks = figure.ticks.map((tick) => (common ? tick.slice(common.length + 1) : tick));
    const isCrowded = ticks.join("").length > 45;
    return {
      x: { label: common || "point", kind: "plain", ticks, range: [-0.3, ticks.length - 0.7], ...(isCrowded ? { rotate: -30, tickSize: 70 } : {}) },
      y: { label: figure.title, kind: kindOf(figure.unit), range: [Math.min(0, ...ends), Math.max(...ends, 1e-9) * 1.05] },
      lines: pair(figure, (curve) => ({ low: curve.low, high: curve.high, hasPoints: true })),
    };
  }

  function draw() {
    const grid = document.getElementById("figures");
    grid.replaceChildren();
    const times = group(0, largest([0.001, ...data.courses.flatMap((f) => [...f.a.x, ...f.b.x])]));
    const isTest = data.stages.length > 0;
    const add = (title, spec, isWide) => {
      const holder = element("div", { class: isWide ? "figure wide" : "figure" }, element("h3", {}, title));
      grid.append(holder);
      chart(holder, { title, height: 250, ...spec });
    };
    for (const [name, specOf, figures] of [["Over the sweep", sweep, data.sweeps], ["Over time", course, data.courses], ["Distribution", distribution, data.distributions]]) {
      for (const figure of figures.filter((f) => f.a.x.length && f.b.x.length)) {
        add(`${name}: ${figure.title}`, specOf(figure, times), isTest && specOf === course);
      }
      if (specOf === course) {
        if (data.boxes.length) { const spec = boxes(data.boxes); add(spec.title, spec, true); }
        const together = element("div", { class: "wide" });
        saveTogether(together, document.title.replace(/^unbloat: /, ""), times);
        grid.append(together);
      }
    }
    document.getElementById("figures-section").hidden = grid.children.length === 0;
  }

  drawAndRedraw(draw);
})();
