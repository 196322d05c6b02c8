/** The attempts of a delivery as its page lists them. An earlier version of the server kept the last one only, in the delivery itself. */
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type { WebhookAttempt, WebhookDelivery } from "../../../src/gen/v1/webhook_pb.ts";
import { shownText } from "./shown-text.ts";

export type ShownAttempt = {
  number: number;
  attemptedAt?: Timestamp;
  durationMs: number;
  responseStatus: number;
  error: string;
  /** Undefined: not kept. Empty: no request was made. */
  request: string | undefined;
  response: string;
};

/** `kept`: all attempts that the server has, or the newest of them if `hasMore`. Newest first. */
export function listAttempts(
  delivery: Pick<
    WebhookDelivery,
    "attempts" | "responseHead" | "responseStatus" | "error" | "durationMs" | "lastAttemptAt"
  >,
  kept: readonly WebhookAttempt[],
  hasMore: boolean,
): { shown: ShownAttempt[]; missing: number } {
  const shown: ShownAttempt[] = kept.map((attempt) => ({
    ...attempt,
    request: attempt.requestHeaders === "" ? "" : `POST ${attempt.url}\n${attempt.requestHeaders}`,
    response: shownText([attempt.responseHeaders, attempt.responseBody].filter((part) => part !== "").join("\n\n")),
  }));
  const { attempts: number, lastAttemptAt: attemptedAt, durationMs, responseStatus, error, responseHead } = delivery;
  if (number > (kept[0]?.number ?? 0)) {
    const response = shownText(responseHead);
    shown.unshift({ number, attemptedAt, durationMs, responseStatus, error, request: undefined, response });
  }
  return { shown, missing: hasMore ? 0 : Math.max(0, number - shown.length) };
}
