/**
 * Decides which request gets which connection: one first-come, first-served queue per host, with a connection limit per group
 * of hosts (a site) and one over all hosts. A slot is the right to have one connection. Used by pool.ts.
 */
import type { Evidence } from "./evidence.ts";
import type { Session } from "./session.ts";

export type Grant =
  | { kind: "session"; host: HostQueue; session: Session }
  /** The caller opens a connection and then calls `addSession`, `openFailed` or `releaseSlot` of the host. */
  | { kind: "open"; host: HostQueue };
type Refusal = { kind: "none"; failure: Evidence };

export interface SessionRequest {
  target: { address: string };
  /** Maximum number of connections of the group. */
  limit?: number;
  /** Maximum number of messages per connection. */
  maxTransactions?: number;
  signal?: AbortSignal;
  /** Do not use an idle session: the server may have closed all of them. */
  newConnection: boolean;
}

export interface HostQueueSettings {
  perDestination: number;
  total: number;
  idleMs: number;
  maxTransactions: number;
  maxAgeMs: number;
  /** How long the pool opens no further connection to a host that refused one while others were open. */
  ceilingMs: number;
  now: () => number;
  /** Called when a host refuses a connection while others are open. */
  onCeiling?: (group: string, failure: Evidence) => void;
}

/** `turn` numbers the waiting requests of all hosts in the order of arrival. */
type Waiter = { request: SessionRequest; turn: number; resolve: (grant: Grant | Refusal) => void };

/** Hosts that share a connection limit. */
class Group {
  readonly name: string;
  readonly hosts = new Set<HostQueue>();
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

export class HostQueues {
  readonly settings: HostQueueSettings;
  readonly #hosts = new Map<string, HostQueue>();
  readonly #groups = new Map<string, Group>();
  /** Hosts with waiting requests: few, even when thousands of hosts have open connections. */
  readonly waitingHosts = new Set<HostQueue>();
  /** Idle sessions, longest idle first. */
  readonly idle = new Map<Session, HostQueue>();
  open = 0;
  stopping = false;
  #turn = 0;
  #onEmpty: (() => void)[] = [];

  constructor(settings: HostQueueSettings) {
    this.settings = settings;
  }

