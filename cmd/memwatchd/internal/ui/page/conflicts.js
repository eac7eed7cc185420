// Conflict copies beside their files, and how to merge them.

import { call, readOnly } from "./api.js";
import { undo } from "./change.js";
import { andMore, badge, button, columns, confirm, diff, entries, h, notify, plural, put, quiet, rows } from "./dom.js";

const most = 400; // lines of a version
const atOnce = 10; // copies

const titles = { "": "Merge", file: "Keep this", copy: "Keep that", both: "Merge, keep both" };

function state(copy) {
  if (copy.conflicts > 0) return `${entries(copy.conflicts)} changed by both`;
  return copy.whole ? "cannot be merged by entries" : plural(copy.added + copy.changed + copy.removed, "change");
}

/** merge shows the effect of a merge, and merges after consent. */
async function merge(copy, keep) {
  const request = keep ? { path: copy.path, keep } : { path: copy.path };
  const [plan] = (await call("conflicts_merge", { ...request, dry_run: true })).copies;
  const content = [h("p", `${copy.path} is removed. ${copy.file} `, plan.diff ? "changes:" : "stays as it is."),
    plan.diff && diff(plan.diff, plan.truncated)];
  const answer = await confirm(titles[keep], content, titles[keep], () => call("conflicts_merge", request));
  const [done] = answer?.copies ?? [];
  if (!done) return;
  if (done.merged) notify(`Merged ${copy.path}.`, "Undo", () => undo({ id: done.change }));
  else notify(done.problem);
}

function version(title, texts, choice) {
  return h("article", { "aria-label": title }, h("h3", title),
    texts.map((text) => h("pre.file", { tabindex: 0 }, text || "(nothing)")), choice);
}

/** compare returns a conflict copy beside its file, with the buttons to merge it. */
async function compare(path, signal) {
  const [copy] = (await call("conflicts", { path }, signal)).copies;
  const isOpen = copy.whole || copy.conflicts > 0; // a person must choose a version
  if (copy.problem && !isOpen) return copy.problem;
  const choose = (keep) => !readOnly && button(`${titles[keep]}…`, () => merge(copy, keep));
  const read = async (p) => {
    const file = await call("get", { path: p, lines: most }, signal);
    return [file.text + (file.to < file.total_lines ? "…" : "")];
  };
  const texts = copy.both
    ? [copy.both.map((b) => b.file), copy.both.map((b) => b.copy)]
    : await Promise.all([copy.file, copy.path].map(read));
  return [columns(version(copy.file, texts[0], isOpen && choose("file")),
    version(copy.path, texts[1], isOpen && choose("copy"))),
    copy.diff && !isOpen && [h("h3", "Effect of the merge"), diff(copy.diff, copy.truncated)],
    !copy.whole && h("p", choose(copy.conflicts > 0 ? "both" : ""))];
}

/** conflicts returns a function that shows the conflict copies in an element. */
export function conflicts(element, signal) {
  let shown = "[]";
  return async () => {
    const { copies } = await call("conflicts", {}, signal);
    const now = JSON.stringify(copies);
    if (now === shown) return;
    shown = now;
    const list = await Promise.all(copies.slice(0, atOnce).map(async (copy) =>
      h("li", h("h3", copy.path, " ", badge(state(copy))), await compare(copy.path, signal))));
    put(element, copies.length > 0 && [h("h2", "Conflict copies"), quiet("Two machines changed a file at the same time."), rows(list),
      andMore(copies.length, atOnce)]);
  };
}
