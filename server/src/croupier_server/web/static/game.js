// The page of a game that is over: its record, to be stepped through.

import { parseRecord } from "./record.js";
import { Replay } from "./replay.js";

const root = document.getElementById("replay");
const header = JSON.parse(document.getElementById("record-head").textContent);

try {
  const answer = await fetch(document.getElementById("board").dataset.record);
  if (!answer.ok) throw new Error(`the server says ${answer.status}`);
  const { lines, flaw } = parseRecord(await answer.text());
  const replay = new Replay(root, header);
  const asked = Number(new URLSearchParams(location.search).get("ply") ?? NaN);
  replay.add(lines);
  if (Number.isSafeInteger(asked) && !location.hash) replay.go(asked);
  if (flaw) replay.problem(flaw);
  replay.end();
} catch (problem) {
  const told = document.createElement("p");
  told.className = "problem";
  told.textContent = `The record can't be shown step by step: ${problem.message}`;
  root.before(told); // what the server has drawn stays
}
