// The wall: the running games of a tournament side by side, at a pace that eyes can follow.

import { Board, badgeTree } from "./board.js";
import { Timeline } from "./record.js";
import { Stream } from "./stream.js";
import { html, outside, svgElement } from "./tree.js";
import { outcomeParts, pointText } from "./words.js";

const MAX_SHOWN = 16;
const LINGER = 5000; // how long an end stays before another game takes its place, in ms
const TICKER = 5000;
const HEAD = 4; // what is above and around a board, in heights of its letters
const SOON = 500; // how long after a reconnection a game may wait to be named again
const STATES = {
  live: "Live.",
  reconnecting: "The connection is lost. Trying again…",
  ended: "The tournament is over.",
};

/** A game on the wall, or one that waits for a place there. */
class Game {
  at = 0;
  over = null; // how it ended
  doneAt = null; // when its last position was shown
  element = null;
  isSure = true; // whether the server has named it since we are connected

  constructor(name, header, url) {
    this.name = name;
    this.timeline = new Timeline(header);
    this.names = new Map(header.players.map((player) => [player.color, player.name]));
    this.url = url;
  }

  get last() {
    return this.timeline.positions.length - 1;
  }

  get isThrough() {
    return this.over !== null && this.at >= this.last;
  }

  push(lines) {
    try {
      for (const line of lines) this.timeline.push(line);
    } catch (problem) {
      this.over ??= { status: "damaged" }; // what is known of it stays
      this.problem = String(problem.message);
    }
  }

  build() {
    const host = html("div", { class: "field" });
    this.board = new Board(host, this.timeline.header);
    this.players = html("ul", { class: "seats" });
    this.note = html("p", { class: "said" });
    const link = html("a", { href: this.url }, "Game ", outside(this.name));
    this.element = html("article", {}, html("div", { class: "top" }, html("h2", {}, link), this.players), host, this.note);
    this.draw();
    return this.element;
  }

  /** Go on by one position, or to the last one; whether there was any. */
  step(toLast) {
    if (this.at >= this.last) return false;
    this.at = toLast ? this.last : this.at + 1;
    this.draw();
    return true;
  }

  draw() {
    const position = this.timeline.positions[this.at];
    this.board.show(position);
    this.players.replaceChildren(...position.players.map((player) => seat(player, position)));
    this.tell();
  }

  tell() {
    const behind = this.last - this.at;
    if (!this.isThrough) {
      this.note.textContent = behind > 1 ? `${behind} moves behind` : "";
      return;
    }
    const { outcome } = this.timeline.positions[this.at];
    this.element.classList.add("over");
    if (outcome) this.note.replaceChildren(...outcomeParts(outcome, this.names));
    else if (this.over.again) this.note.replaceChildren("It is played again as game ", outside(this.over.again), ".");
    else this.note.textContent = `The game is ${this.over.status}.`;
  }
}

class Wall {
  isKnown = false; // whether we have been told what runs
  isNew = true;
  #games = new Map();
  #timer = null;

  constructor(element, told) {
    [this.element, this.told] = [element, told];
    this.pace = 1000;
  }

