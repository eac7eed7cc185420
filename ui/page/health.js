// The state of the daemon, with remedies.

import { call } from "./api.js";
import { conflicts } from "./conflicts.js";
import { entries, h, plural, quiet, time } from "./dom.js";

const samples = 120;
const interval = 2000; // ms
const width = 600;
const height = 100;

/** plot returns a line for each series of numbers. */
function plot(series, unit) {
  const max = Math.max(1, ...series.flatMap((s) => s.values));
  const points = (values) => values.map((v, i) =>
    `${(i / (samples - 1)) * width},${height - (v / max) * (height - 4)}`).join(" ");
  return h("figure", null,
    h("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", preserveAspectRatio: "none", "aria-label": series.map((s) =>
      `${s.name}: ${s.values.at(-1)?.toFixed(1)} ${unit}`).join(", ") },
    series.map((s) => h("polyline", { class: s.class, points: points(s.values) }))),
    h("figcaption", null, series.map((s) => [h("span", { class: s.class }, s.name), ` ${s.values.at(-1)?.toFixed(1)} ${unit}  `]),
      h("span", { class: "quiet" }, `top of the plot: ${max.toFixed(1)} ${unit}`)));
}

/** problems returns a list of problems, or nothing. */
function problems(title, list) {
  return list?.length > 0 && h("article", null, h("h2", null, title), h("ul", { class: "rows" }, list.map((p) =>
    h("li", { class: "row", tabindex: 0 }, p.path && h("p", { class: "where" }, p.line ? `${p.path}:${p.line}` : p.path),
      h("p", { class: "text" }, p.message ?? p.reason)))));
}

/** health is the page with the state of the daemon. */
export function health(section) {
  const request = new AbortController();
  const latencies = { query: [], found: [] };
  const content = h("div");
  const checked = h("div", { "aria-live": "polite" });
  const copies = h("div");
  const showCopies = conflicts(copies, request.signal);
  section.append(content, copies, h("p", null, h("button", { type: "button", onclick: check }, "Compare all files with the index")), checked);

  async function check() {
    checked.replaceChildren(quiet("Comparing…"));
    const answer = await call("check", {}, request.signal);
    checked.replaceChildren(h("p", null, `${plural(answer.files, "file")} compared in ${(answer.took_ms / 1000).toFixed(1)} s, `,
      `${plural(answer.differing.length, "difference")}.`),
    ...[problems("Differences", answer.differing), problems("Problems in files", answer.problems), problems("Skipped", answer.skipped)].filter(Boolean));
  }

  async function run() {
    const s = await call("status", {}, request.signal);
    const add = (list, v) => { list.push(v); if (list.length > samples) list.shift(); };
    add(latencies.query, s.latency.query_ms.p99);
    add(latencies.found, s.latency.save_to_search_ms.p99);
    const facts = [
      ["State", s.state], ["Directory", `${s.root} (${s.root_state})`],
      ["Content", `${plural(s.files, "file")}, ${entries(s.entries)}`],
      ["Index", s.index.degraded ? "incomplete" : `complete, ${(s.index.size / 1e6).toFixed(1)} MB`],
      ["Long term", h("a", { href: "#longterm" }, `${plural(s.compactor?.near_limit.length ?? 0, "file")} near the limit`)],
      ["Writing", s.write.problem ?? (s.write.enabled ? `${plural(s.write.applied, "change")} since the start` : "off")],
      ["Daemon", h("span", null, `version ${s.version}, ${(s.memory_bytes / 1e6).toFixed(0)} MB, started `, time(s.started))],
    ];
    content.replaceChildren(...[
      h("dl", null, facts.map(([name, value]) => [h("dt", null, name), h("dd", null, value)])),
      h("article", null, h("h2", null, "Latency, 99th percentile"), plot([
        { name: "search", class: "series-a", values: latencies.query },
        { name: "save until found", class: "series-b", values: latencies.found }], "ms")),
      problems("Problems", s.problems), problems("Waiting to be written", s.write.waiting), problems("Not written", s.write.refused),
      problems("Copies to compare", s.write.kept?.map((path) => ({ path, message: "Compare the copy with the file, and remove it." }))),
      problems("Skipped", s.skipped)].filter(Boolean));
  }
  run();
  showCopies();
  const timer = setInterval(run, interval);
  return { refresh: showCopies, stop: () => { clearInterval(timer); request.abort(); } };
}
