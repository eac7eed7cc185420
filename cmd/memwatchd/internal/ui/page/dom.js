// Elements. Text of the memory becomes text nodes only, never markup.

/** shown returns a text with control characters, and characters that change the direction of the text
 * after them, as escapes. */
export const shown = (text) => text.replace(
  /\r(?!\n)|[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/gu,
  (c) => `\\u{${c.codePointAt(0).toString(16)}}`);

/** fill gives an element attributes, if the first of the parts is an object with some, and content.
 * Attributes that start with "on" are listeners. */
function fill(e, classes, parts) {
  const attributes = parts[0]?.constructor === Object ? parts.shift() : {};
  for (const [name, value] of Object.entries({ ...(classes.length > 0 && { class: classes.join(" ") }), ...attributes })) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) e.addEventListener(name.slice(2), value);
    else e.setAttribute(name, value === true ? "" : value);
  }
  e.append(...parts.flat(Infinity).filter((c) => c || c === 0).map((c) => (c instanceof Node ? c : shown(String(c)))));
  return e;
}

/** element returns a function that makes elements of a namespace from a tag with classes, such as p.quiet. */
const element = (namespace) => (tag, ...parts) => {
  const [name, ...classes] = tag.split(".");
  return fill(document.createElementNS(namespace, name), classes, parts);
};
export const h = element("http://www.w3.org/1999/xhtml");
export const svg = element("http://www.w3.org/2000/svg");

/** quiet returns a paragraph of less importance, small a part of one. */
export const quiet = (...content) => h("p.quiet", content);
export const small = (...content) => h("span.quiet", content);
export const rows = (...content) => h("ul.rows", content);
export const badge = (...content) => h("span.badge", content);
export const button = (label, action, attributes) => h("button", { type: "button", onclick: action, ...attributes }, label);
export const select = (label, options, attributes) => h("select", { "aria-label": label, ...attributes },
  options.map(([value, text]) => h("option", { value }, text ?? value)));

/** news returns a place for messages, columns a list beside a file. */
export const news = () => h("div.quiet", { "aria-live": "polite" });
export const columns = (...content) => h("div.columns", content);

/** field returns a line of text to fill in, checkbox a box, bar a row of controls. */
export const field = (label, placeholder, value, attributes) => h("input", { "aria-label": label, placeholder, value, ...attributes });
export const checkbox = (attributes) => h("input", { type: "checkbox", ...attributes });
export const bar = (...parts) => h("div.filters", ...parts);

/** link returns the address of a page with parameters, without empty ones. */
export function link(page, params = {}) {
  const given = Object.entries(params).filter(([, value]) => value !== undefined && value !== "" && value !== false);
  return `#${page}${given.length > 0 ? "?" : ""}${new URLSearchParams(given)}`;
}

export const to = (page, params, ...content) => h("a", { href: link(page, params) }, content);

export function put(element, ...content) {
  element.replaceChildren();
  return fill(element, [], content);
}

/** keep stores the parameters of the present page in its address. */
export const keep = (params) => history.replaceState(history.state, "", link(location.hash.slice(1).split("?")[0] || "find", params));

/** highlighted returns the parts of a text, with ranges of characters marked. Lines of code stay as
 * they are, and others lose the marks of Markdown. */