  /** Show no more than a position per game in so many milliseconds; 0 for as they come. */
  setPace(pace) {
    this.pace = pace;
    clearInterval(this.#timer);
    this.#timer = setInterval(() => this.tick(), pace || 100);
    this.tick();
  }

  /** We are connected: what isn't named soon has ended meanwhile. */
  begin() {
    for (const game of this.#games.values()) game.isSure = false;
    this.isNew = this.#games.size === 0;
    setTimeout(() => {
      this.isNew = false;
      this.isKnown = true;
      for (const game of this.#games.values()) {
        if (!game.isSure) game.over ??= { status: "over" };
      }
    }, SOON);
  }

  take({ game: name, header, lines }) {
    let game = this.#games.get(name);
    if (game === undefined) {
      game = new Game(name, header, this.element.dataset.games + encodeURIComponent(name));
      game.push(lines);
      if (this.isNew) game.at = game.last; // who comes late sees it as it is
      this.#games.set(name, game);
    }
    game.isSure = true;
    game.push(lines);
    this.arrange();
  }

  add({ game, lines }) {
    this.#games.get(game)?.push(lines);
  }

  end({ game: name, ...over }) {
    const game = this.#games.get(name);
    if (game) game.over = over;
  }

  tick() {
    for (const game of this.#games.values()) {
      if (!game.element) continue;
      if (!game.step(this.pace === 0)) game.tell();
      if (game.isThrough) game.doneAt ??= Date.now();
    }
    this.arrange();
  }

  /** Put games that wait where others are through. */
  arrange() {
    const all = [...this.#games.values()];
    const runs = all.some((game) => !game.isThrough);
    for (const game of all) {
      const isOld = game.doneAt !== null && Date.now() - game.doneAt > LINGER;
      if ((game.element && isOld && runs) || (!game.element && game.over)) this.#remove(game);
    }
    const shown = [...this.#games.values()].filter((game) => game.element).length;
    const waiting = [...this.#games.values()].filter((game) => !game.element);
    for (const game of waiting.slice(0, MAX_SHOWN - shown)) this.element.append(game.build());
    const count = this.element.children.length;
    if (this.element.dataset.count !== String(count)) {
      this.element.dataset.count = count;
      this.fit();
    }
    if (this.isKnown) this.told(count);
  }

  /** Choose so many columns that the boards are as large as they can be. */
  fit() {
    const box = this.element.querySelector(".board")?.viewBox.baseVal;
    if (!box) return;
    const { clientWidth: width, clientHeight: height, children } = this.element;
    const shape = box.width / box.height;
    const head = HEAD * Number.parseFloat(getComputedStyle(this.element).fontSize);
    const wide = (columns) => {
      const rows = Math.ceil(children.length / columns);
      return Math.min(width / columns, shape * (height / rows - head));
    };
    let best = 1;
    for (let columns = 2; columns <= children.length; columns += 1) {
      if (wide(columns) > wide(best)) best = columns;
    }
    this.element.style.setProperty("--columns", best);
  }

  #remove(game) {
    game.element?.remove();
    this.#games.delete(game.name);
  }
}

function seat(player, position) {
  const unit = html("span", { class: "hidden" }, " fish");
  const fish = html("span", { class: "fish" }, ...(player.ejected ? ["out"] : [String(player.fish), unit]));
  const line = html("li", {}, svgElement(badgeTree(player.color)), outside(player.name), fish);
  if (player.color === position.turn) line.append(html("span", { class: "hidden" }, " to act"));
  line.classList.toggle("now", player.color === position.turn);
  line.classList.toggle("out", player.ejected);
  return line;
}

// -- the page

const element = document.getElementById("wall");
const state = document.getElementById("live");
const empty = document.getElementById("empty");
const pace = document.getElementById("pace");
const full = document.getElementById("full");
const leaders = document.getElementById("leaders");

element.replaceChildren(); // the server's list is for who has no scripts
const wall = new Wall(element, (count) => {
  empty.hidden = count > 0;
});

const asked = new URLSearchParams(location.search).get("pace");
if (asked !== null && /^\d{1,5}$/.test(asked)) {
  if (![...pace.options].some((one) => one.value === asked)) {
    pace.append(html("option", { value: asked }, `one move in ${Number(asked) / 1000} s`));
  }
  pace.value = asked;
}
pace.closest("form").hidden = false;
pace.addEventListener("change", () => {
  history.replaceState(null, "", `?pace=${pace.value}`);
  wall.setPace(Number(pace.value));
});
wall.setPace(Number(pace.value));

new Stream(
  element.dataset.events,
  {
    wall: () => wall.begin(),
    game: (told) => wall.take(told),
    lines: (told) => wall.add(told),
    over: (told) => wall.end(told),
    end: () => clearInterval(ticker),
  },
  (now) => {
    state.textContent = STATES[now];
    state.dataset.state = now;
    if (now === "ended") tell();
  },
);

window.addEventListener("resize", () => wall.fit());
full.hidden = !document.fullscreenEnabled;
full.addEventListener("click", () => {
  if (document.fullscreenElement) document.exitFullscreen();
  else document.documentElement.requestFullscreen();
});
document.addEventListener("fullscreenchange", () => {
  full.textContent = document.fullscreenElement ? "Leave full screen" : "Full screen";
});

async function tell() {
  if (document.hidden) return;
  try {
    const answer = await fetch(element.dataset.page);
    if (!answer.ok) return;
    const { leaders: rows } = await answer.json();
    leaders.replaceChildren(...rows.map(leader));
  } catch {
    // the next time; the stream says that the connection is lost
  }
}

function leader({ place, name, points }) {
  const unit = points > 0 && points <= 1 ? "point" : "points";
  return html("li", {}, html("b", {}, `${place}.`), " ", outside(name, 40), ` ${pointText(points)} ${unit}`);
}

const ticker = setInterval(tell, TICKER);
