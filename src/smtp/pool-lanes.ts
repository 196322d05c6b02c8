/** Who may use or open which connection: one lane per destination, first come first served, bounded per lane and in all. */
import type { Evidence } from "../rules/outcome-evidence.ts";
import type { Session } from "./client.ts";

export type Grant =
  | { kind: "session"; lane: Lane; session: Session }
  /** The caller opens a connection and tells the lane how that went. */
  | { kind: "open"; lane: Lane };
type Refusal = { kind: "none"; failure: Evidence };

export interface Ask {
  target: { address: string };
  limit?: number;
  signal?: AbortSignal;
  /** Not one of those that lie idle: the server may have closed them all. */
  fresh: boolean;
}

export interface LaneSettings {
  perDestination: number;
  total: number;
  idleMs: number;
  maxTransactions: number;
  maxAgeMs: number;
  now: () => number;
}

type Waiter = { ask: Ask; turn: number; resolve: (grant: Grant | Refusal) => void };

export class Lanes {
  readonly settings: LaneSettings;
  readonly #lanes = new Map<string, Lane>();
  /** In the order in which they fell idle. */
  readonly idle = new Map<Session, Lane>();
  open = 0;
  stopping = false;
  #turn = 0;
  #onEmpty: (() => void)[] = [];

  constructor(settings: LaneSettings) {
    this.settings = settings;
  }

