/**
 * Why the database cannot serve: each reason with its SQLSTATE and socket codes, the sentence for API callers, and the fix for the
 * operator. pool.ts, health.ts, http/errors.ts, readiness and doctor use it. A reason never contains a host name or a secret.
 */
import { Problem } from "../ops/problem.ts";

export type Outage = {
  /** The `reason` of the error detail, stable for programs. */
  reason: string;
  /** The state in /readyz and the label in the metrics. */
  state: string;
  /** A main clause for callers, without a final period. */
  problem: string;
  /** What the caller does next. */
  advice: string;
  /** What the operator does. */
  fix: string;
  /** True if reads still work, so that only a write can prove the end of the outage. */
  onlyWrites: boolean;
  retryAfterMs: number;
};

const soon = "Try again in a few seconds.";

const kinds = {
  diskFull: {
    reason: "DATABASE_DISK_FULL",
    state: "disk full",
    problem: "The disk of the database is full",
    advice: "The operator of this service must free disk space. Try again later.",
    fix: "Free space on the disk of the database, enlarge it, or keep content for fewer days (POSTHORN_CONTENT_DAYS).",
    onlyWrites: true,
    retryAfterMs: 5000,
  },
  readOnly: {
    reason: "DATABASE_READ_ONLY",
    state: "read-only",
    problem: "The database is read-only at the moment",
    advice: "A failover may be in progress. Try again in a few seconds.",
    fix: "Point DATABASE_URL at the primary server, end its recovery, or set default_transaction_read_only = off.",
    onlyWrites: true,
    retryAfterMs: 1000,
  },
  notReplicated: {
    reason: "DATABASE_NOT_REPLICATED",
    state: "not replicated",
    problem: "The database cannot replicate writes to its standby",
    advice: "A failover may be in progress. Try again in a few seconds.",
    fix: "Start the synchronous standby or repair its replication, or change synchronous_standby_names; pg_stat_replication shows what is connected.",
    onlyWrites: true,
    retryAfterMs: 1000,
  },
  connections: {
    reason: "DATABASE_BUSY",
    state: "too many connections",
    problem: "The database has no free connection",
    advice: soon,
    fix: "Raise max_connections or the role's CONNECTION LIMIT, end idle sessions of other programs, or change POSTHORN_DATABASE_POOL.",
    onlyWrites: false,
    retryAfterMs: 1000,
  },
  timeout: {
    reason: "DATABASE_TIMEOUT",
    state: "time-out",
    problem: "The database took too long",
    advice: soon,
    fix: "Look in pg_stat_activity for sessions that hold locks or wait for a synchronous standby (SyncRep), and check the load and the disk of the database server.",
    onlyWrites: false,
    retryAfterMs: 1000,
  },
  login: {
    reason: "DATABASE_LOGIN",
    state: "login rejected",
    problem: "The database rejects the login of this service",
    advice: "The operator of this service must correct it. Try again later.",
    fix: "Correct the user name and the password in DATABASE_URL, and check pg_hba.conf of the server.",
    onlyWrites: false,
    retryAfterMs: 5000,
  },
  serverError: {
    reason: "DATABASE_FAILING",
    state: "server error",
    problem: "The database server reports an error of its own",
    advice: soon,
    fix: "Check the memory, the disk and the log of the database server.",
    onlyWrites: false,
    retryAfterMs: 1000,
  },
  unreachable: {
    reason: "DATABASE_UNREACHABLE",
    state: "unreachable",
    problem: "The database cannot be reached",
    advice: soon,
    fix: "Check that PostgreSQL runs and that this machine can connect to it.",
    onlyWrites: false,
    retryAfterMs: 1000,
  },
} as const satisfies Record<string, Outage>;

export const outages: readonly Outage[] = Object.values(kinds);

