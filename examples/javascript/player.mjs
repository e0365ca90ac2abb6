// A player of Fish that knows the rules and looks one move ahead.
//
//     node player.mjs ws://127.0.0.1:8000 Pingu
//
// It has four parts: the board, the choice of an action, the answers to the server, and the
// connection. For a player of your own, change the second part; the others can stay as they are.

import WebSocket from "ws";

// ---- The board ---------------------------------------------------------------------------------
//
// A position is [row, column]. Odd rows are shifted right by half a tile, so a step to the left or
// right changes the column in odd rows or in even rows, never in both.

// By direction: the step from an even row, and the step from an odd row.
const DIRECTIONS = [
  { even: [-2, 0], odd: [-2, 0] }, // N
  { even: [-1, 0], odd: [-1, 1] }, // NE
  { even: [1, 0], odd: [1, 1] }, // SE
  { even: [2, 0], odd: [2, 0] }, // S
  { even: [1, -1], odd: [1, 0] }, // SW
  { even: [-1, -1], odd: [-1, 0] }, // NW
];

function step([row, column], direction) {
  const [down, right] = row % 2 === 0 ? direction.even : direction.odd;
  return [row + down, column + right];
}

const key = ([row, column]) => `${row},${column}`;

// The fish on a tile; 0 for a hole, and for what is not on the board at all.
const fishAt = (board, [row, column]) => board[row]?.[column] ?? 0;

// Where penguins stand, as a set of keys. The penguins of ejected players count as long as they are
// listed: by some rules they stay in the way.
const taken = (players) => new Set(players.flatMap((player) => player.penguins).map(key));

// All positions that a penguin can reach in one move: along each of the six directions, up to the
// first hole, edge or penguin.
function reachable(board, occupied, from) {
  const found = [];
  for (const direction of DIRECTIONS) {
    let at = step(from, direction);
    while (fishAt(board, at) > 0 && !occupied.has(key(at))) {
      found.push(at);
      at = step(at, direction);
    }
  }
  return found;
}

// All legal placements: free tiles; with the rule `one_fish`, only those with exactly one fish.
function placements({ board, players }, rules) {
  const occupied = taken(players);
  const onlyOneFish = rules === "classic" || rules.placement === "one_fish";
  const found = [];
  board.forEach((row, r) =>
    row.forEach((fish, c) => {
      const isAllowed = onlyOneFish ? fish === 1 : fish > 0;
      if (isAllowed && !occupied.has(key([r, c]))) found.push([r, c]);
    }),
  );
  return found;
}

// All legal moves of a colour, each as [from, to].
function moves({ board, players }, color) {
  const occupied = taken(players);
  const { penguins } = players.find((player) => player.color === color);
  return penguins.flatMap((from) => reachable(board, occupied, from).map((to) => [from, to]));
}

// The state after a move, as far as we need it: the tile that was left is a hole now.
function afterMove({ board, players }, color, [from, to]) {
  return {
    board: board.map((row, r) => row.map((fish, c) => (r === from[0] && c === from[1] ? 0 : fish))),
    players: players.map((player) => ({
      ...player,
      penguins: player.penguins.map((at) =>
        player.color === color && key(at) === key(from) ? to : at,
      ),
    })),
  };
}

// ---- The choice --------------------------------------------------------------------------------

// The element with the highest score; the first of them if several have it.
function best(actions, score) {
  let [chosen, highest] = [undefined, -Infinity];
  for (const action of actions) {
    const value = score(action);
    if (value > highest) [chosen, highest] = [action, value];
  }
  return chosen;
}

// A good place has many fish within reach, and few of them under itself: the tile below a penguin
// is worth something only once it moves away.
function choosePlacement(state, rules) {
  const occupied = taken(state.players);
  const inReach = (at) =>
    reachable(state.board, occupied, at).reduce((sum, to) => sum + fishAt(state.board, to), 0);
  return best(placements(state, rules), inReach);
}

// A good move takes many fish, leaves us many ways to go on, and the others few.
function chooseMove(state, color) {
  return best(moves(state, color), (move) => {
    const next = afterMove(state, color, move);
    const freedom = (player) => Math.min(moves(next, player.color).length, 20);
    let score = fishAt(state.board, move[0]);
    for (const player of next.players) {
      score += player.color === color ? 0.2 * freedom(player) : -0.1 * freedom(player);
    }
    return score;
  });
}

