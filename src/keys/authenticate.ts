/** Authenticates callers by their API key, for the gate (http/gate.ts). Every call queries the store, so that every node rejects a revoked
 * key at once. Calls that arrive while a query is running share the next one as a batch. */
import type { Caller } from "../http/caller.ts";
import type { Authenticator } from "../http/gate.ts";
import type { Log } from "../ops/log.ts";
import { Problem } from "../ops/problem.ts";
import type { Sql } from "../postgres/pool.ts";
import { allowsAddress } from "./rules/addresses.ts";
import { type FoundKey, findKeys, touchKeys } from "./store.ts";

/** `stop` writes the pending last uses. */
export type KeyAuthenticator = Authenticator & { stop(): Promise<void> };

type Waiter = { secret: string; resolve(key: FoundKey | undefined): void; reject(error: unknown): void };

/** How often the uses of keys are written, and the shortest time between two updates of one key. */
const touchEveryMs = 5_000;
const touchIntervalMs = 60_000;

export function createAuthenticator(deps: { sql: Sql; log: Log }): KeyAuthenticator {
  let waiting: Waiter[] = [];
  let querying = false;
  /** The client's address of each use that is not written yet, by key. */
  const used = new Map<string, string>();
  const touched = new Map<string, number>();

  async function queryWaiting(): Promise<void> {
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

  /** Reads the address only for a use that will be written. */
  function noteUse(id: string, address: () => string): void {
    if (used.has(id) || performance.now() - (touched.get(id) ?? Number.NEGATIVE_INFINITY) < touchIntervalMs) return;
    used.set(id, address());
  }

  async function recordUse(): Promise<void> {
    const uses = [...used].map(([id, address]) => ({ id, address }));
    used.clear();
    if (uses.length === 0) return;
    if (touched.size > 10_000) touched.clear();
    for (const { id } of uses) touched.set(id, performance.now());
    await touchKeys(deps.sql, uses).catch((error) =>
      deps.log.debug({ err: error }, "could not update the last use of keys"),
    );
  }

  const timer = setInterval(recordUse, touchEveryMs).unref();

  return {
    async authenticate(authorization, address) {
      const secret = bearerToken(authorization);
      if (secret === undefined) throw unauthenticated();
      const key = await new Promise<FoundKey | undefined>((resolve, reject) => {
        waiting.push({ secret, resolve, reject });
        if (querying) return;
        querying = true;
        // Calls that arrive in the same turn of the event loop share the first query.
        setImmediate(queryWaiting);
      });
      if (!key) throw unauthenticated();
      const { limits } = key;
      if (key.expired) throw expired(limits?.expiresAt);
      if (limits?.addresses && !allowsAddress(limits.addresses, address())) throw wrongAddress(address());
      noteUse(key.id, address);
      return callerOf(key);
    },
    async stop() {
      clearInterval(timer);
      await recordUse();
    },
  };
}

function callerOf({ id, workspaceId, permission, test, limits, limitsVersion }: FoundKey): Caller {
  return { workspaceId, keyId: id, permission, test, limits, limitsVersion };
}

/** The same error for a missing, malformed, unknown and revoked key: the answer must not reveal which. */
export function unauthenticated(): Problem {
  return new Problem(
    "unauthenticated",
    "A valid API key is required. Send the header Authorization: Bearer ph_… with a key that has not been revoked. Create keys in the dashboard or with: posthorn keys create",
  );
}

/** Only a caller with the right secret gets this error. */
function expired(at: Date | undefined): Problem {
  const when = at ? ` at ${at.toISOString()}` : "";
  return new Problem(
    "unauthenticated",
    `This API key expired${when}. Use the key that replaces it, or create one in the dashboard or with: posthorn keys create`,
  );
}

function wrongAddress(address: string): Problem {
  return new Problem(
    "permission_denied",
    `This API key may not be used from the address ${address || "of this connection, which is not known"}. Call from an allowed address, or add this one to the allowed addresses of the key in the dashboard or with UpdateKey. Behind a proxy, the operator must set POSTHORN_TRUSTED_PROXIES.`,
  );
}

/** RFC 6750 §2.1, limited to the longest key that Posthorn or an operator creates. */
function bearerToken(authorization: string | undefined): string | undefined {
  return /^Bearer +([\x21-\x7e]{8,512}) *$/i.exec(authorization ?? "")?.[1];
}
