// The frame of the page: session, pages, keys, live updates.

import { endSession, Failure, listen, openSession, readOnly } from "./api.js";
import { browse } from "./browse.js";
import { add } from "./change.js";
import { button, h, later, notify, put, to } from "./dom.js";
import { isTyping } from "./drafts.js";
import { days } from "./days.js";
import { find } from "./find.js";
import { given } from "./given.js";
import { health } from "./health.js";
import { journal } from "./journal.js";
import { longterm } from "./longterm.js";
import { read } from "./reader.js";
import { tasks } from "./tasks.js";
import { views } from "./views.js";

// Each page is a function of its element and its parameters that returns a function to refresh it,
// and one to stop it.
const pages = { find, browse, days, tasks, longterm, journal, given, views, health };
const titles = {
  find: "Find", browse: "Browse", days: "Days", tasks: "Tasks", longterm: "Long term", journal: "Journal",
  given: "Agents get", views: "Who sees", health: "Health", read: "File",
};
const all = { ...pages, read };
const nothing = { refresh: () => {}, stop: () => {} };

const main = document.getElementById("main");
const state = document.getElementById("state");
let current = nothing;

// Going back returns to the same position of a page: each entry of the history has a name in its state.
history.scrollRestoration = "manual";
const positions = new Map();
window.addEventListener("scroll", () => positions.set(history.state, scrollY), { passive: true });

/** isEnded reports whether the console does not know the session. */
const isEnded = (error) => error instanceof Failure && error.status === 404 && error.message === "not found";

/** report shows the error of a page or of a request. */
function report(error) {
  if (error.name === "AbortError") return;
  if (isEnded(error)) return ended();
  if (error instanceof Failure && error.code === "unavailable") return offline();
  if (error instanceof TypeError && /fetch|network/i.test(error.message)) return offline(true);
  notify(error.message);
  if (!(error instanceof Failure)) console.error(error);
}

window.addEventListener("unhandledrejection", (event) => {
  event.preventDefault();
  report(event.reason);
});

/** offline shows that the daemon, or the console itself, does not answer. What is shown stays. */
function offline(isConsole) {
  put(state, h("strong", isConsole ? "The console has ended." : "The daemon does not answer."), " Run ",
    h("code", isConsole ? "memwatchd ui" : "memwatchd restart"), isConsole ? "." : " This page continues by itself.");
  state.className = "bad";
}

function ended() {
  endSession();
  current.stop();
  current = nothing;
  showNoSession();
}

function showNoSession() {
  put(main, h("h2", "No session"), h("p", "If a tab with the console is open, select Allow there. Otherwise run ",
    h("code", "memwatchd ui"), " in a terminal, and open the address that it prints. An address works once."));
}

function show() {
  const [name, query] = location.hash.slice(1).split(/\?(.*)/s);
  const selected = Object.hasOwn(all, name) ? name : "find";
  for (const a of document.querySelectorAll("#pages a")) a.ariaCurrent = a.hash === `#${selected}` ? "page" : null;
  current.stop();
  document.getElementById("dialog").close();
  if (isTyping()) notify("What you typed is kept, and offered where you typed it.", "Back", () => history.back());
  const notice = document.getElementById("notice");
  notice.hidden ||= !notice.querySelector("button"); // an undo stays
  document.title = `${titles[selected]} – memwatchd`;
  const section = h("section", { "aria-label": titles[selected] });
  put(main, section);
  if (history.state === null) history.replaceState(crypto.randomUUID(), "");
  const position = positions.get(history.state) ?? 0;
  current = all[selected](section, Object.fromEntries(new URLSearchParams(query)));
  current.shown?.then(() => scrollTo(0, position));
}

const refresh = later(150, () => current.refresh());

/** follow refreshes the page when the memory changes. */
async function follow() {
  for (let isFirst = true; ;) {
    try {
      await listen((event) => {
        state.textContent = readOnly ? "read-only" : "";
        state.className = "";
        if (event.event !== "listening" || !isFirst) refresh();
        isFirst = false;
      });
      offline();
    } catch (error) {
      report(error);
      if (isEnded(error)) return;
    }
    await new Promise((resolve) => setTimeout(resolve, 2000));
  }
}

const help = "/ search · 1 to 9 pages · j, k next and previous row · Enter open or select · h, l list and file · e edit · " +
  "v change who sees it · f forget · c copy its place · n, t add a note, a task · Ctrl+Enter save · Esc cancel";

const keys = {
  "/": () => { const input = main.querySelector("input[type=search]"); if (input) input.select(); else location.hash = "find"; },
  j: () => move(1),
  k: () => move(-1),
  h: () => focusFirst(main.querySelector(".columns > :not(aside)")),
  l: () => focusFirst(main.querySelector("aside")),
  n: () => create("note"),
  t: () => create("todo_add"),
  "?": () => notify(help),
};

const create = (kind) => (readOnly ? notify("The console is read-only.") : add(() => current.refresh(), kind));

const focusFirst = (element) => (element?.querySelector(".row.current, .row.hit") ?? element?.querySelector(".row"))?.focus();

/** move focuses the next or the previous row, of the file if one of its rows has the focus. */
function move(step) {
  const at = document.activeElement.closest?.(".row");
  const rows = [...(at?.closest("aside, .columns > *") ?? main).querySelectorAll(".row")];
  rows[Math.min(Math.max(rows.indexOf(at) + step, 0), rows.length - 1)]?.focus();
}

document.addEventListener("keydown", (event) => {
  if (event.key === "ArrowDown" && event.target.matches("input[type=search]")) return keys.h();
  const isText = event.target.matches("input:not([type=checkbox]), select, textarea, dialog *");
  if (isText || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  const page = Object.keys(pages)[Number(event.key) - 1];
  if (page) location.hash = page;
  else if (Object.hasOwn(keys, event.key)) keys[event.key]();
  else return;
  event.preventDefault();
});

async function start() {
  put(document.getElementById("pages"), Object.keys(pages).map((name) => h("li", to(name, {}, titles[name]))));
  showNoSession();
  try {
    await openSession((allow) => notify("Another tab asks to join this session.", "Allow", allow));
  } catch (error) {
    return report(error);
  }
  put(document.getElementById("tools"), !readOnly && button("Add", keys.n, { title: "key: n" }), button("?", keys["?"], { "aria-label": "Keys" }));
  window.addEventListener("hashchange", show);
  show();
  follow();
}

start();
