// A result as one picture, to paste into a forum or a ticket. It is drawn in this browser and goes nowhere else.

const WIDTH = 1200;
const HEIGHT = 630;
const EDGE = 60;
const INK = "#1c2230";
const SOFT = "#5d6678";
const COLORS = { bloated: "#b3261e", clean: "#1b7f4b", slight: "#8a6100", unknown: "#8a6100" };
const RATINGS = { good: "#1b7f4b", fair: "#8a6100", bad: "#b3261e" };
const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';

/** Draws `record` on a canvas of its own, and gives that. */
export function card({ host, taken_at, verdict, uses }) {
  const canvas = Object.assign(document.createElement("canvas"), { width: WIDTH, height: HEIGHT });
  const pen = canvas.getContext("2d");
  const color = COLORS[verdict.kind];
  pen.fillStyle = "#ffffff";
  pen.fillRect(0, 0, WIDTH, HEIGHT);
  pen.fillStyle = color;
  pen.fillRect(0, 0, 16, HEIGHT);
  const when = new Date(taken_at).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
  write(pen, "unbloat: delay under load", EDGE, 70, "700 30px", INK);
  write(pen, fitting(pen, `${host}, ${when}`, "400 24px", WIDTH - 2 * EDGE), EDGE, 106, "400 24px", SOFT);
  let left = EDGE;
  if (verdict.grade) {
    write(pen, verdict.grade, EDGE, 290, "700 170px", color);
    left += pen.measureText(verdict.grade).width + 40;
  }
  paragraph(pen, verdict.headline, left, 180, WIDTH - EDGE - left);
  (uses ?? []).slice(0, 4).forEach((use, place) => {
    const y = 400 + place * 54;
    write(pen, use.name, EDGE, y, "600 27px", INK);
    write(pen, use.rating, EDGE + 180, y, "700 27px", RATINGS[use.rating]);
    write(pen, fitting(pen, use.text, "400 24px", WIDTH - 2 * EDGE - 270), EDGE + 270, y, "400 24px", INK);
  });
  return canvas;
}

function write(pen, text, x, y, font, color) {
  pen.font = `${font} ${FONT}`;
  pen.fillStyle = color;
  pen.fillText(text, x, y);
}

/** The text, or as much of it as there is room for. */
function fitting(pen, text, font, room) {
  pen.font = `${font} ${FONT}`;
  if (pen.measureText(text).width <= room) return text;
  let end = text.length;
  while (end > 0 && pen.measureText(`${text.slice(0, end)}…`).width > room) end -= 1;
  return `${text.slice(0, end)}…`;
}

/** In at most four lines. */
function paragraph(pen, text, x, y, room) {
  const font = "600 34px";
  pen.font = `${font} ${FONT}`;
  const lines = [""];
  for (const word of text.split(" ")) {
    const longer = `${lines.at(-1)} ${word}`.trim();
    if (pen.measureText(longer).width <= room || lines.at(-1) === "") lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  lines.slice(0, 4).forEach((line, place) => write(pen, fitting(pen, line, font, room), x, y + place * 44, font, INK));
}
