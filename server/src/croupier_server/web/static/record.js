// Records read, and the positions that they lead through. A record may come from anybody, so all
// that is used of it is looked at first.

import { canMove, penguinsFor, rulesOf } from "./rules.js";

export const FORMAT = 1;
export const COLORS = ["red", "white", "brown", "black"];
const MAX_TILES = 1600;
const FOOTERS = new Set(["end", "interrupted"]);

/**
 * A record as {header, lines, footer, flaw}: header is the event of its first line, lines are all
 * that follow, footer is the last of them, or null with `flaw` saying that the file is cut off.
 * Whatever is no record is refused with an Error that names the line.
 */
export function parseRecord(text) {
  const raw = text.split("\n");
  const rest = raw.pop();
  const all = raw.map((line, at) => parseLine(line.replace(/\r$/, ""), at));
  if (!all.length) throw new Error(rest ? "the first line is cut off" : "the record is empty");
  const header = all[0].event;
  checkHeader(header);
  const lines = all.slice(1);
  const end = lines.findIndex((line) => FOOTERS.has(line.event.kind));
  if (end >= 0 && (end < lines.length - 1 || rest)) {
    throw new Error(`line ${end + 3}: something follows after the end of the game`);
  }
  const footer = end >= 0 ? lines[end] : null;
  const flaw = footer ? null : `It is cut off after ${all.length} whole lines: it has no end.`;
  return { header, lines, footer, flaw };
}

function parseLine(raw, at) {
  let line;
  try {
    line = JSON.parse(raw);
  } catch {
    throw new Error(`line ${at + 1} is not a line of JSON`);
  }
  if (!isObject(line) || !isObject(line.event) || typeof line.event.kind !== "string") {
    throw new Error(`line ${at + 1} is not a line of a record`);
  }
  if (line.seq !== at) throw new Error(`line ${at + 1} has number ${shown(line.seq)}, not ${at}`);
  return { ...line, obs: isObject(line.obs) ? line.obs : {} };
}

function checkHeader(header) {
  if (header.kind !== "start") throw new Error("line 1 is not the start of a game");
  if (header.format !== FORMAT) {
    const found = shown(header.format);
    throw new Error(`its format is ${found}, and this page reads format ${FORMAT}`);
  }
  const { board, players } = header;
  const isBoard = Array.isArray(board) && board.length > 0 && board.every(Array.isArray);
  const size = isBoard ? board.length * Math.max(...board.map((row) => row.length)) : 0;
  if (size < 1 || size > MAX_TILES) throw new Error(`line 1 has no board of 1 to ${MAX_TILES} tiles`);
  if (!board.flat().every((fish) => isCount(fish))) throw new Error("line 1: no numbers of fish");
  const isSeat = (one) => isObject(one) && COLORS.includes(one.color) && typeof one.name === "string";
  if (!Array.isArray(players) || !players.length || !players.every(isSeat)) {
    throw new Error("line 1: the players are wrong");
  }
  if (new Set(players.map((one) => one.color)).size < players.length) {
    throw new Error("line 1: two players have one colour");
  }
  if (typeof header.rules !== "string" && !isObject(header.rules)) {
    throw new Error("line 1: the rules are wrong");
  }
  rulesOf(header.rules);
}

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const isCount = (value) => Number.isSafeInteger(value) && value >= 0;
const shown = (value) => String(JSON.stringify(value)).slice(0, 40);

/**
 * The positions of a game, one for its start and one for each ply: a placement, a move or an
 * ejection, with all that followed from it. `positions[n].ply` is n.
 */
export class Timeline {
  constructor(header) {
    checkHeader(header);
    this.header = header;
    this.rules = rulesOf(header.rules);
    this.interrupted = null; // why the game was not played to its end
    this.positions = [startOf(header)];
    this.penguinsEach = penguinsFor(header.players.length);
    this.#pass(this.positions[0], 0);
  }

  /** Take the next line; one that was taken before changes nothing. */
  push(line) {
    const { event, seq } = line;
    const now = this.positions.at(-1);
    if (seq <= now.seq) return;
    if (seq !== now.seq + 1) throw new Error(`line ${seq + 1} does not follow on line ${now.seq + 1}`);
    const obs = isObject(line.obs) ? line.obs : {};
    const position = isPly(event) ? following(now, obs) : now;
    try {
      this.#happen(position, event, obs);
    } catch (problem) {
      throw new Error(`line ${seq + 1}: ${problem.message}`);
    }
    position.seq = seq;
    position.events = [...position.events, { seq, event, obs }];
    if (position !== now) this.positions.push(position);
  }

