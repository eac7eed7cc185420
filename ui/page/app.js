// The frame of the page: session, pages, keys, live updates.

import { Failure, listen, openSession, readOnly } from "./api.js";
import { h, later, notify } from "./dom.js";
import { days } from "./days.js";
import { find } from "./find.js";
import { health } from "./health.js";
import { journal } from "./journal.js";
import { longterm } from "./longterm.js";
import { tasks } from "./tasks.js";
import { views } from "./views.js";

// Each page is a function of its element that returns a function to refresh it,
// and one to stop it.
const pages = { find, days, tasks, longterm, journal, views, health };
const titles = { find: "Find", days: "Days", tasks: "Tasks", longterm: "Long term", journal: "Journal", views: "Who sees", health: "Health" };

const main = document.getElementById("main");
const state = document.getElementById("state");
let current = { refresh: () => {}, stop: () => {} };

/** isEnded reports whether the console does not know the session. */
const isEnded = (error) => error instanceof Failure && error.status === 404 && error.message === "not found";

/** report shows the error of a page or of a request. */
function report(error) {
  if (error.name === "AbortError") return;
  if (isEnded(error)) return ended();
  notify(error instanceof Failure ? error.message : `The console does not answer: ${error.message}. Start memwatchd ui again.`);
}

window.addEventListener("unhandledrejection", (event) => {
  event.preventDefault();
  report(event.reason);
});

function ended() {
  current.stop();
  current = { refresh: () => {}, stop: () => {} };
  main.replaceChildren(h("h2", null, "No session"), h("p", null, "Start the console in a terminal, and open the address it prints: ",
    h("code", null, "memwatchd ui"), ". An address works once."));
}

function show() {
  const name = location.hash.slice(1).split("?")[0];
  const selected = Object.hasOwn(pages, name) ? name : "find";
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === `#${selected}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  current.stop();
  document.title = `${titles[selected]} – memwatchd`;
  const section = h("section", { "aria-label": titles[selected] });
  main.replaceChildren(section);
  current = { refresh: () => {}, stop: () => {}, ...pages[selected](section) };
}

const refresh = later(150, () => current.refresh());

/** follow refreshes the page when the memory changes. */
async function follow() {
  for (; ;) {
    try {
      await listen((event) => {
        state.textContent = readOnly ? "read-only" : "";
        if (event.event !== "listening") refresh();
      });
    } catch (error) {
      if (isEnded(error)) return ended();
    }
    state.textContent = "not connected";
    await new Promise((resolve) => setTimeout(resolve, 2000));
    refresh();
  }
}

const keys = {
  "/": () => document.querySelector("main input")?.focus(),
  j: () => move(1),
  k: () => move(-1),
  "?": () => notify("/ search · j and k next and previous · Enter open · 1 to 7 pages"),
};

/** move focuses the next or the previous row of the page. */
function move(step) {
  const rows = [...main.querySelectorAll(".row")];
  const at = rows.indexOf(document.activeElement.closest?.(".row"));
  rows[Math.min(Math.max(at + step, 0), rows.length - 1)]?.focus();
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select, textarea, dialog *")) return;
  const page = Object.keys(pages)[Number(event.key) - 1];
  if (page) location.hash = page;
  else if (Object.hasOwn(keys, event.key)) keys[event.key]();
  else return;
  event.preventDefault();
});

async function start() {
  const nav = document.getElementById("pages");
  nav.append(...Object.keys(pages).map((name) => h("li", null, h("a", { href: `#${name}` }, titles[name]))));
  let isOpen = false;
  try {
    isOpen = await openSession();
  } catch (error) {
    report(error);
  }
  if (!isOpen) return ended();
  window.addEventListener("hashchange", show);
  show();
  follow();
}

start();
