// Search as you type, with the first hit beside the list.

import { call } from "./api.js";
import { badges, button, checkbox, chosen, columns, entries, field, fileLink, h, highlighted, keep, later, live, news, place, plural, put, rows, select, small } from "./dom.js";
import { beside, title } from "./reader.js";

const kinds = ["note", "session", "daily", "longterm", "items", "identity", "archive"];
const own = ["session", "daily", "longterm", "items"]; // kinds that are shown first without a query

/** row returns a hit of a list. open is called when it is chosen. */
export function row(hit, open, signal) {
  const section = (hit.section ?? "").split(" > ").slice(hit.kind === "session" ? 0 : 1).join(" › ");
  return h("li.row", { ...(open ? chosen(() => open(hit)) : { tabindex: 0 }), "data-id": hit.id },
    h("p.head", fileLink(hit, title(hit, signal), open), " ", small(section), " ", badges(hit)),
    h(hit.language !== undefined ? "pre" : "p", { class: "text" }, highlighted(hit.snippet ?? hit.text, hit.highlights, hit.language !== undefined)),
    h("p.where", place(hit), hit.day && ` · ${hit.day}`, hit.more > 0 && ` · ${hit.more} more in this file`,
      hit.missing && ` · without ${hit.missing.join(", ")}`),
    hit.why && h("p.quiet.why", why(hit)));
}

function why(hit) {
  const parts = ["own", "near", "file", "date", "recency", "superseded"].filter((name) => hit.why[name]);
  return [`score ${hit.score.toFixed(2)} = ${parts.map((name) => `${name} ${hit.why[name].toFixed(2)}`).join(" + ")}`,
    (hit.why.terms ?? []).map((t) => ` · ${t.term} ${t.score.toFixed(2)}`)];
}

/** notes returns the facts about an answer, in the order of their use. */
function notes(answer, words) {
  if (answer.total === 0) return answer.absent?.length > 0 ? `No entry contains ${answer.absent.join(", ")}.` : answer.note || "Nothing matches.";
  return [`${entries(answer.total)} in ${plural(answer.files, "file")}`,
    words && answer.total_all < answer.total && `${answer.total_all} with all words`,
    answer.absent?.length > 0 && `no entry contains ${answer.absent.join(", ")}`,
    ...(answer.corrected ?? []).map((c) => `showing ${c.to.join(", ")} for ${c.word}`), answer.note].filter(Boolean).join(" · ");
}

export function find(section, params) {
  const fields = {
    q: field("Search", "Search the memory", params.q, { type: "search", autocomplete: "off", spellcheck: "false" }),
    kind: select("Kind", [["", "all kinds"], ...kinds.map((k) => [k])]),
    since: field("Since", "since: 7d, 2026-02", params.since, { size: 16 }),
    until: field("Until", "until", params.until, { size: 10 }),
    tag: field("Tag", "tag", params.tag, { size: 12, list: "tags" }),
    path: field("Folder", "folder", params.path, { size: 12 }),
  };
  const { q, kind, ...others } = fields;
  kind.value = params.kind ?? "";
  const tags = h("datalist", { id: "tags" });
  const explain = checkbox();
  const count = news();
  const list = rows();
  const more = button("More", () => { limit += 20; page.run(); });
  const view = beside();
  let limit = 20;
  let current; // id of the hit beside the list
  let isNew = true; // the first hit is to be shown
  put(section, h("form", { role: "search", onsubmit: (event) => { event.preventDefault(); list.querySelector(".row")?.focus(); } }, q,
    h("details.filters", { open: Object.keys(params).some((name) => name !== "q") }, h("summary", "Filters"),
      kind, Object.values(others), tags, h("label", explain, " explain the order"))),
  count, columns(h("div", list, more), view.side));

  const page = live(async (signal) => {
    const given = Object.fromEntries(Object.entries(fields).map(([name, input]) => [name, input.value.trim()]).filter(([, value]) => value));
    keep(given);
    const { q: words, kind: only, tag, ...rest } = given;
    const common = { limit, count: false, group: "file" };
    const isEmpty = Object.keys(given).length === 0;
    let answer = await call("search", isEmpty ? { ...common, kinds: own } : { ...common, ...rest, query: q.value, typing: true,
      explain: explain.checked, ...(only && { kinds: [only] }), ...(tag && { tags: [tag.replace(/^#/, "")] }) }, signal);
    if (isEmpty && answer.total === 0) answer = await call("search", common, signal);
    put(count, !isEmpty ? notes(answer, words) : answer.total > 0 ? "The newest entries" : "The memory is empty. Add a note with the button above.");
    const focused = document.activeElement?.dataset?.id;
    put(list, answer.hits.map((hit) => row(hit, (chosenHit) => show(chosenHit, true), signal)));
    more.hidden = !answer.next || limit >= 100;
    if (focused) list.querySelector(`[data-id="${CSS.escape(focused)}"]`)?.focus();
    mark();
    if (answer.hits.length === 0) view.clear();
    else if (view.isWide() && (isNew || !view.side.firstChild)) show(answer.hits[0]);
    isNew = false;
  }, view);
  const mark = () => { for (const r of list.children) r.classList.toggle("current", r.dataset.id === current); };
  /** show shows a hit beside the list and marks its row. On a narrow screen it shows only chosen hits. */
  function show(hit, isChosen) {
    current = hit.id;
    mark();
    if (isChosen || view.isWide()) view.open(hit);
  }
  const run = () => { isNew = true; limit = 20; page.run(); };
  list.addEventListener("focusin", (event) => { if (view.isWide() && event.target.matches(".row")) event.target.click(); });
  const typed = later(30, run);
  for (const input of [q, ...Object.values(others)]) input.addEventListener("input", typed);
  for (const input of [kind, explain]) input.addEventListener("change", run);
  call("complete", { what: "tag", limit: 1000 }).then((answer) => put(tags, answer.values.map((name) => h("option", { value: name }))));
  q.focus();
  run();
  return page;
}
