/** Counts and limits refused sign-ins at a provider, and names their reason. ../refusals.ts records them. Called by flow.ts. */
import type { Log } from "../../ops/log.ts";
import type { Metrics } from "../../ops/metrics.ts";
import { Problem } from "../../ops/problem.ts";
import { createClientLimit } from "../../shares/guessing.ts";
import type { RecordRefusal } from "../refusals.ts";
import { type OidcReason, OidcRefusal } from "../rules/oidc-refusal.ts";

/** `personId` and `isConfirmation`: the person was signed in, and should have proved anew who they are. */
type Refused = { address: string; provider: string; personId?: string | undefined; isConfirmation?: boolean };

export type OidcRefusals = ReturnType<typeof createOidcRefusals>;

export function createOidcRefusals(deps: { log: Log; record: RecordRefusal; metrics: Pick<Metrics, "oidcSignIns"> }) {
  /** Answers of providers that fail. One that works is given back. */
  const failures = createClientLimit({ burst: 40, periodMs: 10_000 }, "provider answers");
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
    async handle(error: unknown, { address, provider, ...known }: Refused): Promise<OidcReason> {
      const refusal = asRefusal(error);
      const { reason, personId = known.personId } = refusal;
      const action = known.isConfirmation ? "confirmation.refused" : "sign_in.refused";
      deps.metrics.oidcSignIns.inc({ result: reason });
      // A client that is beyond the limit has its entries already.
      const isRecorded = reason !== "oidc_limit" && (await deps.record({ action, reason, personId, address }));
      const details = { reason, provider, cause: causeOf(refusal) };
      if (reason === "oidc_failed") deps.log.error({ err: error, ...details }, "a sign-in by a provider failed");
      else deps.log[isRecorded ? "info" : "debug"](details, "a sign-in by a provider was refused");
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
  // The provider was unlinked meanwhile.
  if (error instanceof Problem && error.code === "unauthenticated")
    return new OidcRefusal("oidc_not_linked", { cause: error });
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
