(() => {
  const { css, element, digits, format } = unbloat;
  const data = JSON.parse(document.getElementById("data").textContent);
  const formats = { "ms": format.ms, "s": format.seconds, "bit/s": format.rate, "B": format.bytes, "%": format.percent, "packets": (x) => digits(x) + " packets" };
  const of = (unit) => formats[unit] || digits;

  function axis(label, show, size) {
    return {
      label, size, labelSize: 18, labelFont: "12px system-ui, sans-serif", font: "11px system-ui, sans-serif",
      stroke: css("--soft"), grid: { stroke: css("--line"), width: 1 }, ticks: { stroke: css("--line"), size: 4 },
      values: (u, splits) => splits.map((v) => (v === null || v === undefined ? "" : show(v))),
    };
  }

  // The hovered value of each curve is that of its own last point before.
  function nearestOfOwn(u, series, index) {
    const values = u.data[series];
    for (let at = index; at >= 0; at--) if (values[at] !== null && values[at] !== undefined) return at;
    return index;
  }

  function plot(holder, figure, x, y, options) {
    const shown = (show) => (u, v) => (v === null || v === undefined ? "–" : show(v));
    const line = (label, colour, dash) => ({ label, stroke: css(colour), width: 2, dash, spanGaps: true, points: { show: false }, value: shown(y.show), ...options.line });
    const chart = element("div");
    holder.append(chart);
    new uPlot({
      width: Math.max(260, holder.clientWidth), height: 250,
      scales: { x: { time: false, ...options.x }, y: { ...options.y } },
      axes: [{ ...axis(x.label, x.show, 32), ...options.across }, axis(y.label, y.show, 66)],
      series: [{ label: x.label, value: shown(x.show) }, line("A", "--c1"), line("B", "--c2", [7, 4])],
      cursor: { dataIdx: nearestOfOwn, points: { size: 6 } },
      hooks: options.hooks || {},
    }, options.data, chart);
  }

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
    return points;
  }

  function distribution(holder, figure) {
    const all = [...figure.a.x, ...figure.b.x];
    const least = Math.min(...all), most = Math.max(...all);
    const isLog = least > 0 && most / least > 30;
    const tables = [steps(figure.a, isLog), steps(figure.b, isLog)];
    plot(holder, figure, { label: figure.title, show: of(figure.unit) }, { label: "share of all", show: digits }, {
      data: uPlot.join(tables), x: { distr: isLog ? 3 : 1 }, y: { range: [0, 1.02] }, line: { paths: uPlot.paths.stepped({ align: 1 }) },
    });
  }

  function course(holder, figure) {
    const tables = [[figure.a.x, figure.a.y], [figure.b.x, figure.b.y]];
    plot(holder, figure, { label: "time", show: format.seconds }, { label: figure.title, show: of(figure.unit) }, {
      data: uPlot.join(tables), y: { range: (u, low, high) => [Math.min(0, low ?? 0), (high || 1) * 1.05] }, line: { width: 1.5, dash: undefined },
    });
  }

  function sweep(holder, figure) {
    const both = [figure.a, figure.b];
    const last = figure.ticks.length - 1;
    const ends = both.flatMap((c) => [...c.low, ...c.high]);
    const low = Math.min(0, ...ends), high = Math.max(...ends, 1e-9);
    const bars = (u) => {
      u.ctx.save();
      u.ctx.lineWidth = 2;
      both.forEach((curve, at) => {
        u.ctx.strokeStyle = css(at ? "--c2" : "--c1");
        u.ctx.beginPath();
        curve.x.forEach((x, i) => {
          const left = u.valToPos(x, "x", true) + (at ? 3 : -3);
          u.ctx.moveTo(left, u.valToPos(curve.low[i], "y", true));
          u.ctx.lineTo(left, u.valToPos(curve.high[i], "y", true));
        });
        u.ctx.stroke();
      });
      u.ctx.restore();
    };
    // What all ticks begin with goes without saying.
    const common = figure.ticks.every((t) => t.startsWith(figure.ticks[0].split("=")[0] + "=") && !t.includes(", ")) ? figure.ticks[0].split("=")[0] : "";
    const label = (i) => { const tick = figure.ticks[i]; return tick === undefined ? "" : common ? tick.slice(common.length + 1) : tick; };
    plot(holder, figure, { label: common || "point", show: label }, { label: figure.title, show: of(figure.unit) }, {
      data: uPlot.join(both.map((c) => [c.x, c.y])), x: { range: [-0.3, last + 0.3] }, y: { range: [low, high * 1.05] },
      line: { points: { show: true, size: 5 } }, hooks: { draw: [bars] }, across: { splits: () => figure.ticks.map((_, i) => i) },
    });
  }

  function draw() {
    const grid = document.getElementById("figures");
    grid.replaceChildren();
    const kinds = [["Over the sweep", sweep, data.sweeps], ["Over time", course, data.courses], ["Distribution", distribution, data.distributions]];
    for (const [name, show, figures] of kinds) {
      for (const figure of figures) {
        if (!figure.a.x.length || !figure.b.x.length) continue;
        const holder = element("div", { class: "figure" }, element("h3", {}, `${name}: ${figure.title}`));
        grid.append(holder);
        show(holder, figure);
      }
    }
    document.getElementById("figures-section").hidden = grid.children.length === 0;
  }

  draw();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  matchMedia("print").addEventListener("change", draw);
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    draw();
  });
})();
