// The changes to files by day and session, and how to take them back.

import { call, readOnly } from "./api.js";
import { weeks } from "./charts.js";
import { undo } from "./change.js";
import { badge, bar, button, day, diff, distance, field, fileLink, h, item, keep, later, live, plural, put, quiet, rows, small, time } from "./dom.js";
import { blocks } from "./markdown.js";

const short = 12; // lines of a change that are visible at once

const others = "another program";

/** writer returns the program that requested a change, for people. */
const writer = (w) => w.program || (w.external ? others : w.automatic ? "memwatchd itself" : "unknown");

const localDay = (w) => day(new Date(w.time));

/** written returns the number of entries that a change added. */
function written(w) {
  const lines = (sign) => (w.hunks ?? []).flatMap((hunk) => hunk.diff.split("\n").filter((l) => l[0] === sign).map((l) => l.slice(1)));
  const [added, removed] = ["+", "-"].map((sign) => blocks(lines(sign), 2).filter((b) => !/^H/.test(b.element.tagName)).length);
  return Math.max(0, added - removed);
}

/** change returns a change with what was written. In the history of one file, the version before it can be restored. */
function change(w, done, isHistory) {
  const at = { path: w.to ?? w.path, line: w.hunks?.[0]?.line };
  const hunks = (w.hunks ?? []).map((hunk) => ({ diff: hunk.diff.replace(/^ .*\n?/gm, "") })); // without the lines around
  const content = w.problem ? quiet(w.problem) : hunks.length > 0 && diff(hunks, w.truncated);
  const isLong = content && content.children.length > short;
  if (isLong) content.classList.add("short");
  return item(null, h("p.head", time(w.time), " ", h("strong", w.external ? "" : w.cause.replace("_", " ")), ` ${w.what} `,
      fileLink(at, w.to ? `${w.path} → ${w.to}` : undefined), " ",
      w.state === "undone" && badge("undone"), w.forgotten && badge("partly forgotten"), " ",
      !readOnly && [w.state === "done" && !w.external && button("Undo…", () => undo({ id: w.id }, done)), " ",
        (isHistory || w.external) && w.what !== "created" &&
          button("Restore the version before…", () => undo({ id: `${w.path}@${w.id}` }, done))]),
    w.reason && quiet(w.reason), content,
    isLong && button(`All ${content.children.length} lines`, (event) => { content.classList.remove("short"); event.target.remove(); }));
}

/** session returns the changes of one program in one session on one day. */
function session(list, done, file) {
  const [w] = list;
  const undoable = list.filter((c) => c.state === "done").length;
  return h("section.session", h("h3", writer(w), " ", small(w.session && `session ${w.session} · `, plural(list.length, "change")), " ",
    !readOnly && w.session && undoable > 1 && button("Undo this session…", () => undo({ since: "2000-01-01", by: w.session }, done))),
  rows(list.map((c) => change(c, done, c.path === file))));
}

export function journal(section, params) {
  let limit = 50;
  let known; // changes that the plot counts
  const by = field("Writer or session", "writer or session", params.by);
  const path = field("Path", "file or folder", params.path);
  const since = field("Since", "since: today, 7d, monday", params.since);
  const all = !readOnly && button("Undo all of these…", () => undo({ since: since.value || "2000-01-01", by: by.value }, run));
  const plot = h("div");
  const people = h("p.filters");
  const list = h("div");
  const more = button("More", () => { limit *= 2; run(); });
  put(section, plot, bar({ oninput: later(200, () => run()) }, by, path, since, all), people, list, more);

  const page = live(async (signal) => {
    const given = { by: by.value.trim(), path: path.value.trim(), since: since.value.trim() };
    keep(given);
    const isOthers = given.by === others;
    const answer = await call("journal", { ...given, limit, ...(isOthers && { by: "", limit: 1000 }) }, signal);
    const writes = isOthers ? answer.writes.filter((w) => w.external) : answer.writes;
    known ??= await call("journal", { limit: 1000 }, signal);
    const names = Map.groupBy(known.writes, writer);
    put(people, [...names].filter(([, ws]) => ws[0].program || ws[0].external).map(([name, ws]) => button(`${name} · ${ws.length}`,
      () => { by.value = by.value === name ? "" : name; run(); }, { "aria-pressed": String(by.value === name) })));
    put(plot, weeks("New entries per week, by writer", known.writes.map((w) => [localDay(w), writer(w), written(w)])));
    if (all) all.hidden = !given.by || Boolean(given.path) || !writes.some((w) => w.state === "done");
    more.hidden = writes.length < limit || limit >= 1000;
    put(list, writes.length === 0 && quiet(known.writes.length > 0 ? "No change matches." : "memwatchd has not changed a file yet."),
      [...Map.groupBy(writes, localDay)].map(([date, ws]) => h("article", { "aria-label": date }, h("h2", date, " ", small(distance(date))),
        [...Map.groupBy(ws, (w) => `${w.program} ${w.session}`).values()].map((group) => session(group, run, given.path)))));
  });
  const run = page.run;
  return page;
}