  #happen(position, event, obs) {
    const change = CHANGES.get(event.kind);
    if (change) {
      const seat = position.players.findIndex((player) => player.color === event.color);
      if (seat < 0) throw new Error(`no player is ${shown(event.color)}`);
      const next = position.players.findIndex((player) => player.color === position.turn);
      change({ position, player: position.players[seat], event, obs, rules: this.rules });
      if (event.phase === "game_start") this.#count(position);
      if (event.kind === "eject") this.#pass(position, Math.max(next, 0));
      else if (PASSING.has(event.kind)) this.#pass(position, seat + 1);
    } else if (event.kind === "sink") {
      for (const at of event.at) remove(position, at);
    } else if (event.kind === "end") {
      Object.assign(position, { outcome: outcomeOf(event), stage: "over", turn: null });
    } else if (event.kind === "interrupted") {
      this.interrupted = String(obs.reason ?? "");
    } // any other kind is of a later version
  }

  /** Count who is there at the start: the number of penguins follows from it. */
  #count(position) {
    this.penguinsEach = penguinsFor(position.players.filter((one) => !one.ejected).length);
  }

  /** Find whose turn it is, beginning with a seat. */
  #pass(position, seat) {
    const { players } = position;
    if (position.stage === "placement") {
      const placer = this.#placer(players);
      if (placer) {
        position.turn = placer.color;
        return;
      }
      position.stage = "movement";
      seat = 0;
    }
    const order = players.map((_, at) => players[(seat + at) % players.length]);
    const mover = order.find((player) => !player.ejected && canMove(position, player));
    position.turn = mover?.color ?? null;
  }

  #placer(players) {
    const waiting = players.filter(
      (player) => !player.ejected && player.penguins.length < this.penguinsEach,
    );
    const fewest = Math.min(...waiting.map((player) => player.penguins.length));
    const isBack = this.rules.placement_order === "snake" && fewest % 2 === 1;
    return (isBack ? waiting.reverse() : waiting).find((one) => one.penguins.length === fewest);
  }
}

const PASSING = new Set(["place", "move", "skip"]);

/** By kind of an event of a player: what it changes. */
const CHANGES = new Map([
  ["place", ({ position, player, event, obs }) => {
    const to = spotOf(position, event.at);
    player.penguins.push(to);
    player.think_ms = thinkOf(obs);
    position.last = { kind: "place", color: player.color, from: null, to };
  }],
  ["move", ({ position, player, event, obs }) => {
    const [from, to] = [spotOf(position, event.from), spotOf(position, event.to)];
    const slot = player.penguins.findIndex((at) => String(at) === String(from));
    if (slot < 0) throw new Error(`no ${player.color} penguin is at ${shown(from)}`);
    player.penguins[slot] = to;
    player.fish += countOf(event.fish);
    player.tiles += 1;
    player.think_ms = thinkOf(obs);
    remove(position, from);
    position.last = { kind: "move", color: player.color, from, to };
  }],
  ["skip", () => {}],
  ["lift", ({ position, player, event, rules }) => {
    const gone = new Set(event.at.map(String));
    player.penguins = player.penguins.filter((at) => !gone.has(String(at)));
    for (const at of event.at) remove(position, at);
    player.fish += countOf(event.fish);
    if (rules.last_tile === "owner") player.tiles += gone.size;
  }],
  ["credit", ({ player, event }) => {
    player.fish += countOf(event.fish);
    player.tiles += countOf(event.tiles);
  }],
  ["eject", ({ position, player, event, rules }) => {
    if (rules.ejected === "with_tiles") for (const at of player.penguins) remove(position, at);
    if (rules.ejected !== "leave_blocking") player.penguins = [];
    Object.assign(player, { fish: 0, tiles: 0, ejected: true, verdict: String(event.verdict) });
    if (position.ply > 0) position.last ??= { kind: "eject", color: player.color, from: null, to: null };
  }],
]);

function isPly({ kind, phase, verdict }) {
  if (kind === "eject") return phase !== "game_start" && verdict !== "no_room";
  return kind === "place" || kind === "move";
}

function startOf({ board, players }) {
  const width = Math.max(...board.map((row) => row.length));
  return {
    seq: 0,
    ply: 0,
    board: board.map((row) => Array.from({ length: width }, (_, at) => row[at] ?? 0)),
    players: players.map(({ color, name }) => ({
      color,
      name,
      fish: 0,
      tiles: 0,
      penguins: [],
      ejected: false,
      verdict: null,
      think_ms: null,
    })),
    turn: null,
    stage: "placement",
    last: null,
    outcome: null,
    obs: {},
    events: [],
  };
}

/** The position of the next ply, before anything has changed in it. */
function following(now, obs) {
  return {
    ...now,
    ply: now.ply + 1,
    board: now.board.map((row) => [...row]),
    players: now.players.map((player) => ({ ...player, penguins: [...player.penguins] })),
    last: null,
    obs,
    events: [],
  };
}

function remove(position, at) {
  const [row, column] = spotOf(position, at);
  position.board[row][column] = 0;
}

function spotOf({ board }, at) {
  const [row, column] = Array.isArray(at) ? at : [];
  if (!isCount(row) || !isCount(column) || !(column < (board[row]?.length ?? 0))) {
    throw new Error(`${shown(at)} is not on the board`);
  }
  return [row, column];
}

function countOf(value) {
  if (!isCount(value)) throw new Error(`${shown(value)} is no number of fish or tiles`);
  return value;
}

function thinkOf(obs) {
  return isCount(obs.think_ms) ? obs.think_ms : null;
}

function outcomeOf({ outcome }) {
  const groups = isObject(outcome) ? outcome.ranking : null;
  const isGroup = (one) => Array.isArray(one) && one.every((color) => COLORS.includes(color));
  if (!Array.isArray(groups) || !groups.every(isGroup)) throw new Error("the end has no ranking");
  return outcome;
}
