// Plots. Each is an image with a description, or has a list beside it with the same facts.

import { dateOf, day, h, link, plural, small, svg } from "./dom.js";

function weekOf(text) {
  const date = dateOf(text);
  return day(new Date(date.getFullYear(), date.getMonth(), date.getDate() - ((date.getDay() + 6) % 7)));
}

const weekBefore = (monday) => weekOf(day(new Date(dateOf(monday) - 36e5))); // of an hour before

/** keys returns the names of series with their colors. */
const keys = (names) => names.map((name, n) => [h(`span.series-${n % 6}`, "■ ", name), "  "]);

/** text returns a label, rule a horizontal line. */
const text = (x, y, content, anchor = "start") => svg("text", { x, y, "text-anchor": anchor }, content);
const rule = (y, name) => svg(`line.${name}`, { x1: 40, x2: 634, y1: y, y2: y });

export function perWeek(days) {
  const counts = new Map();
  for (const week of days.map(weekOf)) counts.set(week, (counts.get(week) ?? 0) + 1);
  return counts;
}

/** weeks returns bars of the number of things in each week, stacked by name. counts maps a name to a map
 * from the Mondays to numbers. */
export function weeks(label, counts, unit) {
  const all = [...new Set([...counts.values()].flatMap((m) => [...m.keys()]))].sort();
  if (all.length === 0) return null;
  const list = [all.at(-1)];
  while (list.length < 26 || list.length < 104 && list[0] > all[0]) list.unshift(weekBefore(list[0]));
  const sums = list.map((w) => [...counts.values()].reduce((n, m) => n + (m.get(w) ?? 0), 0));
  const max = Math.max(1, ...sums);
  const step = 594 / list.length;
  const bars = list.map((w, i) => {
    let y = 90;
    const parts = [...counts].filter(([, m]) => m.get(w)).map(([name, m]) => `${name} ${m.get(w)}`);
    return svg("g", svg("title", `week of ${w}: ${plural(sums[i], ...unit)} (${parts.join(", ")})`), [...counts.values()].map((m, n) => {
      const height = ((m.get(w) ?? 0) / max) * 80;
      y -= height;
      return svg(`rect.series-${n % 6}`, { x: 40 + i * step + step * .1, y, width: step * .8, height });
    }));
  });
  const about = `${label}: at most ${plural(max, ...unit)} in a week, from ${list[0]} to ${list.at(-1)}`;
  return h("figure", { tabindex: 0 }, h("figcaption", label, " ", counts.size > 1 && keys([...counts.keys()])),
    svg("svg", { viewBox: "0 0 640 108", role: "img", "aria-label": about },
      text(0, 16, max), text(0, 93, 0), rule(90, "axis"), rule(10, "grid"), bars,
      text(40, 104, list[0]), text(634, 104, list.at(-1), "end")));
}

export function sizes(list) {
  const max = Math.max(1, ...list.map((s) => s.n));
  return h("ul.sizes", list.map(({ name, n, href, text }) => h("li", h("a", { href }, name),
    h("meter", { max, value: n, "aria-hidden": "true" }), small(text ?? n.toLocaleString("en")))));
}

/** latencies returns lines of measured values, with axes. */
export function latencies(series, samples, seconds) {
  const max = Math.max(1, ...series.flatMap(([, values]) => values));
  const top = [1, 2, 5].flatMap((n) => [1, 10, 100, 1000, 1e4, 1e5].map((p) => n * p)).sort((a, b) => a - b).find((n) => n >= max) ?? max;
  const x = (i, n) => 40 + ((samples - n + i) / samples) * 594;
  const points = (values) => [values[0], ...values].map((v, i) => `${x(i, values.length)},${100 - (v / top) * 90}`).join(" ");
  const names = series.map(([name, values]) => `${name}: ${values.at(-1).toFixed(1)} ms`);
  return h("figure", { tabindex: 0 }, h("figcaption", keys(names)),
    svg("svg", { viewBox: "0 0 640 118", role: "img", "aria-label": names.join(", ") },
      [0, .5, 1].map((part) => [text(0, 104 - part * 90, `${part * top} ms`), rule(100 - part * 90, part ? "grid" : "axis")]),
      text(40, 116, `${Math.round(samples * seconds / 60)} min ago`), text(634, 116, "now", "end"),
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
