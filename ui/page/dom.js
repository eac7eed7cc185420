// Elements. Text of the memory becomes text nodes only, never markup.

const svgTags = new Set(["svg", "polyline", "rect", "line", "title"]);

/** shown returns a text with control characters, and characters that change the direction of the text
 * after them, as escapes. */
export const shown = (text) => text.replace(
  /\r(?!\n)|[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/gu,
  (c) => `\\u{${c.codePointAt(0).toString(16)}}`);

/** h returns an element. Attributes that start with "on" are listeners. */
export function h(tag, attributes, ...children) {
  const e = svgTags.has(tag) ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) e.addEventListener(name.slice(2), value);
    else e.setAttribute(name, value === true ? "" : value);
  }
  e.append(...children.flat(Infinity).filter((c) => c !== undefined && c !== null && c !== false && c !== "")
    .map((c) => (c instanceof Node ? c : shown(String(c)))));
  return e;
}

/** quiet returns a paragraph of less importance, badge a label. */
export const quiet = (...content) => h("p", { class: "quiet" }, content);
export const badge = (...content) => h("span", { class: "badge" }, content);

/** highlighted returns the parts of a text, with ranges of characters marked. */
export function highlighted(text, ranges = []) {
  const characters = Array.from(text);
  const parts = [];
  let at = 0;
  for (const [start, end] of ranges) {
    parts.push(characters.slice(at, start).join(""), h("mark", null, characters.slice(start, end).join("")));
    at = end;
  }
  parts.push(characters.slice(at).join(""));
  return parts;
}

/** diff returns the hunks of a change. */
export function diff(hunks, truncated) {
  return h("pre", { class: "diff", tabindex: 0 }, (hunks ?? []).map((hunk) =>
    hunk.diff.split("\n").filter((line) => line && !line.startsWith("@@")).map((line) => {
      const name = { "+": "ins", "-": "del" }[line[0]] ?? "span";
      return h(name, null, line + "\n");
    })), truncated && h("span", null, "…\n"));
}

/** place returns the position of an entry. */
export function place(hit) {
  return h("span", { class: "place" }, hit.line ? `${hit.path}:${hit.line}` : hit.path);
}

/** badges returns the attributes of an entry that are worth a look. */
export function badges(hit) {
  const names = [hit.visibility === "public_ok" && "public", hit.untrusted && "not by you",
    hit.task, !["fact", "crumb"].includes(hit.type) && hit.type, hit.stale && "not readable now"];
  return [names.filter(Boolean).map((name) => badge(name)),
    (hit.tags ?? []).map((tag) => badge(`#${tag}`))];
}

/** chosen returns the attributes of a row that calls open when it is chosen. */
export function chosen(open) {
  return { class: "row", tabindex: 0, onclick: open, onkeydown: (event) => { if (event.key === "Enter") open(); } };
}

/** day returns a date as YYYY-MM-DD, in local time. */
export function day(date) {
  return [date.getFullYear(), date.getMonth() + 1, date.getDate()].map((n) => String(n).padStart(2, "0")).join("-");
}

/** time returns a short form of a time. */
export function time(text) {
  const t = new Date(text);
  const clock = t.toTimeString().slice(0, 5);
  return h("time", { datetime: text }, day(t) === day(new Date()) ? clock : `${day(t)} ${clock}`);
}

/** plural returns a number with its noun. */
export function plural(n, one, many = `${one}s`) {
  return `${n.toLocaleString("en")} ${n === 1 ? one : many}`;
}

export const entries = (n) => plural(n, "entry", "entries");

/** later returns a function that calls f once after ms without another call. */
export function later(ms, f) {
  let timer;
  return (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => f(...args), ms);
  };
}

/** notify shows a message for some seconds, with an optional button. */
export function notify(text, label, action) {
  const notice = document.getElementById("notice");
  notice.replaceChildren(shown(text), label ? h("button", { type: "button", onclick: () => { notice.hidden = true; action(); } }, label) : "");
  notice.hidden = false;
  clearTimeout(notify.timer);
  notify.timer = setTimeout(() => { notice.hidden = true; }, 10000);
}

/** confirm shows a plan, or only a text without a label. It resolves to whether the person agreed. */
export function confirm(title, content, label) {
  const dialog = document.getElementById("dialog");
  dialog.replaceChildren(
    h("h2", { id: "dialog-title" }, title), h("div", { class: "plan" }, content),
    h("p", { class: "buttons" },
      h("button", { type: "button", onclick: () => dialog.close("") }, label ? "Cancel" : "Close"),
      label && h("button", { type: "button", class: "primary", onclick: () => dialog.close("yes") }, label)));
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
  });
}
