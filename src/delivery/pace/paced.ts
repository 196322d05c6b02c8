/** Applies the pace to a transport: `createPacedTransport` picks the site and its limits for each message and reports the result to the
 * pace. `createEvenPace` is the pace of capture mode. Wired by app/assemble/delivery.ts. */
import { sessionOpened } from "../../smtp/client/evidence.ts";
import type { LoopDeps } from "../loop.ts";
import { classify, type Outcome } from "../rules/outcome.ts";
import { signalOf } from "../rules/pace.ts";
import { openingTimeouts } from "../rules/stall.ts";
import type { Transport, TransportResult } from "../transport.ts";
import type { Sites } from "./sites.ts";

export type PacedDeps = {
  sites: Sites;
  transport: Transport;
  /** The relay for sites that keep failing and for sites that the operator has listed. */
  fallback: { site: string; transport: Transport } | undefined;
  /** For metrics, and for the wordings that no rule knows. */
  onResult(result: TransportResult, of: { site: string; recipient: string; outcome: Outcome }): void;
};

/** Recipients in hand per destination in capture mode. */
const evenCapacity = 40;

export function createPacedTransport({ sites, transport, fallback, onResult }: PacedDeps): Transport {
  return async (request) => {
    const name = request.siteName ?? request.destination;
    const usesFallback = fallback !== undefined && name === fallback.site;
    const startedMs = performance.now();
    const send = usesFallback ? fallback.transport : transport;
    request.progress.onAnswer = (step, tookMs) => sites.pace.answered(name, step, { tookMs, nowMs: performance.now() });
    const opening = openingTimeouts(sites.pace.usualOf(name), request.attempts);
    const result = await send({ ...request, site: { name, opening, ...sites.pace.limitOf(name) } });
    const outcome = classify(result.evidence, { relay: result.conversation.relay });
    onResult(result, { site: name, recipient: request.recipient, outcome });
    const signal = signalOf(outcome, sessionOpened(result.evidence));
    const trouble = signal === "slow" || signal === "down";
    const { evidence } = result;
    const unlisted = !usesFallback && evidence.kind === "unroutable" && evidence.mxFailed;
    const observed = unlisted ? sites.leaveSite(request.destination) : name;
    sites.observe(observed, signal, { startedMs, ...(trouble && { reply: outcome.reply ?? outcome.reason }) });
    if (!usesFallback) return result;
    return {
      ...result,
      conversation: { ...result.conversation, relayReason: sites.relayReason(request.destination) },
    };
  };
}

/** The pace of capture mode: every destination is its own site, and all have the same capacity. */
export function createEvenPace(): LoopDeps["pace"] {
  const inHand = new Map<string, number>();
  return {
    siteOf: (destination) => destination,
    capacity: (site) => evenCapacity - (inHand.get(site) ?? 0),
    capacityAtMs: () => undefined,
    unproven: () => false,
    leased(site, recipients) {
      inHand.set(site, (inHand.get(site) ?? 0) + recipients);
      return 0;
    },
    finished(site, recipients) {
      const left = (inHand.get(site) ?? 0) - recipients;
      if (left > 0) inHand.set(site, left);
      else inHand.delete(site);
    },
    isSilent: () => false,
    stall: () => false,
    sync: async () => {},
    onChange: () => {},
  };
}
