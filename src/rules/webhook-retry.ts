/** What an endpoint's answer means for a webhook delivery, and when it is tried again. The webhook role asks after each attempt. */

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

/** The wait after the first attempt, the second, and so on; after the last wait there is one more attempt, then none. */
export const defaultWebhookScheduleMs: readonly number[] = [
  5_000,
  5 * minute,
  30 * minute,
  2 * hour,
  5 * hour,
  10 * hour,
  10 * hour,
];

/** Nothing but failures for this long switches a webhook off. */
export const disableAfterMs = 5 * day;

/** For this long after a rotation the old secret signs too. */
export const previousSecretMs = day;

/** Each wait is up to this much shorter or longer, so that deliveries that failed together do not come back together. */
const jitter = 0.2;

/** What came of one request. */
export type WebhookAnswer =
  | { kind: "answered"; status: number; location: string | undefined }
  /** No whole answer: refused by us, no connection, no TLS, broken off, too late. */
  | { kind: "failed"; error: string };

/** `gone`: the endpoint asks not to be called again (410). `error` is for people and empty after success. */
export type WebhookVerdict = { outcome: "delivered" | "retry" | "gone"; error: string };

export function judgeAnswer(answer: WebhookAnswer): WebhookVerdict {
  if (answer.kind === "failed") return { outcome: "retry", error: answer.error };
  const { status } = answer;
  if (status >= 200 && status < 300) return { outcome: "delivered", error: "" };
  if (status === 410) return { outcome: "gone", error: "the endpoint answered 410: it wants no more events" };
  if (status >= 300 && status < 400) {
    const to = answer.location ? ` to ${JSON.stringify(answer.location.slice(0, 200))}` : "";
    return {
      outcome: "retry",
      error: `the endpoint answered ${status}, a redirect${to}. Redirects are not followed: give the webhook its final address`,
    };
  }
  return { outcome: "retry", error: `the endpoint answered ${status}` };
}

export type WebhookRetryFacts = {
  /** Attempts made so far, the one just ended included. */
  attempts: number;
  /** In [0, 1). */
  random: () => number;
  scheduleMs?: readonly number[];
};

/** Milliseconds until the next attempt; undefined when the last one has been made. */
export function nextWebhookAttempt(facts: WebhookRetryFacts): number | undefined {
  const { attempts, random, scheduleMs = defaultWebhookScheduleMs } = facts;
  const waitMs = scheduleMs[attempts - 1];
  return waitMs === undefined ? undefined : Math.round(waitMs * (1 - jitter + 2 * jitter * random()));
}
