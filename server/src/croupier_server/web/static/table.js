// A game as somebody sees it who plays: the board with what can be chosen, and what happens.

import { badgeTree } from "./board.js";
import { NO_CLOCK_MS } from "./player-protocol.js";
import { Timeline } from "./record.js";
import { html, outside, svgElement } from "./tree.js";
import { eventWords, outcomeParts } from "./words.js";

const LEAST_TILE = 34 / 80; // of a tile's width in the drawing: as small as a finger can hit

const STEPS = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };

/**
 * Plays one game by hand.
 *
 * Args: the game as the protocol keeps it, the board, where things are said, and who is told the
 * answer to a turn.
 */
export class Table {
  #timeline;
  #turn = null;
  #selected = null;
  #byKeyboard = false;
  #ticking = null;

  constructor({ game, board, say, part, answer }) {
    Object.assign(this, { game, board, say, part, answer });
    this.names = new Map(game.players.map(({ color, name }) => [color, name]));
    this.#timeline = new Timeline({ kind: "start", format: 1, ...game });
    part("log").replaceChildren();
    part("seat-board").onkeydown = (event) => this.#key(event);
    part("seat-board").onpointerdown = () => { this.#byKeyboard = false; };
    this.#draw();
  }

  get #position() {
    return this.#timeline.positions.at(-1);
  }

