// Tasks, with the copies of each task together.

import { call, readOnly } from "./api.js";
import { badge, confirm, h, notify, place, plural, quiet } from "./dom.js";
import { undoLast } from "./journal.js";

/** tasks is the page with the tasks. */
export function tasks(section) {
  const state = h("select", { "aria-label": "State" }, ["open", "done", "all"].map((s) => h("option", { value: s }, s)));
  const count = h("p", { class: "quiet", "aria-live": "polite" });
  const list = h("div");
  section.append(h("div", { class: "filters" }, h("label", null, "Show ", state)), count, list);
  state.addEventListener("change", run);

  async function set(todo, box) {
    const to = box.checked ? "done" : "open";
    box.checked = !box.checked; // until it is so
    const request = { id: todo.places[0].id, state: to };
    const plan = await call("todo", { ...request, dry_run: true });
    const content = [h("p", null, todo.text), h("ul", null, plan.changed.map((p) => h("li", null, place(p)))),
      plan.left.map((l) => quiet(`${l.path} is left: ${l.reason}`))];
    if (!await confirm(to === "done" ? "Mark as done" : "Reopen", content, plan.changed.length > 0 && "Write")) return;
    const answer = await call("todo", request);
    await run();
    notify(`Changed ${plural(answer.changed.length, "copy", "copies")}.`, "Undo", async () => {
      await undoLast(answer.changed[0].path);
      await run();
    });
  }

  async function run() {
    const answer = await call("todos", { state: state.value });
    const byDay = Map.groupBy(answer.todos, (t) => t.since ?? "");
    count.textContent = plural(answer.todos.length, "task");
    list.replaceChildren(...[...byDay].sort(([a], [b]) => (a < b ? 1 : -1)).map(([date, todos]) => h("article", null,
      h("h2", null, date || "Without a day"),
      h("ul", { class: "rows" }, todos.map((t) => {
        const box = h("input", {
          type: "checkbox", "aria-label": t.text, checked: t.state === "done", disabled: readOnly,
          onchange: (event) => set(t, event.target),
        });
        return h("li", { class: "row task", tabindex: 0 }, box, h("div", null, h("p", { class: "text" }, t.text),
          h("p", { class: "where" }, t.places.map((p) => [place(p), " "]), t.untrusted && badge("not by you"))));
      })))));
  }
  run();
  return { refresh: run };
}
