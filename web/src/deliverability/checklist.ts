/** The checks of a pre-flight for a table: what to show first, how many of a receiver's demands are open, and the words of results. */
import {
  type DeliverabilityCheck,
  type DeliverabilityDemand,
  DeliverabilityResult,
  MailReceiver,
} from "../../../src/gen/v1/deliverability_pb.ts";
import type { Tone } from "../parts/outcome.tsx";

export const receivers = [
  { receiver: MailReceiver.GMAIL, name: "Gmail" },
  { receiver: MailReceiver.YAHOO, name: "Yahoo" },
  { receiver: MailReceiver.MICROSOFT, name: "Microsoft" },
] as const;

export type ResultLabel = { text: string; tone: Tone };

const labels: Partial<Record<DeliverabilityResult, ResultLabel>> = {
  [DeliverabilityResult.PASS]: { text: "Passed", tone: "delivered" },
  [DeliverabilityResult.WARN]: { text: "Recommended", tone: "delayed" },
  [DeliverabilityResult.FAIL]: { text: "Not met", tone: "bounced" },
  [DeliverabilityResult.UNKNOWN]: { text: "Unknown", tone: "queued" },
  [DeliverabilityResult.NOT_NEEDED]: { text: "Not needed", tone: "canceled" },
};

/** A result of a later version is never shown as a pass. */
export function resultLabel(result: DeliverabilityResult): ResultLabel {
  return labels[result] ?? { text: "Unknown", tone: "queued" };
}

const order: readonly DeliverabilityResult[] = [
  DeliverabilityResult.FAIL,
  DeliverabilityResult.WARN,
  DeliverabilityResult.UNKNOWN,
  DeliverabilityResult.PASS,
  DeliverabilityResult.NOT_NEEDED,
];

/** The checks that a receiver states, or all without one. What is to be done comes first. */
export function checksFor(
  checks: readonly DeliverabilityCheck[],
  receiver: MailReceiver | undefined,
): DeliverabilityCheck[] {
  const rank = ({ result }: DeliverabilityCheck) => (order.indexOf(result) + order.length) % order.length;
  return checks
    .filter(({ demands }) => receiver === undefined || demands.some((demand) => demand.receiver === receiver))
    .toSorted((a, b) => rank(a) - rank(b));
}

export function countOpen(checks: readonly DeliverabilityCheck[], receiver: MailReceiver | undefined): number {
  return checksFor(checks, receiver).filter(({ result }) => result === DeliverabilityResult.FAIL).length;
}

/** "Gmail requires it", with its page. One entry per receiver. */
export function demandTexts(demands: readonly DeliverabilityDemand[]): { name: string; text: string; url: string }[] {
  return receivers.flatMap(({ receiver, name }) => {
    const stated = demands.find((demand) => demand.receiver === receiver);
    if (!stated) return [];
    const required = stated.bulkOnly ? "requires it of bulk mail" : "requires it";
    const text = stated.required || stated.bulkOnly ? required : "recommends it";
    return [{ name, text: `${name} ${text}`, url: stated.url }];
  });
}