  /** Take what happened; what was taken before changes nothing. */
  add(lines) {
    const news = lines.filter(({ seq }) => seq > this.#position.seq);
    for (const line of news) {
      this.#timeline.push({ obs: {}, ...line });
      this.#log(line.event);
    }
    if (!news.length) return;
    this.#draw();
    this.#saySomebodyElse();
  }

  /** It is our turn. */
  toAct(turn) {
    this.#turn = turn;
    this.#selected = null;
    this.#countDown(turn);
    this.#draw();
    this.#sayTurn();
    if (this.#byKeyboard) this.#focus();
  }

  /** Nothing can be chosen now: the connection is away, or all is over. */
  pause() {
    this.#turn = null;
    this.#selected = null;
    this.#countDown(null);
    this.#draw();
  }

  end() {
    this.pause();
    const { outcome, you } = this.game;
    if (!outcome) {
      this.say("The server had to break the game off. Nobody is to blame.");
      return;
    }
    const hasWon = outcome.ranking[0]?.includes(you);
    this.say(hasWon ? "You win. " : "", ...outcomeParts(outcome, this.names));
    this.#drawPlayers(outcome);
  }

  /** Take back the choice of a penguin. */
  undo() {
    if (!this.#selected) return;
    const from = this.#selected;
    this.#selected = null;
    this.#draw();
    this.#sayTurn();
    if (this.#byKeyboard) this.board.focus(from);
  }

  // -- choosing

  /** The tiles that can be chosen now. */
  get #legal() {
    if (!this.#turn) return [];
    const { method, legal } = this.#turn;
    if (method === "place") return legal;
    if (this.#selected) return legal.filter(([from]) => isSame(from, this.#selected)).map(([, to]) => to);
    return distinct(legal.map(([from]) => from));
  }

  #chosen(at) {
    if (!this.#turn) return;
    const isLegal = this.#legal.some((one) => isSame(one, at));
    if (this.#selected && isSame(at, this.#selected)) this.undo();
    else if (isLegal && (this.#turn.method === "place" || this.#selected)) this.#act(at);
    else if (this.#isOwn(at)) this.#select(at);
    else if (this.#selected) this.say("This penguin can't go there; the marked tiles are where it can.");
    else this.say(this.#turn.method === "place" ? "No penguin can be placed there." : "Choose one of your marked penguins first.");
  }

  #isOwn(at) {
    return this.#turn.method === "move" && this.#turn.legal.some(([from]) => isSame(from, at));
  }

  #select(at) {
    this.#selected = at;
    this.#draw();
    const count = this.#legal.length;
    this.say(`Penguin at [${at}]: choose where it goes, ${count === 1 ? "to the marked tile" : `to one of ${count} tiles`}.`);
    if (this.#byKeyboard) this.#focus();
  }

  #act(at) {
    const action = this.#turn.method === "place" ? at : [this.#selected, at];
    this.pause();
    this.say("…");
    this.answer(action);
  }

  // -- by keyboard

  #key(event) {
    this.#byKeyboard = true;
    if (event.key === "Escape") this.undo();
    else if (event.key in STEPS && this.#turn) {
      event.preventDefault();
      this.#step(STEPS[event.key]);
    }
  }

  /** Go to the next tile that can be chosen, in a direction on the screen. */
  #step([x, y]) {
    const here = document.activeElement?.closest?.("[data-at]");
    const tiles = this.#legal.map((at) => this.#tile(at)).filter(Boolean);
    if (!here) {
      tiles[0]?.focus();
      return;
    }
    const from = middleOf(here);
    let [best, least] = [null, Infinity];
    for (const tile of tiles) {
      const to = middleOf(tile);
      const [dx, dy] = [to[0] - from[0], to[1] - from[1]];
      const ahead = dx * x + dy * y;
      const aside = Math.abs(dx * y) + Math.abs(dy * x);
      const distance = ahead + 2 * aside;
      if (ahead > 1 && distance < least) [best, least] = [tile, distance];
    }
    best?.focus();
  }

  #tile([row, column]) {
    return this.part("seat-board").querySelector(`[data-at="${row},${column}"]`);
  }

  #focus() {
    const [first] = this.#legal;
    if (first) this.board.focus(first);
  }

  // -- showing

  #draw() {
    const options = { legal: this.#legal, selected: this.#selected };
    if (this.#turn) options.onTile = (row, column) => this.#chosen([row, column]);
    this.board.show(this.#position, options);
    const drawing = this.part("seat-board").querySelector("svg"); // a wide one scrolls on a phone
    drawing.style.minWidth = `${Math.round(drawing.viewBox.baseVal.width * LEAST_TILE)}px`;
    this.part("undo").disabled = !this.#selected;
    this.#drawPlayers(this.#position.outcome);
  }

  #drawPlayers(outcome) {
    const { turn, players, stage } = this.#position;
    const rows = players.map(({ color, name, fish, tiles, ejected }) => {
      const isYou = color === this.game.you;
      const isNow = stage !== "over" && (this.#turn ? isYou : color === turn);
      const said = [isYou && "you", ejected && "out", isNow && !outcome && "to act"].filter(Boolean).join(", ");
      return html(
        "tr",
        { class: [isNow && "now", ejected && "out"].filter(Boolean).join(" ") },
        html("th", { scope: "row" }, svgElement(badgeTree(color)), " ", outside(name, 32), said && html("small", {}, ` ${said}`)),
        html("td", {}, String(outcome?.fish[color] ?? fish)),
        html("td", {}, String(outcome?.tiles[color] ?? tiles)),
      );
    });
    this.part("players").replaceChildren(...rows);
  }

  #log(event) {
    const words = eventWords(event);
    if (!words) return;
    const name = this.names.get(event.color);
    const log = this.part("log");
    log.append(html("li", {}, ...(name === undefined ? [] : [outside(name, 32), " "]), words));
    log.scrollTop = log.scrollHeight;
  }

  #sayTurn() {
    const { method, legal } = this.#turn;
    const last = this.#lastWords();
    const what = method === "place" ? `place a penguin on one of ${legal.length} tiles.` : "choose the penguin that moves.";
    this.say(...last, `Your turn: ${what}`);
  }

  #saySomebodyElse() {
    const { turn, outcome } = this.#position;
    if (this.#turn || outcome || turn === null || turn === this.game.you) return;
    this.say(...this.#lastWords(), outside(this.names.get(turn) ?? turn, 32), " is to act.");
  }

  /** The last thing that somebody else did. */
  #lastWords() {
    const { events } = this.#position;
    const others = events.filter(({ event }) => event.color && event.color !== this.game.you && eventWords(event));
    const last = others.at(-1)?.event;
    return last ? [outside(this.names.get(last.color), 32), ` ${eventWords(last)}. `] : [];
  }

  #countDown(turn) {
    clearInterval(this.#ticking);
    const clock = this.part("clock");
    clock.className = "clock";
    clock.textContent = "";
    if (!turn || turn.budgetMs >= NO_CLOCK_MS) return;
    const end = performance.now() + turn.budgetMs + turn.bankMs;
    const tick = () => {
      const left = Math.max(0, Math.ceil((end - performance.now()) / 1000));
      clock.textContent = `${left} s left`;
      clock.classList.toggle("short", left <= 5);
    };
    tick();
    this.#ticking = setInterval(tick, 250);
  }
}

const isSame = (one, other) => one[0] === other[0] && one[1] === other[1];

function distinct(places) {
  return [...new Map(places.map((at) => [String(at), at])).values()];
}

function middleOf(element) {
  const { left, top, width, height } = element.getBoundingClientRect();
  return [left + width / 2, top + height / 2];
}
