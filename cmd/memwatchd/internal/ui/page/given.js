// What agents get: the block of a session or of a prompt as an agent would get it, and those that agents have got.

import { call } from "./api.js";
import { bar, distance, day, field, fileLink, h, item, live, news, number, plural, put, quiet, rows, select, shown, small, time } from "./dom.js";
import { suggestions } from "./find.js";

// As hooks ask for the entries of a prompt, by default.
const prompt = { format: "relevant", min_cover: 0.4, limit: 40, max_tokens: 1000, count: false };

export function given(section) {
  const query = field("Prompt", "Type a prompt; empty: the start of a session", undefined, { type: "search" });
  const context = select("Context", [["private", "in private"], ["public", "in public"]]);
  const subject = field("Subject", "subject; empty: you", undefined, { list: "subject" });
  const project = field("Project", "project");
  const sum = news();
  const text = h("pre.file", { tabindex: 0 });
  const list = h("div");
  section.append(bar({ oninput: () => page.run() }, query, context, subject, project, suggestions("subject")), sum, text, list);

  /** block returns a block that an agent has got. */
  const block = (b) => item(null, h("p.head", time(b.time), " ", h("strong", b.program), " ",
    small(b.session && `session ${b.session} · `, `about ${plural(b.tokens, "token")}`, b.gone > 0 && ` · ${b.gone} changed since`)),
  h("p.where", (b.places ?? []).map((p) => [fileLink(p), " "])));

  const page = live(async (signal) => {
    const scope = { context: context.value, ...(subject.value && { subject: subject.value }), ...(project.value && { project: project.value }) };
    const [answer, journal] = await Promise.all([
      call("context", query.value.trim() ? { ...prompt, query: query.value, ...scope } : { format: "auto", ...scope }, signal),
      call("journal", { injected: true }, signal)]);
    text.textContent = shown(answer.text) || (query.value ? "Nothing: no entry says enough about this prompt." : "Nothing.");
    const left = Object.entries(answer.left_out ?? {}).map(([what, n]) => `${number(n)} ${what.replace("_", "-")}`);
    put(sum, `About ${plural(answer.tokens, "token")}. `, left.length > 0 && `Left out for lack of room or trust: ${left.join(", ")}. `,
      (answer.hints ?? []).join(". "));
    const got = [...Map.groupBy(journal.injected ?? [], (b) => day(new Date(b.time)))];
    put(list, h("h2", "What agents have got"), got.length === 0 && quiet("No hook has asked since the daemon started."),
      got.map(([date, blocks]) => h("article", h("h3", date, " ", small(distance(date))), rows(blocks.map(block)))));
  });
  query.focus();
  return page;
}