/** SQLSTATE codes, socket error codes, and the codes that sql.ts adds. */
const kindByCode: Record<string, Outage> = {
  "53100": kinds.diskFull, // disk_full
  ENOSPC: kinds.diskFull,
  "25006": kinds.readOnly, // read_only_sql_transaction
  NOT_REPLICATED: kinds.notReplicated,
  "53300": kinds.connections, // too_many_connections
  POOL_EXHAUSTED: kinds.connections,
  "57014": kinds.timeout, // query_canceled: our statement_timeout
  "55P03": kinds.timeout, // lock_not_available: our lock_timeout
  "25P03": kinds.timeout, // idle_in_transaction_session_timeout
  NO_ANSWER: kinds.timeout,
  "28P01": kinds.login, // invalid_password
  "28000": kinds.login, // invalid_authorization_specification
  "53200": kinds.serverError, // out_of_memory
  "58030": kinds.serverError, // io_error
  CONNECTION_LOST: kinds.unreachable,
  ECONNREFUSED: kinds.unreachable,
  ECONNRESET: kinds.unreachable,
  ENOENT: kinds.unreachable,
  EPIPE: kinds.unreachable,
  ETIMEDOUT: kinds.unreachable,
  EHOSTUNREACH: kinds.unreachable,
  ENETUNREACH: kinds.unreachable,
  ENOTFOUND: kinds.unreachable,
  EAI_AGAIN: kinds.unreachable,
  "57P01": kinds.unreachable, // admin_shutdown
  "57P02": kinds.unreachable, // crash_shutdown
  "57P03": kinds.unreachable, // cannot_connect_now
};

/** The outage that an error of a statement shows; undefined for a bug in the statement or a caller's mistake. */
export function outageOf(error: unknown): Outage | undefined {
  if (error instanceof OutcomeUnknown) return outageOf(error.cause) ?? kinds.unreachable;
  const code = (error as { code?: unknown } | null)?.code;
  if (typeof code !== "string") return undefined;
  return kindByCode[code] ?? (code.startsWith("08") ? kinds.unreachable : undefined);
}

/** True if the database is unavailable, false for a bug in a statement. */
export function isDatabaseAway(error: unknown): boolean {
  return outageOf(error) !== undefined;
}

/** The connection was lost during a write, and it could not be found out in time whether the write is stored. */
export class OutcomeUnknown extends Error {
  readonly code = "OUTCOME_UNKNOWN";

  constructor(cause: unknown) {
    super(`it is unknown whether a write is stored: ${(cause as Error).message}`, { cause });
  }
}

/** What a caller needs to know about its call to get the right advice. */
export type CallFacts = {
  /** The method only reads. */
  reads?: boolean;
  /** Earlier steps of the same call are stored. */
  partlyStored?: boolean;
  /** The call carried an Idempotency-Key that its method honors. */
  hasKey?: boolean;
  /** The method honors an Idempotency-Key. */
  takesKey?: boolean;
};

/** The problem that a caller gets: what is wrong, what became of the request, what to do. `outageOf(cause)` must be defined. */
export function unavailable(cause: unknown, facts: CallFacts = {}): Problem {
  const { reason, problem, advice, retryAfterMs } = outageOf(cause) ?? kinds.unreachable;
  if (cause instanceof OutcomeUnknown)
    return new Problem(
      "unavailable",
      `${problem}, and it is unknown whether this request was stored. ${toFindOut(facts)}`,
      {
        retryAfterMs,
        reason: "OUTCOME_UNKNOWN",
        cause,
      },
    );
  if (facts.partlyStored)
    return new Problem(
      "unavailable",
      `${problem}, and only the first part of this request was stored. Read the current state before you repeat the request.`,
      { retryAfterMs, reason: "PARTLY_STORED", cause },
    );
  const effect = facts.reads ? "this request could not be answered" : "nothing was stored";
  return new Problem("unavailable", `${problem}, so ${effect}. ${advice}`, { retryAfterMs, reason, cause });
}

function toFindOut({ hasKey, takesKey }: CallFacts): string {
  if (hasKey) return "Repeat it with the same Idempotency-Key: it is stored at most once.";
  if (takesKey)
    return "It had no Idempotency-Key: look for the email with ListEmails before you send it again, and send a key next time.";
  return "Read the current state before you repeat the request.";
}
