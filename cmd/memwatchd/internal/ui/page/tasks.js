// Tasks as in todo list: overdue ones, then those with a due date, then the others by day, with the copies of each.

import { call, readOnly } from "./api.js";
import { add, setTask } from "./change.js";
import { badge, bar, button, checkbox, distance, field, fileLink, h, item, keep, live, news, plural, put, rows, select, small, to } from "./dom.js";
import { inline } from "./markdown.js";
import { beside } from "./reader.js";

/** group returns the heading under which a task stands. */
function group(t) {
  if (t.state === "done") return `Done ${t.finished ?? t.since ?? ""}`.trim();
  if (t.overdue) return "Overdue";
  if (t.due) return "Due";
  return t.since || "Without a day";
}

const project = (t) => /(?:^|\s)#project:([\p{L}\p{N}_./-]+)/u.exec(t.text)?.[1] ?? "";

export function tasks(section, params) {
  const state = select("State", [["open"], ["done"], ["all"]]);
  const only = select("Project", [["", "all projects"]]);
  const words = field("Filter", "words, #tag", params.words);
  const notes = checkbox({ checked: params.notes });
  const count = news();
  state.value = params.state ?? "open";
  put(section, bar({ oninput: () => page.run() }, h("label", "Show ", state), only, words, h("label", notes, " also of ordinary notes"),
    !readOnly && button("Add a task", () => add(page.run, "todo_add"))), count);
  const view = beside(section);

  function row(t) {
    const at = t.places[0];
    const box = checkbox({ "aria-label": t.text, checked: t.state === "done", disabled: readOnly,
      onchange: (event) => setTask(at.task_id ?? at.id, event.target, page.run) });
    return item(() => view.open(at), h("div.task", box, h("div", h("p.text", inline(t.text)),
      h("p.where", t.due && h("strong", { class: t.overdue ? "bad" : "" }, `due ${t.due}, ${distance(t.due)} `), t.since && `since ${t.since} `,
        t.places.map((p) => [fileLink(p, undefined, view.open), " "]), t.untrusted && badge("not by you")))));
  }

  const page = live(async (signal) => {
    keep({ state: state.value === "open" ? "" : state.value, notes: notes.checked && "1", project: only.value, words: words.value });
    const answer = await call("todos", { state: state.value, notes: notes.checked }, signal);
    const projects = [...new Set(answer.todos.map(project).filter(Boolean))].sort();
    const chosenProject = only.value || params.project || "";
    put(only, ["", ...projects].map((p) => h("option", { value: p, selected: p === chosenProject }, p || "all projects")));
    only.hidden = projects.length === 0;
    const given = words.value.toLowerCase().split(/\s+/);
    const shown = answer.todos.filter((t) => (!only.value || project(t) === only.value) && given.every((w) => t.text.toLowerCase().includes(w)));
    const overdue = shown.filter((t) => t.overdue).length;
    put(count, shown.length === 0 ? ["No tasks here. ", !notes.checked && to("tasks", { notes: 1 }, "Look in ordinary notes too")]
      : plural(shown.length, state.value === "all" ? "task" : `${state.value} task`), overdue > 0 && `, ${overdue} overdue`);
    const order = (name) => ["Overdue", "Due"].indexOf(name) + 1 || (name.startsWith("Done") ? 4 : 3);
    const groups = [...Map.groupBy(shown, group)].sort(([a], [b]) => order(a) - order(b) || (a < b ? 1 : -1));
    const progress = new Map(answer.days.map((d) => [d.day, d]));
    put(view.list, groups.map(([name, todos]) => {
      const d = progress.get(name);
      const sorted = name === "Overdue" || name === "Due" ? todos.sort((a, b) => (a.due < b.due ? -1 : 1)) : todos;
      return h("article", h("h2", { class: name === "Overdue" ? "bad" : "" }, name, " ",
        d && small(`${distance(d.day)}, ${d.done} of ${d.done + d.open} done`)), rows(sorted.map(row)));
    }));
  }, view);
  return page;
}