// ---- The answers -------------------------------------------------------------------------------

const rulesOf = new Map(); // by game: its rules, which come with game_start
const lastEvent = new Map(); // by running game: the number of the last event that we know of
const answers = new Map(); // by request: what we answered, should it be asked again
let hasStarted = false;

const NO_METHOD = -32601; // what a method of a later server is answered with

// The result of a request.
function resultOf({ method, params }) {
  const { game, you, state } = params;
  switch (method) {
    case "tournament_start":
      hasStarted = true;
      return true;
    case "game_start":
      rulesOf.set(game, params.rules);
      lastEvent.set(game, 0);
      console.log(`game ${game}: ${params.players.map((p) => `${p.name} (${p.color})`).join(", ")}`);
      return true;
    case "place":
      return choosePlacement(state, rulesOf.get(game));
    case "move":
      return chooseMove(state, you);
    case "tournament_end":
      console.log(`the winners: ${params.winners.join(", ") || "nobody"}`);
      return true;
    default:
      throw Object.assign(new Error(`no method ${method}`), { code: NO_METHOD });
  }
}

// The reply to a request. The same request gets the same reply, however often it comes. An error
// puts us out; but nobody has to wait for us, and its message tells us where to look.
function replyTo(request) {
  if (!answers.has(request.id)) {
    const reply = { jsonrpc: "2.0", id: request.id };
    try {
      reply.result = resultOf(request);
    } catch (problem) {
      console.error(problem);
      const code = Number.isInteger(problem.code) ? problem.code : 1;
      reply.error = { code, message: String(problem).slice(0, 1000) };
    }
    answers.set(request.id, JSON.stringify(reply));
  }
  return answers.get(request.id);
}

// What is only told. There may be more kinds later, so we pass over what we don't know.
function hear({ method, params }) {
  if (method === "game_end") {
    rulesOf.delete(params.game);
    lastEvent.delete(params.game);
    const { ranking } = params.outcome ?? { ranking: [] };
    console.log(`game ${params.game} is over: ${ranking.map((c) => c.join(" = ")).join(", ")}`);
  } else if (method === "ejected") {
    console.error(`ejected (${params.verdict}): ${params.detail}\n${params.fix}`);
  }
}

// ---- The connection ----------------------------------------------------------------------------

// After these there is no coming back: all is over, the server stops, we were ejected or refused,
// or another connection has taken our place.
const FOR_GOOD = [1000, 1001, 4000, 4001, 4002];
const NO_SESSION = -32004;
const TRIES = 10;

const [url = "ws://127.0.0.1:8000", name = "Pingu"] = process.argv.slice(2);
let session; // takes our place up again after a lost connection
let failures = 0; // connections in a row that came to nothing

function connect() {
  const socket = new WebSocket(url);
  let mayJoinAnew = false;

  socket.on("open", () => {
    const params = { protocol: 1, name };
    if (session) {
      params.session = session;
      params.last_event = Object.fromEntries(lastEvent);
    }
    socket.send(JSON.stringify({ jsonrpc: "2.0", id: "join", method: "join", params }));
  });

  socket.on("message", (text) => {
    const message = JSON.parse(text);
    if (message.params?.events?.length > 0) {
      lastEvent.set(message.params.game, message.params.events.at(-1).seq);
    }
    if (message.method && message.id !== undefined) {
      socket.send(replyTo(message));
    } else if (message.method) {
      hear(message);
    } else if (message.result) {
      console.log(`${session ? "back" : "joined"} as ${message.result.name}`);
      session = message.result.session;
      failures = 0;
    } else if (message.error) {
      // Before the tournament starts, who loses its connection has given up its place.
      mayJoinAnew = message.error.code === NO_SESSION && !hasStarted;
      if (!mayJoinAnew) console.error(`refused: ${message.error.message}`);
    }
  });

  socket.on("error", (problem) => console.error(`${url}: ${problem.message}`));

  socket.on("close", (code, reason) => {
    if (mayJoinAnew) {
      session = undefined;
      connect();
    } else if (FOR_GOOD.includes(code)) {
      process.exitCode = code === 1000 ? 0 : 1;
      console.log(`closed: ${code} ${reason}`);
    } else if ((failures += 1) < TRIES) {
      setTimeout(connect, 100 * failures);
    } else {
      process.exitCode = 1;
    }
  });
}

connect();
