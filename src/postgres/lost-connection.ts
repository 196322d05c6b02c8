/** Recognizes errors of lost connections, which node-postgres reports with a message and no code. Used by sql.ts and pool.ts. */
import pg from "pg";
import { isDatabaseAway } from "./outage.ts";

/** A lost connection, as an error with a code that `outageOf` recognizes. */
export class ConnectionLost extends Error {
  readonly code: "CONNECTION_LOST" | "NO_ANSWER" | "POOL_EXHAUSTED";

  constructor(cause: Error, code: ConnectionLost["code"] = "CONNECTION_LOST") {
    super(cause.message, { cause });
    this.code = code;
  }
}

/**
 * The server committed, but canceled the wait for its synchronous standby: at a time limit, on request, or while it shuts down. The write
 * may be missing after a failover, so it counts as unknown until a later commit of its own is replicated (receipts.ts).
 */
export class NotReplicated extends Error {
  readonly code = "NOT_REPLICATED";

  constructor() {
    super("the wait for a synchronous standby was canceled, so the commit may not be replicated");
  }
}

/** No host of DATABASE_URL accepts writes. The code is that of the outage: of a read-only database, or the error of a host. */
export class NoPrimary extends Error {
  readonly code: string;

  constructor(message: string, code: string) {
    super(message);
    this.code = code;
  }
}

/** Adds a code to an error of node-postgres that has none. */
export function withCode(error: unknown): unknown {
  if (!(error instanceof Error) || (error as { code?: string }).code !== undefined) return error;
  if (/query read timeout/i.test(error.message)) return new ConnectionLost(error, "NO_ANSWER");
  return lostPattern.test(error.message) ? new ConnectionLost(error) : error;
}

const lostPattern =
  /connection terminated|timeout expired|timeout exceeded when trying to connect|connection timeout|not queryable|client was closed|cannot use a pool after/i;

/**
 * True if the connection has ended, so that a statement may have been carried out although it failed. Takes an error with a code. An
 * error from the server says that the statement was rolled back, except for the errors with which a server ends a session.
 */
export function endsConnection(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) return /^(57P0|08|25P03)/.test(error.code ?? "");
  return isDatabaseAway(error);
}

/** Whether a lost answer to this text leaves a doubt. */
export function mayWrite(text: string): boolean {
  return /\b(insert into|update|delete from)\b/i.test(text);
}
