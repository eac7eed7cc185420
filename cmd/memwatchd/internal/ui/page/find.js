// Search as you type, with the first hit beside the list.

import { call } from "./api.js";
import { badges, bar, button, checkbox, entries, field, fileLink, h, highlighted, item, keep, later, live, news, place, plural, put, rows, select, small } from "./dom.js";
import { beside, sectionOf, title } from "./reader.js";

const kinds = ["note", "session", "daily", "longterm", "items", "identity", "archive"];
const own = ["session", "daily", "longterm", "items"]; // kinds that are shown first without a query

/** row returns a hit of a list. open is called when it is chosen. */
export function row(hit, open, signal) {
  const code = [...hit.text.matchAll(/^ *(```|~~~).*\n([^]*?)(?:^ *\1|(?![^]))/gm)].map((m) => m[2]).join("\n");
  const e = item(open && (() => open(hit)),
    h("p.head", fileLink(hit, title(hit, signal), open), " ", small(sectionOf(hit)), " ", badges(hit)),
    h("p.text", highlighted(hit.snippet ?? hit.text, hit.highlights, code)),
    h("p.where", place(hit), hit.day && !hit.path.includes(hit.day) && ` · ${hit.day}`, hit.more > 0 && ` · ${hit.more} more in this file`,
      hit.missing && ` · without ${hit.missing.join(", ")}`),
    hit.why && h("p.quiet.why", why(hit)));
  e.dataset.id = hit.id;
  return e;
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

/** suggestions returns the values of a field whose list is named as they are. */
export function suggestions(what) {
  const list = h("datalist", { id: what });
  call("complete", { what, limit: 1000 }).then(({ values }) => put(list, values.map((value) => h("option", { value }))));
  return list;
}

export function find(section, params) {
  const fields = {
    q: field("Search", "Search the memory", params.q, { type: "search", autocomplete: "off", spellcheck: "false" }),
    kind: select("Kind", [["", "all kinds"], ...kinds.map((k) => [k])]),
    since: field("Since", "since: 7d, 2026-02", params.since),
    until: field("Until", "until", params.until),
    tag: field("Tag", "tag", params.tag, { list: "tag" }),
    path: field("Folder", "folder", params.path),
  };
  const { q, kind, ...others } = fields;
  kind.value = params.kind ?? "";
  const explain = checkbox();
  const count = news();
  const list = rows();
  const more = button("More", () => { limit += 20; page.run(); });
  let limit = 20;
  let current; // id of the hit beside the list
  let isNew = true; // the first hit is to be shown
  put(section, h("form", { role: "search",
    oninput: () => { isNew = true; limit = 20; page.run(); },
    onsubmit: (event) => { event.preventDefault(); list.querySelector(".row")?.focus(); } }, q,
    h("details", { open: Object.keys(params).some((name) => name !== "q") }, h("summary", "Filters"),
      bar(kind, Object.values(others), suggestions("tag"), h("label", explain, " explain the order")))), count);
  const view = beside(section);
  view.list.append(list, more);

  const page = live(async (signal) => {
    const given = Object.fromEntries(Object.entries(fields).map(([name, input]) => [name, input.value.trim()]).filter(([, value]) => value));
    keep(given);
    const { q: words, kind: only, tag, ...rest } = given;
    const common = { limit, group: "file" };
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
    if (answer.hits.length === 0) {
      showFirst(null);
      view.clear();
    } else if (view.isWide() && (isNew || !view.side.firstChild)) {
      showFirst(answer.hits[0]);
    }
    isNew = false;
  }, view);
  // Not while the person types, or after they chose another hit.
  const showFirst = later(150, (hit) => { if (hit && section.isConnected && !list.contains(document.activeElement)) show(hit); });
  const mark = () => { for (const r of list.children) r.classList.toggle("current", r.dataset.id === current); };
  /** show shows a hit beside the list and marks its row. On a narrow screen it shows only chosen hits. */
  function show(hit, isChosen) {
    current = hit.id;
    mark();
    if (isChosen || view.isWide()) view.open(hit);
  }
  list.addEventListener("focusin", (event) => { if (view.isWide() && event.target.matches(".row")) event.target.click(); });
  q.focus();
  return page;
}
