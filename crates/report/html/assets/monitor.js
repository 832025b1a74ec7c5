(() => {
  const { element, look, chart, drawAndRedraw, digits } = unbloat;
  const data = JSON.parse(document.getElementById("data").textContent);
  const HOUR = 3_600_000, DAY = 24 * HOUR;
  const midnight = (ms) => { const day = new Date(ms); day.setHours(0, 0, 0, 0); return day.getTime(); };
  const two = (n) => String(n).padStart(2, "0");
  const clock = (ms) => { const at = new Date(ms); return `${two(at.getHours())}:${two(at.getMinutes())}`; };
  const weekday = (ms) => new Date(ms).toLocaleDateString("en", { weekday: "short" });
  const delayAxis = { label: "sustained added delay", kind: "ms", range: (u, low, high) => [0, Math.max(10, (high || 1) * 1.08)] };
  const directions = [["download", data.directions.down], ["upload", data.directions.up]];

  // Curves of one time, by direction; `from` is x = 0 and `unit` its length.
  function curves(part, from, unit) {
    return directions.map(([label, all], at) => ({ label, ...look(at), width: 1.5, x: all[part].at_ms.map((ms) => (ms - from) / unit), y: all[part].delay_ms }));
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
    figure(grid, "Day", "One point a minute. Shaded: episodes.", {
      x: { label: "time of day", show: (x) => clock(today + x * HOUR), range: [(data.now_ms - DAY - today) / HOUR, (data.now_ms - today) / HOUR] },
      y: delayAxis, lines: curves("day", today, HOUR), under: shades(today, HOUR),
    });
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
