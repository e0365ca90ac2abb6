// A player for Node: a JSON message to a line, on standard input and output. It has the host list
// the legal actions, and tries each. console.log would write among the replies: use console.error.

import { createInterface } from "node:readline";

// By direction, a step from an even row and one from an odd row: odd rows are shifted right.
const DIRECTIONS = [
  [[-2, 0], [-2, 0]],
  [[-1, 0], [-1, 1]],
  [[1, 0], [1, 1]],
  [[2, 0], [2, 0]],
  [[1, -1], [1, 0]],
  [[-1, -1], [-1, 0]],
];

// The fish on a tile; 0 for a hole, and for what is outside of the board.
const fishAt = (board, [row, column]) => board[row]?.[column] ?? 0;

// All tiles that a penguin reaches from a tile in one move.
function reachable(board, isTaken, from) {
  const found = [];
  for (const steps of DIRECTIONS) {
    for (let at = from; ; found.push(at)) {
      const [down, right] = steps[at[0] % 2];
      at = [at[0] + down, at[1] + right];
      if (fishAt(board, at) === 0 || isTaken(at)) break;
    }
  }
  return found;
}

// What a legal action is worth: the fish that we get, and our ways to go on, less those of others.
function worth({ board, players }, you, action) {
  const isPlacement = typeof action[0] === "number";
  const [from, to] = isPlacement ? [null, action] : action;
  const after = players.map(({ color, penguins }) => ({
    color,
    penguins: penguins.map((at) => (color === you && String(at) === String(from) ? to : at)),
  }));
  const taken = new Set(after.flatMap(({ penguins }) => penguins).map(String));
  if (from) taken.add(String(from)); // it is a hole now, which is as much in the way
  const reach = (at) => reachable(board, (other) => taken.has(String(other)), at);
  if (isPlacement) {
    return reach(to).reduce((sum, at) => sum + fishAt(board, at), 8 * fishAt(board, to));
  }
  let value = fishAt(board, from) + fishAt(board, to);
  for (const { color, penguins } of after) {
    const room = penguins.reduce((sum, at) => sum + reach(at).length, 0);
    value += color === you ? 0.2 * room : -0.1 * room;
  }
  return value;
}

function choose({ state, you, legal_actions: actions }) {
  let [best, most] = [undefined, -Infinity];
  for (const action of actions) {
    const value = worth(state, you, action);
    if (value > most) [best, most] = [action, value];
  }
  return best;
}

const answers = {
  hello: () => ({ legal_actions: true }),
  tournament_start: () => true,
  game_start: () => true,
  place: choose,
  move: choose,
  tournament_end: () => true,
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id !== undefined) {
    const reply = { jsonrpc: "2.0", id };
    if (Object.hasOwn(answers, method)) reply.result = answers[method](params);
    else reply.error = { code: -32601, message: `no method ${method}` };
    process.stdout.write(`${JSON.stringify(reply)}\n`);
  } else if (method === "ejected") {
    console.error(`out: ${params.detail}`);
  }
}
