/** A way out that keeps the pace: says which site a parcel goes to and how hard it may be pressed, and tells what came of it. */
import { classifyAll } from "../rules/outcome.ts";
import { opensSession } from "../rules/outcome-evidence.ts";
import { signalOf } from "../rules/site-pace.ts";
import type { Sites } from "./sites.ts";
import type { Transport } from "./transport.ts";

export function paced(transport: Transport, sites: Sites): Transport {
  return async (parcel) => {
    const name = sites.siteOf(parcel.destination) ?? parcel.destination;
    const startedMs = Date.now();
    const delivered = await transport({ ...parcel, site: { name, ...sites.pace.limitOf(name) } });
    const outcomes = classifyAll(delivered.evidence, { relay: delivered.conversation.relay });
    const signal = signalOf(outcomes, delivered.evidence.some(opensSession));
    const trouble = signal === "slow" || signal === "down";
    sites.heard(name, signal, { startedMs, ...(trouble && { reply: outcomes[0]!.reply ?? outcomes[0]!.reason }) });
    return delivered;
  };
}
