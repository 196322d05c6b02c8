/** Counts, limits and records refused sign-ins at a provider. Strangers cause them, so the audit log gets only some of a flood; the metrics
 * count all. Called by flow.ts. */
import { record } from "../../audit/record.ts";
import type { Log } from "../../ops/log.ts";
import type { Metrics } from "../../ops/metrics.ts";
import { Problem } from "../../ops/problem.ts";
import type { Sql } from "../../postgres/pool.ts";
import { networksOf } from "../../shares/address.ts";
import { createTokenBuckets } from "../../shares/token-bucket.ts";
import { createClientLimit } from "../limits.ts";
import { type OidcReason, OidcRefusal } from "../rules/oidc-refusal.ts";

export type Refusals = ReturnType<typeof createRefusals>;

export function createRefusals(deps: { sql: Sql; log: Log; metrics: Pick<Metrics, "oidcSignIns"> }) {
  /** Answers of providers that fail. One that works is given back. */
  const failures = createClientLimit({ burst: 40, periodMs: 10_000 });
  const recordedOfClient = createTokenBuckets({ burst: 10, periodMs: 60_000, maxKeys: 20_000 });
  const recordedOfNode = createTokenBuckets({ burst: 200, periodMs: 5_000, maxKeys: 1 });

  function mayRecord(address: string): boolean {
    const nowMs = performance.now();
    if (recordedOfClient.take(networksOf(address).site, nowMs).waitMs > 0) return false;
    return recordedOfNode.take("node", nowMs).waitMs === 0;
  }

  return {
    /** Throws when too many sign-ins of this client have failed. Counts this one as failed until it succeeds. */
    check(address: string): void {
      try {
        failures.check(address, performance.now());
      } catch (cause) {
        throw new OidcRefusal("oidc_limit", { cause });
      }
      failures.take(address, performance.now());
    },
    succeeded(address: string): void {
      failures.giveBack(address, performance.now());
      deps.metrics.oidcSignIns.inc({ result: "ok" });
    },
    /** Returns the reason for the page. */
    async handle(error: unknown, { address, provider }: { address: string; provider: string }): Promise<OidcReason> {
      const refusal = asRefusal(error);
      const { reason, personId } = refusal;
      deps.metrics.oidcSignIns.inc({ result: reason });
      const isRecorded = reason !== "oidc_limit" && mayRecord(address);
      const details = { reason, provider, cause: causeOf(refusal) };
      if (reason === "oidc_failed") deps.log.error({ err: error, ...details }, "a sign-in by a provider failed");
      else deps.log[isRecorded ? "info" : "debug"](details, "a sign-in by a provider was refused");
      if (!isRecorded) return reason;
      const actor = { kind: "stranger" as const, address, ...(personId && { personId }) };
      const target = personId === undefined ? {} : { target: { kind: "person" as const, id: personId } };
      await deps.sql
        .begin((tx) => record(tx, actor, { action: "sign_in.refused", reason, ...target }))
        .catch((cause) => deps.log.warn({ err: cause, reason }, "cannot record a refused sign-in"));
      return reason;
    },
  };
}

function asRefusal(error: unknown): OidcRefusal {
  if (error instanceof OidcRefusal) return error;
  if (error instanceof Problem && error.code === "resource_exhausted")
    return new OidcRefusal("oidc_quota", { cause: error });
  if (error instanceof Problem && error.code === "permission_denied")
    return new OidcRefusal("oidc_not_a_member", { cause: error });
  return new OidcRefusal("oidc_failed", { cause: error });
}

/** For the operator's log, as data: messages of the library, and the error that the provider names. No tokens and no claims. */
function causeOf(refusal: OidcRefusal): string {
  const parts: string[] = [];
  for (
    let one = refusal.cause as (Error & { error?: unknown }) | undefined;
    one && parts.length < 4;
    one = one.cause as never
  ) {
    if (typeof one.message === "string") parts.push(one.message);
    if (typeof one.error === "string") parts.push(one.error);
  }
  return parts
    .join(": ")
    .replace(/[^\x20-\x7e]/g, "?")
    .slice(0, 300);
}
