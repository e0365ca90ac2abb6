// The board as a drawing. The server draws the same, element for element (board_svg.py), so that
// the first board is there before any script runs.

import { patch, svgElement } from "./tree.js";

const SHAPES = {
  red: ["circle", { cx: 0, cy: -6, r: 22 }],
  white: ["rect", { x: -20, y: -26, width: 40, height: 40, rx: 5 }],
  brown: ["polygon", { points: "0,-33 26,13 -26,13" }],
  black: ["polygon", { points: "0,-31 23,-8 0,15 -23,-8" }],
};
const LETTERS = { red: "R", white: "W", brown: "N", black: "B" };
const FLAT = "-40,0 -20,-35 20,-35 40,0 20,35 -20,35";
const UPRIGHT = "-35,20 -35,-20 0,-40 35,-20 35,20 0,40";
const FISH_AT = [
  [],
  [[0, 14]],
  [[-9, 14], [9, 14]],
  [[-18, 14], [0, 14], [18, 14]],
  [[-9, 9], [9, 9], [-9, 23], [9, 23]],
  [[-18, 9], [0, 9], [18, 9], [-9, 23], [9, 23]],
];
const MARGIN = 6;

/** Whether a board is drawn turned by a quarter, as the boxed game's lies on the table. */
export function isTurned({ board }) {
  return board.length === 15 && board.every((row) => row.length === 4 && row.every(Boolean));
}

/** The drawing of a position: what show() takes, as a value. */
export function boardTree(header, position, options = {}) {
  const { legal = [], selected = null, origin = null, onTile = null } = options;
  const layout = layoutOf(header);
  const marks = { legal: new Set(legal.map(String)), origin: String(origin ?? selected) };
  const isPlayed = onTile !== null;
  return [
    "svg",
    {
      class: `board${isPlayed ? " played" : ""}`,
      viewBox: layout.viewBox,
      role: isPlayed ? "group" : "img",
      "aria-label": titleOf(position),
    },
    ["desc", {}, position.players.map(playerText).join(" ")],
    ["g", { class: "tiles" }, ...tilesOf(layout, position, marks, isPlayed)],
    ["g", { class: "trail" }, ...trailOf(layout, position.last)],
    ["g", { class: "penguins" }, ...penguinsOf(layout, position)],
  ];
}

/** Draws positions of one game into an element, in place of what the server drew there. */
export class Board {
  #host;
  #header;
  #tree = null;
  #svg = null;
  #onTile = null;

  constructor(host, header) {
    this.#host = host;
    this.#header = header;
  }

  /** Show a position; `onTile(row, column)` is told of the tile that was clicked or entered. */
  show(position, options = {}) {
    const tree = boardTree(this.#header, position, options);
    this.#onTile = options.onTile ?? null;
    if (this.#svg) patch(this.#svg, this.#tree, tree);
    else this.#begin(tree);
    this.#tree = tree;
  }

  /** Put the focus on a tile that can be chosen. */
  focus([row, column]) {
    this.#svg?.querySelector(`[data-at="${row},${column}"]`)?.focus();
  }

  #begin(tree) {
    this.#svg = svgElement(tree);
    this.#host.replaceChildren(this.#svg);
    this.#svg.addEventListener("click", (event) => this.#told(event));
    this.#svg.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      if (this.#told(event)) event.preventDefault();
    });
  }

  #told(event) {
    const at = event.target.closest("[data-at]")?.dataset.at;
    if (!at || !this.#onTile) return false;
    const [row, column] = at.split(",").map(Number);
    this.#onTile(row, column);
    return true;
  }
}

function layoutOf(header) {
  const rows = header.board.length;
  const columns = Math.max(...header.board.map((row) => row.length));
  const turned = isTurned(header);
  const width = 60 * (2 * (columns - 1) + (rows > 1 ? 1 : 0)) + 80;
  const height = 35 * (rows - 1) + 70;
  const across = (row, column) => 60 * (2 * column + (row % 2)) + 40;
  const down = (row) => 35 * row + 35;
  const size = turned ? [height, width] : [width, height];
  return {
    board: header.board,
    turned,
    outline: turned ? UPRIGHT : FLAT,
    viewBox: `${-MARGIN} ${-MARGIN} ${size[0] + 2 * MARGIN} ${size[1] + 2 * MARGIN}`,
    // a quarter to the left: what was at the right is on top
    place: ([r, c]) => (turned ? [down(r), width - across(r, c)] : [across(r, c), down(r)]),
  };
}

function tilesOf(layout, position, marks, isPlayed) {
  const standing = standingOf(position);
  const found = [];
  layout.board.forEach((row, r) =>
    row.forEach((fish, c) => {
      if (!fish) return;
      const [x, y] = layout.place([r, c]);
      const at = { "data-at": `${r},${c}`, transform: `translate(${x} ${y})` };
      const left = position.board[r][c];
      if (!left) found.push(["g", { class: "hole", ...at }]);
      else found.push(tileOf(layout, position, marks, isPlayed, at, left, standing.get(`${r},${c}`)));
    }),
  );
  return found;
}

