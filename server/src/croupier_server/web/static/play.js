// A person's seat: what is chosen on the page, and what is shown of the game.

import { Board } from "./board.js";
import { PlayerConnection, Protocol } from "./player-protocol.js";
import { Table } from "./table.js";
import { html, outside } from "./tree.js";
import { HUMAN, newCode, queryOf, roomOf, wishOf } from "./wish.js";
import { verdictWords } from "./words.js";

const KEPT = "croupier-seat"; // in this tab only: what coming back takes
const NAME = "croupier-name";

const part = (id) => document.getElementById(id);
const seat = part("seat");
const form = part("wish");

let invited = wishOf(location.search);
let wish = null; // what is played
let connection = null;
let table = null;
let trouble = null; // what the server said was wrong: {why, fix}
let replay = null;

// -- choosing

function showForm() {
  show({ wish: true });
  form.elements.name.value ||= stored(localStorage, NAME) ?? "";
  part("choices").hidden = invited !== null;
  part("invited").hidden = part("own").hidden = invited === null;
  if (invited) {
    const others = invited.players.filter((player) => player !== HUMAN);
    const against = others.length ? [", with ", outside(others.join(", "))] : [];
    part("invited").replaceChildren("You are invited to table ", outside(invited.table), ...against, ".");
  }
  form.elements.name.focus();
}

function chosen() {
  if (invited) return invited;
  const { player, board, other, rules, clock } = form.elements;
  const players = Array.from(player, (select) => select.value).filter(Boolean);
  return {
    players,
    board: board.value === "other" ? other.value : board.value,
    rules: rules.value,
    hasClock: clock ? clock.checked : true,
    table: players.includes(HUMAN) ? newCode() : "",
  };
}

/** Show these parts of the page and no others. */
function show({ wish: isChoosing = false, waiting = false, table: isPlaying = false }) {
  form.hidden = !isChoosing;
  part("waiting").hidden = !waiting;
  part("table").hidden = !isPlaying;
  part("after").hidden = true;
  replay?.close();
  replay = null;
  part("replay").replaceChildren();
}

function say(...parts) {
  part("state").replaceChildren(...parts);
}

/** Say what is wrong, and what to do about it. */
function complain(...texts) {
  const lines = texts.filter(Boolean).map((text) => html("p", {}, outside(text, 500)));
  part("problem").hidden = !lines.length;
  part("problem").replaceChildren(...lines);
}

// -- joining

function join(name) {
  store(localStorage, NAME, name);
  begin(new Protocol({ name, room: roomOf(wish) }));
}

function begin(protocol) {
  complain();
  trouble = null;
  connection?.leave();
  table = null;
  const url = `${seat.dataset.scheme}://${location.hostname}:${seat.dataset.port}`;
  const mine = new PlayerConnection(url, protocol, (happening) => {
    if (mine !== connection) return; // of a game that was left
    HEARD[happening.kind]?.(happening);
    keep(protocol);
  });
  connection = mine;
  say("Connecting…");
  mine.open();
}

/** Keep what coming back takes, until the visit is over. */
function keep(protocol) {
  const isOver = connection === null || protocol.game?.isOver;
  store(sessionStorage, KEPT, isOver ? null : JSON.stringify({ wish, protocol: protocol.kept() }));
}

function resume() {
  try {
    const kept = JSON.parse(stored(sessionStorage, KEPT));
    if (!kept?.protocol?.session) return false;
    ({ wish } = kept);
    begin(new Protocol({ kept: kept.protocol }));
    return true;
  } catch {
    return false; // of another version of this page
  }
}

const HEARD = {
  joined({ isBack }) {
    complain();
    if (connection.protocol.game) {
      sitDown(connection.protocol.game);
      if (isBack) table.say("You are back.");
      return;
    }
    const isSharing = wish.table !== "";
    show({ waiting: isSharing });
    const address = new URL(location.href);
    address.search = queryOf(wish);
    address.hash = "";
    part("link").value = address.href;
    say(isSharing ? "Waiting for the others…" : "The game begins…");
  },
  refused({ message }) {
    trouble = { why: message };
  },
  game({ game }) {
    sitDown(game);
  },
  events({ game, lines }) {
    if (table === null) sitDown(game);
    else table.add(lines);
  },
  turn({ turn }) {
    table?.toAct(turn);
  },
  game_end({ game }) {
    if (table === null) sitDown(game);
    table.end();
  },
  ejected({ verdict, detail, fix, playsOn }) {
    if (playsOn) return;
    const hasGivenUp = connection.protocol.isResigning;
    trouble = hasGivenUp ? { why: "You gave up." } : { why: outWords(verdict, detail), fix };
  },
  away({ tries }) {
    table?.pause();
    say(tries > 3 ? "No connection to the server. Trying again and again…" : "The connection is lost. Coming back…");
  },
  closed({ code, isOver }) {
    const { protocol } = connection;
    if (protocol.game?.isOver) {
      finish();
      return;
    }
    connection = null;
    const { why, fix } = trouble ?? { why: whyClosed(code, isOver) };
    if (table === null) {
      showForm();
      say();
      complain(why, fix);
    } else {
      table.pause();
      finish(why);
      complain(fix);
    }
  },
};

