/** Turns a leased delivery into a settlement: makes an attempt if the event is still stored, and decides whether to retry. Called by the
 * webhook loop. */
import type { StoredEvent } from "../events/store.ts";
import type { Log } from "../ops/log.ts";
import type { AttemptResult, WebhookAttempt } from "./attempt.ts";
import { nextWebhookAttempt } from "./rules/retry.ts";
import type { LeasedDelivery } from "./store/lease.ts";
import type { WebhookSettlement } from "./store/settle.ts";

export type DeliverDeps = {
  attempt: WebhookAttempt;
  log: Log;
  scheduleMs: readonly number[];
  random: () => number;
  makeEventId(): string;
  /** Reads an event that was too large to be read with its lease. Undefined when it has been deleted. */
  readEvent(row: LeasedDelivery): Promise<StoredEvent | undefined>;
  onAttempt?(outcome: AttemptResult["outcome"]): void;
};

type Verdict = Pick<WebhookSettlement, "status" | "dueInMs" | "endpoint" | "error">;

/** The result of an attempt without a request. */
function noResponse(url: string) {
  const exchange = { url, requestHeaders: "", responseHeaders: "", responseBody: "" };
  return { responseStatus: undefined, responseHead: "", durationMs: 0, exchange };
}

export function createDeliver(deps: DeliverDeps) {
  return async (row: LeasedDelivery, signal: AbortSignal): Promise<WebhookSettlement | undefined> => {
    const { workspaceId, webhookId, id, lease } = row;
    const attempts = row.attempts + 1;
    const settlementOf = (
      verdict: Verdict,
      response: Omit<AttemptResult, "outcome" | "error"> = noResponse(row.signer.url),
    ) => {
      const { responseStatus, responseHead, durationMs, exchange } = response;
      const eventId = deps.makeEventId();
      return {
        workspaceId,
        webhookId,
        id,
        lease,
        attempts,
        responseStatus,
        responseHead,
        durationMs,
        exchange,
        eventId,
        ...verdict,
      };
    };
    const event = row.isLarge ? await deps.readEvent(row) : row.event;
    if (!event) {
      const error = "the event was deleted because its retention period has passed";
      return settlementOf({ status: "failed", dueInMs: undefined, endpoint: "unknown", error });
    }
    let failedInternally = false;
    const result = await deps.attempt(row.signer, event, signal).catch((cause) => {
      failedInternally = true;
      return internalError(row, cause);
    });
    if (!result) return undefined;
    const { outcome, error, ...response } = result;
    if (!failedInternally) deps.onAttempt?.(outcome);
    if (outcome === "delivered")
      return settlementOf({ status: "delivered", dueInMs: undefined, endpoint: "worked", error }, response);
    if (outcome === "gone")
      return settlementOf({ status: "failed", dueInMs: undefined, endpoint: "gone", error }, response);
    const dueInMs = nextWebhookAttempt({ attempts, random: deps.random, scheduleMs: deps.scheduleMs });
    const endpoint = failedInternally ? "unknown" : "failed";
    return settlementOf({ status: dueInMs === undefined ? "failed" : "queued", dueInMs, endpoint, error }, response);
  };

  /** Counts as an attempt, so that an event that cannot be encoded does not block later events of its email for ever. */
  function internalError(row: LeasedDelivery, cause: unknown): AttemptResult {
    // The log gets the name and the stack only: an encoder's error message quotes the value, which may be the text of an email.
    const { name, stack = "" } = cause as Error;
    const at = stack
      .split("\n")
      .filter((line) => /^\s+at /.test(line))
      .join("\n");
    deps.log.error(
      { error: name, at, webhookId: row.webhookId, deliveryId: row.id },
      "a webhook delivery failed with an internal error",
    );
    return {
      outcome: "retry",
      error: "an internal error of this service prevented the request",
      ...noResponse(row.signer.url),
    };
  }
}
