// Long-term files: their capacity, and the entries that leave next.

import { call, readOnly } from "./api.js";
import { badge, chosen, confirm, diff, entries, h, notify, plural, quiet } from "./dom.js";
import { preview } from "./find.js";
import { undoLast } from "./journal.js";

const states = {
  near: "nearly full", more: "over its limit", waiting: "over its limit; uses are not counted for two weeks yet",
  over_limit: "over its limit, all entries protected",
};

/** gauge returns the share of a limit that is used. */
function gauge(units, n, limit) {
  return limit > 0 && h("div", null, quiet(`${n.toLocaleString("en")} of ${limit.toLocaleString("en")} ${units}`),
    h("meter", { max: limit, high: 0.9 * limit, value: n, "aria-label": units }));
}

/** row returns an entry with the reason why it leaves or stays. */
function row(step, label, open) {
  const { score } = step;
  return h("li", chosen(() => open(step)), h("p", { class: "where" }, `line ${step.line} `, step.section?.join(" › "), " ", label && badge(label)),
  h("p", { class: "text" }, step.text),
  quiet([...(step.reason === "score" ? [] : [step.reason]), `score ${score.total.toFixed(2)}`, `used ${score.uses.toFixed(1)} times`,
    plural(score.links, "link"), `${plural(Math.round(score.age_days), "day")} old`].join(" · ")));
}

/** archive moves the entries that leave next to the archive, after consent. */
async function archive(plan, hunks) {
  if (!await confirm(`Move ${entries(plan.steps.length)} to the archive`, diff(hunks), "Move")) return;
  const { applied } = await call("compact", { path: plan.path });
  notify(`Moved ${entries(applied)}.`, "Undo", () => undoLast(plan.path));
}

/** file returns a long-term file with its entries, those that leave next first. */
function file(plan, hunks, isOpen, open) {
  const first = /^(score|completed task|superseded by )/;
  const content = h("div");
  const kept = plan.kept ?? [];
  const show = (event) => {
    if (!event.target.open || content.firstChild) return;
    content.append(h("ul", { class: "rows" }, plan.steps.map((step) => row(step, "leaves next", open)),
      kept.map((step, i) => row(step, i === 0 && plan.steps.length === 0 && first.test(step.reason) && "next when the file is full", open))));
  };
  return h("article", { "aria-label": plan.path },
    h("h2", null, plan.path, " ", states[plan.state] && badge(states[plan.state])),
    plan.problem && h("p", null, plan.problem),
    gauge("entries", plan.before.items, plan.limit.items), gauge("characters", plan.before.characters, plan.limit.characters),
    h("p", null, plan.steps.length > 0 ? `${plural(plan.steps.length, "entry leaves", "entries leave")} at the next maintenance. ` : "",
      !readOnly && hunks && h("button", { type: "button", onclick: () => archive(plan, hunks) }, "Move to the archive…")),
    h("details", { "data-path": plan.path, ontoggle: show, open: isOpen }, h("summary", null, entries(plan.steps.length + kept.length)), content));
}

/** longterm is the page with the long-term files. */
export function longterm(section) {
  let request = new AbortController();
  const list = h("div");
  const side = h("aside", { "aria-label": "File" });
  section.append(h("div", { class: "columns" }, list, side));

  async function run() {
    request.abort();
    request = new AbortController();
    const { signal } = request;
    const answer = await call("compact", { dry_run: true, explain: true }, signal);
    const hunks = new Map((answer.diff ?? []).map((d) => [d.path, d.hunks]));
    const open = new Set([...list.querySelectorAll("details[open]")].map((d) => d.dataset.path));
    list.replaceChildren(...(answer.plan.length === 0
      ? [quiet("No file matches compactor.limits.")]
      : answer.plan.map((plan) => file(plan, hunks.get(plan.path), answer.plan.length === 1 || open.has(plan.path),
        (step) => preview(side, { ...step, path: plan.path }, signal)))));
  }
  run();
  return { refresh: run, stop: () => request.abort() };
}
