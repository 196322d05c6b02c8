/** Keeps SMTP sessions warm and within bounds: delivery hands it a target and a message and gets the transaction's result. */
import type { Evidence } from "../rules/outcome-evidence.ts";
import { type Opened, openSession, type Session, type TransactionResult } from "./client.ts";
import type { Message } from "./envelope.ts";
import { type Grant, Lanes } from "./pool-lanes.ts";
import { type Target, targetKey } from "./target.ts";
import { defaultTimeouts, type Timeouts } from "./timeouts.ts";

export interface PoolOptions {
  /** Connections to one destination, unless a request says otherwise. */
  perDestination?: number;
  /** Connections in all. */
  total?: number;
  /** How long a session waits for its next message. */
  idleMs?: number;
  maxTransactions?: number;
  maxAgeMs?: number;
  /** How long no further connection is tried at a host that refused one while others were open. */
  ceilingMs?: number;
  /** That happened: whoever keeps the pace of the group should know. */
  onCeiling?: (group: string, failure: Evidence) => void;
  timeouts?: Partial<Timeouts>;
  now?: () => number;
}

export interface PoolRequest {
  target: Target;
  message: Message;
  /** Whose sessions may be shared and counted together; by default the target without its address. */
  key?: string;
  /** Hosts that are counted together (a site); by default each for itself. */
  group?: string;
  /** Connections to this group from now on. */
  limit?: number;
  /** Messages on one connection from now on. */
  maxTransactions?: number;
  signal?: AbortSignal;
}

export interface PoolStats {
  /** Connections, those being opened or closed included. */
  open: number;
  idle: number;
  waiting: number;
}

export interface Pool {
  /** Never rejects for what the network does: that is in the result, for every recipient. */
  transact(request: PoolRequest): Promise<TransactionResult>;
  stats(): PoolStats;
  /** Takes nothing new, lets work in hand finish within the limit, then cuts it off; resolves when every socket is closed. */
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
  const settings = { ...poolDefaults, now: Date.now, ...options };
  const timeouts = { ...defaultTimeouts, ...options.timeouts };
  const lanes = new Lanes(settings);
  const cut = new AbortController();
  const sessions = new Set<Session>();
  const running = new Set<Promise<unknown>>();

  async function transact(request: PoolRequest): Promise<TransactionResult> {
    const key = request.key ?? targetKey(request.target);
    let fresh = false;
    for (;;) {
      const grant = await lanes.acquire(key, { ...request, fresh }, request.group);
      if (grant.kind === "none") return failed(request, grant.failure);
      const opened = grant.kind === "session" ? grant : await open(request, grant);
      if (opened === "queue") continue;
      if ("failure" in opened) return failed(request, opened.failure);
      const result = await opened.session
        .transact(request.message, request.signal)
        .finally(() => grant.lane.release(opened.session));
      if (fresh || !isStale(result)) return result;
      fresh = true;
    }
  }

  /** `queue`: the server wants no further connection, but there are others to wait for. */
  async function open(request: PoolRequest, { lane }: Grant): Promise<Opened | "queue"> {
    const signal = request.signal ? AbortSignal.any([request.signal, cut.signal]) : cut.signal;
    const opened = await openSession(request.target, { timeouts, signal }).catch((error) => {
      lane.abandon();
      throw error;
    });
    if ("failure" in opened) {
      return lane.refused(request.target.address, opened.failure) ? "queue" : opened;
    }
    const { session } = opened;
    sessions.add(session);
    lane.opened(session, () => sessions.delete(session));
    return opened;
  }

  return {
    transact(request) {
      const work = transact(request);
      const tracked = work.catch(() => undefined).finally(() => running.delete(tracked));
      running.add(tracked);
      return work;
    },
    stats: () => lanes.stats(),
    async stop(withinMs = 10_000) {
      const closing = lanes.stop();
      const timer = setTimeout(() => {
        cut.abort();
        for (const session of sessions) session.destroy();
      }, withinMs);
      await Promise.all([...running, closing]);
      await lanes.empty();
      clearTimeout(timer);
    },
  };
}

/** The server had closed a warm session before it heard of this message: nobody is to blame and a new connection will tell. */
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
