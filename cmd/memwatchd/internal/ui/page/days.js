// The entries of each day, newest first, and a calendar of the days with entries.

import { call } from "./api.js";
import { badges, bar, button, checkbox, dateOf, day, distance, entries, field, h, item, keep, live, news, plural, put, quiet, rows, small, to } from "./dom.js";
import { blocks } from "./markdown.js";
import { beside, sectionOf, title } from "./reader.js";

const atOnce = 5; // days
const weeks = 53; // of the calendar
const preview = 12; // entries of a file
const weekdays = ["Mon", "", "Wed", "", "Fri", "", "Sun"];

const before = (date, n) => new Date(date.getFullYear(), date.getMonth(), date.getDate() - n);

/** countDays returns the number of entries of each day with sessions or daily notes. */
async function countDays(signal) {
  const counts = new Map();
  for (let after = ""; ;) {
    const answer = await call("files", { kinds: ["session", "daily"], limit: 10000, ...(after && { after }) }, signal);
    for (const f of answer.files) {
      const date = /(\d{4}-\d\d-\d\d)/.exec(f.path)?.[1] ?? (f.time && day(new Date(f.time)));
      if (date) counts.set(date, (counts.get(date) ?? 0) + f.entries);
    }
    if (!answer.next) return counts;
    after = answer.next;
  }
}

/** calendar returns the weeks until a day, a column per week, with months and weekdays. */
function calendar(last, counts, choose) {
  const most = Math.max(2, ...counts.values());
  const monday = before(last, ((last.getDay() + 6) % 7) + (weeks - 1) * 7);
  const months = h("div.months", { "aria-hidden": "true" });
  const cells = h("div.calendar", { role: "group", "aria-label": "Entries per day" });
  for (let week = 0; week < weeks; week++) {
    const first = before(monday, -week * 7);
    const isNew = first.getDate() <= 7 && week < weeks - 2;
    months.append(h("span", isNew && first.toLocaleString("en", { month: "short" }) + (first.getMonth() === 0 ? ` ${first.getFullYear()}` : "")));
    for (let i = 0; i < 7; i++) {
      const date = day(before(first, -i));
      if (date > day(last)) break;
      const n = counts.get(date) ?? 0;
      const label = `${date}: ${entries(n)}`;
      cells.append(h("button", { type: "button", title: label, "aria-label": label, tabindex: n > 0 ? 0 : -1, onclick: () => choose(date),
        "data-level": n === 0 ? 0 : 1 + Math.round(3 * Math.log(n) / Math.log(most)) }));
    }
  }
  return [h("div.year", h("div.weekdays", { "aria-hidden": "true" }, weekdays.map((d) => h("span", d))), h("div", months, cells)),
    h("p.legend.quiet", "fewer ", [0, 1, 2, 3, 4].map((n) => h("i", { "data-level": n })), " more")];
}

/** article returns a day: its sessions and daily notes, then a link to the other files that changed. */
function article(date, own, others, open, signal) {
  const files = [...Map.groupBy(own.hits, (hit) => hit.path).values()];
  return h("article", { "aria-label": date }, h("h2", date, " ", small(
    `${dateOf(date).toLocaleString("en", { weekday: "long" })}, ${distance(date)} · ${entries(own.total)}`)),
    files.map((hits) => file(hits.sort((a, b) => a.line - b.line), open, signal)),
    own.total > own.hits.length && quiet(`${own.total - own.hits.length} more. Select a file to read all.`),
    others.total > 0 && h("p", to("find", { since: date, until: date, kind: "note" }, `Also changed: ${plural(others.files, "file")}`)));
}

function file(hits, open, signal) {
  const box = (_, isDone) => checkbox({ checked: isDone, disabled: true, "aria-label": "Task" });
  return h("section", h("h3", title(hits[0], signal), " ", hits[0].kind !== "daily" && small(hits[0].path)),
    rows(hits.slice(0, preview).map((hit, i) => item(() => open(hit),
      sectionOf(hit) !== sectionOf(hits[i - 1]) && quiet(sectionOf(hit)),
      h("div.md", blocks(hit.text.split("\n"), 2, { tick: box, links: new Map([["", hit]]) }).map((b) => b.element)), badges({ ...hit, task: "", tags: [] })))),
    hits.length > preview && button(`${hits.length - preview} more`, () => open(hits[preview])));
}

export function days(section, params) {
  let limit = atOnce;
  const until = field("Until", "", params.until, { type: "date" });
  const strip = h("div");
  const list = h("div");
  const sum = news();
  const more = button("Earlier days", () => { limit += atOnce; page.run(); });
  put(section, strip, bar({ oninput: () => show(until.value) }, h("label", "Until ", until), sum));
  const view = beside(section);
  view.list.append(list, more);
  const show = (date) => { until.value = date; limit = atOnce; page.run(); };

  const page = live(async (signal) => {
    keep({ until: until.value });
    const [counts, newest] = await Promise.all([countDays(signal), call("search", { limit: 1 }, signal)]);
    const own = [...counts.keys()].sort().reverse();
    const last = newest.hits.filter((hit) => hit.time).map((hit) => day(new Date(hit.time))); // also of notes
    const dates = [...new Set([...last, ...own])].sort().reverse().filter((d) => !until.value || d <= until.value);
    const selected = dates.slice(0, limit);
    const end = until.value || day(new Date());
    put(strip, own.length > 0 && calendar(dateOf(selected[0] < day(before(dateOf(end), weeks * 7)) ? selected[0] : end), counts, show));
    strip.firstChild?.scrollTo(1e6, 0);
    more.hidden = dates.length === selected.length;
    put(sum, own.length > 0 ? `${plural(own.length, "day")} with sessions or daily notes, the last ${distance(own[0])}` : "No sessions or daily notes yet.");
    const search = (date, kinds, n) => call("search", { since: date, until: date, kinds, limit: n }, signal);
    const found = await Promise.all(selected.map((date) =>
      Promise.all([search(date, ["session", "daily"], 100), search(date, ["note", "identity", "longterm", "items"], 1)])));
    put(list, selected.map((date, i) => article(date, ...found[i], view.open, signal)));
  }, view);
  return page;
}
