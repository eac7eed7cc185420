// The same search for another caller, beside one's own.

import { call } from "./api.js";
import { confirm, entries, h, later } from "./dom.js";
import { preview, row } from "./find.js";

/** views is the page that compares what two callers see. */
export function views(section) {
  let request = new AbortController();
  const query = h("input", { type: "search", "aria-label": "Search", placeholder: "Search, or leave empty for the newest entries" });
  const subject = h("input", { "aria-label": "Subject", placeholder: "subject; empty: you", list: "subjects" });
  const context = h("select", { "aria-label": "Context" }, ["public", "private", "unknown"].map((c) => h("option", { value: c }, c)));
  const subjects = h("datalist", { id: "subjects" });
  const mine = h("ul", { class: "rows" });
  const theirs = h("ul", { class: "rows" });
  const sums = [h("p", { class: "quiet", "aria-live": "polite" }), h("p", { class: "quiet", "aria-live": "polite" })];
  section.append(h("div", { class: "filters" }, query, subject, context, subjects),
    h("div", { class: "columns" },
      h("article", { "aria-label": "You" }, h("h2", null, "You"), sums[0], mine),
      h("article", { "aria-label": "They" }, h("h2", null, "They"), sums[1], theirs)));

  const open = async (hit) => {
    const content = h("div");
    await preview(content, hit, request.signal);
    await confirm("File", content);
  };
  const ask = (scope) => (query.value.trim()
    ? call("search", { query: query.value, limit: 30, count: false, ...scope }, request.signal)
    : call("recent", { since: "90d", limit: 30, ...scope }, request.signal));

  async function run() {
    request.abort();
    request = new AbortController();
    const [all, some] = await Promise.all([ask({}), ask({ context: context.value, ...(subject.value ? { subject: subject.value } : {}) })]);
    sums[0].textContent = entries(all.total);
    sums[1].textContent = `${entries(some.total)}, ${Math.max(0, all.total - some.total)} hidden from them`;
    const readable = new Set(some.hits.map((hit) => hit.id));
    mine.replaceChildren(...all.hits.map((hit) => {
      const item = row(hit, open);
      item.classList.toggle("hidden-from-them", !readable.has(hit.id));
      return item;
    }));
    theirs.replaceChildren(...some.hits.map((hit) => row(hit, open)));
  }
  const typed = later(30, run);
  for (const input of [query, subject]) input.addEventListener("input", typed);
  context.addEventListener("change", run);
  call("complete", { what: "subject" }).then((answer) =>
    subjects.replaceChildren(...answer.values.map((name) => h("option", { value: name }))));
  run();
  return { refresh: run, stop: () => request.abort() };
}
