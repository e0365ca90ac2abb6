// What happened, in words and as parts of a page.

import { html, outside } from "./tree.js";

const KINDS = {
  place: (event) => `places at ${spot(event.at)}`,
  move: (event) => `moves ${spot(event.from)} → ${spot(event.to)}, +${event.fish}`,
  skip: () => "can't move",
  lift: (event) => `leaves the board from ${spots(event.at)}, +${event.fish}`,
  credit: (event) => `keeps its last ${event.tiles === 1 ? "tile" : "tiles"}, +${event.fish}`,
  eject: (event) => `is out: ${verdictWords(event.verdict)}`,
};

/** An event in words, without whose it is; of a kind that is not known, nothing. */
export function eventWords(event) {
  if (event.kind === "sink") return `ice sinks: ${spots(event.at)}`;
  return Object.hasOwn(KINDS, event.kind) ? KINDS[event.kind](event) : "";
}

/** A verdict in words: `illegal action`. */
export function verdictWords(verdict) {
  return String(verdict).replaceAll("_", " ").slice(0, 40);
}

/** A span of time, short: `240 ms`, `1.2 s`, `3 min 5 s`. */
export function span(ms) {
  if (ms < 1000) return `${ms} ms`;
  if (ms < 60000) return `${(ms / 1000).toFixed(1)} s`;
  return `${Math.floor(ms / 60000)} min ${Math.round((ms % 60000) / 1000)} s`;
}

const ENDINGS = ["", "st", "nd", "rd", "th"]; // of places

const PARTS = 12;
const SIGNS = ["", "¹⁄₁₂", "⅙", "¼", "⅓", "⁵⁄₁₂", "½", "⁷⁄₁₂", "⅔", "¾", "⅚", "¹¹⁄₁₂"];

/** Points as they are written: `2⅓`, `½`, `10`; what is no whole twelfths, with four places. */
export function pointText(points) {
  const parts = Math.round(points * PARTS);
  if (Math.abs(points * PARTS - parts) > 1e-6 * Math.max(1, parts)) return String(Number(points.toFixed(4)));
  const whole = Math.floor(parts / PARTS);
  const sign = SIGNS[parts % PARTS];
  return `${whole || !sign ? whole : ""}${sign}`;
}

/** How a game ended, as parts of a page: `Ada wins. 2nd: Blaise…`. */
export function outcomeParts(outcome, names) {
  const groups = outcome.ranking;
  if (!groups.length) return ["The game is over: all players are out."];
  const [winners, ...rest] = groups;
  const verb = winners.length > 1 ? " share the first place." : " wins.";
  let place = 1 + winners.length;
  const after = rest.flatMap((group) => {
    const said = [` ${place}${ENDINGS[place]}: `, ...joined(group, names), "."];
    place += group.length;
    return said;
  });
  return ["The game is over. ", ...joined(winners, names), verb, ...after];
}

/** What players sent or were told beside an event: a note, the details of a verdict. */
export function noteParts({ event, obs }) {
  const found = [];
  if (event.kind === "eject" && obs.detail) found.push(outside(obs.detail, 300));
  if (event.kind === "eject" && obs.sent) found.push(html("code", {}, outside(obs.sent, 200)));
  if (typeof obs.note === "string") found.push(outside(obs.note, 300));
  return found;
}

function joined(colors, names) {
  return colors.flatMap((color, at) => [
    ...(at ? [at === colors.length - 1 ? " and " : ", "] : []),
    outside(names.get(color) ?? color),
  ]);
}

function spot(at) {
  return `[${at}]`.slice(0, 20);
}

function spots(places) {
  return places.map(spot).join(" ");
}