function outWords(verdict, detail) {
  return verdict === "withdrawn" ? detail : `You are out (${verdictWords(verdict)}): ${detail}`;
}

function whyClosed(code, isOver) {
  if (code === 1001) return "The server has stopped.";
  if (code === 4002) return "You play on in another tab or window.";
  if (code === 1000) return "The game is over.";
  return isOver ? "The server has ended the game." : "The server can't be reached. Check your network, then try again.";
}

// -- playing

function sitDown(game) {
  if (table?.game !== game) {
    part("seat-board").replaceChildren();
    const board = new Board(part("seat-board"), headerOf(game));
    table = new Table({ game, board, say, part, answer: (action) => {
      connection?.answer(action);
      if (connection) keep(connection.protocol);
    } });
  }
  show({ table: true });
  table.add(game.lines);
  part("resign").hidden = part("undo").hidden = false;
}

function headerOf({ game, players, rules, board }) {
  return { kind: "start", format: 1, game, board, rules, players };
}

/** The game is over for this seat. */
function finish(why = null) {
  part("after").hidden = part("look").hidden = false;
  part("sure").hidden = part("resign").hidden = part("undo").hidden = true;
  if (why) say(outside(why, 500));
  store(sessionStorage, KEPT, null);
  part("again").focus();
}

async function lookAgain() {
  const { Replay } = await import("./replay.js");
  const { game } = table;
  const root = html("div", { class: "replay" });
  show({});
  part("after").hidden = false;
  part("look").hidden = true;
  part("replay").replaceChildren(root);
  replay = new Replay(root, headerOf(game));
  replay.add(game.lines.map((line) => ({ obs: {}, ...line })));
  if (game.outcome) replay.add([{ seq: (game.lines.at(-1)?.seq ?? 0) + 1, event: { kind: "end", outcome: game.outcome }, obs: {} }]);
}

// -- what is pressed

form.addEventListener("submit", (event) => {
  event.preventDefault();
  wish = chosen();
  join(form.elements.name.value.trim());
});
form.elements.board.addEventListener("change", ({ target }) => {
  part("other").hidden = target.value !== "other";
});
part("own").addEventListener("click", () => {
  invited = null;
  history.replaceState(null, "", location.pathname);
  showForm();
});
part("copy").addEventListener("click", async () => {
  part("link").select();
  try {
    await navigator.clipboard.writeText(part("link").value);
    say("The link is copied. Waiting for the others…");
  } catch {
    say("Copy the marked link. Waiting for the others…"); // clipboards need https
  }
});
part("cancel").addEventListener("click", () => leave());
part("change").addEventListener("click", () => leave());
part("again").addEventListener("click", () => {
  if (!wish) return leave();
  const { name } = (connection ?? { protocol: { name: stored(localStorage, NAME) ?? "" } }).protocol;
  return join(name);
});
part("look").addEventListener("click", lookAgain);
part("undo").addEventListener("click", () => table?.undo());
part("resign").addEventListener("click", () => {
  part("sure").hidden = false;
  part("no").focus();
});
part("no").addEventListener("click", () => {
  part("sure").hidden = true;
  part("resign").focus();
});
part("yes").addEventListener("click", () => {
  part("sure").hidden = true;
  table?.pause();
  say("You give up; that is told at your next turn.");
  connection?.resign();
  if (connection) keep(connection.protocol);
});
addEventListener("online", () => connection?.retry());
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) connection?.retry();
});

function leave() {
  const left = connection;
  connection = null;
  left?.leave();
  store(sessionStorage, KEPT, null);
  complain();
  say();
  showForm();
}

// -- what browsers keep, where they are let

function stored(storage, key) {
  try {
    return storage.getItem(key);
  } catch {
    return null;
  }
}

function store(storage, key, value) {
  try {
    if (value === null) storage.removeItem(key);
    else storage.setItem(key, value);
  } catch {
    // then there is no coming back after a reload
  }
}

if (!resume()) showForm();
