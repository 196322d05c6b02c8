/** What becomes of a leased delivery: an attempt where there is something to deliver, and from its verdict the settlement. */
import type { Log } from "../ops/log.ts";
import { nextWebhookAttempt } from "../rules/webhook-retry.ts";
import type { LeasedDelivery } from "../store/webhook-lease.ts";
import type { WebhookSettlement } from "../store/webhook-settle.ts";
import type { Attempt, Attempted } from "./attempt.ts";

export type DeliverDeps = {
  attempt: Attempt;
  log: Log;
  scheduleMs: readonly number[];
  random: () => number;
  makeEventId(): string;
  onAttempt?(outcome: Attempted["outcome"]): void;
};

type Ending = Pick<WebhookSettlement, "status" | "dueInMs" | "endpoint" | "error">;
const unanswered = { responseStatus: undefined, responseHead: "", durationMs: 0 };

export function createDeliver(deps: DeliverDeps) {
  return async (row: LeasedDelivery, signal: AbortSignal): Promise<WebhookSettlement | undefined> => {
    const { workspaceId, webhookId, id, lease } = row;
    const attempts = row.attempts + 1;
    const settled = (ending: Ending, seen: Omit<Attempted, "outcome" | "error"> = unanswered): WebhookSettlement => {
      const { responseStatus, responseHead, durationMs } = seen;
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
        eventId,
        ...ending,
      };
    };
    if (!row.event) {
      const error = "the event is past the time it is kept";
      return settled({ status: "failed", dueInMs: undefined, endpoint: "unknown", error });
    }
    let ours = false;
    const attempted = await deps.attempt(row.signer, row.event, signal).catch((cause) => {
      ours = true;
      return faultOfOurs(row, cause);
    });
    if (!attempted) return undefined;
    const { outcome, error, ...seen } = attempted;
    if (!ours) deps.onAttempt?.(outcome);
    if (outcome === "delivered")
      return settled({ status: "delivered", dueInMs: undefined, endpoint: "worked", error }, seen);
    if (outcome === "gone") return settled({ status: "failed", dueInMs: undefined, endpoint: "gone", error }, seen);
    const dueInMs = nextWebhookAttempt({ attempts, random: deps.random, scheduleMs: deps.scheduleMs });
    const endpoint = ours ? "unknown" : "failed";
    return settled({ status: dueInMs === undefined ? "failed" : "queued", dueInMs, endpoint, error }, seen);
  };

  /** It counts as an attempt, so that an event which cannot be written does not hold back those behind it for ever. */
  function faultOfOurs(row: LeasedDelivery, cause: unknown): Attempted {
    // Errors of the encoder quote what they could not encode, which may be a message: only where it happened is told.
    const { name, stack = "" } = cause as Error;
    const at = stack
      .split("\n")
      .filter((line) => /^\s+at /.test(line))
      .join("\n");
    deps.log.error(
      { error: name, at, webhookId: row.webhookId, deliveryId: row.id },
      "a webhook delivery failed by a fault of ours",
    );
    return {
      outcome: "retry",
      error: "something went wrong on our side before the request was made",
      ...unanswered,
    };
  }
}
