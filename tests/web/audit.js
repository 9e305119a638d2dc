// What of the open page could run, load from elsewhere, or stand in for a part of the page. Own modules and style sheets
// are of this origin. Returns sentences, none when all is well.

() => {
  const FORBIDDEN = ["iframe", "frame", "object", "embed", "applet", "base", "portal", "style", "animate", "set"];
  const LOADS = [
    "src", "data", "poster", "background", "srcset", "action", "formaction", "ping", "manifest", "codebase",
  ];
  const IN_A_REPLY = ".said :is([id], [name], [style], form, input:not([disabled]))";
  const BUILT_IN = ["querySelector", "getElementById", "cookie", "location"];

  const own = (url) => new URL(url, location.href).origin === location.origin;
  const found = [];
  const say = (node, why) => found.push(`${why}: ${node.outerHTML.slice(0, 200)}`);

  function lookAtLink(node, name, value) {
    const url = new URL(value, location.href);
    if (!["http:", "https:", "mailto:"].includes(url.protocol)) say(node, name);
    else if (!own(url) && node.localName === "a" && !/noopener/.test(node.rel)) say(node, "rel");
  }

  for (const node of document.querySelectorAll("*")) {
    const tag = node.localName;
    if (FORBIDDEN.includes(tag)) say(node, tag);
    if (tag === "script" && (node.textContent.trim() || !own(node.src))) say(node, tag);
    if (tag === "meta" && node.httpEquiv) say(node, tag);
    if (tag === "link" && !own(node.href)) say(node, tag);
    for (const { name, value } of node.attributes) {
      if (name.startsWith("on")) say(node, name);
      if (LOADS.includes(name) && !value.startsWith("data:image/") && !own(value)) say(node, name);
      if (name === "href" || name === "xlink:href") lookAtLink(node, name, value);
    }
    if (node.id && document.querySelectorAll(`[id="${CSS.escape(node.id)}"]`).length > 1) say(node, "id twice");
  }
  for (const node of document.querySelectorAll(IN_A_REPLY)) say(node, "in a reply");
  for (const name of BUILT_IN) if (document[name] instanceof HTMLElement) found.push(`document.${name}`);
  if ({}.canary !== undefined) found.push("Object.prototype");
  return found.slice(0, 20);
}
