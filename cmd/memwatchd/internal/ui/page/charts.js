// Plots. Each is an image with a description, or has a list beside it with the same facts.

import { dateOf, day, entries, h, link, number, small, svg } from "./dom.js";

function weekOf(text) {
  const date = dateOf(text);
  return day(new Date(date.getFullYear(), date.getMonth(), date.getDate() - ((date.getDay() + 6) % 7)));
}

const weekBefore = (monday) => weekOf(day(new Date(dateOf(monday) - 36e5))); // of an hour before

/** keys returns the names of series with their colors. */
const keys = (names) => names.map((name, n) => [h(`span.series-${n % 6}`, "■ ", name), "  "]);

/** text returns a label, rule a horizontal line. */
const text = (x, y, content, anchor = "start") => svg("text", { x, y, "text-anchor": anchor }, content);
const rule = (y, name) => svg(`line.${name}`, { x1: 2, x2: 596, y1: y, y2: y });

/** weeks returns bars of the number of entries in each week, stacked by name. A row has a day, a name and a number. */
export function weeks(label, rows) {
  const counts = Map.groupBy(rows, ([date]) => weekOf(date));
  const all = [...counts.keys()].sort();
  if (all.length === 0) return null;
  const names = [...new Set(rows.map(([, name]) => name))];
  const list = [all.at(-1)];
  while (list.length < 26 || list.length < 104 && list[0] > all[0]) list.unshift(weekBefore(list[0]));
  const sum = (week, only) => (counts.get(week) ?? []).reduce((n, [, name, more]) => n + (name === (only ?? name) ? more : 0), 0);
  const max = Math.max(1, ...list.map((week) => sum(week)));
  const step = 594 / list.length;
  const bars = list.map((week, i) => {
    let y = 90;
    const parts = names.filter((name) => sum(week, name)).map((name) => `${name} ${sum(week, name)}`);
    return svg("g", svg("title", `week of ${week}: ${entries(sum(week))} (${parts.join(", ")})`), names.map((name, n) => {
      const height = (sum(week, name) / max) * 80;
      y -= height;
      return svg(`rect.series-${n % 6}`, { x: 2 + (i + .1) * step, y, width: step * .8, height });
    }));
  });
  const about = `${label}: at most ${entries(max)} in a week, from ${list[0]} to ${list.at(-1)}`;
  return h("figure", { tabindex: 0 }, h("figcaption", label, " ", names.length > 1 && keys(names)),
    svg("svg", { viewBox: "0 0 640 108", role: "img", "aria-label": about },
      text(601, 14, max), text(601, 93, 0), rule(90, "axis"), rule(10, "grid"), bars,
      text(2, 104, list[0]), text(596, 104, list.at(-1), "end")));
}

export function sizes(list) {
  const max = Math.max(1, ...list.map((s) => s.n));
  return h("ul.sizes", list.map(({ name, n, href, text }) => h("li", h("a", { href }, name),
    h("meter", { max, value: n, "aria-hidden": "true" }), small(text ?? number(n)))));
}

/** latencies returns lines of measured values, with axes. */
export function latencies(series, samples, seconds) {
  const max = Math.max(1, ...series.flatMap(([, values]) => values));
  const top = 2 ** Math.ceil(Math.log2(max));
  const x = (i, n) => 2 + ((samples - n + i) / samples) * 594;
  const points = (values) => [values[0], ...values].map((v, i) => `${x(i, values.length)},${100 - (v / top) * 90}`).join(" ");
  const names = series.map(([name, values]) => `${name}: ${values.at(-1).toFixed(1)} ms`);
  return h("figure", { tabindex: 0 }, h("figcaption", keys(names)),
    svg("svg", { viewBox: "0 0 640 118", role: "img", "aria-label": names.join(", ") },
      [0, .5, 1].map((part) => [text(601, 104 - part * 90, `${part * top} ms`), rule(100 - part * 90, part ? "grid" : "axis")]),
      text(2, 116, `${Math.round(samples * seconds / 60)} min ago`), text(596, 116, "now", "end"),
      series.map(([, values], n) => svg(`polyline.series-${n}`, { points: points(values) }))));
}

const around = 16; // files of a network

/** network returns a file in the middle of those that it links to, right, and that link to it, left. */
export function network(path, to, from) {
  const names = (list) => [...new Set(list.map((l) => l.path))].filter((p) => p !== path).slice(0, around / 2);
  const sides = [[names(from), 1], [names(to), -1]];
  const rows = Math.max(...sides.map(([list]) => list.length));
  if (rows === 0) return null;
  const height = rows * 22 + 8;
  const name = (p) => p.split("/").at(-1).replace(/\.md$/i, "").replace(/^(.{25}).{2,}$/su, "$1…");
  const open = (p) => () => { location.hash = link("read", { path: p }); };
  return svg("svg.network", { viewBox: `0 0 640 ${height}`, role: "img", "aria-label": `Linked from ${sides[0][0].length} files, links to ${sides[1][0].length}` },
    sides.map(([list, side]) => list.map((p, i) => {
      const y = (height / (list.length + 1)) * (i + 1);
      const x = 320 - side * 150;
      return [svg("path", { d: `M320 ${height / 2} C ${320 - side * 75} ${height / 2}, ${320 - side * 75} ${y}, ${x} ${y}` }),
        svg("g.node", { onclick: open(p) }, svg("title", p), svg("circle", { cx: x, cy: y, r: 4 }),
          text(x - side * 9, y + 4, name(p), side > 0 ? "end" : "start"))];
    })), svg("circle.series-0", { cx: 320, cy: height / 2, r: 6 }));
}
