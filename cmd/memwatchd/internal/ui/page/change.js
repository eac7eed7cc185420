// Changes: each shows its effect before it is made, and its undo afterwards.

import { call } from "./api.js";
import { andMore, button, checkbox, columns, confirm, diff, entries, field, h, news, notify, place, placeText, plural, put, quiet, select, small, submits } from "./dom.js";
import { keepDraft } from "./drafts.js";
import { blocks } from "./markdown.js";

/** undo shows the effect of undoing changes, and undoes them after consent. fields select the changes.
 * Without isPlain, a person has not just made the change. */
export async function undo(fields, done = () => {}, isPlain) {
  const plan = await call("undo", { ...fields, dry_run: true });
  const content = plan.undone.map((w) => [h("h3", w.to ?? w.path),
    w.refusal ? h("p", `Not undone: ${w.refusal}`) : diff(w.hunks, w.truncated)]);
  const changes = plan.undone.length - plan.refused;
  const summary = plan.refused > 0 && quiet(`${plural(plan.refused, "change")} cannot be undone and ${plan.refused === 1 ? "stays" : "stay"}.`);
  const run = () => call("undo", fields);
  const answer = await (isPlain && plan.refused === 0 ? run() : confirm(`Undo ${plural(changes, "change")}`, [summary, content], changes > 0 && "Undo", run));
  if (!answer) return;
  done();
  notify(`Undid ${plural(answer.undone.length - answer.refused, "change")}.`);
}

/** offerUndo shows a message with a button that undoes the console's last change of a file. */
export function offerUndo(text, path, done) {
  notify(text, "Undo", async () => {
    const { writes } = await call("journal", { path, mine: true, limit: 1 });
    if (writes.length > 0) await undo({ id: writes[0].id }, done, true);
    else notify("Nothing to undo.");
  });
}

/** difference returns the lines of two texts between their common beginning and end as a hunk. */
function difference(before, after) {
  const a = before.split("\n");
  const b = after === "" ? [] : after.split("\n");
  let [start, end] = [0, 0];
  while (start < Math.min(a.length, b.length) && a[start] === b[start]) start++;
  while (end < Math.min(a.length, b.length) - start && a.at(-1 - end) === b.at(-1 - end)) end++;
  const part = (sign, list) => list.slice(start, list.length - end).map((line) => sign + line);
  return [{ diff: [...part("-", a), ...part("+", b)].join("\n") }];
}

/** unique returns the texts of an edit, with as many lines around them as make the old one occur once in
 * the file. It returns nothing if the old text is not there, at the line or near it. */
function unique(file, from, before, after) {
  const lines = file.split("\n");
  const n = before.split("\n").length;
  const [at] = lines.map((_, i) => i).filter((i) => lines.slice(i, i + n).join("\n") === before)
    .sort((a, b) => Math.abs(a + 1 - from) - Math.abs(b + 1 - from));
  for (let around = 0; at !== undefined && around <= lines.length; around++) {
    const first = Math.max(0, at - around);
    const old = lines.slice(first, at + n + around).join("\n");
    if (file.indexOf(old) !== file.lastIndexOf(old)) continue;
    const now = [...lines.slice(first, at), ...(after === "" ? [] : [after]), ...lines.slice(at + n, at + n + around)];
    return { old_text: old, new_text: now.join("\n") };
  }
  return null;
}

/** edit replaces a block by a form with its text. It shows the difference while the text changes. If another
 * program changed the block meanwhile, it shows that version beside the text, which a second Save replaces. */
export function edit(block, { path, line }, before, text, done) {
  const shape = h("textarea", { "aria-label": "Text of the entry", rows: Math.min(30, text.split("\n").length + 1), spellcheck: "true" });
  shape.value = text;
  const changes = news();
  const problem = h("p.bad", { role: "alert" });
  const theirs = h("div");
  const save = h("button", { type: "submit", class: "primary" });
  const content = [...block.childNodes];
  const cancel = () => { put(block, content.filter((e) => !e.classList.contains("tools"))); block.focus(); };
  const update = () => {
    const isSame = shape.value === before;
    put(changes, isSame ? quiet("Change the text: the difference appears here.") : diff(difference(before, shape.value)));
    save.textContent = shape.value === "" ? "Remove" : "Save";
    save.disabled = isSame;
  };
  const draft = keepDraft(`${path} ${before}`, [shape], update);
  /** compare shows the present version of the block, which becomes the text to replace. */
  const compare = (file) => {
    const lines = file.split("\n");
    const now = blocks(lines).find((b) => b.to >= line) ?? { from: lines.length, to: lines.length };
    before = lines.slice(now.from - 1, now.to).join("\n");
    put(theirs, h("h3", "Now in the file"), h("pre.file", { tabindex: 0 }, before));
    update();
    throw new Error("Another program changed this entry. Save replaces its version by yours.");
  };
  const form = h("form", { class: "edit",
    onkeydown: (event) => { if (event.key === "Escape") cancel(); submits(event); },
    onsubmit: async (event) => {
      event.preventDefault();
      save.disabled = true;
      try {
        const file = await call("get", { path });
        const fields = unique(file.text, line, before, shape.value);
        if (!fields) compare(file.text);
        await call("edit", { path, ...fields });
      } catch (error) {
        problem.textContent = error.message;
        save.disabled = false;
        return;
      }
      draft.clear();
      form.remove();
      done();
      offerUndo(`Saved ${path}:${line}.`, path, done);
    } }, draft.message, columns(shape, theirs), changes, problem, h("p.buttons", button("Cancel", cancel), save));
  put(block, form);
  update();
  shape.addEventListener("input", update);
  shape.focus();
}

