// A file as rendered Markdown, with what can be done with its entries.

import { call, editorLink, readOnly } from "./api.js";
import { network } from "./charts.js";
import { edit, forget, setTask } from "./change.js";
import { badge, button, checkbox, columns, copy, fileLink, h, highlighted, isControl, link, notify, place, placeText, put, quiet, shown, small, to } from "./dom.js";
import { blocks } from "./markdown.js";

const most = 600; // lines of a long file that are shown at once
const before = 100; // of these, lines before the entry

const titles = new Map(); // of sessions, by path

/** sessionTitle returns the topic and the person of a session. */
async function sessionTitle(path, signal) {
  if (!titles.has(path)) {
    const { frontmatter: f = {} } = await call("get", { path, lines: 1, sync: false }, signal);
    const person = f.contact_nickname || f.contact_id || "";
    const summary = String(f.summary || "");
    titles.set(path, [summary || person && `Session with ${person}`, summary && !summary.includes(person) && person].filter(Boolean).join(" · "));
  }
  return titles.get(path);
}

/** title returns the name of the file of a hit, for people: its first heading, or of a session its topic. */
export function title(hit, signal) {
  const name = hit.path.split("/").at(-1).replace(/\.md$/i, "");
  const element = h("span.title", hit.kind === "daily" ? `Daily note ${hit.day}` : hit.kind !== "session" && hit.section?.split(" > ")[0] || name);
  if (hit.kind === "session") sessionTitle(hit.path, signal).then((t) => { if (t) element.textContent = shown(t); }, () => {});
  return element;
}

/** sectionOf returns the headings above a hit, without those that its title shows. */
export function sectionOf(hit) {
  const all = hit?.section?.split(" > ") ?? [];
  return all.slice(hit?.kind === "session" && all.length === 1 ? 0 : 1).join(" › ");
}

const openLink = (hit) => editorLink(hit) && h("a.outside", { href: editorLink(hit) }, "Open in editor");

function linkList(name, list) {
  return list.length > 0 && h("details", { open: list.length < 8 }, h("summary", `${name} (${list.length})`),
    h("ul.plain", list.map((l) => h("li", fileLink(l, l.path), " ",
      small(highlighted((l.text ?? "").slice(0, 300)))))));
}

/** reader shows a file in an element, with the entry of a place selected. It returns functions to show
 * another place, to show the present one again, and to stop. */
