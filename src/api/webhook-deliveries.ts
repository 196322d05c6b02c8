/** The delivery log of a webhook, and asking for deliveries again: ListWebhookDeliveries and RedeliverWebhook. */
import type { ListWebhookDeliveriesRequest, RedeliverWebhookRequest } from "../gen/v1/webhook_pb.ts";
import { invalid, notFound, Problem, type Violation } from "../rules/problem.ts";
import type { Clock } from "../store/clock.ts";
import type { Sql } from "../store/db.ts";
import { eventBounds } from "../store/events.ts";
import { fromWireId } from "../store/ids.ts";
import { type Delivery, eventsOf, getDelivery, listDeliveries, redeliver } from "../store/webhook-deliveries.ts";
import type { Webhook } from "../store/webhooks.ts";
import type { Call } from "./call.ts";
import { cutPage, keysetPage } from "./paging.ts";
import { madeUpEvent } from "./webhook-test-event.ts";
import { deliveryOnWire, deliveryStatusFrom, eventJson } from "./webhook-wire.ts";

const maxRange = 10_000n;

export async function listWebhookDeliveries(
  sql: Sql,
  webhook: Webhook,
  request: ListWebhookDeliveriesRequest,
  call: Call,
) {
  const page = keysetPage(request);
  const problems: Violation[] = [];
  const status = deliveryStatusFrom(request.status, problems);
  const eventId = request.eventId === "" ? undefined : fromWireId("event", request.eventId);
  if (request.eventId !== "" && !eventId)
    problems.push({ field: "eventId", description: "is not the id of an event, evt_…; leave it out for all events" });
  if (problems.length > 0) throw invalid(problems);
  const at = { workspaceId: call.caller.workspaceId, webhookId: webhook.id };
  const rows = await listDeliveries(sql, { ...at, before: page.before, limit: page.limit + 1, status, eventId });
  const cut = cutPage(rows, page.limit);
  const payloadOf = call.caller.permission === "full" ? await payloadsOf(sql, at, cut.rows) : () => "";
  return {
    data: cut.rows.map((row) => deliveryOnWire(row, payloadOf(row))),
    nextPageToken: cut.nextPageToken,
  };
}

async function payloadsOf(sql: Sql, at: { workspaceId: string; webhookId: string }, rows: readonly Delivery[]) {
  const events = await eventsOf(sql, { ...at, ids: rows.map(({ id }) => id) });
  return (row: Delivery) => {
    const event = row.eventNumber === null ? madeUpEvent(row) : events.get(row.eventNumber);
    return event ? eventJson(event) : "";
  };
}

export async function redeliverWebhook(
  deps: { sql: Sql; clock: Clock },
  webhook: Webhook,
  request: RedeliverWebhookRequest,
  call: Call,
) {
  const { sql } = deps;
  const range = readRange(request);
  const { workspaceId } = call.caller;
  const asked = range ?? (await rangeOfDelivery(sql, workspaceId, webhook.id, request.deliveryId));
  if (webhook.disabledAt)
    throw new Problem(
      "failed_precondition",
      "The webhook is disabled, so nothing is posted to it. Enable it with UpdateWebhook first.",
    );
  const { oldest, last } = await eventBounds(sql, workspaceId);
  if (asked.from < oldest || asked.to > last)
    throw new Problem(
      "out_of_range",
      oldest > last
        ? "No event is kept: there is nothing to post again."
        : `Events ${asked.from} to ${asked.to} are not all kept: the oldest is ${oldest}, the newest ${last}.`,
    );
  call.beginWrite();
  // One that was asked for by its own id comes whatever the types are by now.
  const anyType = range === undefined;
  const nowMs = deps.clock.nowMs();
  const scheduled = await redeliver(sql, { workspaceId, webhookId: webhook.id, ...asked, nowMs, anyType });
  return {
    scheduled,
    message:
      scheduled === 0
        ? "No event of this range is of a type that the webhook takes: nothing is posted."
        : `${scheduled === 1 ? "1 event is" : `${scheduled} events are`} due now and will be posted to ${webhook.url}.`,
  };
}

type Range = { from: bigint; to: bigint };

/** Undefined when a delivery is named instead. */
function readRange(request: RedeliverWebhookRequest): Range | undefined {
  const { deliveryId, fromCursor, toCursor } = request;
  const noRange = fromCursor === "" && toCursor === "";
  if (deliveryId !== "") {
    if (noRange) return undefined;
    throw invalid([{ field: "deliveryId", description: "must not stand beside a range: give one or the other" }]);
  }
  if (noRange)
    throw invalid([{ field: "deliveryId", description: "is required, or fromCursor and toCursor in its place" }]);
  const problems: Violation[] = [];
  const from = readCursor("fromCursor", fromCursor, problems);
  const to = readCursor("toCursor", toCursor, problems);
  if (problems.length === 0 && to < from)
    problems.push({ field: "toCursor", description: `must not be before fromCursor: ${to} is less than ${from}` });
  if (problems.length === 0 && to - from >= maxRange)
    problems.push({
      field: "toCursor",
      description: `must leave at most ${maxRange} events in the range, leaves ${to - from + 1n}: ask in parts`,
    });
  if (problems.length > 0) throw invalid(problems);
  return { from, to };
}

function readCursor(field: string, text: string, problems: Violation[]): bigint {
  if (/^\d{1,18}$/.test(text) && BigInt(text) > 0n) return BigInt(text);
  problems.push({ field, description: "must be a cursor that an event came with, a decimal number from 1 on" });
  return 0n;
}

async function rangeOfDelivery(sql: Sql, workspaceId: string, webhookId: string, wireId: string): Promise<Range> {
  const id = fromWireId("delivery", wireId);
  const delivery = id && (await getDelivery(sql, { workspaceId, webhookId, id }));
  if (!delivery) throw notFound("delivery of this webhook", wireId);
  if (delivery.eventNumber === null)
    throw new Problem("failed_precondition", "This delivery was a test. Call SendTestWebhook for another one.");
  const number = BigInt(delivery.eventNumber);
  return { from: number, to: number };
}
