(() => {
  const { css, element, digits, smallest, largest, look, chart, drawAndRedraw } = unbloat;
  const panels = JSON.parse(document.getElementById("data").textContent);

  // The extent of an axis: the paper's, widened by what is drawn.
  function extent(of, values, ticks) {
    if (ticks && ticks.length) return [-0.4, ticks.length - 0.6];
    const finite = values.filter((v) => Number.isFinite(v) && (!of.log || v > 0));
    const low = of.min ?? (of.log ? smallest(finite) : Math.min(0, smallest(finite)));
    const high = Math.max(of.max ?? -Infinity, largest(finite));
    return low < high ? [low, of.max === high || of.log ? high : high * 1.04] : [low - 1, low + 1];
  }

  // The published numbers: rings, and dashed lines across.
  function drawMarks(marks) {
    return (pen, at) => marks.forEach((mark) => {
      const y = at.y(mark.y), colour = css("--ink");
      if (mark.x === null) pen.path([[at.box.left, y], [at.box.left + at.box.width, y]], { colour, width: 1.5, dash: [6, 4] });
      else pen.dot(at.x(mark.x), y, 5, { colour, hollow: true });
    });
  }

  function draw(panel) {
    const holder = document.getElementById(panel.id);
    holder.replaceChildren();
    const curves = panel.curves.filter((curve) => curve.x.length);
    if (!curves.length) {
      holder.append(element("p", { class: "note" }, "No run of this clock has these values."));
      return;
    }
    const xs = curves.flatMap((c) => c.x).concat(panel.marks.filter((m) => m.x !== null).map((m) => m.x));
    const ys = curves.flatMap((c) => [...c.y, ...c.low, ...c.high]).concat(panel.marks.map((m) => m.y));
    const isCrowded = panel.ticks.join("").length > 40;
    chart(holder, {
      title: [holder.closest(".figure").querySelector("h3").textContent.trim(), `${panel.y.label} against ${panel.x.label}`].filter(Boolean).join(": "),
      x: { label: panel.x.label, show: digits, isLog: panel.x.log, range: extent(panel.x, xs, panel.ticks), ...(panel.ticks.length ? { ticks: panel.ticks } : {}), ...(isCrowded ? { rotate: -30, tickSize: 78 } : {}) },
      y: { label: panel.y.label, show: digits, isLog: panel.y.log, range: extent(panel.y, ys) },
      lines: curves.map((curve, at) => ({ label: curve.name, ...look(at), width: 1.6, x: curve.x, y: curve.y, low: curve.low, high: curve.high, hasPoints: curve.x.length <= 40, isSteps: panel.kind === "cdf" })),
      hasBarsOnly: panel.kind === "bars", over: drawMarks(panel.marks), keepsTable: true,
    });
  }

  drawAndRedraw(() => panels.forEach(draw));
})();
