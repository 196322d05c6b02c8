/** The ways out at their pace: says which site a parcel goes to and how hard it may be pressed, and tells what came of it. */
import { classifyAll } from "../rules/outcome.ts";
import { opensSession } from "../rules/outcome-evidence.ts";
import { signalOf } from "../rules/site-pace.ts";
import type { Sites } from "./sites.ts";
import type { Delivered, Transport } from "./transport.ts";

export type PacedDeps = {
  sites: Sites;
  transport: Transport;
  /** Where sites that have failed for long, or that the operator names, are served from. */
  fallback: { site: string; transport: Transport } | undefined;
  /** For counters. */
  onDelivered(delivered: Delivered): void;
};

export function createPaced({ sites, transport, fallback, onDelivered }: PacedDeps): Transport {
  return async (parcel) => {
    const name = parcel.siteName ?? sites.siteOf(parcel.destination) ?? parcel.destination;
    const fallsBack = fallback !== undefined && name === fallback.site;
    const startedMs = Date.now();
    const carry = fallsBack ? fallback.transport : transport;
    const delivered = await carry({ ...parcel, site: { name, ...sites.pace.limitOf(name) } });
    onDelivered(delivered);
    const outcomes = classifyAll(delivered.evidence, { relay: delivered.conversation.relay });
    const signal = signalOf(outcomes, delivered.evidence.some(opensSession));
    const trouble = signal === "slow" || signal === "down";
    sites.heard(name, signal, { startedMs, ...(trouble && { reply: outcomes[0]!.reply ?? outcomes[0]!.reason }) });
    if (!fallsBack) return delivered;
    return {
      ...delivered,
      conversation: { ...delivered.conversation, relayReason: sites.relayReason(parcel.destination) },
    };
  };
}
