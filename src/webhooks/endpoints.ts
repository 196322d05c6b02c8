/** What an endpoint may have at once: requests in progress, and rows that are leased ahead of them. An endpoint gains requests by responding
 * and loses them by failing; rows are leased ahead in proportion to its latest responses, so that an endpoint that hangs or fails holds few.
 * Pure; time is an argument. Created by loop.ts. */

/** The requests of an endpoint before its first response. */
export const initialSlots = 4;
/** The number of endpoints that are remembered. */
const maxKnown = 10_000;
/** An endpoint holds about twice as many rows as it has taken in this time: those of the requests to come, and those being settled. */
const recentMs = 250;

export type EndpointLimits = {
  /** Requests in progress at one endpoint. */
  perEndpoint: number;
  /** Rows of one webhook that are leased: waiting, posted, and being settled. */
  perWindow: number;
};

type Endpoint = {
  slots: number;
  /** Successes since `sinceMs`, for about as long as `recentMs`, and in the time before. */
  taken: { sinceMs: number; count: number; before: number };
};

export type Endpoints = ReturnType<typeof createEndpoints>;

export function createEndpoints(limits: EndpointLimits) {
  /** By webhook, least recently changed first. */
  const endpoints = new Map<string, Endpoint>();
  const unknownSlots = Math.min(initialSlots, limits.perEndpoint);

  const slotsOf = (webhookId: string) => endpoints.get(webhookId)?.slots ?? unknownSlots;

  function change(webhookId: string): Endpoint {
    const known = endpoints.get(webhookId);
    endpoints.delete(webhookId);
    const endpoint = known ?? {
      slots: unknownSlots,
      taken: { sinceMs: Number.NEGATIVE_INFINITY, count: 0, before: 0 },
    };
    endpoints.set(webhookId, endpoint);
    if (endpoints.size > maxKnown) endpoints.delete(endpoints.keys().next().value!);
    return endpoint;
  }

  return {
    /** Requests that may be in progress at the endpoint. */
    slotsOf,
    /** With one slot, an endpoint is failing. */
    isFailing: (webhookId: string) => slotsOf(webhookId) <= 1,
    /** Rows that the webhook may hold now. */
    windowOf(webhookId: string, nowMs: number): number {
      const endpoint = endpoints.get(webhookId);
      if (!endpoint) return unknownSlots;
      if (endpoint.slots <= 1) return 1;
      return Math.max(endpoint.slots, Math.min(2 * takenRecently(endpoint, nowMs), limits.perWindow));
    },
    /** The store knows that the endpoint has been failing. */
    startFailing(webhookId: string): void {
      if (!endpoints.has(webhookId)) change(webhookId).slots = Math.min(1, unknownSlots);
    },
    finished(webhookId: string, worked: boolean, nowMs: number): void {
      const endpoint = change(webhookId);
      if (!worked) {
        endpoint.slots = Math.max(Math.floor(endpoint.slots / 2), 1);
        return;
      }
      endpoint.slots = Math.min(endpoint.slots + 1, limits.perEndpoint);
      const { taken } = endpoint;
      const ageMs = nowMs - taken.sinceMs;
      if (ageMs < recentMs) taken.count += 1;
      else endpoint.taken = { sinceMs: nowMs, count: 1, before: ageMs < 2 * recentMs ? taken.count : 0 };
    },
  };
}

function takenRecently({ taken: { sinceMs, count, before } }: Endpoint, nowMs: number): number {
  const ageMs = nowMs - sinceMs;
  if (ageMs >= 2 * recentMs) return 0;
  return ageMs < recentMs ? Math.max(count, before) : count;
}
