/** Who may use or open which connection: one lane per host, first come first served, bounded per group of hosts (a site) and in all. */
import type { Evidence } from "../rules/outcome-evidence.ts";
import type { Session } from "./client.ts";

export type Grant =
  | { kind: "session"; lane: Lane; session: Session }
  /** The caller opens a connection and tells the lane how that went. */
  | { kind: "open"; lane: Lane };
type Refusal = { kind: "none"; failure: Evidence };

export interface Ask {
  target: { address: string };
  /** Connections of the group. */
  limit?: number;
  /** Messages on one connection. */
  maxTransactions?: number;
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
  /** How long no further connection is tried at a host that refused one while others were open. */
  ceilingMs: number;
  now: () => number;
  /** A group's server refused one connection more than these. */
  onCeiling?: (group: string, failure: Evidence) => void;
}

type Waiter = { ask: Ask; turn: number; resolve: (grant: Grant | Refusal) => void };

/** Hosts that share a limit. */
class Group {
  readonly name: string;
  readonly lanes = new Set<Lane>();
  limit: number;
  open = 0;

  constructor(name: string, limit: number) {
    this.name = name;
    this.limit = limit;
  }

  get full(): boolean {
    return this.open >= this.limit;
  }
}

export class Lanes {
  readonly settings: LaneSettings;
  readonly #lanes = new Map<string, Lane>();
  readonly #groups = new Map<string, Group>();
  /** In the order in which they fell idle. */
  readonly idle = new Map<Session, Lane>();
  open = 0;
  stopping = false;
  #turn = 0;
  #onEmpty: (() => void)[] = [];

  constructor(settings: LaneSettings) {
    this.settings = settings;
  }

  acquire(key: string, ask: Ask, groupName = key): Promise<Grant | Refusal> {
    if (this.stopping || ask.signal?.aborted) return Promise.resolve(aborted);
    // A host that has moved to another group begins anew there.
    const place = JSON.stringify([groupName, key]);
    let lane = this.#lanes.get(place);
    if (!lane) {
      const group = this.#groups.get(groupName) ?? new Group(groupName, this.settings.perDestination);
      this.#groups.set(groupName, group);
      const created = new Lane(this, group, () => {
        this.#lanes.delete(place);
        group.lanes.delete(created);
        if (group.lanes.size === 0) this.#groups.delete(groupName);
      });
      lane = created;
      group.lanes.add(lane);
      this.#lanes.set(place, lane);
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
  pressed(group: Group, since = Number.POSITIVE_INFINITY): boolean {
    if (group.full) for (const lane of group.lanes) if (lane.firstTurn < since) return true;
    if (since < Number.POSITIVE_INFINITY) return false;
    if (this.open < this.settings.total) return false;
    for (const lane of this.#lanes.values()) if (lane.waiting > 0 && lane.hasRoom) return true;
    return false;
  }

  /** Somebody waits and all places are taken, in the group or in all: the session idle for longest gives way. */
  makeRoom(group: Group): void {
    const all = this.open >= this.settings.total;
    if (!all && !group.full) return;
    for (const [session, lane] of this.idle)
      if (all ? !group.full || lane.group === group : lane.group === group) return void lane.retire(session);
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
  readonly group: Group;
  readonly #forget: () => void;
  readonly #waiters: Waiter[] = [];
  readonly #known = new Map<Session, { openedAt: number; timer?: NodeJS.Timeout; gone: () => void }>();
  readonly #idle: Session[] = [];
  #open = 0;
  #maxTransactions: number;
  /** The server refused one connection more than this; it may be asked again later. */
  #ceiling = { at: Number.POSITIVE_INFINITY, until: 0 };

  constructor(lanes: Lanes, group: Group, forget: () => void) {
    this.#lanes = lanes;
    this.group = group;
    this.#forget = forget;
    this.#maxTransactions = lanes.settings.maxTransactions;
  }

  get waiting(): number {
    return this.#waiters.length;
  }

  get firstTurn(): number {
    return this.#waiters[0]?.turn ?? Number.POSITIVE_INFINITY;
  }

  get hasRoom(): boolean {
    const { now } = this.#lanes.settings;
    return !this.group.full && (now() >= this.#ceiling.until || this.#open < this.#ceiling.at);
  }

  acquire(ask: Ask, turn: number): Promise<Grant | Refusal> {
    this.group.limit = Math.max(1, ask.limit ?? this.group.limit);
    this.#maxTransactions = ask.maxTransactions ?? this.#maxTransactions;
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
      this.#lanes.makeRoom(this.group);
      this.#lanes.share();
    });
  }

  grantOpen(): void {
    this.#open += 1;
    this.group.open += 1;
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
    const { maxAgeMs, now, idleMs } = this.#lanes.settings;
    const known = this.#known.get(session);
    const worn = session.transactions >= this.#maxTransactions || now() - (known?.openedAt ?? 0) >= maxAgeMs;
    if (!known || worn || !session.usable || this.#lanes.stopping || this.group.open > this.group.limit) {
      this.retire(session);
      return;
    }
    // Another host of the group has waited for longer: it gets the place.
    if (this.waiting > 0 && this.#lanes.pressed(this.group, this.firstTurn)) {
      this.retire(session);
      return;
    }
    const waiter = this.#waiters.shift();
    if (waiter) return waiter.resolve({ kind: "session", lane: this, session });
    if (this.#lanes.pressed(this.group)) {
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
    this.group.open -= 1;
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
    if (others > 0) {
      const { now, ceilingMs, onCeiling } = this.#lanes.settings;
      this.#ceiling = { at: others, until: now() + ceilingMs };
      onCeiling?.(this.group.name, failure);
    } else this.dismiss(failure, (waiter) => waiter.ask.target.address === address);
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

const aborted = {
  kind: "none",
  failure: { kind: "aborted", phase: "connect", message: "stopped by us" },
} as const satisfies Refusal;
