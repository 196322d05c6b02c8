/** The connection pool of the SMTP client: reuses sessions and limits their number. send.ts calls it with a target and a message. */

import type { Message } from "./envelope.ts";
import type { Evidence } from "./evidence.ts";
import { type Grant, HostQueues } from "./pool-hosts.ts";
import type { Progress } from "./progress.ts";
import { type AnchorMemory, type OpenResult, openSession, type Session, type TransactionResult } from "./session.ts";
import { defaultTimeouts, type Target, type Timeouts, targetKey } from "./target.ts";

export interface PoolOptions {
  /** Maximum number of connections to one destination, unless the request sets `limit`. */
  perDestination?: number;
  /** Maximum number of connections to all destinations. */
  total?: number;
  /** How long a session stays open without a message. */
  idleMs?: number;
  maxTransactions?: number;
  maxAgeMs?: number;
  /** How long the pool opens no further connection to a host that refused one while others were open. */
  ceilingMs?: number;
  /** Called when a host refuses a connection while others are open, so that delivery can lower the pace of the site. */
  onCeiling?: (group: string, failure: Evidence) => void;
  timeouts?: Partial<Timeouts>;
  now?: () => number;
}

export interface PoolRequest {
  target: Target;
  message: Message;
  /** Requests with the same key share sessions; by default the target without its address. */
  key?: string;
  /** Hosts with the same group (a site) share one connection limit; by default each host has its own. */
  group?: string;
  /** Sets the group's connection limit, also for later requests. */
  limit?: number;
  /** Sets the number of messages per connection of this host, also for later requests. */
  maxTransactions?: number;
  /** Replaces time-outs while a connection opens. */
  opening?: Partial<Timeouts>;
  progress?: Progress;
  signal?: AbortSignal;
}

export interface PoolStats {
  /** All connections, including those that are opening or closing. */
  open: number;
  idle: number;
  waiting: number;
}

export interface Pool {
  /** Network failures are in the result, per recipient; the promise rejects only on a bug. */
  transact(request: PoolRequest): Promise<TransactionResult>;
  stats(): PoolStats;
  /** Rejects new requests, drains running transactions for `withinMs`, then aborts them. Resolves when every socket is closed. */
  stop(withinMs?: number): Promise<void>;
}

export const poolDefaults = {
  perDestination: 10,
  total: 500,
  idleMs: 5_000,
  maxTransactions: 100,
  maxAgeMs: 5 * 60_000,
  ceilingMs: 5_000,
} as const;

export function createPool(options: PoolOptions = {}): Pool {
  const settings = { ...poolDefaults, now: () => performance.now(), ...options };
  const timeouts = { ...defaultTimeouts, ...options.timeouts };
  const hosts = new HostQueues(settings);
  const abortOpening = new AbortController();
  const sessions = new Set<Session>();
  const anchors = createAnchorMemory();
  const running = new Set<Promise<unknown>>();

  async function transact(request: PoolRequest): Promise<TransactionResult> {
    const key = request.key ?? targetKey(request.target);
    let newConnection = false;
    for (;;) {
      request.progress?.wait("queued");
      const grant = await hosts.acquire(key, { ...request, newConnection }, request.group);
      request.progress?.resume(false);
      if (grant.kind === "none") return failed(request, grant.failure);
      const opened = grant.kind === "session" ? grant : await open(request, grant);
      if (opened === "wait") continue;
      if ("failure" in opened) return failed(request, opened.failure);
      const result = await opened.session
        .transact(request.message, request.signal, request.progress)
        .finally(() => grant.host.release(opened.session));
      if (newConnection || !isStale(result)) return result;
      newConnection = true;
    }
  }

  /** `wait`: the server refused another connection, so the request waits for one that is already open. */
  async function open(request: PoolRequest, { host }: Grant): Promise<OpenResult | "wait"> {
    const signal = request.signal ? AbortSignal.any([request.signal, abortOpening.signal]) : abortOpening.signal;
    const { opening, progress } = request;
    const opened = await openSession(request.target, { timeouts, opening, signal, progress, anchors }).catch(
      (error) => {
        host.releaseSlot();
        throw error;
      },
    );
    if ("failure" in opened) {
      return host.openFailed(request.target.address, opened.failure) ? "wait" : opened;
    }
    const { session } = opened;
    sessions.add(session);
    host.addSession(session, () => sessions.delete(session));
    return opened;
  }

  return {
    transact(request) {
      const work = transact(request);
      const tracked = work.catch(() => undefined).finally(() => running.delete(tracked));
      running.add(tracked);
      return work;
    },
    stats: () => hosts.stats(),
    async stop(withinMs = 10_000) {
      const closing = hosts.stop();
      const timer = setTimeout(() => {
        abortOpening.abort();
        for (const session of sessions) session.destroy();
      }, withinMs);
      await Promise.all([...running, closing]);
      await hosts.whenEmpty();
      clearTimeout(timer);
    },
  };
}

/** Enough for the receivers of a busy hour, within 16 MiB. An anchor that is not remembered costs one more connection. */
const maxAnchors = 1000;
const maxAnchorBytes = 16 * 1024;

function createAnchorMemory(): AnchorMemory {
  const known = new Map<string, readonly Buffer[]>();
  return {
    get: (key) => known.get(key),
    set(key, anchors) {
      if (anchors.reduce((sum, { length }) => sum + length, 0) > maxAnchorBytes) return;
      const [oldest] = known.keys();
      if (oldest !== undefined && known.size >= maxAnchors) known.delete(oldest);
      known.delete(key);
      known.set(key, anchors);
    },
  };
}

/** The server closed a reused session before it read this message, so the pool retries on a new connection. */
function isStale(result: TransactionResult): boolean {
  if (result.reused === 0) return false;
  return result.recipients.every(({ result: evidence }) => {
    if (!("phase" in evidence) || evidence.phase !== "mail") return false;
    return (
      evidence.kind === "lost" ||
      evidence.kind === "protocol" ||
      (evidence.kind === "refused" && evidence.reply.code === 421)
    );
  });
}

function failed(request: PoolRequest, failure: Evidence): TransactionResult {
  const { host, address, port } = request.target;
  return {
    recipients: request.message.recipients.map((recipient) => ({ address: recipient, result: failure })),
    stage: "phase" in failure ? failure.phase : "connect",
    inDoubt: false,
    tls: null,
    remote: { host, address, port },
    localAddress: request.target.localAddress ?? "",
    reused: 0,
  };
}
