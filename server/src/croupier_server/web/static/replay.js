// A game that can be stepped through, on a page or while it goes on.

import { Board, badgeTree } from "./board.js";
import { fishChart, plyAt, thinkChart } from "./chart.js";
import { Timeline } from "./record.js";
import { legalMoves, legalPlacements } from "./rules.js";
import { html, outside, patch, svgElement } from "./tree.js";
import { eventWords, noteParts, outcomeParts, span, verdictWords } from "./words.js";

const SPEEDS = [0.5, 1, 2, 4, 10];
/** What has its own use for all keys, or for the space bar. */
const OWN_KEYS = "select, textarea, [contenteditable], input:not([type=checkbox], [type=range])";
const OWN_SPACE = "button, a, summary, [role=button], [type=checkbox]";
const ICONS = {
  first: "M4 3h3v14h-3zM17 3v14l-9-7z",
  back: "M15 3v14l-10-7z",
  play: "M5 2v16l12-8z",
  pause: "M4 3h4v14h-4zM12 3h4v14h-4z",
  forward: "M5 3v14l10-7z",
  last: "M3 3v14l9-7zM13 3h3v14h-3z",
};

/**
 * Shows a game in an element that has, or gets, the board's place `#board`.
 *
 * `follow` is whether new lines are shown at once; stepping back ends that, and going to the last
 * ply begins it again. `keys` is where keys are listened to: the element itself, on a page that has
 * more to it than the game.
 */
export class Replay {
  follow = true;
  ended = false;
  #timeline;
  #board;
  #ply = 0;
  #timer = null;
  #picked = null;
  #asked = null; // the ply in the page's address, until somebody steps on
  #parts = {};
  #charts = [];
  #listeners = new AbortController();

