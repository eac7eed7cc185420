// The changes to files, and how to take them back.

import { call, readOnly } from "./api.js";
import { badge, confirm, diff, h, notify, plural, quiet, time } from "./dom.js";

/** undo shows the effect of undoing a change, and undoes it after consent. */
export async function undo(id) {
  const plan = await call("undo", { id, dry_run: true });
  const content = plan.undone.map((w) => [h("h3", null, w.path),
    w.refusal ? h("p", null, `Not undone: ${w.refusal}`) : diff(w.hunks, w.truncated)]);
  const changes = plan.undone.length - plan.refused;
  if (!await confirm(`Undo ${plural(changes, "change")}`, content, changes > 0 && "Undo")) return;
  const answer = await call("undo", { id });
  notify(`Undid ${plural(answer.undone.length - answer.refused, "change")}.`);
}

/** undoLast undoes the last change of a file, after consent. */
export async function undoLast(path) {
  const { writes } = await call("journal", { path, limit: 1 });
  if (writes.length > 0) await undo(writes[0].id);
}

/** journal is the page with the changes to files. */
export function journal(section) {
  const path = h("input", { "aria-label": "Path", placeholder: "file or directory" });
  const since = h("input", { "aria-label": "Since", placeholder: "since: 7d, monday", size: 16 });
  const list = h("ul", { class: "rows" });
  const more = h("button", { type: "button", onclick: () => { limit *= 2; run(); } }, "More");
  let limit = 30;
  section.append(h("div", { class: "filters" }, path, since), list, more);
  for (const input of [path, since]) input.addEventListener("change", run);

  async function run() {
    const { writes } = await call("journal", { path: path.value, since: since.value, limit });
    more.hidden = writes.length < limit;
    const open = new Set([...list.querySelectorAll("details[open]")].map((d) => d.dataset.id));
    list.replaceChildren(...(writes.length === 0 ? [h("li", { class: "quiet" }, "No changes.")] : writes.map((w) =>
      h("li", { class: "row", tabindex: 0 },
        h("p", { class: "where" }, time(w.time), " ", h("strong", null, w.cause), w.program ? ` by ${w.program} ` : " ", w.what, " ",
          h("span", { class: "place" }, w.to ? `${w.path} → ${w.to}` : w.path), " ",
          w.state === "undone" && badge("undone"),
          w.forgotten && badge("partly forgotten")),
        w.reason && quiet(w.reason),
        h("details", { "data-id": w.id, open: open.has(w.id) || writes.length <= 5 }, h("summary", null, "Change"), w.problem ?? diff(w.hunks, w.truncated)),
        !readOnly && w.state === "done" && h("button", { type: "button", onclick: async () => { await undo(w.id); await run(); } }, "Undo…")))));
  }
  run();
  return { refresh: run };
}
