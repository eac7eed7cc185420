// Markdown as elements. Raw HTML is shown as text, and images are named, not loaded.

import { button, confirm, copy, h, to } from "./dom.js";

const deepest = 12; // nested lists and quotes
const longest = 40000; // characters of a paragraph with marks

/** outside returns a link to another site. It opens after its whole address was shown. */
function outside(url, content) {
  const open = () => confirm("Open this address?", h("code", url), "Open", () => window.open(url, "_blank", "noopener,noreferrer"));
  return button(content, open, { class: "outside" });
}

/** guess returns the file that a target means if it is relative, for a file with more links than an answer has. */
function guess(file, from) {
  if (!from || !/^[^:]+\.md$/i.test(file)) return null;
  return { path: decodeURIComponent(new URL(file, `http://memory/${encodeURI(from)}`).pathname.slice(1)) };
}

/** target returns a link to a target as written: a file of memory, another site, or only its text. */
function target(written, content, links) {
  if (/^(https?:\/\/|mailto:)/i.test(written)) return outside(written, content);
  const [file, anchor] = written.split("#");
  const found = links.get(written) ?? links.get(file) ?? guess(file, links.get("")?.path);
  if (found?.path) return to("read", { path: found.path, anchor }, content);
  return h("span.missing", { title: `no such file: ${written}` }, content);
}