/** setTask sets a task to the state of its box. It shows the plan first if more than one file changes, or none. */
export async function setTask(id, box, done) {
  const state = box.checked ? "done" : "open";
  box.checked = !box.checked; // until it is so
  const plan = await call("todo", { id, state, dry_run: true });
  const run = () => call("todo", { id, state });
  const isPlain = new Set(plan.changed.map((p) => p.path)).size === 1;
  const content = [h("p", plan.text), h("ul", plan.changed.map((p) => h("li", place(p)))),
    plan.left.map((l) => quiet(`${l.path} is left: ${l.reason}`))];
  const label = state === "done" ? "Mark as done" : "Reopen";
  const answer = await (isPlain ? run() : confirm(label, content, plan.changed.length > 0 && label, run));
  if (!answer) return;
  done();
  if (answer.changed.length > 0) offerUndo(`${state === "done" ? "Done" : "Reopened"}, in ${plural(answer.changed.length, "place")}.`, answer.changed[0].path, done);
}

/** forget lists the entries with a text, and removes the chosen ones for good. The one at a place is chosen. */
export async function forget(text, at, done) {
  const match = text.replace(/<!--[^]*?-->/g, "").trim();
  const plan = await call("forget", { match });
  const boxes = plan.entries.map((o) => checkbox({ value: o.id, disabled: !o.id, checked: o.id && o.path === at.path && o.line <= at.line && at.line <= (o.end_line || o.line) }));
  const content = [h("p", "The text is removed from its files, the archive, the journal and the index. This cannot be undone."),
    h("ul.plain", plan.entries.map((o, i) => h("li", h("label.task", boxes[i], h("div", place(o), " ",
      !o.id && "edit this file by hand ", o.writer === "other" && small("not written by memwatchd"),
      o.what === "version" && small("in an earlier version"), h("p.text", o.text)))))),
    andMore(plan.total, plan.entries.length), quiet(plan.beyond)];
  const run = () => {
    const ids = boxes.filter((b) => b.checked).map((b) => b.value);
    if (ids.length === 0) throw new Error("Select an entry first.");
    return call("forget", { ids, token: plan.token });
  };
  const answer = await confirm(`Forget: ${plural(plan.total, "place")} with this text`, content, plan.total > 0 && "Forget the selected", run, "forget");
  if (!answer) return;
  done();
  const problems = [...(answer.failed ?? []).map((f) => `${f.id}: ${f.reason}`), answer.problem].filter(Boolean);
  notify([`Forgot ${entries((answer.removed ?? []).length)}.`, ...problems].join(" "));
}

/** add asks for a note, a task or a fact, and saves it. */
export async function add(done, first) {
  const kind = select("Kind", [["note", "Note of today"], ["todo_add", "Task"], ["remember", "Fact to keep"]], { onchange: () => update() });
  const text = h("textarea", { "aria-label": "Text", rows: 4, required: true, autofocus: true });
  const fields = {
    note: ["topic", field("Topic", "topic")],
    todo_add: ["due", field("Due", "due: tomorrow, friday, 2026-02-05")],
    remember: ["title", field("Title", "title")],
  };
  const update = () => Object.entries(fields).forEach(([name, [, input]]) => { input.hidden = name !== kind.value; });
  kind.value = first;
  update();
  const draft = keepDraft("add", [text, ...Object.values(fields).map(([, input]) => input)]);
  const content = h("div.add", draft.message, kind, text, Object.values(fields).map(([, input]) => input), quiet("#words become tags, and #project:name the project."));
  const run = async () => {
    const [name, input] = fields[kind.value];
    const saved = await call(kind.value, { text: text.value, [name]: input.value, ...(kind.value === "remember" && { explicit: true }) });
    draft.clear();
    return saved;
  };
  const answer = await confirm("Add", content, "Save", run);
  if (!answer) return;
  done();
  const similar = answer.similar?.length > 0 ? ` Similar: ${answer.similar.map(placeText).join(", ")}.` : "";
  if (answer.already) notify(`Already noted in ${placeText(answer)}.`);
  else if (answer.path) offerUndo(`Saved in ${placeText(answer)}.${similar}`, answer.path, done);
  else notify(answer.disabled ? "Memory is turned off: nothing was written." : "Saved.");
}