  acquire(key: string, request: SessionRequest, groupName = key): Promise<Grant | Refusal> {
    if (this.stopping || request.signal?.aborted) return Promise.resolve(aborted);
    // A host that moves to another group gets a new queue there.
    const queueKey = JSON.stringify([groupName, key]);
    let host = this.#hosts.get(queueKey);
    if (!host) {
      const group = this.#groups.get(groupName) ?? new Group(groupName, this.settings.perDestination);
      this.#groups.set(groupName, group);
      const created = new HostQueue(this, group, () => {
        this.#hosts.delete(queueKey);
        group.hosts.delete(created);
        if (group.hosts.size === 0) this.#groups.delete(groupName);
      });
      host = created;
      group.hosts.add(host);
      this.#hosts.set(queueKey, host);
    }
    return host.acquire(request, this.#turn++);
  }

  /** Grants free slots to the requests that have waited longest, over all hosts. */
  grantFreeSlots(): void {
    while (this.open < this.settings.total) {
      let next: HostQueue | undefined;
      for (const host of this.waitingHosts) {
        if (host.canOpen && host.firstTurn < (next?.firstTurn ?? Number.POSITIVE_INFINITY)) next = host;
      }
      if (!next) break;
      next.grantOpen();
    }
    if (this.open === 0) for (const resolve of this.#onEmpty.splice(0)) resolve();
  }

  /**
   * True when no slot is free and another request waits for one, so the group must not keep a session idle.
   * With `beforeTurn`, only requests of the same group that came before that turn count.
   */
  isSlotWanted(group: Group, beforeTurn = Number.POSITIVE_INFINITY): boolean {
    if (group.full) for (const host of group.hosts) if (host.firstTurn < beforeTurn) return true;
    if (beforeTurn < Number.POSITIVE_INFINITY) return false;
    if (this.open < this.settings.total) return false;
    for (const host of this.waitingHosts) if (host.canOpen) return true;
    return false;
  }

  /** Closes the session that has been idle longest when a request of this group waits and no slot is free. */
  closeIdleFor(group: Group): void {
    const allTaken = this.open >= this.settings.total;
    if (!allTaken && !group.full) return;
    for (const [session, host] of this.idle)
      if (allTaken ? !group.full || host.group === group : host.group === group) return void host.retire(session);
  }

  stats(): { open: number; idle: number; waiting: number } {
    let waiting = 0;
    for (const host of this.#hosts.values()) waiting += host.waiting;
    return { open: this.open, idle: this.idle.size, waiting };
  }

  async stop(): Promise<void> {
    this.stopping = true;
    for (const host of this.#hosts.values()) host.rejectWaiters(aborted.failure, () => true);
    await Promise.all([...this.idle].map(([session, host]) => host.retire(session)));
  }

  /** Resolves when no connection is open. */
  whenEmpty(): Promise<void> {
    return this.open === 0 ? Promise.resolve() : new Promise((resolve) => this.#onEmpty.push(resolve));
  }
}

/** The sessions of one host and the requests that wait for one. */
export class HostQueue {
  readonly #hosts: HostQueues;
  readonly group: Group;
  readonly #onUnused: () => void;
  readonly #waiters: Waiter[] = [];
  readonly #sessions = new Map<Session, { openedAt: number; timer?: NodeJS.Timeout; onClosed: () => void }>();
  readonly #idle: Session[] = [];
  #open = 0;
  #maxTransactions: number;
  /** The server refused a connection while this many were open. The pool tries one more after `until`. */
  #ceiling = { connections: Number.POSITIVE_INFINITY, until: 0 };

  constructor(hosts: HostQueues, group: Group, onUnused: () => void) {
    this.#hosts = hosts;
    this.group = group;
    this.#onUnused = onUnused;
    this.#maxTransactions = hosts.settings.maxTransactions;
  }

  get waiting(): number {
    return this.#waiters.length;
  }

  /** The turn of the request that has waited longest. */
  get firstTurn(): number {
    return this.#waiters[0]?.turn ?? Number.POSITIVE_INFINITY;
  }

  get canOpen(): boolean {
    const { now } = this.#hosts.settings;
    return !this.group.full && (now() >= this.#ceiling.until || this.#open < this.#ceiling.connections);
  }

  acquire(request: SessionRequest, turn: number): Promise<Grant | Refusal> {
    this.group.limit = Math.max(1, request.limit ?? this.group.limit);
    this.#maxTransactions = request.maxTransactions ?? this.#maxTransactions;
    const session = request.newConnection ? undefined : this.#idle.pop();
    if (session) {
      this.#markBusy(session);
      return Promise.resolve({ kind: "session", host: this, session });
    }
    return new Promise((resolve) => {
      const waiter: Waiter = { request, turn, resolve };
      this.#waiters.push(waiter);
      this.#hosts.waitingHosts.add(this);
      const onAbort = () => this.rejectWaiters(aborted.failure, (other) => other === waiter);
      request.signal?.addEventListener("abort", onAbort, { once: true });
      waiter.resolve = (grant) => {
        request.signal?.removeEventListener("abort", onAbort);
        resolve(grant);
      };
      this.#hosts.closeIdleFor(this.group);
      this.#hosts.grantFreeSlots();
    });
  }

  /** Gives the first waiter a slot to open a connection. */
  grantOpen(): void {
    this.#open += 1;
    this.group.open += 1;
    this.#hosts.open += 1;
    this.#takeWaiter()?.resolve({ kind: "open", host: this });
  }

  addSession(session: Session, onClosed: () => void): void {
    this.#sessions.set(session, { openedAt: this.#hosts.settings.now(), onClosed });
    session.onDown = () => {
      if (this.#idle.includes(session)) this.retire(session);
    };
  }

  /** Called after a transaction: gives the session to the next waiter, keeps it idle, or closes it. */
  release(session: Session): void {
    const { maxAgeMs, now, idleMs } = this.#hosts.settings;
    const entry = this.#sessions.get(session);
    const expired = session.transactions >= this.#maxTransactions || now() - (entry?.openedAt ?? 0) >= maxAgeMs;
    if (!entry || expired || !session.usable || this.#hosts.stopping || this.group.open > this.group.limit) {
      this.retire(session);
      return;
    }
    // A request of another host in the group has waited longer, so that host gets the slot.
    if (this.waiting > 0 && this.#hosts.isSlotWanted(this.group, this.firstTurn)) {
      this.retire(session);
      return;
    }
    const waiter = this.#takeWaiter();
    if (waiter) return waiter.resolve({ kind: "session", host: this, session });
    if (this.#hosts.isSlotWanted(this.group)) {
      this.retire(session);
      return;
    }
    this.#idle.push(session);
    this.#hosts.idle.set(session, this);
    entry.timer = setTimeout(() => this.retire(session), idleMs);
  }

  /** Closes a session with QUIT. Its slot is free only once the socket is closed, because the server counts it until then. */
  async retire(session: Session): Promise<void> {
    const entry = this.#sessions.get(session);
    if (!entry) return;
    this.#sessions.delete(session);
    const index = this.#idle.indexOf(session);
    if (index >= 0) this.#idle.splice(index, 1);
    this.#hosts.idle.delete(session);
    clearTimeout(entry.timer);
    await session.quit();
    entry.onClosed();
    this.releaseSlot();
  }

  releaseSlot(): void {
    this.#open -= 1;
    this.group.open -= 1;
    this.#hosts.open -= 1;
    this.#hosts.grantFreeSlots();
    if (this.#open === 0 && this.#waiters.length === 0) this.#onUnused();
  }

  /**
   * The connection did not open. When the host has other connections open, the server may only limit their number: returns
   * true, and the caller waits for one of them. Otherwise every request that waits for this address fails with it.
   */
  openFailed(address: string, failure: Evidence): boolean {
    const others = this.#open - 1;
    if (failure.kind === "aborted") {
      this.releaseSlot();
      return false;
    }
    if (others > 0) {
      const { now, ceilingMs, onCeiling } = this.#hosts.settings;
      this.#ceiling = { connections: others, until: now() + ceilingMs };
      onCeiling?.(this.group.name, failure);
    } else this.rejectWaiters(failure, (waiter) => waiter.request.target.address === address);
    this.releaseSlot();
    return others > 0;
  }

  rejectWaiters(failure: Evidence, which: (waiter: Waiter) => boolean): void {
    for (const waiter of this.#waiters.filter(which)) {
      this.#waiters.splice(this.#waiters.indexOf(waiter), 1);
      waiter.resolve({ kind: "none", failure });
    }
    if (this.#waiters.length === 0) this.#hosts.waitingHosts.delete(this);
    if (this.#open === 0 && this.#waiters.length === 0) this.#onUnused();
  }

  #takeWaiter(): Waiter | undefined {
    const waiter = this.#waiters.shift();
    if (this.#waiters.length === 0) this.#hosts.waitingHosts.delete(this);
    return waiter;
  }

  #markBusy(session: Session): void {
    this.#hosts.idle.delete(session);
    clearTimeout(this.#sessions.get(session)?.timer);
  }
}

const aborted = {
  kind: "none",
  failure: { kind: "aborted", phase: "connect", message: "aborted by Posthorn" },
} as const satisfies Refusal;
