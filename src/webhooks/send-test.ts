/** SendTestWebhook: posts a sample event now and returns the endpoint's response. Called by service.ts. */
import type { StoredEvent } from "../events/store.ts";
import { eventTypes } from "../events/wire.ts";
import type { Call } from "../http/call.ts";
import type { Clock } from "../ops/clock.ts";
import { invalid, notFound, Problem } from "../ops/problem.ts";
import { makeUuid } from "../postgres/ids.ts";
import type { Sql } from "../postgres/pool.ts";
import { type Budget, createBudget, runOrRefuse } from "../shares/budget.ts";
import type { AttemptResult } from "./attempt.ts";
import { insertTestDelivery } from "./store/deliveries.ts";
import { getSigner, type Webhook, type WebhookSigner } from "./store/webhooks.ts";
import { deliveryOnWire, eventJson, isEventType, sampleEvent } from "./wire.ts";

/** One attempt at an endpoint; undefined when `signal` aborted it. */
export type SendTest = (
  signer: WebhookSigner,
  event: StoredEvent,
  signal: AbortSignal,
) => Promise<AttemptResult | undefined>;

type TestRequest = { id: string; eventType: string };

type TestDeps = { sql: Sql; clock: Clock; sendTest: SendTest };

/** Test events that wait for the answer of an endpoint. One workspace may have an eighth. */
const maxTestPosts = 64;

export function createTestSender(deps: TestDeps) {
  const testPosts = createBudget({ total: maxTestPosts, perOwner: maxTestPosts / 8 });
  return (webhook: Webhook, request: TestRequest, call: Call) =>
    sendTestWebhook({ ...deps, testPosts }, webhook, request, call);
}

const tooManyTests = {
  maxWaiting: 0,
  refusal: () =>
    new Problem(
      "resource_exhausted",
      "Too many test events of this workspace wait for the answers of their endpoints. Try again in a few seconds.",
      { retryAfterMs: 5_000 },
    ),
};

/** Posts a sample event to the endpoint and records the attempt in the delivery log. */
async function sendTestWebhook(
  deps: TestDeps & { testPosts: Budget },
  webhook: Webhook,
  request: TestRequest,
  call: Call,
) {
  const type = request.eventType || "email.delivered";
  if (!isEventType(type))
    throw invalid([{ field: "eventType", description: `is not an event type; use one of ${eventTypes.join(", ")}` }]);
  const { workspaceId } = call.caller;
  const signer = await getSigner(deps.sql, workspaceId, webhook.id);
  if (!signer) throw notFound("webhook", request.id);
  const nowMs = deps.clock.nowMs();
  const event = sampleEvent({
    eventId: makeUuid(nowMs),
    eventType: type,
    eventAt: new Date(nowMs),
    emailId: type.startsWith("email.") ? makeUuid(nowMs) : null,
  });
  const { signal } = call.cancellation;
  const result = await runOrRefuse({ ...tooManyTests, budget: deps.testPosts, owner: workspaceId }, () =>
    deps.sendTest(signer, event, signal),
  );
  // The caller does not see this error: it has disconnected, or the deadline has already answered the call.
  if (!result) throw new Problem("canceled", "The call ended before the endpoint answered.");
  const { outcome, ...response } = result;
  call.beginWrite();
  const delivery = await insertTestDelivery(deps.sql, {
    workspaceId,
    webhookId: webhook.id,
    id: makeUuid(nowMs),
    event,
    status: outcome === "delivered" ? "delivered" : "failed",
    ...response,
  });
  return { delivery: deliveryOnWire(delivery, { payload: eventJson(event), cuts: [] }) };
}
