// A column per day, and a calendar of the entries per day.

import { call } from "./api.js";
import { badges, chosen, day, entries, h, quiet } from "./dom.js";
import { preview } from "./find.js";

const weeks = 13;
const atOnce = 6; // requests

const before = (date, n) => new Date(date.getFullYear(), date.getMonth(), date.getDate() - n);

/** entriesOf returns the entries of a day. */
const entriesOf = (date, limit, signal) =>
  call("search", { since: date, until: date, limit, count: false }, signal);

/** countDays calls f with the number of entries of each day until last, newest first. */
async function countDays(last, signal, f) {
  const dates = Array.from({ length: weeks * 7 }, (_, i) => day(before(last, i)));
  const next = async () => {
    for (let date; (date = dates.shift());) f(date, (await entriesOf(date, 1, signal)).total);
  };
  await Promise.all(Array.from({ length: atOnce }, next));
}

/** calendar returns a strip of the weeks until last, a column per week. */
function calendar(last, choose) {
  const cells = new Map();
  const monday = before(last, ((last.getDay() + 6) % 7) + (weeks - 1) * 7);
  const strip = h("div", { class: "calendar", role: "group", "aria-label": "Entries per day" });
  for (let i = 0; i < weeks * 7; i++) {
    const date = before(monday, -i);
    if (date > last) break;
    const cell = h("button", { type: "button", "aria-label": day(date), title: day(date), onclick: () => choose(day(date)) });
    cells.set(day(date), cell);
    strip.append(cell);
  }
  return {
    strip,
    set(date, n) {
      const cell = cells.get(date);
      if (!cell) return;
      const label = `${date}: ${entries(n)}`;
      cell.setAttribute("aria-label", label);
      cell.title = label;
      cell.dataset.level = n === 0 ? 0 : Math.min(4, 1 + Math.floor(Math.log2(n) / 1.5));
    },
  };
}

/** column returns the entries of a day, by file. */
function column(date, answer, open) {
  const files = Map.groupBy(answer.hits, (hit) => hit.path);
  return h("article", { "aria-label": date }, h("h2", null, date),
    quiet(entries(answer.total)),
    [...files].map(([path, hits]) => [h("h3", null, hits[0].session ? `session ${hits[0].session}` : path),
      h("ul", { class: "rows" }, hits.sort((a, b) => a.line - b.line).map((hit) => h("li", chosen(() => open(hit)), h("p", { class: "text" }, hit.text), h("p", { class: "where" }, `line ${hit.line} `, badges(hit)))))]),
    answer.total > answer.hits.length && quiet(`${answer.total - answer.hits.length} more`));
}

/** days is the page with the entries of each day. */
export function days(section) {
  let request = new AbortController();
  let chosen = null;
  const until = h("input", { type: "date", "aria-label": "Until", value: day(new Date()), max: day(new Date()) });
  const strip = h("div");
  const side = h("aside", { "aria-label": "File" });
  const columns = h("div", { class: "days" });
  const open = (hit) => preview(side, hit, request.signal);
  const show = (date) => { chosen = date; run(); };
  section.append(h("div", { class: "filters" }, h("label", null, "Until ", until)), strip, h("div", { class: "columns" }, columns, side));
  until.addEventListener("change", () => { if (until.value) show(null); });

  async function run() {
    request.abort();
    request = new AbortController();
    const { signal } = request;
    const last = new Date(`${until.value}T00:00`);
    const cells = calendar(last, show);
    const counts = [];
    const counting = countDays(last, signal, (date, n) => { if (n > 0) counts.push(date); cells.set(date, n); });
    if (!chosen) await counting;
    const dates = chosen ? [chosen] : counts.sort().slice(-3).reverse();
    const answers = await Promise.all(dates.map((date) => entriesOf(date, 100, signal)));
    columns.replaceChildren(...(dates.length === 0
      ? [quiet(`Nothing was saved in these ${weeks} weeks.`)]
      : dates.map((date, i) => column(date, answers[i], open))));
    await counting;
    strip.replaceChildren(cells.strip);
  }
  run();
  return { refresh: run, stop: () => request.abort() };
}
