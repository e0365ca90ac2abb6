// What somebody wishes to play in the practice room: as the room's name, and as a link to share.

export const HUMAN = "human";

/**
 * The name of the room for a wish: {players, board, rules, hasClock, table}, of which board and
 * rules may be empty, for what is played in the tournament.
 */
export function roomOf({ players, board = "", rules = "", hasClock = true, table = "" }) {
  const options = [
    board && `board=${board.replaceAll(" ", "")}`,
    rules && `rules=${rules}`,
    !hasClock && "clock=none",
    table && `table=${table}`,
  ].filter(Boolean);
  return [`practice:${players.join(",")}`, ...options].join(";");
}

/** The part of a link after the question mark; whoever opens it sits down at the same table. */
export function queryOf({ players, board, rules, hasClock, table }) {
  const query = new URLSearchParams({ table, with: players.join(",") });
  if (board) query.set("board", board);
  if (rules) query.set("rules", rules);
  if (!hasClock) query.set("clock", "none");
  return query.toString();
}

/** The wish of a link; null if it has none. Whether it can be had is for the server to say. */
export function wishOf(query) {
  const given = new URLSearchParams(query);
  const table = given.get("table") ?? "";
  if (!/^[A-Za-z0-9_-]{1,24}$/.test(table)) return null;
  const part = (name) => (given.get(name) ?? "").replaceAll(";", "").slice(0, 80);
  const players = part("with").split(",").filter(Boolean);
  const hasClock = part("clock") !== "none" || !players.length;
  return { players, board: part("board"), rules: part("rules"), hasClock, table };
}

/** A code for a table that nobody guesses, in letters that nobody takes for one another. */
export function newCode() {
  const letters = "ABCDEFGHJKMNPQRSTUVWXYZ23456789";
  const drawn = crypto.getRandomValues(new Uint32Array(8));
  return Array.from(drawn, (number) => letters[number % letters.length]).join("");
}
