/** Counts refused sign-ins and confirmations, and records them in the audit log. Strangers cause most of them, so only some are recorded:
 * a flood must not fill the database. Metrics count all. Called by people.ts, sign-in.ts, confirm.ts and oidc/refusals.ts. */
import { record } from "../audit/record.ts";
import type { Log } from "../ops/log.ts";
import type { signInRefusalReasons } from "../ops/metrics.ts";
import type { Sql } from "../postgres/pool.ts";
import { networksOf } from "../shares/address.ts";
import { createTokenBuckets } from "../shares/token-bucket.ts";
import type { OidcReason } from "./rules/oidc-refusal.ts";

export type RefusalReason = (typeof signInRefusalReasons)[number];

export type Refusal = {
  action: "sign_in.refused" | "confirmation.refused";
  reason: RefusalReason | OidcReason;
  /** The person that the client claims to be, or is signed in as; undefined for an address without an account. */
  personId: string | undefined;
  address: string;
};

export type Refusals = { add(refusal: Refusal & { reason: RefusalReason }): Promise<void> };

/** Records a refusal, unless its client or this node has recorded many. Returns whether it did. */
export type RecordRefusal = (refusal: Refusal) => Promise<boolean>;

/** Entries of one client: an IPv4 address or an IPv6 /56. */
const perClient = { burst: 20, periodMs: 60_000, maxKeys: 10_000 };
/** Entries that this node writes for all clients together: at most 17,280 a day. */
const perNode = { burst: 500, periodMs: 5_000, maxKeys: 1 };

export function createRefusals(deps: { record: RecordRefusal; count(reason: RefusalReason): void }): Refusals {
  return {
    async add(refusal) {
      deps.count(refusal.reason);
      await deps.record(refusal);
    },
  };
}

export function createRefusalRecorder(deps: { sql: Sql; log: Log }): RecordRefusal {
  const clients = createTokenBuckets(perClient);
  const node = createTokenBuckets(perNode);

  function mayRecord(address: string): boolean {
    const now = performance.now();
    return clients.take(networksOf(address).site, now).waitMs === 0 && node.take("node", now).waitMs === 0;
  }

  return async ({ action, reason, personId, address }) => {
    if (!mayRecord(address)) return false;
    const isSignedIn = action === "confirmation.refused";
    const actor = {
      kind: isSignedIn ? "person" : "stranger",
      id: isSignedIn ? personId : undefined,
      personId,
      address,
    } as const;
    const target = personId === undefined ? undefined : ({ kind: "person", id: personId } as const);
    // The refusal stands also if it cannot be recorded.
    await record(deps.sql, actor, { action, target, reason }).catch((error) =>
      deps.log.warn({ err: error, action, reason }, "a refusal is missing from the audit log"),
    );
    return true;
  };
}
