// The players' side of the protocol, version 1, for somebody who chooses by hand (protocol.md). It
// knows no page: Protocol is what is said when, PlayerConnection the socket that it is said over.

export const PROTOCOL = 1;

/** A request without a clock shows this budget: a day. */
export const NO_CLOCK_MS = 86_400_000;

// After these there is no coming back: all is over, the server stops, we were ejected or refused,
// or another connection has taken our place.
const FOR_GOOD = new Set([1000, 1001, 4000, 4001, 4002]);
const NO_METHOD = -32601;
const NO_SESSION = -32004;

/**
 * What is said and heard in one visit. `received` gives {replies, heard}: texts to send, and what
 * happened, as objects with a `kind`:
 *
 * - joined {name, isBack}, refused {code, message}
 * - start {players}, game {game}, events {game, lines}, turn {turn}, game_end {game}
 * - ejected {verdict, detail, fix, playsOn}, end {won, winners}
 */
export class Protocol {
  /** Args: who joins which room, or what `kept` gave before the page was left. */
  constructor({ name, room, kept = null }) {
    this.name = name;
    this.room = room;
    this.session = null;
    this.hasStarted = false;
    this.isResigning = false;
    this.game = null; // the last game: {game, you, players, rules, board, lines, outcome, isOver}
    this.turn = null; // what is asked now: {id, game, method, legal, budgetMs, bankMs, state}
    this.answers = {}; // by request: the reply, should it be asked again
    if (kept) Object.assign(this, structuredClone(kept));
  }

  /** All that coming back takes, as JSON. */
  kept() {
    const { name, room, session, hasStarted, isResigning, game, answers } = this;
    return { name, room, session, hasStarted, isResigning, game, answers };
  }

  /** The first message on a new connection. */
  joining() {
    const params = { protocol: PROTOCOL, name: this.name, legal_actions: true, events: true };
    if (this.room) params.room = this.room;
    if (this.session) {
      params.session = this.session;
      const { game } = this;
      params.last_event = game && !game.isOver ? { [game.game]: lastSeq(game) } : {};
    }
    return JSON.stringify({ jsonrpc: "2.0", id: "join", method: "join", params });
  }

  /** Take a message. */
  received(text) {
    const message = JSON.parse(text);
    const { method, params } = message;
    const learned = this.#learn(params);
    if (method === undefined) return said([], this.#joined(message));
    if (message.id === undefined) return said([], ...learned, ...this.#told(method, params));
    return this.#asked(message, learned);
  }

  /** Answer what is asked now, with a position or a move; null if nothing is. */
  answer(action) {
    if (!this.turn) return null;
    const { id } = this.turn;
    this.turn = null;
    return this.#reply(id, { result: action });
  }

  /**
   * Give up. That is said by answering the next request, or the open one, with an error, so that
   * nobody has to wait for the clock; null if nothing is asked now.
   */
  resign() {
    this.isResigning = true;
    return this.turn ? this.#resigned(this.turn.id) : null;
  }

  /** What follows on a connection's end: "again" with the session, "anew" without, or "over". */
  closed(code) {
    if (this.mayJoinAnew) {
      this.mayJoinAnew = false;
      this.session = null;
      return "anew";
    }
    return FOR_GOOD.has(code) ? "over" : "again";
  }

  #joined({ result, error }) {
    if (error) {
      // Before the start, who loses its connection has given up its place, and joins as new.
      this.mayJoinAnew = error.code === NO_SESSION && !this.hasStarted;
      if (this.mayJoinAnew) return { kind: "lost" };
      return { kind: "refused", code: error.code, message: String(error.message) };
    }
    const isBack = this.session !== null;
    this.session = result.session;
    this.name = result.name;
    return { kind: "joined", name: result.name, isBack };
  }

  /** Events come in notifications, and again in requests and at the end: each counts once. */
  #learn(params) {
    const { game } = this;
    if (!game || params?.game !== game.game || !Array.isArray(params.events)) return [];
    const lines = params.events.filter(({ seq }) => seq > lastSeq(game));
    game.lines.push(...lines);
    return lines.length ? [{ kind: "events", game, lines }] : [];
  }

