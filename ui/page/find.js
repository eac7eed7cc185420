// Search as you type, with the file beside it.

import { call } from "./api.js";
import { badges, chosen, entries, h, highlighted, later, place, plural, quiet, shown } from "./dom.js";

const kinds = ["", "note", "session", "daily", "longterm", "items", "identity", "archive"];

/** row returns a hit of a list. open is called when it is chosen. */
export function row(hit, open) {
  return h("li", { ...chosen(() => open(hit)), "data-id": hit.id },
  h("p", { class: "where" }, place(hit), " ", h("span", { class: "quiet" }, hit.section), " ", badges(hit),
    hit.more && h("span", { class: "quiet" }, ` ${hit.more} more in this file`)),
  h(hit.language !== undefined || /\n/.test(hit.snippet ?? "") ? "pre" : "p", { class: "text" },
    hit.snippet ? highlighted(hit.snippet, hit.highlights) : hit.text),
  hit.missing && quiet(`without ${hit.missing.join(", ")}`),
  hit.why && h("p", { class: "quiet why" }, why(hit)));
}

function why(hit) {
  const parts = ["own", "near", "file", "recency"].filter((name) => hit.why[name]);
  return [`score ${hit.score.toFixed(2)} = ${parts.map((name) => `${name} ${hit.why[name].toFixed(2)}`).join(" + ")}`,
    (hit.why.terms ?? []).map((t) => ` · ${t.term} ${t.score.toFixed(2)}`)];
}

/** preview shows the file of a hit around its entry. */
export async function preview(element, hit, signal) {
  const from = Math.max(1, hit.line - 8);
  const [file, links] = await Promise.all([
    call("get", { path: hit.path, from, lines: Math.max(40, hit.end_line - from + 9) }, signal),
    call("related", { path: hit.path }, signal).catch(() => ({})),
  ]);
  const lines = file.text.split("\n").map((line, i) => {
    const n = file.from + i;
    return h("span", { class: n >= hit.line && n <= hit.end_line ? "line hit" : "line", "data-line": n }, `${line}\n`);
  });
  const linked = [...(links.to ?? []), ...(links.from ?? [])].map((link) => link.path).filter(Boolean);
  element.replaceChildren(h("div", null, h("h2", null, `${hit.path}:${hit.line}`),
    quiet(`lines ${file.from} to ${file.to} of ${file.total_lines}`),
    h("pre", { class: "file", tabindex: 0 }, lines),
    linked.length > 0 && quiet(`Links: ${[...new Set(linked)].join(", ")}`)));
  element.querySelector(".hit")?.scrollIntoView({ block: "nearest" });
}

/** find is the page that searches. */
export function find(section) {
  let request = new AbortController();
  const query = h("input", { type: "search", "aria-label": "Search", placeholder: "Search the memory", autocomplete: "off", spellcheck: "false" });
  const kind = h("select", { "aria-label": "Kind" }, kinds.map((k) => h("option", { value: k }, k || "all kinds")));
  const since = h("input", { "aria-label": "Since", placeholder: "since: 7d, 2026-02", size: 16 });
  const tag = h("input", { "aria-label": "Tag", placeholder: "tag", size: 10 });
  const explain = h("input", { type: "checkbox", id: "explain" });
  const count = h("p", { class: "quiet", "aria-live": "polite" });
  const list = h("ul", { class: "rows" });
  const side = h("aside", { "aria-label": "File" });
  section.append(
    h("form", { role: "search", onsubmit: (event) => event.preventDefault() }, query,
      h("div", { class: "filters" }, kind, since, tag, explain, h("label", { for: "explain" }, "explain"))),
    count, h("div", { class: "columns" }, list, side));

  const open = (hit) => preview(side, hit, request.signal);
  async function run() {
    request.abort();
    request = new AbortController();
    const filters = { limit: 20, group: "file", count: false };
    if (kind.value) filters.kinds = [kind.value];
    if (since.value) filters.since = since.value;
    if (tag.value) filters.tags = [tag.value.replace(/^#/, "")];
    const words = query.value.trim();
    const answer = words || since.value || tag.value || kind.value
      ? await call("search", { ...filters, query: query.value, typing: true, explain: explain.checked }, request.signal)
      : await call("recent", { since: "30d", limit: 20 }, request.signal);
    const notes = [words || answer.total ? entries(answer.total) + ` in ${plural(answer.files, "file")}` : !answer.index.notice && "Nothing new in 30 days",
      words && answer.total > 0 && answer.total_all < answer.total && `${answer.total_all} with all words`,
      answer.absent?.length > 0 && `no entry contains ${answer.absent.join(", ")}`,
      ...(answer.corrected ?? []).map((c) => `showing ${c.to.join(", ")} for ${c.word}`), answer.note].filter(Boolean);
    count.textContent = shown(notes.join(" · "));
    const focused = document.activeElement?.dataset?.id;
    list.replaceChildren(...answer.hits.map((hit) => row(hit, open)));
    if (focused) list.querySelector(`[data-id="${CSS.escape(focused)}"]`)?.focus();
  }
  const typed = later(30, run);
  for (const input of [query, since, tag]) input.addEventListener("input", typed);
  for (const input of [kind, explain]) input.addEventListener("change", run);
  query.focus();
  run();
  return { refresh: run, stop: () => request.abort() };
}
