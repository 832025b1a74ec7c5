(() => {
  const { element, look, group, chart, saveTogether, drawAndRedraw, digits } = unbloat;
  const data = JSON.parse(document.getElementById("data").textContent);
  const HOUR = 3_600_000, DAY = 24 * HOUR;
  const midnight = (ms) => { const day = new Date(ms); day.setHours(0, 0, 0, 0); return day.getTime(); };
  const two = (n) => String(n).padStart(2, "0");
  const clock = (ms) => { const at = new Date(ms); return `${two(at.getHours())}:${two(at.getMinutes())}`; };
  const weekday = (ms) => new Date(ms).toLocaleDateString("en", { weekday: "short" });
  const delayAxis = { label: "sustained added delay", kind: "ms", range: (u, low, high) => [0, Math.max(10, (high || 1) * 1.08)] };
  const directions = [["download", data.directions.down], ["upload", data.directions.up]];

  // Curves of one time, by direction; `from` is x = 0 and `unit` its length.
  function curves(part, from, unit, what = "delay_ms") {
    return directions.map(([label, all], at) => ({ label, ...look(at), width: 1.5, x: all[part].at_ms.map((ms) => (ms - from) / unit), y: all[part][what] }));
  }

  // The largest delay of each hour, of either direction: a row a day.
  function drawHours() {
    const hours = new Map();
    for (const [, all] of directions) for (const part of [all.before, all.week]) part.at_ms.forEach((ms, i) => {
      if (part.delay_ms[i] === null) return;
      const day = midnight(ms);
      if (!hours.has(day)) hours.set(day, Array(24).fill(null));
      const at = new Date(ms).getHours();
      hours.get(day)[at] = Math.max(hours.get(day)[at] ?? 0, part.delay_ms[i]);
    });
    const cell = (ms) => {
      const made = element("td", {}, ms === null ? "" : String(Math.round(ms)));
      if (ms !== null) made.style.background = `color-mix(in srgb, var(--bad) ${Math.round(Math.min(45, ms / 5))}%, var(--ground))`;
      return made;
    };
    const day = (ms) => element("th", { scope: "row" }, `${weekday(ms)} ${new Date(ms).getDate()}`);
    document.getElementById("hours").replaceChildren(...(hours.size ? [element("table", { class: "hours" },
      element("caption", {}, "Hour by hour: largest sustained delay in ms, of either direction"),
      element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "day"), ...Array.from({ length: 24 }, (_, hour) => element("th", { scope: "col" }, String(hour))))),
      element("tbody", {}, ...[...hours].sort(([a], [b]) => b - a).map(([ms, of]) => element("tr", {}, day(ms), ...of.map(cell)))))] : []));
  }

  // The times of episodes, shaded below the curves.
  function shades(from, unit) {
    return (pen, at) => {
      for (const episode of data.episodes) {
        const [a, b] = [episode.start_ms, Math.max(episode.end_ms, episode.start_ms + 60_000)].map((ms) => at.x((ms - from) / unit));
        const colour = unbloat.css(episode.direction === "down" ? "--c1" : "--c2");
        pen.rect(a, at.box.top, Math.max(b - a, 1.5), at.box.height, { colour, alpha: 0.18 });
      }
    };
  }

  function figure(grid, title, note, spec) {
    if (!spec.lines.some((line) => line.x.length)) return;
    const holder = element("div", { class: "figure" }, element("h3", {}, title), element("p", {}, note));
    grid.append(holder);
    chart(holder, { title, height: 250, isTime: true, ...spec });
  }

  function draw() {
    const grid = document.getElementById("figures");
    grid.replaceChildren();
    const today = midnight(data.now_ms - DAY);
    drawHours();
    // No more than what was monitored of it, so that a first hour is seen.
    const since = Math.max(data.now_ms - DAY, Math.min(...directions.map(([, all]) => all.day.at_ms[0] ?? data.now_ms)) - 60_000);
    const hours = group((since - today) / HOUR, (data.now_ms - today) / HOUR);
    const day = { x: { label: "time of day", show: (x) => clock(today + x * HOUR) }, group: hours, under: shades(today, HOUR) };
    figure(grid, "Day", "One point a minute. Shaded: episodes.", { ...day, y: delayAxis, lines: curves("day", today, HOUR) });
    figure(grid, "Day: highest rates", "Of the same minutes.", { ...day, y: { label: "rate", kind: "rate", range: (u, low, high) => [0, (high || 1) * 1.08] }, lines: curves("day", today, HOUR, "peak_bps").filter((line) => line.y.some((bps) => bps)) });
    const together = element("div", { class: "wide" });
    saveTogether(together, "Day: delay and rates", hours);
    grid.append(together);
    const week = midnight(data.now_ms - 7 * DAY);
    const days = (x) => { const at = week + x * DAY; return Math.abs(x - Math.round(x)) < 0.02 ? weekday(at) : `${weekday(at)} ${clock(at)}`; };
    figure(grid, "Week", "Largest delay of 10 minutes. Shaded: episodes.", {
      x: { label: "day", show: days, range: [(data.now_ms - 7 * DAY - week) / DAY, (data.now_ms - week) / DAY] },
      y: delayAxis, lines: curves("week", week, DAY), under: shades(week, DAY),
    });
    // Without a last week they would only repeat the week.
    for (const [label, all] of directions.filter(([, every]) => every.before.delay_ms.some((ms) => ms !== null))) {
      const line = (name, at, part, from) => ({ label: name, ...look(at), width: 1.5, x: all[part].at_ms.map((ms) => (ms - from) / DAY), y: all[part].delay_ms });
      figure(grid, `This week against the last, ${label}`, "Largest delay of 10 minutes, by day of the week and time.", {
        x: { label: "day", show: days, range: [(data.now_ms - 7 * DAY - week) / DAY, (data.now_ms - week) / DAY] }, y: delayAxis,
        lines: [line("this week", 0, "week", week), line("last week", 5, "before", week - 7 * DAY)],
      });
    }
    for (const time of document.querySelectorAll("time")) {
      const ms = Number(time.dataset.ms);
      time.textContent = `${weekday(ms)} ${new Date(ms).toLocaleDateString("en", { day: "numeric", month: "short" })}, ${clock(ms)}`;
    }
    document.getElementById("figures-section").hidden = grid.children.length === 0;
    document.getElementById("zone").textContent = `Times are of this browser's time zone (UTC${digits(-new Date(data.now_ms).getTimezoneOffset() / 60).replace(/^(?=[0-9])/, "+")}).`;
  }

  drawAndRedraw(draw);
})();