  #asked({ id, method, params }, learned) {
    if (Object.hasOwn(this.answers, id)) return said([this.answers[id]], ...learned);
    const yes = (...heard) => said([this.#reply(id, { result: true })], ...heard);
    switch (method) {
      case "tournament_start":
        this.hasStarted = true;
        return yes({ kind: "start", players: params.players });
      case "game_start": {
        const { game, you, players, rules, board } = params;
        this.game = { game, you, players, rules, board, lines: [], outcome: null, isOver: false };
        return yes({ kind: "game", game: this.game });
      }
      case "place":
      case "move":
        return this.#toAct(id, method, params, learned);
      case "tournament_end":
        return yes({ kind: "end", won: params.won, winners: params.winners });
      default: {
        const error = { code: NO_METHOD, message: `no method ${method}`.slice(0, 200) };
        return said([this.#reply(id, { error })], ...learned);
      }
    }
  }

  #toAct(id, method, params, learned) {
    if (this.isResigning) return said([this.#resigned(id)], ...learned);
    this.turn = {
      id,
      game: params.game,
      method,
      legal: params.legal_actions ?? [],
      state: params.state,
      budgetMs: params.budget_ms,
      bankMs: params.bank_ms ?? 0,
    };
    return said([], ...learned, { kind: "turn", turn: this.turn });
  }

  #told(method, params) {
    if (method === "ejected") {
      const { verdict, detail, fix, plays_on: playsOn = false } = params;
      this.turn = null;
      return [{ kind: "ejected", verdict, detail, fix, playsOn }];
    }
    if (method !== "game_end" || this.game?.game !== params.game) return []; // a later server's
    Object.assign(this.game, { outcome: params.outcome ?? null, isOver: true });
    return [{ kind: "game_end", game: this.game }];
  }

  #resigned(id) {
    this.turn = null;
    return this.#reply(id, { error: { code: 1, message: "the player gives up" } });
  }

  #reply(id, what) {
    this.answers[id] = JSON.stringify({ jsonrpc: "2.0", id, ...what });
    return this.answers[id];
  }
}

const said = (replies, ...heard) => ({ replies, heard });
const lastSeq = (game) => game.lines.at(-1)?.seq ?? 0;

/**
 * A connection that comes back by itself. `hear` is told what the protocol hears, and besides:
 * away {tries}: the connection is lost, and is tried again; closed {code, reason, isOver}: it is
 * not tried any more.
 */
export class PlayerConnection {
  #socket = null;
  #timer = null;
  #failures = 0;
  #isLeft = false;

  constructor(url, protocol, hear, { WebSocket = globalThis.WebSocket, tries = 40 } = {}) {
    Object.assign(this, { url, protocol, hear, WebSocket, tries });
  }

  open() {
    clearTimeout(this.#timer);
    const socket = new this.WebSocket(this.url);
    this.#socket = socket;
    socket.onopen = () => socket.send(this.protocol.joining());
    socket.onmessage = ({ data }) => this.#received(socket, data);
    socket.onclose = ({ code, reason }) => this.#closed(socket, code, reason);
  }

  /** Answer what is asked now; without a connection, it is said once there is one again. */
  answer(action) {
    this.#send(this.protocol.answer(action));
  }

  resign() {
    this.#send(this.protocol.resign());
  }

  /** Try at once, where the next try would be later. */
  retry() {
    if (this.#timer !== null && !this.#isLeft) this.open();
  }

  /** Leave for good. */
  leave() {
    this.#isLeft = true;
    clearTimeout(this.#timer);
    this.#socket?.close(1000);
  }

  #send(text) {
    if (text !== null && this.#socket?.readyState === 1) this.#socket.send(text);
  }

  #received(socket, data) {
    if (socket !== this.#socket) return;
    let result;
    try {
      result = this.protocol.received(data);
    } catch (problem) {
      console.error(problem); // a message that is none of the protocol's says nothing
      return;
    }
    for (const text of result.replies) socket.send(text);
    for (const happening of result.heard) {
      if (happening.kind === "joined") this.#failures = 0;
      this.hear(happening);
    }
  }

  #closed(socket, code, reason) {
    if (socket !== this.#socket) return;
    this.#timer = null;
    const next = this.protocol.closed(code);
    const hasJoined = this.protocol.session !== null;
    if (next === "over" || this.#isLeft || this.#failures >= (hasJoined ? this.tries : 2)) {
      this.hear({ kind: "closed", code, reason, isOver: next === "over" });
      return;
    }
    this.#failures += 1;
    const waitMs = next === "anew" ? 0 : Math.min(100 * 2 ** this.#failures, 8_000);
    this.#timer = setTimeout(() => this.open(), waitMs);
    this.hear({ kind: "away", tries: this.#failures });
  }
}
