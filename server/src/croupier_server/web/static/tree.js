// Drawings as values: a node is [tag, attributes, ...children], a child a node or a text. They
// become elements of a page, or text, and never markup that somebody else wrote.

const SVG = "http://www.w3.org/2000/svg";
const ESCAPES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/** The text of a drawing, as the server writes it. */
export function treeText(node) {
  if (typeof node === "string") return escaped(node);
  const [tag, attributes, ...children] = node;
  const given = Object.entries(attributes)
    .map(([name, value]) => ` ${name}="${escaped(String(value))}"`)
    .join("");
  return `<${tag}${given}>${children.map(treeText).join("")}</${tag}>`;
}

function escaped(text) {
  return text.replace(/[&<>"]/g, (char) => ESCAPES[char]);
}

/** A new SVG element. */
export function svgElement(node) {
  if (typeof node === "string") return document.createTextNode(node);
  const element = document.createElementNS(SVG, node[0]);
  patch(element, [node[0], {}], node);
  return element;
}

/** Change an element that was made from one drawing into another; what stays keeps the focus. */
export function patch(element, before, after) {
  const [, had, ...old] = before;
  const [, has, ...children] = after;
  for (const name of Object.keys(had)) if (!(name in has)) element.removeAttribute(name);
  for (const [name, value] of Object.entries(has)) {
    if (had[name] !== value) element.setAttribute(name, value);
  }
  for (let at = old.length - 1; at >= children.length; at -= 1) element.childNodes[at].remove();
  children.forEach((child, at) => {
    if (at >= old.length) element.append(svgElement(child));
    else if (isSame(old[at], child)) patch(element.childNodes[at], old[at], child);
    else if (old[at] !== child) element.childNodes[at].replaceWith(svgElement(child));
  });
}

function isSame(one, other) {
  return Array.isArray(one) && Array.isArray(other) && one[0] === other[0];
}

/** A new HTML element: its attributes, `on…` listeners among them, and its children or texts. */
export function html(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

/** A text from outside, cut, that can't turn the direction of what stands around it. */
export function outside(text, most = 60) {
  const all = Array.from(String(text));
  const shown = all.length > most ? `${all.slice(0, most - 1).join("")}…` : all.join("");
  return html("bdi", {}, shown.replace(/\p{Cc}|[\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, "\ufffd"));
}
