// The memory by folder, kind, tag and project.

import { call } from "./api.js";
import { perWeek, sizes, weeks } from "./charts.js";
import { chosen, columns, day, entries, fileLink, h, link, live, plural, put, quiet, rows, to } from "./dom.js";
import { row } from "./find.js";
import { beside } from "./reader.js";

const most = 300; // entries of a project
const shownSizes = 40; // tags

export function browse(section, params) {
  const list = h("div");
  const view = beside();
  section.append(columns(list, view.side));

  const item = (f, name, ...more) => h("li", chosen(() => view.open(f)), fileLink(f, name, view.open), " ", more);

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
      quiet(`${plural(total.files, "file")}, ${entries(total.entries)}`, dir && [" · ", to("find", { path: dir }, "Search here")]),
      h("ul.tiles", dirs.map((name) => h("li", to("browse", { dir: name.slice(0, -1) }, "▸ ", name.slice(prefix.length))))),
      rows(notes.map((path) => item({ path }, path.slice(prefix.length)))),
      names.next && quiet(`${names.total} names, of which ${names.values.length} are shown.`)];
  }

  async function project(name, signal) {
    const hits = [];
    let total = 0;
    for (let offset = 0; offset !== undefined && hits.length < most;) {
      const answer = await call("search", { tags: [`project:${name}`], limit: 100, offset, count: false }, signal);
      hits.push(...answer.hits);
      total = answer.total;
      offset = answer.next;
    }
    const dated = hits.map((hit) => [hit, hit.day || hit.added || (hit.time ? day(new Date(hit.time)) : "")]);
    const counts = perWeek(dated.map(([, date]) => date).filter(Boolean));
    const byDay = Map.groupBy(dated, ([, date]) => date);
    return [h("h2", `Project ${name}`), quiet(entries(total)), weeks("Entries per week", new Map([[name, counts]]), ["entry", "entries"]),
      [...byDay].sort(([a], [b]) => (a < b ? 1 : -1)).map(([date, list]) => h("article", h("h3", date || "Undated"),
        rows(list.map(([hit]) => row(hit, view.open, signal)))))];
  }

  /** overview returns kinds, projects and tags by size, and the top folder. */
  async function overview(signal) {
    const [totals, tags, top] = await Promise.all([call("files", { totals: true }, signal),
      call("complete", { what: "tag", limit: 1000 }, signal), folder("", signal)]);
    const kinds = totals.kinds.map((k) => ({ name: k.of, n: k.entries, href: link("find", { kind: k.of }),
      text: `${entries(k.entries)} in ${plural(k.files, "file")}` }));
    const sorted = tags.values.map((name, i) => ({ name, n: tags.entries?.[i] ?? 0 })).sort((a, b) => b.n - a.n);
    const isProject = ({ name }) => name.startsWith("project:");
    const projects = sorted.filter(isProject).map(({ name, n }) => ({ n, name: name.slice(8), href: link("browse", { project: name.slice(8) }) }));
    const others = sorted.filter((t) => !isProject(t)).map(({ name, n }) => ({ n, name: `#${name}`, href: link("find", { tag: name }) }));
    const block = (title, list) => list.length > 0 && [h("h2", title), sizes(list.slice(0, shownSizes)),
      list.length > shownSizes && quiet(`and ${list.length - shownSizes} more`)];
    return [block("Kinds", kinds), block("Projects", projects), block("Tags", others), top];
  }

  const page = live(async (signal) => {
    const { dir, project: name } = params;
    put(list, (dir || name) && h("p", h("a", { href: "#browse" }, "← All")),
      await (name ? project(name, signal) : dir ? folder(dir === "." ? "" : dir, signal) : overview(signal)));
  }, view);
  page.run();
  return page;
}