// Rules of a line: an expression, and the element of a match.
const rules = [
  [/\\([!-/:-@[-`{-~])/y, (m) => m[1]],
  [/(`+)(?!`)([^]{0,3000}?[^`])\1(?!`)/y, (m) => h("code", m[2].replace(/\n/g, " ").replace(/^ (.*[^ ].*) $/, "$1"))],
  [/\$\$?(?=[^\s$])([^$]{0,2000}?[^\s$\\])\$\$?(?!\d)/y, (m) => h("code.math", m[0])],
  [/==(?=\S)([^]{0,2000}?\S)==/y, (m, links, depth) => h("mark", inline(m[1], links, depth + 1))],
  [/<kbd>([^<>\n]{0,200})<\/kbd>/yi, (m) => h("kbd", m[1])],
  [/\[\^([^\]\s]{1,100})\]/y, (m) => h("sup", { title: `footnote ${m[1]}` }, m[1])],
  [/<!--[^]{0,3000}?-->/y, (m) => h("span.comment", { title: m[0] })],
  [/!\[([^\]\n]{0,500})\]\([^)\n]{0,1000}\)/y, (m) => h("span.badge", `image: ${m[1] || "unnamed"}`)],
  [/!?\[\[([^[\]\n|#]{1,300})(#[^[\]\n|]{0,300})?(?:\|([^[\]\n]{1,300}))?\]\]/y,
    (m, links) => target(m[1] + (m[2] ?? ""), m[3] ?? m[1], links)],
  [/\[((?:[^[\]\\]|\\.|\[[^[\]]{0,200}\]){1,500})\]\(\s*(?:<([^<>\n]{0,1000})>|((?:[^\s()<>\\]|\\.|\([^\s()]{0,300}\)){0,1000}))(?:\s+(?:"[^"]{0,300}"|'[^']{0,300}'))?\s*\)/y,
    (m, links, depth) => target(m[2] ?? m[3], inline(m[1], links, depth + 1), links)],
  [/<((?:https?:\/\/|mailto:)[^\s<>]{1,1000})>/yi, (m) => outside(m[1], m[1])],
  [/(?<![\p{L}\p{N}])https?:\/\/[^\s<>"'`，。；）】」]{1,1000}[^\s<>"'`，。；）】」.,;:!?)\]*_]/yui, (m) => outside(m[0], m[0])],
  [/(\*\*|__)(?=\S)([^]{0,2000}?\S)\1/y, (m, links, depth) => h("strong", inline(m[2], links, depth + 1))],
  [/~~(?=\S)([^]{0,2000}?\S)~~/y, (m, links, depth) => h("s", inline(m[1], links, depth + 1))],
  [/\*(?=[^\s*])([^*]{0,2000}?[^\s*])\*(?!\*)/y, (m, links, depth) => h("em", inline(m[1], links, depth + 1))],
  [/(?<![\p{L}\p{N}_])_(?=[^\s_])([^_]{0,2000}?[^\s_])_(?![\p{L}\p{N}_])/yu, (m, links, depth) => h("em", inline(m[1], links, depth + 1))],
  [/(?<=^|\s)#([\p{L}_][\p{L}\p{N}_:/-]{0,100})/yu, (m) => to("find", { tag: m[1] }, m[0])],
];

export function inline(text, links = new Map(), depth = 0) {
  if (depth > deepest || text.length > longest) return [text];
  const parts = [];
  const special = /[\\`<!\[*_~#$=]|https?:/gi;
  for (let at = 0; at < text.length;) {
    special.lastIndex = at;
    const next = special.exec(text)?.index ?? text.length;
    parts.push(plain(text.slice(at, next)));
    at = next;
    if (at === text.length) break;
    let end = at;
    for (const [rule, element] of rules) {
      rule.lastIndex = at;
      const m = rule.exec(text);
      if (!m) continue;
      parts.push(element(m, links, depth));
      end = at + m[0].length;
      break;
    }
    if (end === at) {
      while (text[++end] === text[at]); // the whole run, so that a long one costs one step
      parts.push(text.slice(at, end));
    }
    at = end;
  }
  return parts;
}

/** plain returns text with its line breaks: those that end in two spaces stay, and others are spaces
 * except between Chinese characters. */
const plain = (text) => text.split(/(?: {2,}|\\)\n/).flatMap((part, i) => [i > 0 && h("br"),
  part.replace(/(?<=[\p{Script=Han}，。；：！？])\n\s*(?=\p{Script=Han})/gu, "").replace(/\n/g, " ")]);

const fence = /^ {0,3}(`{3,}|~{3,})\s*([^`\s]*)[^`]*$/;
const heading = /^ {0,3}(#{1,6})(?:\s+(.*?))??(?:\s+#+)?\s*$/;
const rule = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;
const bullet = /^( {0,3})([-*+]|\d{1,9}[.)])( +|\t|$)(.*)$/;
const delimiter = /^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$/;
const box = /^\[([ xX])\](?:\s+|$)/;

const isBlank = (line) => line === undefined || line.trim() === "";
const indent = (line) => /^[ \t]*/.exec(line)[0].replace(/\t/g, "    ").length;

/** dedent removes up to n columns of indentation. */
function dedent(line, n) {
  let at = 0;
  for (let column = 0; column < n && (line[at] === " " || line[at] === "\t"); at++) column += line[at] === "\t" ? 4 : 1;
  return line.slice(at);
}

const interrupts = (line) => fence.test(line) || heading.test(line) || rule.test(line) || /^ {0,3}>/.test(line) ||
  /^ {0,3}<!--/.test(line) || /^ {0,3}([-*+]|1[.)])\s+\S/.test(line);

const cells = (line) => line.trim().replace(/^\||\|$/g, "").split(/(?<!\\)\|/).map((cell) => cell.replace(/\\\|/g, "|").trim());

/** blocks returns the blocks of lines, each with its first and last line and its element. first is the
 * number of the first of the lines, links maps targets to files, and tick makes the box of a task. */
export function blocks(lines, first = 1, { links = new Map(), tick = () => null, depth = 0 } = {}) {
  const list = [];
  const nested = (inner, from) => blocks(inner, from, { links, tick, depth: depth + 1 }).map((b) => b.element);
  for (let i = 0; i < lines.length;) {
    if (isBlank(lines[i])) { i++; continue; }
    const start = i;
    const line = lines[i];
    let m;
    let element;
    if (start === 0 && first === 1 && depth === 0 && /^\ufeff?---\s*$/.test(line) &&
      (m = lines.findIndex((l, n) => n > 0 && /^(---|\.\.\.)\s*$/.test(l))) > 0) {
      i = m + 1;
      element = h("details.front", h("summary", "Properties"), h("pre", lines.slice(1, m).join("\n")));
    } else if (depth > deepest) {
      i = lines.length;
      element = h("pre", lines.slice(start).join("\n"));
    } else if ((m = fence.exec(line))) {
      const closing = new RegExp(`^ {0,3}\\${m[1][0]}{${m[1].length},}\\s*$`);
      for (i++; i < lines.length && !closing.test(lines[i]);) i++;
      const code = lines.slice(start + 1, i).map((l) => dedent(l, indent(line))).join("\n");
      element = h("div.code", h("p.language", m[2], " ", button("Copy", () => copy(code, "the code"))), h("pre", { tabindex: 0 }, h("code", code)));
      i++;
    } else if (indent(line) >= 4) {
      while (i < lines.length && (isBlank(lines[i]) || indent(lines[i]) >= 4)) i++;
      element = h("pre", { tabindex: 0 }, lines.slice(start, i).map((l) => dedent(l, 4)).join("\n").trimEnd());
    } else if ((m = heading.exec(line))) {
      i++;
      element = h(`h${Math.min(6, m[1].length + 1)}`, inline(m[2] ?? "", links));
    } else if (rule.test(line)) {
      i++;
      element = h("hr");
    } else if (/^ {0,3}>/.test(line)) {
      while (i < lines.length && /^ {0,3}>/.test(lines[i])) i++;
      const inside = lines.slice(start, i).map((l) => l.replace(/^ {0,3}> ?/, ""));
      const callout = /^\[!(\w+)\][-+]?\s*(.*)$/.exec(inside[0]);
      if (callout) inside[0] = "";
      element = h("blockquote", { dir: "auto", class: callout && "callout" },
        callout && h("p", h("strong", callout[2] || callout[1].toLowerCase())), nested(inside, first + start));
    } else if (/^ {0,3}<!--/.test(line)) {
      while (i < lines.length - 1 && !lines[i].includes("-->")) i++;
      element = h("p.quiet", lines.slice(start, ++i).join("\n"));
    } else if ((m = bullet.exec(line))) {
      const inside = m[1].length + m[2].length + Math.min(Math.max(m[3].replace(/\t/, "    ").length, 1), 4);
      for (i++; i < lines.length; i++) {
        if (isBlank(lines[i]) ? !(indent(lines[i + 1] ?? "") >= inside) : indent(lines[i]) < inside && (isBlank(lines[i - 1]) || bullet.test(lines[i]) || interrupts(lines[i]))) break;
      }
      const inner = [m[4], ...lines.slice(start + 1, i).map((l) => dedent(l, inside))];
      const task = box.exec(m[4]);
      if (task) inner[0] = m[4].slice(task[0].length);
      const ordered = /\d/.test(m[2]);
      element = h(ordered ? "ol" : "ul", { dir: "auto", start: ordered && parseInt(m[2], 10) }, h("li", { class: task && "task" },
        task && tick(first + start, task[1] !== " "), h("div", nested(inner, first + start))));
    } else if (line.includes("|") && delimiter.test(lines[i + 1] ?? "") && lines[i + 1].includes("-") && cells(line).length === cells(lines[i + 1]).length) {
      for (i += 2; i < lines.length && lines[i].includes("|");) i++;
      const aligned = cells(lines[start + 1]).map((d) => (/:-*:/.test(d) ? "center" : d.endsWith(":") && "end"));
      const row = (l, name) => h("tr", cells(l).map((cell, n) => h(name, { class: aligned[n] }, inline(cell, links))));
      element = h("div.wide", { tabindex: 0 }, h("table", h("thead", row(line, "th")),
        h("tbody", lines.slice(start + 2, i).map((l) => row(l, "td")))));
    } else {
      let level = 0;
      for (i++; i < lines.length && !isBlank(lines[i]); i++) {
        if ((m = /^ {0,3}(=+|-+)\s*$/.exec(lines[i]))) { level = m[1][0] === "=" ? 2 : 3; break; }
        if (interrupts(lines[i])) break;
      }
      element = h(level ? `h${level}` : "p", inline(lines.slice(start, i).map((l) => l.trimStart()).join("\n"), links));
      if (level) i++;
    }
    list.push({ from: first + start, to: first + Math.min(i, lines.length) - 1, element });
  }
  return list;
}