export function highlighted(text, ranges = [], code = "") {
  let from = 0; // characters before the line
  return text.split("\n").map((line, i) => {
    const bare = line.replace(/…/g, "").trim();
    const isCode = bare && code.includes(bare);
    const characters = Array.from(line);
    const marks = /^ *(?:[-*+>]|\d+[.)]) +(?:\[[ x]\] +)?|\*\*|__|`|!?\[(?=[^\]]*\]\()|\]\([^)]*\)/gi;
    for (const m of isCode ? [] : line.matchAll(marks)) {
      const start = Array.from(line.slice(0, m.index)).length;
      characters.fill("", start, start + Array.from(m[0]).length);
    }
    let at = 0;
    const until = (end) => characters.slice(at, at = Math.max(at, end - from)).join("");
    const own = ranges.filter(([start, end]) => end > from && start < from + characters.length);
    const parts = [own.map(([start, end]) => [until(start), h("mark", until(end))]), until(Infinity)];
    from += characters.length + 1;
    return [i > 0 && "\n", isCode ? h("code", parts) : parts];
  });
}

const attributes = / *<!--.*?-->/g; // of entries

export function diff(hunks, truncated) {
  return h("pre.diff", { tabindex: 0 }, (hunks ?? []).map((hunk) =>
    hunk.diff.split("\n").filter((line) => line && !line.startsWith("@@")).map((line) => {
      const name = { "+": "ins", "-": "del" }[line[0]] ?? "span";
      return h(name, `${line[0]} ${line.slice(1).replace(attributes, "")}\n`);
    })), truncated && h("span", "…\n"));
}

/** place returns the position of an entry, as commands accept it. */
export const placeText = (hit) => (hit.line ? `${hit.path}:${hit.line}` : hit.path);
export const place = (hit) => h("span.place", placeText(hit));

/** fileLink returns a link to the page that shows an entry. A plain click calls open instead, if it is given. */
export const fileLink = (hit, content = placeText(hit), open) => h("a", { href: link("read", { path: hit.path, line: hit.line }),
  onclick: open && ((event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    open(hit);
  }) }, content);

/** badges returns the attributes of an entry that are worth a look. */
export function badges(hit) {
  const names = [hit.visibility === "public_ok" && "public", hit.untrusted && "not by you", hit.conflict && "conflict copy",
    hit.task && `${hit.task} task`, !["fact", "crumb"].includes(hit.type) && hit.type, hit.stale && "not readable now"];
  return [names.filter(Boolean).map((name) => badge(name)), (hit.tags ?? []).map(tag)];
}

/** tag returns a tag that leads to its entries. */
export const tag = (name) => h("a.badge", { href: link("find", { tag: name }) }, `#${name}`);

/** isControl reports whether an event is one of a control inside a row. */
export const isControl = (event) => event.target.closest("a, button, input, textarea, summary") !== null;

/** item returns a row that calls open, if it is given, when it is chosen. */
export const item = (open, ...content) => h("li.row", { tabindex: 0, onclick: open && ((event) => isControl(event) || open()),
  onkeydown: open && ((event) => {
    if ((event.key !== "Enter" && event.key !== " ") || isControl(event)) return;
    event.preventDefault();
    open();
  }) }, content);

/** day returns a date as YYYY-MM-DD, in local time. */
export const day = (date) => date.toLocaleDateString("sv");

export const dateOf = (text) => new Date(`${text}T00:00`);

/** distance returns the distance of a day from today in words. */
export function distance(text) {
  const days = Math.round((dateOf(text) - dateOf(day(new Date()))) / 864e5);
  return new Intl.RelativeTimeFormat("en", { numeric: "auto" }).format(days, "day");
}

export function time(text) {
  const t = new Date(text);
  const clock = t.toTimeString().slice(0, 5);
  return h("time", { datetime: text }, day(t) === day(new Date()) ? clock : `${day(t)} ${clock}`);
}

export const number = (n) => n.toLocaleString("en");
export const plural = (n, one, many = `${one}s`) => `${number(n)} ${n === 1 ? one : many}`;

export const entries = (n) => plural(n, "entry", "entries");

/** andMore says how many of a list are left out. */
export const andMore = (list, shown) => list > shown && quiet(`and ${number(list - shown)} more`);

/** live returns the functions of a page, and runs it. run calls f with a signal that aborts at the next run;
 * shown resolves after the first one. */
export function live(f, view) {
  let request = new AbortController();
  const run = () => {
    request.abort();
    request = new AbortController();
    return f(request.signal);
  };
  return { run, shown: Promise.resolve().then(run), refresh: () => { run(); view?.refresh(); }, stop: () => { request.abort(); view?.stop(); } };
}

/** later returns a function that calls f once after ms without another call. */
export function later(ms, f) {
  let timer;
  return (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => f(...args), ms);
  };
}

export async function copy(text, name = text) {
  await navigator.clipboard.writeText(text);
  notify(`Copied ${name}.`);
}

/** notify shows a message for some seconds, with an optional button. */
export function notify(text, label, action) {
  const notice = document.getElementById("notice");
  notice.replaceChildren(shown(text), label ? button(label, () => { notice.hidden = true; action(); }) : "");
  notice.hidden = false;
  clearTimeout(notify.timer);
  notify.timer = setTimeout(() => { notice.hidden = true; }, label ? 20000 : 8000);
}

/** confirm shows a plan, or only a text without a label, and calls act once the person agrees. The dialog stays
 * open until act succeeds, and shows its error. confirm resolves to the answer of act, or to nothing.
 * With a word, the person must type it. */
export function confirm(title, content, label, act, word) {
  const dialog = document.getElementById("dialog");
  if (dialog.open) return Promise.resolve(); // of a second click
  const yes = label && h("button", { type: "submit", class: "primary", disabled: Boolean(word) }, label);
  const problem = h("p.bad", { role: "alert" });
  let answer;
  const typed = label && word && h("input", { "aria-label": `Type ${word} to confirm`, placeholder: `type ${word}`, autocomplete: "off", autofocus: true,
    oninput: (event) => { yes.disabled = event.target.value.trim().toLowerCase() !== word; } });
  const form = h("form", { onkeydown: submits, onsubmit: async (event) => {
    event.preventDefault();
    yes.disabled = true;
    try {
      answer = await act();
      dialog.close();
    } catch (error) {
      problem.textContent = error.message;
      yes.disabled = false;
    }
  } }, h("h2", { id: "dialog-title" }, title), h("div.plan", content), problem,
  h("p.buttons", typed, button(label ? "Cancel" : "Close", () => dialog.close()), yes));
  dialog.replaceChildren(form);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => { form.remove(); resolve(answer); }, { once: true });
  });
}

/** submits submits the form of a text field with Ctrl+Enter. */
export function submits(event) {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  const save = event.currentTarget.querySelector("[type=submit]");
  if (save && !save.disabled) event.currentTarget.requestSubmit();
}
