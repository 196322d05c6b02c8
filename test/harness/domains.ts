/** Registrations and findings for tests that need many domains and no real keys: making those takes longer than most tests. */
import { randomBytes } from "node:crypto";
import { dkimLabel, type RecordKey, recordKeys } from "../../src/rules/dns-records.ts";
import type { CheckResult, StoredRecord } from "../../src/rules/domain-result.ts";
import type { DomainStatus } from "../../src/rules/domain-status.ts";
import type { NewDomain } from "../../src/store/domains.ts";
import { makeUuid } from "../../src/store/ids.ts";

/** As the registrar would store it, with keys that nobody can sign with. */
export function newDomain(workspaceId: string, domain: string, extra: Partial<NewDomain> = {}): NewDomain {
  const token = randomBytes(8).toString("hex");
  return {
    ...{ id: makeUuid(Date.now()), workspaceId, domain, token, mailFromLabel: "bounce", region: "local", note: "new" },
    firstCheckMs: 300_000,
    keys: ([1, 2] as const).map((slot) => ({
      ...{ id: makeUuid(Date.now()), slot, label: dkimLabel(token, slot) },
      ...{ publicKey: `public ${token} ${slot}`, privateKeySealed: `sealed ${token} ${slot}` },
    })),
    ...extra,
  };
}

/** The result of a check that found these records; the status is the test's to choose. */
export function checkResult(
  status: DomainStatus,
  found: readonly RecordKey[],
  extra: Partial<CheckResult> = {},
): CheckResult {
  const dkim = found.includes("dkim1") || found.includes("dkim2");
  const records = recordKeys.map(
    (key): StoredRecord => ({
      ...{ key, status: found.includes(key) ? "found" : "missing", discoveredValue: "", note: "" },
      ...{ waiting: false, unanswered: false },
    }),
  );
  return {
    facts: { status, createdAt: new Date(), readyAt: null, dkimSeenAt: null, incompleteSince: null, hadDkim: dkim },
    records,
    summary: {
      ...{ message: `it is ${status}`, nextAction: status === "ready" ? "NONE" : "CONFIGURE_DNS" },
      ...{ recordsPending: 7 - found.length, recordsConfigured: found.length },
      ...{ canSend: dkim && status !== "failed", canReceive: dkim && found.includes("mx") },
    },
    signingSlots: ([1, 2] as const).filter((slot) => found.includes(`dkim${slot}`)),
    mailFromReady: found.includes("mailFromMx") && found.includes("mailFromSpf"),
    checks: 1,
    nextCheckAt: new Date(Date.now() + 300_000),
    changed: true,
    previousStatus: undefined,
    ...extra,
  };
}
