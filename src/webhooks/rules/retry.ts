/** Judges the response of an endpoint and computes when a delivery is retried. Called by attempt.ts and deliver.ts after each attempt. */

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

/** The wait after the first attempt, the second, and so on. The attempt after the last wait is the last one. */
export const defaultWebhookScheduleMs: readonly number[] = [
  5_000,
  5 * minute,
  30 * minute,
  2 * hour,
  5 * hour,
  10 * hour,
  10 * hour,
];

/** A webhook is disabled when every delivery has failed for this long. */
export const disableAfterMs = 5 * day;

/** After a rotation the old secret signs too, for this long. */
export const previousSecretMs = day;

/** Each wait is up to this much shorter or longer, so that deliveries that failed together are not retried together. */
const jitter = 0.2;

/** The result of one request. */
export type WebhookAnswer =
  | { kind: "answered"; status: number; location: string | undefined }
  /** No complete response: the address is not allowed, no connection, no TLS, a closed connection, a timeout. */
  | { kind: "failed"; error: string };

/** `gone`: the endpoint answered 410 and must not be called again. `error` is a sentence for humans, empty after success. */
export type WebhookVerdict = { outcome: "delivered" | "retry" | "gone"; error: string };

export function judgeAnswer(answer: WebhookAnswer): WebhookVerdict {
  if (answer.kind === "failed") return { outcome: "retry", error: answer.error };
  const { status } = answer;
  if (status >= 200 && status < 300) return { outcome: "delivered", error: "" };
  if (status === 410) return { outcome: "gone", error: "the endpoint answered 410 (Gone), so it gets no more events" };
  if (status >= 300 && status < 400) {
    const to = answer.location ? ` to ${JSON.stringify(answer.location.slice(0, 200))}` : "";
    return {
      outcome: "retry",
      error: `the endpoint answered ${status}, a redirect${to}. Redirects are not followed: set the webhook's URL to the final address`,
    };
  }
  return { outcome: "retry", error: `the endpoint answered ${status}` };
}

export type WebhookRetryFacts = {
  /** Attempts so far, including the one that just ended. */
  attempts: number;
  /** In [0, 1). */
  random: () => number;
  scheduleMs?: readonly number[];
};

/** Milliseconds until the next attempt; undefined after the last attempt. */
export function nextWebhookAttempt(facts: WebhookRetryFacts): number | undefined {
  const { attempts, random, scheduleMs = defaultWebhookScheduleMs } = facts;
  const waitMs = scheduleMs[attempts - 1];
  return waitMs === undefined ? undefined : Math.round(waitMs * (1 - jitter + 2 * jitter * random()));
}