  constructor(root, header, keys = document) {
    this.root = root;
    this.#timeline = new Timeline(header);
    this.names = new Map(header.players.map(({ color, name }) => [color, name]));
    this.#build();
    const { signal } = this.#listeners;
    keys.addEventListener("keydown", (event) => this.#key(event), { signal });
    addEventListener("hashchange", () => this.#fromHash(), { signal });
    this.#fromHash();
    this.#show();
  }

  /** The number of the ply that is shown. */
  get ply() {
    return this.#ply;
  }

  /** The number of the last ply that is known. */
  get last() {
    return this.#timeline.positions.length - 1;
  }

  /** The number of the last line that was taken. */
  get seq() {
    return this.#timeline.positions.at(-1).seq;
  }

  /** Take lines of the record; those that were taken before change nothing. */
  add(lines) {
    const known = this.last;
    try {
      for (const line of lines) this.#timeline.push(line);
    } catch (problem) {
      this.problem(`From here on the record can't be shown: ${problem.message}`);
    }
    this.#list(known);
    if (this.follow) this.#ply = this.last;
    else if (this.#asked !== null) this.#ply = Math.min(this.#asked, this.last);
    this.#show();
  }

  /** Say that no more lines follow; `outcome` is that of the game, or null. */
  end(outcome = null) {
    this.ended = true;
    const known = outcome ?? this.#timeline.positions.at(-1).outcome;
    const { interrupted } = this.#timeline;
    if (known) this.#parts.end.replaceChildren(...outcomeParts(known, this.names));
    else if (interrupted !== null) {
      const reason = interrupted ? [" ", outside(interrupted, 200)] : [];
      this.#parts.end.replaceChildren("The game was interrupted and does not count.", ...reason);
    }
    this.#showEnd();
  }

  /** Say what is wrong, above the board. */
  problem(text) {
    this.#parts.problem.hidden = false;
    this.#parts.problem.replaceChildren(outside(text, 400));
  }

  /** Show the position after so many plies. */
  go(ply) {
    this.#ply = Math.max(0, Math.min(ply, this.last));
    this.follow = this.#ply === this.last;
    this.#picked = this.#asked = null;
    this.#show();
  }

  /** Go on by itself, from the start if this is the end. */
  play() {
    if (this.#ply === this.last) this.go(0);
    this.#tick();
    this.#show();
  }

  pause() {
    clearTimeout(this.#timer);
    this.#timer = null;
    this.#show();
  }

  /** Let go of the page's keys. */
  close() {
    this.pause();
    this.#listeners.abort();
  }

  #tick() {
    const wait = 1000 / Number(this.#parts.speed.value);
    this.#timer = setTimeout(() => {
      this.go(this.#ply + 1);
      if (this.#ply < this.last) this.#tick();
      else this.pause();
    }, wait);
  }

  /** What a person does: it ends the playing, and the page's address says the ply. */
  #step(ply) {
    if (this.#timer !== null) this.pause();
    this.go(ply);
    try {
      history.replaceState(null, "", `#ply=${this.#ply}`);
    } catch {
      // too often, or not allowed here: the link beside the board has it too
    }
  }

  #fromHash() {
    const asked = plyInHash();
    if (asked === null) return;
    if (this.last > 0 && this.last >= asked) this.go(asked);
    else [this.follow, this.#asked] = [false, asked];
  }

  #key(event) {
    const { key, target } = event;
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const asked = target instanceof Element ? target : document.body;
    if (asked.closest(OWN_KEYS) || (key === " " && asked.closest(OWN_SPACE))) return;
    if (key !== " " && asked.closest("[type=range]")) return; // it steps by itself
    const steps = {
      ArrowLeft: () => this.#step(this.#ply - 1),
      ArrowRight: () => this.#step(this.#ply + 1),
      Home: () => this.#step(0),
      End: () => this.#step(this.last),
      " ": () => this.#toggle(),
    };
    if (!Object.hasOwn(steps, key)) return;
    event.preventDefault();
    steps[key]();
  }

  #toggle() {
    if (this.#timer === null) this.play();
    else this.pause();
  }

  // -- the parts of the page

  #build() {
    const host = this.root.querySelector("#board") ?? html("div", { id: "board" });
    const parts = this.#parts;
    this.#board = new Board(host, this.#timeline.header);
    parts.host = host;
    parts.problem = html("p", { class: "problem", role: "alert", hidden: true });
    parts.end = html("p", { class: "outcome", hidden: true });
    parts.said = html("p", { class: "said", role: "status" });
    parts.players = html("tbody");
    parts.plies = html("ol", { class: "plies", tabindex: "0", "aria-label": "All plies" });
    parts.fish = html("figure", { class: "of-fish" }, html("figcaption", {}, "Fish over time"));
    parts.think = html("figure", { class: "of-time" }, html("figcaption", {}, "Think times"));
    for (const figure of [parts.fish, parts.think]) {
      figure.addEventListener("click", (event) => this.#chosen(event, figure));
    }
    const main = [parts.problem, host, parts.said, this.#controls(), parts.end];
    const side = [this.#scores(), parts.fish, parts.think, parts.plies];
    this.root.classList.add("replay", "ready");
    this.root.replaceChildren(
      html("div", { class: "replay-main" }, ...main),
      html("div", { class: "replay-side" }, ...side),
    );
    this.#list(0);
  }

  #controls() {
    const parts = this.#parts;
    const check = () => html("input", { type: "checkbox", onchange: () => this.#show() });
    parts.first = button("First position", "first", () => this.#step(0));
    parts.back = button("One ply back", "back", () => this.#step(this.#ply - 1));
    parts.toggle = button("Play", "play", () => this.#toggle());
    parts.forward = button("One ply on", "forward", () => this.#step(this.#ply + 1));
    parts.toLast = button("Last position", "last", () => this.#step(this.last));
    parts.toggle.className = "toggle";
    const slid = () => this.#step(Number(parts.slider.value));
    parts.slider = html("input", { type: "range", min: 0, "aria-label": "Ply", oninput: slid });
    parts.where = html("a", { class: "where", title: "Link to this position" });
    parts.speed = html("select", { "aria-label": "Speed" }, ...SPEEDS.map(speedOption));
    [parts.legal, parts.spots] = [check(), check()];
    const buttons = [parts.first, parts.back, parts.toggle, parts.forward, parts.toLast, parts.speed];
    const legal = html("label", {}, parts.legal, " Legal moves");
    const spots = html("label", {}, parts.spots, " Coordinates");
    return html(
      "div",
      { class: "controls", role: "group", "aria-label": "Replay" },
      html("div", { class: "buttons" }, ...buttons),
      html("div", { class: "slide" }, parts.slider, parts.where),
      html("div", { class: "choices" }, legal, spots),
    );
  }

  #scores() {
    const titles = ["Player", "Fish", "Tiles", "Last answer"];
    const head = html("tr", {}, ...titles.map((text) => html("th", { scope: "col" }, text)));
    const table = html("table", { class: "players" }, html("thead", {}, head), this.#parts.players);
    return html("div", { class: "scroll" }, table);
  }

  /** Put the plies from a number on into the list; that one may have more to it now. */
  #list(from) {
    const { plies } = this.#parts;
    while (plies.children.length > from) plies.lastChild.remove();
    for (const position of this.#timeline.positions.slice(from)) plies.append(this.#line(position));
  }

  #line(position) {
    const button = html("button", { type: "button", onclick: () => this.#step(position.ply) });
    button.append(html("span", { class: "number" }, String(position.ply)), " ");
    if (position.last) button.append(svgElement(badgeTree(position.last.color)), " ");
    const notes = [];
    if (position.ply === 0) button.append("start");
    position.events.forEach(({ event, obs }, at) => {
      const words = eventWords(event);
      const isOwn = position.ply > 0 && at === 0;
      if (isOwn) button.append(words);
      else if (words) notes.push(html("span", {}, event.color ? `${event.color} ${words}` : words));
      notes.push(...noteParts({ event, obs }));
    });
    if (Number.isSafeInteger(position.obs.think_ms)) {
      button.append(" ", html("span", { class: "time" }, span(position.obs.think_ms)));
    }
    const line = html("li", {}, button);
    const lines = notes.map((note) => html("p", {}, note));
    if (lines.length) line.append(html("div", { class: "notes" }, ...lines));
    return line;
  }

  // -- what is shown now

  #show() {
    const position = this.#timeline.positions[this.#ply];
    const parts = this.#parts;
    parts.host.classList.toggle("with-spots", parts.spots.checked);
    this.#showBoard(position);
    this.#showControls(position);
    parts.players.replaceChildren(...position.players.map((player) => this.#row(player, position)));
    this.#draw(0, parts.fish, fishChart(this.#timeline.positions, this.#ply));
    this.#draw(1, parts.think, thinkChart(this.#timeline.positions, this.#ply));
    this.#mark();
    this.#showEnd();
  }

  /** How it ended is said where it ends: before, it would gainsay the board. */
  #showEnd() {
    const { end } = this.#parts;
    end.hidden = !end.hasChildNodes() || this.#ply !== this.last;
  }

  #showBoard(position) {
    if (!this.#parts.legal.checked) {
      this.#board.show(position);
      this.#parts.said.replaceChildren(...this.#said(position));
      return;
    }
    const moves = legalMoves(position);
    const placements = legalPlacements(position, this.#timeline.rules);
    const of = this.#picked && moves.filter(([from]) => String(from) === String(this.#picked));
    const ends = (of?.length ? of : moves).map(([, to]) => to);
    this.#board.show(position, {
      legal: [...placements, ...ends],
      selected: this.#picked,
      onTile: (row, column) => this.#pick(row, column),
    });
    const count = moves.length || placements.length;
    const told = position.turn ? ` ${count} legal ${moves.length ? "moves" : "placements"}.` : "";
    this.#parts.said.replaceChildren(...this.#said(position), told);
  }

  #pick(row, column) {
    const position = this.#timeline.positions[this.#ply];
    const own = position.players.find((player) => player.color === position.turn)?.penguins ?? [];
    const isOwn = own.some((at) => String(at) === `${row},${column}`);
    this.#picked = isOwn && String(this.#picked) !== `${row},${column}` ? [row, column] : null;
    this.#show();
  }

  #showControls(position) {
    const parts = this.#parts;
    const isPlaying = this.#timer !== null;
    parts.slider.max = this.last;
    parts.slider.value = this.#ply;
    parts.slider.setAttribute("aria-valuetext", `ply ${this.#ply} of ${this.last}`);
    parts.where.textContent = `${this.#ply} / ${this.last}`;
    parts.where.href = `#ply=${this.#ply}`;
    const [name, icon] = isPlaying ? ["Pause", "pause"] : ["Play", "play"];
    parts.toggle.setAttribute("aria-label", name);
    parts.toggle.title = name;
    parts.toggle.querySelector("path").setAttribute("d", ICONS[icon]);
    const [isFirst, isLast] = [position.ply === 0, position.ply === this.last];
    for (const button of [parts.first, parts.back]) button.setAttribute("aria-disabled", isFirst);
    for (const button of [parts.forward, parts.toLast]) button.setAttribute("aria-disabled", isLast);
    // a screen reader can't follow what runs by itself
    parts.said.setAttribute("aria-live", isPlaying || (this.follow && !this.ended) ? "off" : "polite");
  }

  #said(position) {
    const { last, turn, events, stage } = position;
    const said = [`Ply ${position.ply}: `];
    const named = (color) => outside(this.names.get(color));
    if (last) said.push(named(last.color), ` (${last.color}) ${eventWords(events[0].event)}. `);
    const acts = stage === "placement" ? "places" : "moves";
    if (stage === "over") said.push("The game is over.");
    else if (turn) said.push(named(turn), ` (${turn}) ${acts} next.`);
    return said;
  }

  #row(player, position) {
    const isTurn = player.color === position.turn;
    const badge = svgElement(badgeTree(player.color));
    const name = html("th", { scope: "row" }, badge, " ", outside(player.name));
    const add = (kind, text) => name.append(html("span", { class: kind }, text));
    if (isTurn) add("turn", " to act");
    if (player.ejected) add("verdict", ` out: ${verdictWords(player.verdict)}`);
    const held = player.ejected ? ["–", "–"] : [player.fish, player.tiles];
    const cells = [...held, player.think_ms === null ? "–" : span(player.think_ms)];
    const numbers = cells.map((cell) => html("td", {}, String(cell)));
    return html("tr", { class: isTurn ? "now" : "" }, name, ...numbers);
  }

  #draw(at, figure, tree) {
    const known = this.#charts[at];
    if (known) patch(known.svg, known.tree, tree);
    else figure.append(svgElement(tree));
    this.#charts[at] = { tree, svg: figure.lastChild };
  }

  #chosen(event, figure) {
    const box = figure.lastChild.getBoundingClientRect();
    if (event.clientY < box.top || !box.width) return;
    this.#step(plyAt((event.clientX - box.left) / box.width, this.#timeline.positions));
  }

  /** Mark the ply in the list, and scroll the list there, never the page. */
  #mark() {
    const { plies } = this.#parts;
    plies.querySelector("[aria-current]")?.removeAttribute("aria-current");
    const line = plies.children[this.#ply];
    line.firstChild.setAttribute("aria-current", "step");
    const [top, bottom] = [line.offsetTop, line.offsetTop + line.offsetHeight];
    const { clientHeight, scrollTop } = plies;
    if (top < scrollTop) plies.scrollTop = top;
    else if (bottom > scrollTop + clientHeight) plies.scrollTop = bottom - clientHeight;
  }
}

function button(name, icon, act) {
  const given = { type: "button", "aria-label": name, title: name, onclick: act };
  const drawn = ["svg", { viewBox: "0 0 20 20", "aria-hidden": "true" }, ["path", { d: ICONS[icon] }]];
  return html("button", given, svgElement(drawn));
}

function speedOption(speed) {
  return html("option", { value: speed, selected: speed === 2 }, `${speed} a second`);
}

/** The ply that the page's address asks for; null if it asks for none. */
function plyInHash() {
  const found = /^#ply=(\d{1,6})$/.exec(location.hash);
  return found ? Number(found[1]) : null;
}