  acquire(key: string, ask: Ask): Promise<Grant | Refusal> {
    if (this.stopping || ask.signal?.aborted) return Promise.resolve(aborted);
    let lane = this.#lanes.get(key);
    if (!lane) {
      lane = new Lane(this, () => this.#lanes.delete(key));
      this.#lanes.set(key, lane);
    }
    return lane.acquire(ask, this.#turn++);
  }

  /** Gives free places to those who have waited longest, wherever they wait. */
  share(): void {
    while (this.open < this.settings.total) {
      let next: Lane | undefined;
      for (const lane of this.#lanes.values()) {
        if (lane.hasRoom && lane.firstTurn < (next?.firstTurn ?? Number.POSITIVE_INFINITY)) next = lane;
      }
      if (!next) break;
      next.grantOpen();
    }
    if (this.open === 0) for (const resolve of this.#onEmpty.splice(0)) resolve();
  }

  /** All places are taken and a lane that could use one waits: no session may lie idle. */
  get pressed(): boolean {
    if (this.open < this.settings.total) return false;
    for (const lane of this.#lanes.values()) if (lane.waiting > 0 && lane.hasRoom) return true;
    return false;
  }

  /** Somebody waits and all places are taken: the session idle for longest gives way. */
  makeRoom(): void {
    const [oldest] = this.idle;
    if (this.open >= this.settings.total && oldest) oldest[1].retire(oldest[0]);
  }

  stats(): { open: number; idle: number; waiting: number } {
    let waiting = 0;
    for (const lane of this.#lanes.values()) waiting += lane.waiting;
    return { open: this.open, idle: this.idle.size, waiting };
  }

  async stop(): Promise<void> {
    this.stopping = true;
    for (const lane of this.#lanes.values()) lane.dismiss(aborted.failure, () => true);
    await Promise.all([...this.idle].map(([session, lane]) => lane.retire(session)));
  }

  empty(): Promise<void> {
    return this.open === 0 ? Promise.resolve() : new Promise((resolve) => this.#onEmpty.push(resolve));
  }
}

export class Lane {
  readonly #lanes: Lanes;
  readonly #forget: () => void;
  readonly #waiters: Waiter[] = [];
  readonly #known = new Map<Session, { openedAt: number; timer?: NodeJS.Timeout; gone: () => void }>();
  readonly #idle: Session[] = [];
  #open = 0;
  #limit: number;
  /** The server refused one connection more than this; it may be asked again later. */
  #ceiling = { at: Number.POSITIVE_INFINITY, until: 0 };

  constructor(lanes: Lanes, forget: () => void) {
    this.#lanes = lanes;
    this.#forget = forget;
    this.#limit = lanes.settings.perDestination;
  }

  get waiting(): number {
    return this.#waiters.length;
  }

  get firstTurn(): number {
    return this.#waiters[0]?.turn ?? Number.POSITIVE_INFINITY;
  }

  get hasRoom(): boolean {
    const { now } = this.#lanes.settings;
    return this.#open < Math.min(this.#limit, now() < this.#ceiling.until ? this.#ceiling.at : this.#limit);
  }

  acquire(ask: Ask, turn: number): Promise<Grant | Refusal> {
    this.#limit = Math.max(1, ask.limit ?? this.#limit);
    const session = ask.fresh ? undefined : this.#idle.pop();
    if (session) {
      this.#busy(session);
      return Promise.resolve({ kind: "session", lane: this, session });
    }
    return new Promise((resolve) => {
      const waiter: Waiter = { ask, turn, resolve };
      this.#waiters.push(waiter);
      const leave = () => this.dismiss(aborted.failure, (other) => other === waiter);
      ask.signal?.addEventListener("abort", leave, { once: true });
      waiter.resolve = (grant) => {
        ask.signal?.removeEventListener("abort", leave);
        resolve(grant);
      };
      if (this.hasRoom) this.#lanes.makeRoom();
      this.#lanes.share();
    });
  }

  grantOpen(): void {
    this.#open += 1;
    this.#lanes.open += 1;
    this.#waiters.shift()?.resolve({ kind: "open", lane: this });
  }

  opened(session: Session, gone: () => void): void {
    this.#known.set(session, { openedAt: this.#lanes.settings.now(), gone });
    session.onDown = () => {
      if (this.#idle.includes(session)) this.retire(session);
    };
  }

  /** The session has done its work: the next in line gets it, or it lies idle for a while. */
  release(session: Session): void {
    const { maxTransactions, maxAgeMs, now, idleMs } = this.#lanes.settings;
    const known = this.#known.get(session);
    const worn = session.transactions >= maxTransactions || now() - (known?.openedAt ?? 0) >= maxAgeMs;
    if (!known || worn || !session.usable || this.#lanes.stopping || this.#open > this.#limit) {
      this.retire(session);
      return;
    }
    const waiter = this.#waiters.shift();
    if (waiter) return waiter.resolve({ kind: "session", lane: this, session });
    if (this.#lanes.pressed) {
      this.retire(session);
      return;
    }
    this.#idle.push(session);
    this.#lanes.idle.set(session, this);
    known.timer = setTimeout(() => this.retire(session), idleMs);
  }

  /** Says goodbye; the place is free once the socket is closed, since the server counts it until then. */
  async retire(session: Session): Promise<void> {
    const known = this.#known.get(session);
    if (!known) return;
    this.#known.delete(session);
    const index = this.#idle.indexOf(session);
    if (index >= 0) this.#idle.splice(index, 1);
    this.#lanes.idle.delete(session);
    clearTimeout(known.timer);
    await session.quit();
    known.gone();
    this.abandon();
  }

  /** A place is free again. */
  abandon(): void {
    this.#open -= 1;
    this.#lanes.open -= 1;
    this.#lanes.share();
    if (this.#open === 0 && this.#waiters.length === 0) this.#forget();
  }

  /**
   * No connection came about. Where the lane has others open, the server may only dislike one more: true, the caller
   * should queue for one of those. Otherwise everybody who waits for the same address learns the same at once.
   */
  refused(address: string, failure: Evidence): boolean {
    const others = this.#open - 1;
    if (failure.kind === "aborted") {
      this.abandon();
      return false;
    }
    if (others > 0) this.#ceiling = { at: others, until: this.#lanes.settings.now() + ceilingMs };
    else this.dismiss(failure, (waiter) => waiter.ask.target.address === address);
    this.abandon();
    return others > 0;
  }

  dismiss(failure: Evidence, which: (waiter: Waiter) => boolean): void {
    for (const waiter of this.#waiters.filter(which)) {
      this.#waiters.splice(this.#waiters.indexOf(waiter), 1);
      waiter.resolve({ kind: "none", failure });
    }
    if (this.#open === 0 && this.#waiters.length === 0) this.#forget();
  }

  #busy(session: Session): void {
    this.#lanes.idle.delete(session);
    clearTimeout(this.#known.get(session)?.timer);
  }
}

const ceilingMs = 60_000;

const aborted = {
  kind: "none",
  failure: { kind: "aborted", phase: "connect", message: "stopped by us" },
} as const satisfies Refusal;
