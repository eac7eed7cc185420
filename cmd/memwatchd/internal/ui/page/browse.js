// The memory by folder, kind, tag and project.

import { call } from "./api.js";
import { sizes, weeks } from "./charts.js";
import { andMore, day, entries, fileLink, h, item, link, live, number, plural, put, quiet, rows, to } from "./dom.js";
import { row } from "./find.js";
import { beside } from "./reader.js";

const most = 300; // entries of a project
const shownSizes = 40; // tags

export function browse(section, params) {
  const view = beside(section);

  /** folder returns the directories and files of a directory. */
  async function folder(dir, signal) {
    const prefix = dir ? `${dir}/` : "";
    const [names, { total }] = await Promise.all([
      call("complete", { what: "path", steps: true, prefix, limit: 1000 }, signal),
      call("files", { path: dir, limit: 1 }, signal)]);
    const parts = dir ? dir.split("/") : [];
    const crumbs = h("nav", { "aria-label": "Folder", class: "crumbs" }, to("browse", { dir: "." }, "memory"),
      parts.map((name, i) => [" / ", to("browse", { dir: parts.slice(0, i + 1).join("/") }, name)]));
    const inside = names.values.filter((name) => name !== prefix);
    const dirs = inside.filter((name) => name.endsWith("/"));
    const notes = inside.filter((name) => !name.endsWith("/"));
    return [h("h2", crumbs),
      quiet(total.files > 0 ? `${plural(total.files, "file")}, ${entries(total.entries)}` : "The memory is empty. Add a note with the button above.", dir && [" · ", to("find", { path: dir }, "Search here")]),
      h("ul.tiles", dirs.map((name) => h("li", to("browse", { dir: name.slice(0, -1) }, "▸ ", name.slice(prefix.length))))),
      rows(notes.map((path) => item(() => view.open({ path }), fileLink({ path }, path.slice(prefix.length), view.open)))),
      andMore(names.total, names.values.length)];
  }

  async function project(name, signal) {
    const hits = [];
    let total = 0;
    for (let offset = 0; offset !== undefined && hits.length < most;) {
      const answer = await call("search", { tags: [`project:${name}`], limit: 100, offset }, signal);
      hits.push(...answer.hits);
      total = answer.total;
      offset = answer.next;
    }
    const dated = hits.map((hit) => [hit, hit.day || hit.added || (hit.time ? day(new Date(hit.time)) : "")]);
    const byDay = Map.groupBy(dated, ([, date]) => date);
    return [h("h2", `Project ${name}`), quiet(entries(total)),
      weeks("Entries per week", dated.filter(([, date]) => date).map(([, date]) => [date, name, 1])),
      [...byDay].sort(([a], [b]) => (a < b ? 1 : -1)).map(([date, list]) => h("article", h("h3", date || "Undated"),
        rows(list.map(([hit]) => row(hit, view.open, signal)))))];
  }

  /** overview returns kinds, projects and tags by size, and the top folder. */
  async function overview(signal) {
    const [totals, tags, top] = await Promise.all([call("files", { totals: true }, signal),
      call("complete", { what: "tag", limit: 1000 }, signal), folder("", signal)]);
    const kinds = totals.kinds.map((k) => ({ name: k.of, n: k.entries, href: link("find", { kind: k.of }),
      text: `${number(k.entries)} in ${plural(k.files, "file")}` }));
    const sorted = tags.values.map((name, i) => ({ name, n: tags.entries?.[i] ?? 0 })).sort((a, b) => b.n - a.n);
    const isProject = ({ name }) => name.startsWith("project:");
    const projects = sorted.filter(isProject).map(({ name, n }) => ({ n, name: name.slice(8), href: link("browse", { project: name.slice(8) }) }));
    const others = sorted.filter((t) => !isProject(t)).map(({ name, n }) => ({ n, name: `#${name}`, href: link("find", { tag: name }) }));
    const block = (title, list) => list.length > 0 && [h("h2", title), sizes(list.slice(0, shownSizes)), andMore(list.length, shownSizes)];
    return [block("Kinds", kinds), block("Projects", projects), block("Tags", others), top];
  }

  return live(async (signal) => {
    const { dir, project: name } = params;
    put(view.list, (dir || name) && h("p", h("a", { href: "#browse" }, "← All")),
      await (name ? project(name, signal) : dir ? folder(dir === "." ? "" : dir, signal) : overview(signal)));
  }, view);
}
