// What the rules allow in a position, as far as a viewer has to know them.

/** The six directions, clockwise from the north, on even and on odd rows: [rows, columns]. */
const EVEN_ROW = [[-2, 0], [-1, 0], [1, 0], [2, 0], [1, -1], [-1, -1]];
const ODD_ROW = [[-2, 0], [-1, 1], [1, 1], [2, 0], [1, 0], [-1, 0]];

const FISH = {
  placement: "any",
  lift: "never",
  last_tile: "nobody",
  tie_break: "none",
  islands: "keep",
  ejected: "penguins_off",
  turn_order: "by_age",
  placement_order: "rounds",
};
const CLASSIC = {
  ...FISH,
  placement: "one_fish",
  lift: "player_turn",
  last_tile: "owner",
  tie_break: "tiles",
  islands: "remove",
  ejected: "with_tiles",
  turn_order: "youngest_then_seats",
};
const PRESETS = new Map([["fish", FISH], ["classic", CLASSIC]]);

/** All options by name, from a preset's name or from what differs from a preset. */
export function rulesOf(value) {
  const { preset = "fish", ...options } = typeof value === "string" ? { preset: value } : value;
  if (!PRESETS.has(preset)) throw new Error(`no rules are called ${String(preset).slice(0, 40)}`);
  return { ...PRESETS.get(preset), ...options };
}

/** How many penguins each of so many players has. */
export function penguinsFor(players) {
  return Math.max(6 - Math.max(players, 2), 1);
}

/** The places where a penguin can be put now, in order. */
export function legalPlacements(position, rules) {
  if (position.stage !== "placement" || position.turn === null) return [];
  const taken = takenIn(position);
  const found = [];
  position.board.forEach((row, r) =>
    row.forEach((fish, c) => {
      const fits = rules.placement === "any" ? fish > 0 : fish === 1;
      if (fits && !taken.has(`${r},${c}`)) found.push([r, c]);
    }),
  );
  return found;
}

/** The moves of whose turn it is, as [from, to], in order. */
export function legalMoves(position) {
  if (position.stage !== "movement" || position.turn === null) return [];
  const own = position.players.find((player) => player.color === position.turn).penguins;
  const taken = takenIn(position);
  return [...own]
    .sort(byPlace)
    .flatMap((from) => reached(position.board, taken, from).sort(byPlace).map((to) => [from, to]));
}

/** Whether a player has a penguin that can move. */
export function canMove(position, player) {
  const taken = takenIn(position);
  return player.penguins.some((from) => reached(position.board, taken, from).length > 0);
}

function byPlace([row, column], [otherRow, otherColumn]) {
  return row - otherRow || column - otherColumn;
}

function takenIn(position) {
  return new Set(position.players.flatMap((player) => player.penguins.map(String)));
}

/** Where a penguin can go: straight on in each direction, up to a hole or another penguin. */
function reached(board, taken, [row, column]) {
  const found = [];
  for (let direction = 0; direction < 6; direction += 1) {
    let [r, c] = step(row, column, direction);
    while (board[r]?.[c] > 0 && !taken.has(`${r},${c}`)) {
      found.push([r, c]);
      [r, c] = step(r, c, direction);
    }
  }
  return found;
}

function step(row, column, direction) {
  const [rows, columns] = (row % 2 ? ODD_ROW : EVEN_ROW)[direction];
  return [row + rows, column + columns];
}
