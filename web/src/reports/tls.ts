/** What the page says about TLS reports: the series of the chart and the names of policies. */
import type { TlsCounts, TlsDay } from "../../../src/gen/v1/report_pb.ts";
import type { Tone } from "../parts/outcome.tsx";

type TlsSeries = { tone: Tone; name: string; read(day: TlsDay): number };

/** Anyone can write an unauthenticated report, so its sessions are separate and have no color of success or failure. */
export const tlsSeries: readonly TlsSeries[] = [
  { tone: "delivered", name: "Encrypted", read: ({ counts }) => counts?.succeeded ?? 0 },
  { tone: "bounced", name: "Failed", read: ({ counts }) => counts?.failed ?? 0 },
  { tone: "canceled", name: "Unauthenticated", read: ({ unauthenticated }) => sessionsIn(unauthenticated) },
];

export function sessionsIn(counts: TlsCounts | undefined): number {
  return counts ? counts.succeeded + counts.failed : 0;
}

const policyNames: Record<string, string> = {
  tlsa: "DANE (TLSA records)",
  sts: "MTA-STS",
  "no-policy-found": "no policy, TLS is optional",
};

/** A policy type that this page does not know is shown as the report has it. */
export function policyName(type: string): string {
  return policyNames[type] ?? type;
}