export function reader(element) {
  let request = new AbortController();
  let now = null;
  const isEditing = () => element.querySelector("textarea") !== null;
  const again = () => now && show(now);

  async function show(hit, focus) {
    if (isEditing()) return notify("Save or cancel your change first.");
    request.abort();
    request = new AbortController();
    const { signal } = request;
    const scroll = now?.path === hit.path ? element.scrollTop : -1;
    now = hit;
    const from = hit.from ?? (hit.line > most - before ? hit.line - before : 1);
    const [file, related, { hits }] = await Promise.all([
      call("get", { path: hit.path, from, lines: most }, signal),
      call("related", { path: hit.path, limit: 100 }, signal),
      call("search", { path: hit.path, limit: 100 }, signal)]);
    if (isEditing()) return;
    const { path } = file;
    const own = hits.filter((other) => other.path === path);
    const links = new Map(related.to.map((l) => [l.target, l]));
    links.set("", { path });
    const tick = (line, isDone) => checkbox({ checked: isDone, disabled: readOnly, "aria-label": `Task in line ${line}`,
      onchange: (event) => setTask(`${path}:${line}`, event.target, again) });
    const lines = file.text.split("\n");
    const textOf = (first, last) => lines.slice(first - file.from, last - file.from + 1).join("\n");
    const list = blocks(lines, file.from, { links, tick });
    const views = list.map((b) => view(b, file, textOf, own.find((other) => other.line <= b.from && b.to <= other.end_line)));
    const name = title({ ...(own[0] ?? hit), path }, signal);
    const isTitled = list.slice(0, 2).some(({ element: e }) => isHeading(e) && e.textContent === name.textContent); // after properties
    const linked = related.to.filter((l) => l.path);
    const lineButton = (label, line) => button(`${label} ${line} of ${file.total_lines}`, () => show({ path, from: line }));
    put(element, !isTitled && h("h2", name),
      h("p.where", place({ path }), " ", openLink({ path }), " ",
        to("browse", { dir: path.replace(/\/?[^/]*$/, "") || "." }, "Folder"), " ", to("journal", { path }, "History")),
      file.stale && quiet("The file cannot be read now. This is its last known content."),
      file.from > 1 && lineButton("Lines from", Math.max(1, file.from - most)),
      h("div.md", views), file.to < file.total_lines && lineButton("Lines from", file.to + 1),
      linked.length + related.from.length > 0 && h("section.links", { "aria-label": "Links" },
        network(path, linked, related.from), linkList("Links to", linked), linkList("Linked from", related.from)));
    const target = views[list.findIndex((b) => (hit.anchor
      ? isHeading(b.element) && slug(b.element.textContent) === hit.anchor.toLowerCase() : hit.line && b.to >= hit.line))];
    target?.select();
    if (focus) target?.focus();
    // Without scrolling the page: a column scrolls itself, and a page of one file when its entry has the focus.
    element.scrollTop = scroll >= 0 ? scroll : (target?.offsetTop ?? 0) - element.clientHeight / 3;
  }

  /** view returns the element of a block. Its select shows what can be done with it. */
  function view(block, file, textOf, entry) {
    const at = { path: file.path, line: block.from };
    const text = textOf(block.from, block.to);
    const whole = entry ? textOf(entry.line, entry.end_line) : text; // the entry may have several blocks
    const [, source] = /<!--.*\ssource=(\S+)/.exec(whole) ?? [];
    const isPublic = entry?.visibility === "public_ok";
    const isOthers = (file.untrusted_lines ?? []).some(([first, last]) => first <= block.from && block.to <= last);
    const actions = {};
    if (!readOnly) {
      actions.e = ["Edit", () => edit(e, at, text, text, again)];
      if (!isHeading(block.element)) actions.f = ["Forget…", () => forget(whole, at, again)];
    }
    actions.c = ["Copy place", () => copy(placeText(at))];
    const e = h("div.row.block", { tabindex: 0,
      onclick: (event) => isControl(event) || e.select(),
      onkeydown: (event) => {
        if (event.target !== e || event.ctrlKey || event.metaKey || event.altKey) return;
        const run = event.key === "Enter" ? e.select : actions[event.key]?.[1];
        if (!run) return;
        run();
        event.preventDefault();
      } }, block.from === entry?.line && (isPublic || isOthers) && h("p.marks", isPublic && badge("public"), isOthers && badge("not by you")), block.element);
    e.select = () => {
      if (isEditing()) return;
      element.querySelector(".tools")?.remove();
      element.querySelector(".hit")?.classList.remove("hit");
      e.classList.add("hit");
      e.append(h("p.tools", Object.entries(actions).map(([key, [label, run]]) =>
        button(label, run, { title: `key: ${key}` })), openLink(at), small(` line ${at.line}`, source && `, from ${source}`)));
      now = { ...now, line: at.line };
    };
    return e;
  }

  return { show, refresh: () => isEditing() || again(), stop: () => request.abort(), clear: () => { request.abort(); now = null; put(element); } };
}

/** slug returns the anchor of a heading. */
const slug = (text) => text.trim().toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, "").replace(/\s/g, "-");

const isHeading = (element) => /^H\d$/.test(element?.tagName);

export function read(section, params) {
  titles.clear();
  const file = h("article");
  put(section, file);
  const view = reader(file);
  const missing = (error) => {
    if (error.code !== "not_found") throw error;
    put(file, quiet(error.message));
  };
  view.show({ path: params.path ?? "MEMORY.md", line: Number(params.line), anchor: params.anchor }, true).catch(missing);
  return view;
}

/** beside appends a list and a column for a reader to a page. It returns them with open, which shows a
 * hit in this column, or on a narrow screen on a page of its own. */
export function beside(section) {
  const list = h("div");
  const side = h("aside", { "aria-label": "File", tabindex: -1 });
  section.append(columns(list, side));
  const view = reader(side);
  const isWide = () => matchMedia("(min-width: 62rem)").matches;
  const open = ({ path, line }) => { if (isWide()) view.show({ path, line }); else location.hash = link("read", { path, line }); };
  return { list, side, ...view, isWide, open };
}
