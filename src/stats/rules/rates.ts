/** Rates of outcomes and the limits that they are compared with. docs/insight.md explains them. Called by service.ts and alerts.ts. */
import type { Counts } from "../rules.ts";

export type Rates = { delivered?: number; bounced?: number; complained?: number };

/**
 * Gmail: "Keep spam rates reported in Postmaster Tools below 0.10% and avoid ever reaching a spam rate of 0.30% or higher"
 * (support.google.com/mail/answer/81126). Yahoo: "Keep your spam rate below 0.3%" (senders.yahooinc.com/best-practices). Neither
 * publishes a limit for bounces; 2 % and 5 % are what sending services commonly use.
 */
export const rateLimits = { bounceTarget: 0.02, bounceLimit: 0.05, complaintTarget: 0.001, complaintLimit: 0.003 };

type Outcomes = Pick<Counts, "delivered" | "sent" | "bounced" | "failed" | "complained">;

export function ratesOf(counts: Outcomes): Rates {
  const { bounced, failed, complained } = counts;
  const handedOver = acceptedBy(counts);
  return {
    delivered: share(handedOver, handedOver + bounced + failed),
    bounced: share(bounced, answeredBy(counts)),
    complained: share(complained, handedOver),
  };
}

/** Recipients whose mail server or relay took the email. */
export function acceptedBy({ delivered, sent }: Pick<Outcomes, "delivered" | "sent">): number {
  return delivered + sent;
}

/** Recipients whose mail server took or rejected the email. */
export function answeredBy(counts: Pick<Outcomes, "delivered" | "sent" | "bounced">): number {
  return acceptedBy(counts) + counts.bounced;
}

function share(part: number, whole: number): number | undefined {
  return whole === 0 ? undefined : part / whole;
}
