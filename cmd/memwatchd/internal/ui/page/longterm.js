// Long-term files: their capacity, and the entries that leave next.

import { call, readOnly } from "./api.js";
import { offerUndo } from "./change.js";
import { andMore, badge, button, confirm, diff, entries, fileLink, h, highlighted, item, live, number, plural, put, quiet, rows, small, time } from "./dom.js";
import { beside } from "./reader.js";

const states = {
  near: "nearly full", more: "over its limit", waiting: "over its limit; uses are not counted for two weeks yet",
  over_limit: "over its limit, all entries protected",
};

const shownKept = 20; // entries that stay

function gauge(units, n, limit) {
  return limit > 0 && h("div", quiet(`${number(n)} of ${number(limit)} ${units}`),
    h("meter", { max: limit, high: 0.9 * limit, value: n, "aria-label": units }));
}

/** row returns an entry with the reason why it leaves or stays. */
function row(step, label, open) {
  const { score } = step;
  return item(() => open(step), h("p.where", `line ${step.line} `, step.section?.join(" › "), " ", label && badge(label)),
    h("p.text", highlighted(step.text)),
    quiet(step.reason !== "score" && `${step.reason} · `, score && `score ${score.total.toFixed(2)} · used ${score.uses.toFixed(1)} times · ${
      plural(score.links, "link")} · ${plural(Math.round(score.age_days), "day")} old`));
}

/** archive moves the entries that leave next to the archive, after consent. */
async function archive(plan, hunks, done) {
  const answer = await confirm(`Move ${entries(plan.steps.length)} to the archive`, diff(hunks), "Move", () => call("compact", { path: plan.path }));
  if (!answer) return;
  done();
  offerUndo(`Moved ${entries(answer.applied)}.`, plan.path, done);
}

/** planned returns a file near its limit with its entries, those that leave next first. */
function planned(plan, hunks, open, done) {
  const isNext = (step, i) => i + plan.steps.length === 0 && /^(score|completed task|superseded by )/.test(step.reason);
  const kept = plan.kept ?? [];
  return h("article", { "aria-label": plan.path },
    h("h2", fileLink(plan, plan.path, open), " ", states[plan.state] && badge(states[plan.state])),
    plan.problem && h("p", plan.problem),
    gauge("entries", plan.before.items, plan.limit.items), gauge("characters", plan.before.characters, plan.limit.characters),
    plan.steps.length > 0 && h("p", `${plural(plan.steps.length, "entry leaves", "entries leave")} at the next maintenance. `,
      !readOnly && hunks && button("Move to the archive…", () => archive(plan, hunks, done))),
    rows(plan.steps.map((step) => row(step, "leaves next", open)),
      kept.slice(0, shownKept).map((step, i) => row(step, isNext(step, i) && "next when the file is full", open))),
    andMore(kept.length, shownKept));
}

export function longterm(section) {
  const view = beside(section);

  const page = live(async (signal) => {
    const [answer, kept] = await Promise.all([
      call("compact", { dry_run: true, explain: true }, signal), call("files", { kinds: ["longterm", "items"] }, signal)]);
    const hunks = new Map((answer.diff ?? []).map((d) => [d.path, d.hunks]));
    const plans = new Set(answer.plan.map((plan) => plan.path));
    const others = kept.files.filter((f) => !plans.has(f.path));
    put(view.list, answer.plan.map((plan) => planned(plan, hunks.get(plan.path), (step) => view.open({ ...step, path: plan.path }), page.run)),
      others.length > 0 && [h("h2", plans.size > 0 ? "Other long-term files" : "Long-term files"),
        quiet("Nothing leaves these files: they have no limit."),
        rows(others.map((f) => item(() => view.open(f), fileLink(f, f.path, view.open), " ",
          small(entries(f.entries), f.time && [" · ", time(f.time)]))))],
      plans.size + others.length === 0 && quiet("Nothing is kept permanently yet. Add a fact with the button above: it goes to MEMORY.md, ",
        "which agents read at the start of a session."));
    const first = answer.plan[0] ?? others.find((f) => f.path === "MEMORY.md") ?? others[0];
    if (first && view.isWide() && !view.side.firstChild) view.open(first);
  }, view);
  return page;
}
