/**
 * Receipts: how sql.ts finds out whether a transaction is stored whose commit got no answer. The last message of a transaction inserts
 * a row with a new id and commits. After a lost connection, the program inserts a row with the same id on a new connection. The
 * primary key decides: either the first row is found, or the second is committed and the first can never be. Decision 27 has the proof.
 */
import type { PoolClient } from "pg";

/**
 * Receipts are rows of the table idempotency, under a workspace id that no workspace has, so housekeeping deletes them like other
 * expired keys. `request_hash` tells the two kinds apart.
 */
const owner = "00000000-0000-0000-0000-000000000000";
/** Much longer than any look-up. */
const keptFor = "interval '10 minutes'";

/** Whether a transaction leaves a receipt. `if it writes`: reads in a transaction cost no write. */
export type ReceiptRule = "always" | "if it writes" | "never";

/** The last message of a transaction. */
export function commitText(rule: ReceiptRule, id: string): string {
  if (rule === "never") return "commit";
  const condition = rule === "always" ? "" : " where pg_current_xact_id_if_assigned() is not null";
  return `insert into idempotency (workspace_id, key, request_hash, answer, expires_at)
    select '${owner}', '${id}', 'stored', '{}', (select service_at from service_clock) + ${keptFor}${condition}; commit`;
}

/** A write that stands for nothing, for write-probe.ts. It always uses the same row. By now(), because a schema before version 6 has no
 * service time; the row may be deleted at any time. */
export const probeText = `insert into idempotency (workspace_id, key, request_hash, answer, expires_at)
  values ('${owner}', 'write probe', 'void', '{}', now() + ${keptFor})
  on conflict (workspace_id, key) do update set expires_at = excluded.expires_at`;

/**
 * Waits for a transaction with this receipt that is still committing. The update changes nothing, but it makes the look-up a write: with
 * synchronous replication its own commit confirms that everything it saw is replicated.
 */
const lookUpText = `insert into idempotency (workspace_id, key, request_hash, answer, expires_at)
  values ('${owner}', $1, 'void', '{}', service_time() + ${keptFor})
  on conflict (workspace_id, key) do update set expires_at = idempotency.expires_at
  returning request_hash as found`;

/** How long to look when the caller has no deadline. */
export const lookUpLimitMs = 10_000;
const longestLookUpMs = 60_000;
/** Also after the deadline: other callers of the same batch may still wait. */
const shortestLookUpMs = 1_000;
/** Between two attempts. */
const pauseMs = 100;

export type LookUp = {
  id: string;
  acquire(): Promise<PoolClient>;
  /** Until the caller's deadline; undefined without one. A tenth of it stays for the answer. */
  withinMs: number | undefined;
};

/** True: the transaction is stored. False: it is not, and can never be. Undefined: no answer within the limit. */
export async function lookUpReceipt({ id, acquire, withinMs = lookUpLimitMs }: LookUp): Promise<boolean | undefined> {
  const untilMs = performance.now() + Math.min(Math.max(withinMs * 0.9, shortestLookUpMs), longestLookUpMs);
  for (;;) {
    const leftMs = untilMs - performance.now();
    if (leftMs <= 0) return undefined;
    const found = await within(leftMs, tryOnce(acquire, id, leftMs));
    if (found !== undefined) return found === "stored";
    await new Promise((resolve) => setTimeout(resolve, Math.min(pauseMs, Math.max(0, untilMs - performance.now()))));
  }
}

async function tryOnce(acquire: () => Promise<PoolClient>, id: string, limitMs: number): Promise<string | undefined> {
  let client: PoolClient | undefined;
  let broken = true;
  try {
    client = await acquire();
    // node-postgres supports query_timeout per statement, but its types do not have it.
    const query = { text: lookUpText, values: [id], query_timeout: Math.ceil(limitMs) };
    const { rows } = await client.query<{ found: string }>(query);
    broken = false;
    return rows[0]!.found;
  } catch {
    // The next attempt decides.
    return undefined;
  } finally {
    client?.release(broken);
  }
}

async function within<T>(ms: number, work: Promise<T | undefined>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
