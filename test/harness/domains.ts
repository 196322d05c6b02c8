/** Domain rows and check results for tests that need many domains but no real keys, because making keys is slow. */
import { randomBytes } from "node:crypto";
import { dkimLabel, type RecordKey, recordKeys } from "../../src/domains/rules/records.ts";
import type { DomainCheckResult, StoredRecord } from "../../src/domains/rules/result.ts";
import type { DomainStatus } from "../../src/domains/rules/status.ts";
import type { NewDomain } from "../../src/domains/store/domains.ts";
import { makeUuid } from "../../src/postgres/ids.ts";

/** A domain as registration stores it, with fake keys. */
export function newDomain(workspaceId: string, domain: string, extra: Partial<NewDomain> = {}): NewDomain {
  const token = randomBytes(8).toString("hex");
  return {
    id: makeUuid(Date.now()),
    workspaceId,
    domain,
    token,
    mailFromLabel: "bounce",
    region: "local",
    note: "new",
    firstCheckMs: 300_000,
    keys: ([1, 2] as const).map((slot) => ({
      id: makeUuid(Date.now()),
      slot,
      label: dkimLabel(token, slot),
      publicKey: `public ${token} ${slot}`,
      privateKeySealed: `sealed ${token} ${slot}`,
      primes: 3,
    })),
    ...extra,
  };
}

/** The result of a check that found these records, with the status that the test chooses. */
export function checkResult(
  status: DomainStatus,
  found: readonly RecordKey[],
  extra: Partial<DomainCheckResult> = {},
): DomainCheckResult {
  const dkim = found.includes("dkim1") || found.includes("dkim2");
  const records = recordKeys.map(
    (key): StoredRecord => ({
      key,
      status: found.includes(key) ? "found" : "missing",
      discoveredValue: "",
      note: "",
      waiting: false,
      unanswered: false,
    }),
  );
  return {
    facts: { status, createdAt: new Date(), readyAt: null, dkimSeenAt: null, incompleteSince: null, hadDkim: dkim },
    records,
    summary: {
      message: `it is ${status}`,
      nextAction: status === "ready" ? "NONE" : "CONFIGURE_DNS",
      recordsPending: 7 - found.length,
      recordsConfigured: found.length,
      canSend: dkim && status !== "failed",
      canReceive: dkim && found.includes("mx"),
    },
    signingSlots: ([1, 2] as const).filter((slot) => found.includes(`dkim${slot}`)),
    mailFromReady: found.includes("mailFromMx") && found.includes("mailFromSpf"),
    zone: undefined,
    checks: 1,
    nextCheckAt: new Date(Date.now() + 300_000),
    changed: true,
    importedKeys: { keys: [], complete: true, changed: false, message: "" },
    previousStatus: undefined,
    ...extra,
  };
}
