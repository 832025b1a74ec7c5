(() => {
  const { css, element, digits } = unbloat;
  const panels = JSON.parse(document.getElementById("data").textContent);
  const colours = ["--c1", "--c2", "--c3", "--c4", "--c5", "--c6"];
  const dashes = [undefined, [8, 4], [2, 3]];

  function axis(of, size, ticks) {
    const made = {
      label: of.label, size, labelSize: 18, labelFont: "12px system-ui, sans-serif", font: "11px system-ui, sans-serif",
      stroke: css("--soft"), grid: { stroke: css("--line"), width: 1 }, ticks: { stroke: css("--line"), size: 4 },
      values: (u, splits) => splits.map((v) => (v === null || v === undefined ? "" : digits(v))),
    };
    if (ticks.length) {
      made.splits = () => ticks.map((_, i) => i);
      made.values = (u, splits) => splits.map((i) => ticks[i]);
      made.rotate = ticks.join("").length > 40 ? -30 : 0;
      if (made.rotate) made.size = 78;
    }
    return made;
  }

  // The extent of an axis: the paper's, widened by what is drawn.
  function extent(of, values, ticks) {
    if (ticks && ticks.length) return [-0.4, ticks.length - 0.6];
    const finite = values.filter((v) => Number.isFinite(v) && (!of.log || v > 0));
    const low = of.min ?? (of.log ? Math.min(...finite) : Math.min(0, ...finite));
    const high = Math.max(of.max ?? -Infinity, ...finite);
    return low < high ? [low, of.max === high || of.log ? high : high * 1.04] : [low - 1, low + 1];
  }

  // Extremes over repeats, and the published numbers.
  function overlay(panel) {
    return (u) => {
      const context = u.ctx;
      const { left, top, width, height } = u.bbox;
      context.save();
      context.beginPath(); context.rect(left, top, width, height); context.clip();
      context.lineWidth = 1.5 * devicePixelRatio;
      panel.curves.forEach((curve, at) => {
        context.strokeStyle = css(colours[at % colours.length]);
        context.beginPath();
        curve.low.forEach((low, i) => {
          const x = u.valToPos(curve.x[i], "x", true);
          context.moveTo(x, u.valToPos(low, "y", true));
          context.lineTo(x, u.valToPos(curve.high[i], "y", true));
        });
        context.stroke();
      });
      context.strokeStyle = css("--ink");
      panel.marks.forEach((mark) => {
        const y = u.valToPos(mark.y, "y", true);
        context.beginPath();
        if (mark.x === null) {
          context.setLineDash([6 * devicePixelRatio, 4 * devicePixelRatio]);
          context.moveTo(left, y); context.lineTo(left + width, y);
        } else {
          context.setLineDash([]);
          context.arc(u.valToPos(mark.x, "x", true), y, 5 * devicePixelRatio, 0, 2 * Math.PI);
        }
        context.stroke();
      });
      context.restore();
    };
  }

  function nearestOfOwn(u, series, index) {
    const values = u.data[series];
    for (let reach = 0; reach < values.length; reach++) {
      for (const at of [index - reach, index + reach]) if (values[at] !== null && values[at] !== undefined) return at;
    }
    return index;
  }

  function draw(panel) {
    const holder = document.getElementById(panel.id);
    holder.replaceChildren();
    const curves = panel.curves.filter((curve) => curve.x.length);
    if (!curves.length) {
      holder.append(element("p", { class: "note" }, "No run of this clock has these values."));
      return;
    }
    const hasNames = panel.ticks.length > 0;
    const xs = curves.flatMap((c) => c.x).concat(panel.marks.filter((m) => m.x !== null).map((m) => m.x));
    const ys = curves.flatMap((c) => [...c.y, ...c.low, ...c.high]).concat(panel.marks.map((m) => m.y));
    const isDense = (curve) => curve.x.length > 40;
    const series = curves.map((curve, at) => ({
      label: curve.name, stroke: css(colours[at % colours.length]), width: 1.6, spanGaps: true,
      dash: dashes[Math.floor(at / colours.length) % dashes.length],
      points: { show: !isDense(curve), size: 6, fill: css(colours[at % colours.length]) },
      paths: panel.kind === "bars" ? () => null : panel.kind === "cdf" ? uPlot.paths.stepped({ align: 1 }) : undefined,
      value: (u, v) => (v === null || v === undefined ? "–" : digits(v)),
    }));
    const showX = (u, v) => (v === null || v === undefined ? "–" : hasNames ? panel.ticks[Math.round(v)] ?? "" : digits(v));
    new uPlot({
      width: Math.max(240, holder.clientWidth), height: 270,
      scales: {
        x: { time: false, distr: panel.x.log ? 3 : 1, range: () => extent(panel.x, xs, panel.ticks) },
        y: { distr: panel.y.log ? 3 : 1, range: () => extent(panel.y, ys) },
      },
      axes: [axis(panel.x, 34, panel.ticks), axis(panel.y, 58, [])],
      series: [{ label: panel.x.label, value: showX }, ...series],
      cursor: { dataIdx: nearestOfOwn, points: { size: 6 } },
      hooks: { draw: [overlay({ ...panel, curves })] },
    }, uPlot.join(curves.map((c) => [c.x, c.y])), holder);
    const canvas = holder.querySelector("canvas");
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `${panel.y.label} against ${panel.x.label}: ${curves.map((c) => c.name).join(", ")}`);
  }

  const all = () => panels.forEach(draw);
  all();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", all);
  matchMedia("print").addEventListener("change", all);
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    all();
  });
})();
