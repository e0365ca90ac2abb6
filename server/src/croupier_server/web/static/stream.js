// A stream of server-sent events that comes back by itself, however the connection ended.

const FIRST_WAIT = 1000;
const LONGEST_WAIT = 30000;
const QUIET_END = 100; // a page that is left closes its stream: that is nothing to be told

/**
 * Listens to a stream. `heard` has by kind what is called with an event's data; an event `end` is
 * the last. `told` is called with "live", "reconnecting" or "ended" whenever that changes.
 */
export class Stream {
  #url;
  #heard;
  #told;
  #source = null;
  #timer = null;
  #wait = FIRST_WAIT;
  #state = "";

  constructor(url, heard, told) {
    [this.#url, this.#heard, this.#told] = [url, heard, told];
    addEventListener("online", () => this.#again());
    addEventListener("pagehide", () => this.#stop());
    addEventListener("pageshow", (event) => event.persisted && this.#again());
    this.#open();
  }

  /** End it; nothing is heard any more. */
  close() {
    this.#stop();
    this.#tell("ended");
  }

  #open() {
    const source = new EventSource(this.#url);
    this.#source = source;
    source.addEventListener("open", () => {
      this.#wait = FIRST_WAIT;
      this.#tell("live");
    });
    source.addEventListener("error", () => this.#lost(source));
    for (const [kind, hear] of Object.entries(this.#heard)) {
      source.addEventListener(kind, (event) => {
        if (kind === "end") this.close();
        hear(JSON.parse(event.data));
      });
    }
  }

  /** The browser tries again by itself, except where the server has refused. */
  #lost(source) {
    if (source !== this.#source) return;
    setTimeout(() => source === this.#source && source.readyState !== 1 && this.#tell("reconnecting"), QUIET_END);
    if (source.readyState !== 2) return;
    const wait = this.#wait * (0.5 + Math.random()); // a whole class comes back one by one
    this.#wait = Math.min(2 * this.#wait, LONGEST_WAIT);
    this.#timer = setTimeout(() => this.#open(), wait);
  }

  #again() {
    if (this.#state === "ended" || this.#source?.readyState === 1) return;
    this.#stop();
    this.#open();
  }

  #stop() {
    clearTimeout(this.#timer);
    this.#source?.close();
    this.#source = null;
  }

  #tell(state) {
    if (state === this.#state || this.#state === "ended") return;
    this.#state = state;
    this.#told(state);
  }
}
