// Opens a record that is chosen or dropped on the page; it is not sent anywhere.

import { parseRecord } from "./record.js";
import { Replay } from "./replay.js";
import { html, outside } from "./tree.js";

const MAX_BYTES = 64 * 1024 * 1024;
const root = document.getElementById("replay");
const message = document.getElementById("message");
const title = document.getElementById("record-name");
const chooser = document.getElementById("record-file");
let shown = null;

function open(name, text) {
  const { header, lines, flaw } = parseRecord(text);
  shown?.close();
  shown = null;
  root.replaceChildren(html("div", { id: "board" }));
  shown = new Replay(root, header);
  shown.add(lines);
  if (flaw) shown.problem(flaw);
  shown.end();
  title.replaceChildren(outside(name));
  message.replaceChildren();
}

async function take(file) {
  if (!file) return;
  try {
    if (file.size > MAX_BYTES) throw new Error("it has more than 64 MB");
    open(file.name, await file.text());
  } catch (problem) {
    message.replaceChildren(outside(file.name), ` is no record that can be shown: ${problem.message}`);
  }
}

chooser.addEventListener("change", () => take(chooser.files[0]));
document.addEventListener("dragover", (event) => {
  event.preventDefault();
  document.body.classList.add("dropping");
});
document.addEventListener("dragleave", () => document.body.classList.remove("dropping"));
document.addEventListener("drop", (event) => {
  event.preventDefault();
  document.body.classList.remove("dropping");
  take(event.dataTransfer.files[0]);
});

const given = document.getElementById("record-text");
if (given) {
  try {
    const { name, text } = JSON.parse(given.textContent);
    open(name, text);
  } catch (problem) {
    message.textContent = `The record in this file can't be shown: ${problem.message}`;
  }
}