function tileOf(layout, position, marks, isPlayed, at, fish, player) {
  const name = at["data-at"];
  const isLegal = marks.legal.has(name);
  const classes = ["tile"];
  if (isLegal) classes.push("legal");
  if (marks.origin === name) classes.push("origin");
  if (String(position.last?.to) === name) classes.push("last");
  const said = `[${name}] ${fish} fish${player ? `, ${player.color} penguin` : ""}`;
  const isChosen = isPlayed && (isLegal || marks.origin === name || player?.color === position.turn);
  const chosen = isChosen ? { tabindex: "0", role: "button", "aria-label": said } : {};
  const drawn = player ? [countOf(fish, 31, "under")] : [countOf(fish, fish > 3 ? -6 : 0), fishOf(fish)];
  return [
    "g",
    { class: classes.join(" "), ...at, ...chosen },
    ["title", {}, said],
    ["polygon", { class: "ice", points: layout.outline }],
    ["text", { class: "spot", y: "-24" }, name],
    ...drawn,
  ];
}

function countOf(fish, y, more = "") {
  const size = fish > 99999 ? "tiny" : fish > 999 ? "small" : "";
  const classes = ["count", more, size].filter(Boolean).join(" ");
  return ["text", { class: classes, y: String(y) }, String(fish)];
}

function fishOf(fish) {
  const places = FISH_AT[fish] ?? FISH_AT[1];
  const one = ([x, y]) => `M${x - 8} ${y}q5-7 10 0l6-5v10l-6-5q-5 7-10 0z`;
  return ["path", { class: "fish", d: places.map(one).join("") }];
}

function trailOf(layout, last) {
  if (!last?.from || !last.to) return [];
  const [x1, y1] = layout.place(last.from);
  const [x2, y2] = edgeOf(layout, last.from, last.to);
  return [
    ["path", { class: `path ${last.color}`, d: `M${x1} ${y1}L${x2} ${y2}` }],
    ["circle", { class: `left ${last.color}`, cx: x1, cy: y1, r: "9" }],
  ].map(inTexts);
}

/** Where a move comes to the rim of its last tile: the number there stays free. */
function edgeOf(layout, from, to) {
  const [x1, y1] = layout.place(from);
  const [x2, y2] = layout.place(to);
  const [x, y] = [Math.sign(x2 - x1), Math.sign(y2 - y1)];
  const [across, down] = !x || !y ? [35, 35] : layout.turned ? [17, 30] : [30, 17];
  return [x2 - across * x, y2 - down * y];
}

function penguinsOf(layout, position) {
  return position.players.flatMap((player) => player.penguins.map((at) => {
    const [x, y] = layout.place(at);
    const letter = LETTERS[player.color];
    const isLast = String(position.last?.to) === String(at);
    const classes = ["penguin", player.color];
    if (player.ejected) classes.push("ejected");
    if (isLast) classes.push("last");
    return [
      "g",
      { class: classes.join(" "), transform: `translate(${x} ${y})` },
      shapeOf(player.color),
      ["text", { class: "letter", y: "2" }, player.ejected ? letter.toLowerCase() : letter],
    ];
  }));
}

function shapeOf(color) {
  const [tag, attributes] = SHAPES[color];
  return inTexts([tag, { class: "shape", ...attributes }]);
}

function inTexts([tag, attributes]) {
  const texts = Object.entries(attributes).map(([name, value]) => [name, String(value)]);
  return [tag, Object.fromEntries(texts)];
}

/** A colour's mark beside a name: its shape with its letter. */
export function badgeTree(color) {
  const letter = ["text", { class: "letter", y: "2" }, LETTERS[color]];
  return [
    "svg",
    { class: "token", viewBox: "-34 -40 68 68", "aria-hidden": "true" },
    ["g", { class: `penguin ${color}` }, shapeOf(color), letter],
  ];
}

function standingOf(position) {
  return new Map(position.players.flatMap((one) => one.penguins.map((at) => [String(at), one])));
}

function titleOf({ ply, turn, stage, last }) {
  return `Board after ply ${ply}${lastText(last)}; ${nowText(stage, turn)}`;
}

function nowText(stage, turn) {
  if (stage === "over") return "the game is over";
  if (!turn) return "nobody can move";
  return `${turn} to ${stage === "placement" ? "place" : "move"}`;
}

function lastText(last) {
  if (!last) return "";
  if (last.kind === "eject") return `; ${last.color} was ejected`;
  if (!last.from) return `; ${last.color} placed at [${last.to}]`;
  return `; ${last.color} moved from [${last.from}] to [${last.to}]`;
}

function playerText({ color, fish, tiles, penguins, ejected }) {
  const where = penguins.length ? ` Penguins at ${penguins.map((at) => `[${at}]`).join(" ")}.` : "";
  return ejected ? `${color}: ejected.${where}` : `${color}: ${fish} fish, ${tiles} tiles.${where}`;
}
