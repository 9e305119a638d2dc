// What a model wrote, as a piece of page: Markdown with code. Promise: nothing in it runs, loads from another place,
// or poses as a control of this page. HTML that a model writes is shown as the text it is, never as a preview.

import DOMPurify from "./vendor/dompurify-3.5.0.js";
import hljs from "./vendor/highlight-11.12.0.js";
import { Marked } from "./vendor/marked-18.2.1.js";

import { el } from "./dom.js";
import { strings } from "./strings.js";

// Longer code stands as it is: colours are not worth a page that halts.
const LONGEST_COLOURED = 30000;
const COPIED_FOR = 2000;
const WEB = new Set(["http:", "https:"]);

// -- Markdown to HTML ----------------------------------------------------------------------------------------------

const escaped = (text) => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

const renderer = {
  html({ text, block }) {
    if (/^<br\s*\/?>$/i.test(text.trim())) return "<br>";
    return block ? `<p>${escaped(text.trimEnd()).replaceAll("\n", "<br>")}</p>` : escaped(text);
  },
  heading({ tokens, depth }) {
    // Under the names of who speaks, which are of the third level.
    const level = Math.min(depth + 3, 6);
    return `<h${level}>${this.parser.parseInline(tokens)}</h${level}>`;
  },
  checkbox({ checked }) {
    // A mark, not a control.
    return checked ? "☑ " : "☐ ";
  },
  image({ href, title, text }) {
    const words = escaped(text || title || "");
    if (isOwnImage(href)) return `<img src="${escaped(href)}" alt="${words}">`;
    return `<a href="${escaped(href)}">${strings.image(words)}</a>`;
  },
};
const marked = new Marked({ gfm: true, breaks: true, async: false, renderer });

// -- HTML to nodes -------------------------------------------------------------------------------------------------

const FRAGMENT = {
  RETURN_DOM_FRAGMENT: true,
  SANITIZE_NAMED_PROPS: true,
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
};
const PROSE = {
  ...FRAGMENT,
  ALLOWED_TAGS:
    "p br hr h4 h5 h6 strong em del code pre blockquote ul ol li a img table thead tbody tr th td #text".split(" "),
  ALLOWED_ATTR: ["href", "src", "alt", "align", "start", "class"],
};
const COLOURED = { ...FRAGMENT, ALLOWED_TAGS: ["span", "#text"], ALLOWED_ATTR: ["class"] };

DOMPurify.addHook("afterSanitizeAttributes", (node) => {
  if (node.tagName === "A") safeLink(node);
  else if (node.tagName === "IMG" && !isOwnImage(node.getAttribute("src") ?? "")) node.remove();
  if (node.tagName !== "CODE" && node.tagName !== "SPAN") node.removeAttribute("class");
});

/** A link leaves for the web in a new tab, which gets no handle on this page; any other address is taken off it. */
function safeLink(node) {
  if (!WEB.has(protocolOf(node.getAttribute("href")))) {
    node.removeAttribute("href");
    return;
  }
  node.target = "_blank";
  node.rel = "noopener noreferrer";
}

function protocolOf(address) {
  try {
    return new URL(address).protocol;
  } catch {
    return "";
  }
}

/** Whether an image comes from this server or from within the text; any other would tell its server who reads. */
function isOwnImage(address) {
  try {
    const url = new URL(address, location.href);
    return url.origin === location.origin || /^data:image\/(png|jpeg|gif|webp);/i.test(address);
  } catch {
    return false;
  }
}

// -- putting it together -------------------------------------------------------------------------------------------

const BLOCKS = "p, li, ul, ol, h4, h5, h6, blockquote, th, td";

// What could mean something in Markdown: a sign of its own, a line of a list or a heading, an address, a deep indent.
const MARKED = /[\\`*_[\]<>|~&]|^\s*(?:[#+=-]|\d+[.)])|https?:|www\.|^(?: {4}|\t)/m;

/** Markdown as nodes. */
export function markdown(text) {
  return MARKED.test(text) ? rich(text) : plain(text);
}

/** Text without any mark, which most replies are, needs no parser. */
function plain(text) {
  const fragment = new DocumentFragment();
  for (const paragraph of text.trim().split(/\n\s*\n/)) {
    const lines = paragraph.split("\n").flatMap((line) => [el("br"), line.trim()]);
    fragment.append(el("p", { dir: "auto" }, lines.slice(1)));
  }
  return fragment;
}

function rich(text) {
  const fragment = DOMPurify.sanitize(marked.parse(text), PROSE);
  // Each block in the direction of its own first letter.
  for (const node of fragment.querySelectorAll(BLOCKS)) node.dir = "auto";
  for (const node of fragment.querySelectorAll("table")) node.replaceWith(scrolling(node.cloneNode(true)));
  for (const node of fragment.querySelectorAll("pre")) node.replaceWith(codeBlock(node));
  return fragment;
}

const scrolling = (table) =>
  el("div", { class: "wide", tabIndex: 0, role: "group", "aria-label": strings.table }, table);

function codeBlock(pre) {
  const code = pre.textContent.replace(/\n$/, "");
  const named = /^language-([\w+#.-]+)$/.exec(pre.querySelector("code")?.className ?? "")?.[1] ?? "";
  const language = hljs.getLanguage(named) ? named : null;
  return el(
    "div",
    { class: "code" },
    el("div", { class: "code-head" }, el("span", {}, named || strings.code), copyButton(code)),
    el("pre", { tabIndex: 0, dir: "ltr" }, el("code", {}, coloured(code, language))),
  );
}

function coloured(code, language) {
  if (!language || code.length > LONGEST_COLOURED) return code;
  return DOMPurify.sanitize(hljs.highlight(code, { language, ignoreIllegals: true }).value, COLOURED);
}

/** A button that copies `text` and says on itself how that went. */
export function copyButton(text, words = strings.copyCode) {
  const button = el("button", { type: "button", class: "quiet" }, words);
  button.addEventListener("click", async (event) => {
    event.stopPropagation();
    button.textContent = await copied(text);
    setTimeout(() => (button.textContent = words), COPIED_FOR);
  });
  return button;
}

async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return strings.copied;
  } catch {
    // No permission, or no clipboard beyond loopback without https.
    return strings.copyFailed;
  }
}
