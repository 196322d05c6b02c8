/** Knows callers by their key. Each call asks the store, so that a revoked key is refused at once on every node; calls that
 * arrive while one look-up is under way share the next one, so that load makes batches and not queues. */
import type { Log } from "../ops/log.ts";
import { Problem } from "../rules/problem.ts";
import type { Sql } from "../store/db.ts";
import { type FoundKey, findKeys, touchKeys } from "../store/keys.ts";

export type Authenticator = {
  authenticate(authorization: string | undefined): Promise<FoundKey>;
  stop(): Promise<void>;
};

type Waiter = { secret: string; resolve(key: FoundKey | undefined): void; reject(error: unknown): void };

const touchEveryMs = 5_000;
const touchedForMs = 60_000;

export function createAuthenticator(deps: { sql: Sql; log: Log }): Authenticator {
  let waiting: Waiter[] = [];
  let asking = false;
  const used = new Set<string>();
  const touched = new Map<string, number>();

  async function askAll(): Promise<void> {
    asking = true;
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
    asking = false;
  }

  async function noteUse(): Promise<void> {
    const now = Date.now();
    const ids = [...used].filter((id) => (touched.get(id) ?? 0) < now - touchedForMs);
    used.clear();
    if (ids.length === 0) return;
    if (touched.size > 10_000) touched.clear();
    for (const id of ids) touched.set(id, now);
    await touchKeys(deps.sql, ids).catch((error) => deps.log.debug({ err: error }, "last use of keys not noted"));
  }

  const timer = setInterval(noteUse, touchEveryMs).unref();

  return {
    async authenticate(authorization) {
      const secret = bearer(authorization);
      if (secret === undefined) throw unauthenticated();
      const key = await new Promise<FoundKey | undefined>((resolve, reject) => {
        waiting.push({ secret, resolve, reject });
        if (!asking) void askAll();
      });
      if (!key) throw unauthenticated();
      used.add(key.id);
      return key;
    },
    async stop() {
      clearInterval(timer);
      await noteUse();
    },
  };
}

/** One answer for a missing, malformed, unknown and revoked key: it must not tell which. */
export function unauthenticated(): Problem {
  return new Problem(
    "unauthenticated",
    "A valid API key is needed: send the header Authorization: Bearer ph_… with a key that has not been revoked. Keys are made in the dashboard or with: posthorn keys create",
  );
}

/** RFC 6750 §2.1, with a bound: no key of ours or an operator's is longer. */
function bearer(authorization: string | undefined): string | undefined {
  return /^Bearer +([\x21-\x7e]{8,512}) *$/i.exec(authorization ?? "")?.[1];
}
