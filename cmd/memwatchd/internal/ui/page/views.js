// The same search for another caller, beside one's own.

import { call } from "./api.js";
import { bar, entries, field, h, live, news, number, put, quiet, rows, select } from "./dom.js";
import { row, suggestions } from "./find.js";

export function views(section) {
  const query = field("Search", "Search; empty: newest entries", undefined, { type: "search" });
  const subject = field("Subject", "subject; empty: you", undefined, { list: "subject" });
  const context = select("Context", [["public", "in public"], ["private", "in private"], ["unknown", "unknown context"]]);
  const mine = rows();
  const theirs = rows();
  const sums = [news(), news()];
  section.append(bar({ oninput: () => page.run() }, query, subject, context, suggestions("subject")),
    quiet("Entries with a bar at the left are hidden from them. All text of a file has the same readers."),
    h("div.columns.even",
      h("article", { "aria-label": "You" }, h("h2", "You"), sums[0], mine),
      h("article", { "aria-label": "They" }, h("h2", "They"), sums[1], theirs)));

  const page = live(async (signal) => {
    const ask = (fields) => call("search", { query: query.value, limit: 30, ...fields }, signal);
    const scope = { context: context.value, ...(subject.value && { subject: subject.value }) };
    const [all, some] = await Promise.all([ask({}), ask(scope)]);
    sums[0].textContent = entries(all.total);
    sums[1].textContent = `${entries(some.total)}, ${number(Math.max(0, all.total - some.total))} hidden from them`;
    const readable = new Set(some.hits.map((hit) => hit.id));
    put(mine, all.hits.map((hit) => {
      const item = row(hit, undefined, signal);
      item.classList.toggle("hidden-from-them", !readable.has(hit.id));
      return item;
    }));
    put(theirs, some.hits.map((hit) => row(hit, undefined, signal)));
  });
  return page;
}
