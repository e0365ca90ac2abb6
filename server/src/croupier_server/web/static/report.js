// Games inside a report: each is behind a line of its own, and at most one is open.

import { parseRecord } from "./record.js";
import { Replay } from "./replay.js";
import { html } from "./tree.js";

const PLIES = new Set(["place", "move", "eject"]);
const games = [...document.querySelectorAll("details.game")];
const shown = new Map();

function show(details) {
  const place = details.querySelector(".place");
  try {
    const { header, lines, flaw } = parseRecord(JSON.parse(details.querySelector("script").textContent));
    place.replaceChildren(html("div", { id: "board" }));
    const replay = new Replay(place, header, place);
    shown.set(details, replay);
    replay.add(lines);
    if (flaw) replay.problem(flaw);
    replay.end();
    const out = plyOfEjection(lines);
    if (out !== null) replay.go(out);
  } catch (problem) {
    place.textContent = `This game can't be shown: ${problem.message}`;
  }
}

/** The ply in which somebody was put out, which is what there is to look at; null without one. */
function plyOfEjection(lines) {
  const kinds = lines.map(({ event }) => event.kind).filter((kind) => PLIES.has(kind));
  const at = kinds.indexOf("eject");
  return at < 0 ? null : at + 1;
}

/** Only what is open has a board: its keys and its place in the address are its own. */
function hide(details) {
  shown.get(details)?.close();
  shown.delete(details);
  details.querySelector(".place").replaceChildren();
}

function changed(details) {
  if (!details.open) {
    hide(details);
    return;
  }
  for (const other of games) if (other !== details) other.open = false;
  // a ply in the address is that of the game that was open before
  if (location.hash.startsWith("#ply=")) history.replaceState(null, "", `#${details.id}`);
  if (!shown.has(details)) show(details);
}

for (const details of games) {
  details.addEventListener("toggle", () => changed(details));
  if (details.open || location.hash === `#${details.id}`) {
    details.open = true;
    changed(details);
  }
}
