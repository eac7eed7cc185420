// Drafts: text that a person has typed and not saved. A draft survives a reload, a crash of the page and the
// end of the daemon, until the text is saved or discarded.

import { button, quiet, time } from "./dom.js";

const prefix = "memwatchd-draft ";

/** isTyping reports whether an open form has text that is not saved. */
export const isTyping = () => document.querySelector("[data-draft]") !== null;

window.addEventListener("beforeunload", (event) => { if (isTyping()) event.preventDefault(); });

/** keepDraft keeps the texts of fields under a name while they are typed, and puts an earlier draft into them.
 * It returns a message about that draft, if there is one, and a function to call once the text is saved.
 * changed is called after the fields were filled. */
export function keepDraft(name, fields, changed = () => {}) {
  const key = prefix + name;
  const original = fields.map((f) => f.value);
  const clear = () => {
    localStorage.removeItem(key);
    delete fields[0].dataset.draft;
  };
  const save = () => {
    const values = fields.map((f) => f.value);
    if (values.every((value, i) => value === original[i])) return clear();
    localStorage.setItem(key, JSON.stringify({ values, time: new Date() }));
    fields[0].dataset.draft = "";
  };
  const set = (values) => fields.forEach((f, i) => { f.value = values[i] ?? ""; });
  for (const f of fields) f.addEventListener("input", save);
  const draft = JSON.parse(localStorage.getItem(key));
  if (!draft) return { message: null, clear };
  set(draft.values);
  fields[0].dataset.draft = "";
  const message = quiet("Your draft of ", time(draft.time), ". ",
    button("Discard it", () => { set(original); clear(); message.remove(); changed(); }));
  return { message, clear };
}
