/** Authenticates callers by their API key, for the gate (http/gate.ts). Every call queries the store, so that every node rejects a revoked
 * key at once. Calls that arrive while a query is running share the next one as a batch. */
import type { Caller } from "../http/caller.ts";
import type { Authenticator } from "../http/gate.ts";
import type { Log } from "../ops/log.ts";
import { Problem } from "../ops/problem.ts";
import type { Sql } from "../postgres/pool.ts";
import { type FoundKey, findKeys, touchKeys } from "./store.ts";

/** `stop` writes the pending `last_used_at` updates. */
export type KeyAuthenticator = Authenticator & { stop(): Promise<void> };

type Waiter = { secret: string; resolve(key: FoundKey | undefined): void; reject(error: unknown): void };

/** How often the uses of keys are written, and the shortest time between two updates of one key. */
const touchEveryMs = 5_000;
const touchIntervalMs = 60_000;

export function createAuthenticator(deps: { sql: Sql; log: Log }): KeyAuthenticator {
  let waiting: Waiter[] = [];
  let querying = false;
  const used = new Set<string>();
  const touched = new Map<string, number>();

  async function queryWaiting(): Promise<void> {
    querying = true;
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      try {
        const keys = await findKeys(
          deps.sql,
          batch.map((w) => w.secret),
        );
        for (const [i, waiter] of batch.entries()) waiter.resolve(keys[i]);
      } catch (error) {
        for (const waiter of batch) waiter.reject(error);
      }
    }
    querying = false;
  }

  async function recordUse(): Promise<void> {
    const now = performance.now();
    const ids = [...used].filter((id) => (touched.get(id) ?? Number.NEGATIVE_INFINITY) < now - touchIntervalMs);
    used.clear();
    if (ids.length === 0) return;
    if (touched.size > 10_000) touched.clear();
    for (const id of ids) touched.set(id, now);
    await touchKeys(deps.sql, ids).catch((error) =>
      deps.log.debug({ err: error }, "could not update last_used_at of keys"),
    );
  }

  const timer = setInterval(recordUse, touchEveryMs).unref();

  return {
    async authenticate(authorization) {
      const secret = bearerToken(authorization);
      if (secret === undefined) throw unauthenticated();
      const key = await new Promise<FoundKey | undefined>((resolve, reject) => {
        waiting.push({ secret, resolve, reject });
        if (!querying) void queryWaiting();
      });
      if (!key) throw unauthenticated();
      used.add(key.id);
      return callerOf(key);
    },
    async stop() {
      clearInterval(timer);
      await recordUse();
    },
  };
}

function callerOf(key: FoundKey): Caller {
  return {
    workspaceId: key.workspaceId,
    keyId: key.id,
    permission: key.permission,
    domain: key.domain ?? undefined,
    test: key.test,
    keyMakerId: key.makerId ?? undefined,
  };
}

/** The same error for a missing, malformed, unknown and revoked key: the answer must not reveal which. */
export function unauthenticated(): Problem {
  return new Problem(
    "unauthenticated",
    "A valid API key is required. Send the header Authorization: Bearer ph_… with a key that has not been revoked. Create keys in the dashboard or with: posthorn keys create",
  );
}

/** RFC 6750 §2.1, limited to the longest key that Posthorn or an operator creates. */
function bearerToken(authorization: string | undefined): string | undefined {
  return /^Bearer +([\x21-\x7e]{8,512}) *$/i.exec(authorization ?? "")?.[1];
}
