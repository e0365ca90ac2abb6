// The browser's seat without a browser: plays the first or the last legal action.
//
//     node seat.mjs MODULE URL '{"name": ..., "room": ..., "waitMs": ..., "resignAt": ...}'
//
// Prints what is heard as lines of JSON, and at last {"kind": "kept"} with what it keeps.

import { pathToFileURL } from "node:url";
import WebSocket from "ws";

const [module, url, options] = process.argv.slice(2);
const { name, room, waitMs = 0, resignAt = Infinity, reloadAt = Infinity } = JSON.parse(options);
const { PlayerConnection, Protocol } = await import(pathToFileURL(module).href);

const print = (value) => console.log(JSON.stringify(value));
let turns = 0;
let connection;

function hear(happening) {
  const { kind, game, turn, ...more } = happening;
  print({ kind, ...more, ...(turn ? { method: turn.method, id: turn.id } : {}) });
  if (kind === "turn") setTimeout(() => act(turn), waitMs);
  if (kind === "closed") print({ ...connection.protocol.kept(), kind: "kept" });
}

function act(turn) {
  turns += 1;
  if (turns >= resignAt) connection.resign();
  else if (turns === reloadAt) reload();
  else connection.answer(turns % 2 ? turn.legal[0] : turn.legal.at(-1));
}

// As when the page is loaded again: all that is left is what was kept, as JSON.
function reload() {
  const kept = JSON.parse(JSON.stringify(connection.protocol.kept()));
  connection.hear = () => {};
  connection.leave();
  begin(new Protocol({ kept }));
}

function begin(protocol) {
  connection = new PlayerConnection(url, protocol, hear, { WebSocket });
  connection.open();
}

begin(new Protocol({ name, room }));
