// The page of a game that runs: the replay, fed line by line.

import { Replay } from "./replay.js";
import { Stream } from "./stream.js";
import { html, outside } from "./tree.js";

const root = document.getElementById("replay");
const live = document.getElementById("live");
const badge = document.querySelector(".title .badge");
const { events } = document.getElementById("board").dataset;
const asked = /^\d{1,6}$/.exec(new URLSearchParams(location.search).get("ply") ?? "");

const STATES = {
  live: "Live.",
  reconnecting: "The connection is lost. Trying again…",
  ended: "The game is over.",
};
const BADGES = { finished: "over" };

const state = html("span");
const hint = html("button", { type: "button", hidden: true, onclick: catchUp }, "Go to the newest move");
live.append(state, " ", hint);

let replay = null;

new Stream(
  events,
  {
    snapshot({ header, lines }) {
      const isFirst = replay === null;
      replay ??= new Replay(root, header);
      replay.add(lines);
      if (isFirst && asked && !location.hash && Number(asked[0]) < replay.last) replay.go(Number(asked[0]));
      showHint();
    },
    lines({ lines }) {
      replay.add(lines);
      showHint();
    },
    state({ status }) {
      state.textContent = `The game was ${status}. Waiting for it to be played again…`;
    },
    end,
  },
  (now) => {
    state.textContent = STATES[now];
    live.dataset.state = now;
  },
);

// the replay does not say when it was stepped back
for (const kind of ["click", "keydown", "input"]) addEventListener(kind, () => setTimeout(showHint));

function end({ status, again }) {
  replay.end();
  badge.textContent = BADGES[status] ?? status;
  badge.className = `badge ${status}`;
  if (again) {
    const place = events.replace(/[^/]+\/events$/, encodeURIComponent(again));
    state.replaceChildren("This game does not count. It is played again as ", html("a", { href: place }, "game ", outside(again)), ".");
  } else if (status !== "finished") {
    state.textContent = `The game was ${status} and does not count.`;
  }
  showHint();
}

function showHint() {
  hint.hidden = replay === null || replay.ended || replay.follow || replay.ply === replay.last;
}

function catchUp() {
  replay.go(replay.last);
  showHint();
}
