// The state of the daemon in words, with remedies.

import { call, readOnly } from "./api.js";
import { latencies } from "./charts.js";
import { conflicts } from "./conflicts.js";
import { button, entries, fileLink, h, item, news, number, plural, put, quiet, rows, time, to } from "./dom.js";

const samples = 120;
const interval = 2; // seconds

/** problems returns a list of problems, or nothing. */
function problems(title, list, advice) {
  return list?.length > 0 && h("article", h("h2", title), advice && quiet(advice), rows(list.map((p) =>
    item(null, p.path && h("p.where", /\.md$/i.test(p.path) ? fileLink(p) : p.path),
      h("p.text", (p.message ?? p.reason).replaceAll("`", ""))))));
}

/** speed returns a latency in words. */
const speed = (ms, good) => (ms === 0 ? "not measured yet"
  : `${ms < 10 ? ms.toFixed(1) : number(Math.round(ms))} ms, ${
    ms <= good ? "good" : ms <= 4 * good ? "acceptable" : "slow: other programs may keep this machine busy"}`);

const code = (text) => h("code", text);

/** advice returns what a person can do now. */
const advice = (s) => [
  s.root_state === "missing" && ["The directory is missing or unreadable. Its entries are still found. Restore ", code(s.root), "."],
  s.root_state === "holding" && ["Many files vanished at once. Their entries stay until ", code("memwatchd check --fix"), " confirms the removal."],
  ...[s.index, s.watch, s.write, s.todosync, s.compactor, s.topic, s.share].map((part) => part?.problem),
  s.index.degraded && !s.index.problem && ["The index is incomplete. If this lasts, run ", code("memwatchd rebuild"), "."],
  s.problem_count > 0 && `${plural(s.problem_count, "problem")} in files, listed below.`,
  s.embed?.last_error && `Semantic search: ${s.embed.last_error}`,
  ...(s.compactor?.near_limit ?? []).map((near) => [to("longterm", {}, near.path), ` is ${Math.round(near.share * 100)} % full. ${near.hint}`]),
].filter(Boolean);

export function health(section) {
  const request = new AbortController();
  const values = { query: [], found: [] };
  const content = h("div");
  const checked = news();
  const copies = h("div");
  const showCopies = conflicts(copies, request.signal);
  put(section, content, copies, h("p", button("Compare all files with the index", check)), checked);

  async function check() {
    put(checked, "Comparing…");
    const answer = await call("check", {}, request.signal);
    put(checked, `${plural(answer.files, "file")} compared in ${(answer.took_ms / 1000).toFixed(1)} s, ${
      plural(answer.differing.length, "difference")}.`,
      problems("Differences", answer.differing), problems("Problems in files", answer.problems), problems("Skipped", answer.skipped));
  }

  async function run() {
    const s = await call("status", {}, request.signal);
    const add = (list, v) => { list.push(v); if (list.length > samples) list.shift(); };
    add(values.query, s.latency.query_ms.p99);
    add(values.found, s.latency.save_to_search_ms.p99);
    const todo = advice(s);
    const toGo = Math.max(s.index.pending, s.index.total - s.index.done);
    const c = s.compactor;
    const facts = [
      ["Files", `${plural(s.files, "file")} with ${entries(s.entries)} in ${s.root}`],
      ["Index", `${s.index.degraded ? "incomplete" : "complete"}, ${(s.index.size / 1e6).toFixed(1)} MB; files last compared `,
        time(s.watch.last_reconcile)],
      ["Search", speed(s.latency.query_ms.p99, 50)],
      ["A save is found after", speed(s.latency.save_to_search_ms.p99, 500)],
      ["Changes by memwatchd", s.write.enabled ? `${s.write.applied} since the start` : "only on request", readOnly && "; this console is read-only"],
      c && ["Maintenance", !c.enabled ? "off" : [c.passive ? `on the machine ${c.host}` : "every night", c.next_run && [", next ", time(c.next_run)]]],
      s.embed && ["Semantic search", `${s.embed.embedded} of ${plural(s.embed.embedded + s.embed.pending, "text")} ready, ${s.embed.model}`],
      ["Daemon", `version ${s.version}, ${(s.memory_bytes / 1e6).toFixed(0)} MB of memory, started `, time(s.started)],
    ].filter(Boolean);
    const measured = [["search", values.query], ["save until found", values.found]].filter(([, list]) => list.at(-1) > 0);
    const works = todo.length > 0 ? "memwatchd works; see below" : "Everything works";
    put(content,
      h("h2", { class: s.healthy && todo.length === 0 ? "good" : "bad" },
        !s.healthy ? "memwatchd needs attention" : toGo > 0 ? `Indexing: ${plural(toGo, "file")} to go` : works),
      toGo > 0 && [h("progress", { "aria-label": "Indexing", ...(s.index.total > 0 && { max: s.index.total, value: s.index.done }) }),
        quiet("Searches answer meanwhile, and may miss files that are not indexed yet.")],
      h("ul", todo.map((text) => h("li", text))),
      h("dl", facts.map(([name, ...value]) => [h("dt", name), h("dd", value)])),
      measured.length > 0 && [h("h2", "Latency"), quiet("99 of 100 searches and saves were faster."), latencies(measured, samples, interval)],
      problems("Problems in files", s.problems?.filter((p) => p.code !== "conflict_copy"), // see below
        s.problem_count > (s.problems?.length ?? 0) && `${s.problem_count} in all: memwatchd check lists them.`),
      problems("Waiting to be written", s.write.waiting), problems("Not written", s.write.refused),
      problems("Skipped", s.skipped));
  }
  run();
  showCopies();
  const timer = setInterval(run, interval * 1000);
  return { refresh: showCopies, stop: () => { clearInterval(timer); request.abort(); } };
}
