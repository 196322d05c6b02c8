/** The handlers of WebhookService: managing webhooks, listing deliveries, redelivering events and sending test events. */

import type { AuditAction, AuditChange } from "../audit/entry.ts";
import { actorOf, audited, record } from "../audit/record.ts";
import { cutProblem } from "../events/cursor.ts";
import { type Cursor, lastShared, parseCursor } from "../events/rules.ts";
import { eventBounds } from "../events/store.ts";
import {
  type ListWebhookAttemptsRequest,
  type ListWebhookDeliveriesRequest,
  type RedeliverWebhookRequest,
  WebhookService,
} from "../gen/v1/webhook_pb.ts";
import { type Call, serve } from "../http/call.ts";
import { type Caller, readsInboundText } from "../http/caller.ts";
import { cutPage, keysetPage, pageSizeOf } from "../http/paging.ts";
import { requireFresh } from "../http/proof.ts";
import type { Clock } from "../ops/clock.ts";
import { invalid, notFound, Problem, type Violation } from "../ops/problem.ts";
import { fromWireId, makeUuid } from "../postgres/ids.ts";
import { retrying, type Sql } from "../postgres/pool.ts";
import type { Secrets } from "../postgres/sealing.ts";
import type { Quotas } from "../quotas/quotas.ts";
import { previousSecretMs } from "./rules/retry.ts";
import { createTestSender, type SendTest } from "./send-test.ts";
import { listAttempts } from "./store/attempts.ts";
import { type Delivery, eventsOf, getDelivery, listDeliveries, redeliver } from "./store/deliveries.ts";
import {
  deleteWebhook,
  getWebhook,
  insertWebhook,
  listWebhooks,
  makeSigningSecret,
  rotateSecret,
  secretContext,
  updateWebhook,
  type Webhook,
} from "./store/webhooks.ts";
import {
  attemptOnWire,
  deliveryOnWire,
  deliveryStatusFrom,
  descriptionFrom,
  eventJson,
  eventTypesFrom,
  sampleEvent,
  webhookOnWire,
} from "./wire.ts";

export type WebhookServiceDeps = {
  sql: Sql;
  clock: Clock;
  secrets: Secrets;
  quotas: Quotas;
  /** The URL in the form to store, or what to change. */
  check(url: string, signal: AbortSignal): Promise<{ url: string } | { problem: string }>;
  sendTest: SendTest;
};

/** Event numbers. */
type Range = { from: bigint; to: bigint };
/** A range that the caller names by its cursors. */
type CursorRange = Range & { cursors: readonly Cursor[] };

/** Events in one RedeliverWebhook call. */
const maxRange = 10_000n;

export function createWebhookService(deps: WebhookServiceDeps) {
  const { sql } = deps;
  const sendTestWebhook = createTestSender(deps);

  return serve(WebhookService, {
    async createWebhook(request, call) {
      const problems: Violation[] = [];
      const url = await checkUrl(request.url, call, problems);
      const eventTypes = eventTypesFrom(request.eventTypes, problems) ?? [];
      const description = descriptionFrom(request.description, problems);
      if (problems.length > 0) throw invalid(problems);
      const id = makeUuid(deps.clock.nowMs());
      const { secret, sealedSecret } = newSecret(id);
      const { workspaceId } = call.caller;
      call.beginWrite();
      const added = { workspaceId, id, url, eventTypes, description, sealedSecret };
      const webhook = await deps.quotas.adding(workspaceId, "webhooks", async (tx) => {
        await record(tx, actorOf(call.caller), changeOf("webhook.created", added));
        return await insertWebhook(tx, added);
      });
      return { webhook: webhookOnWire(webhook), signingSecret: secret };
    },

    async getWebhook(request, call) {
      return { webhook: webhookOnWire(await findWebhook(sql, request.id, call)) };
    },

    async listWebhooks(request, call) {
      const { limit, before } = keysetPage(request);
      const { workspaceId } = call.caller;
      const cut = cutPage(await listWebhooks(sql, { workspaceId, before, limit: limit + 1 }), limit);
      return { data: cut.rows.map(webhookOnWire), nextPageToken: cut.nextPageToken };
    },

    async updateWebhook(request, call) {
      // Another URL gets the events, as a new webhook would.
      if (request.url !== undefined && call.caller.person) requireFresh(call.caller.person.proof);
      const { id } = await findWebhook(sql, request.id, call);
      const problems: Violation[] = [];
      const change = {
        url: request.url === undefined ? undefined : await checkUrl(request.url, call, problems),
        eventTypes: eventTypesFrom(request.eventTypes, problems),
        description: request.description === undefined ? undefined : descriptionFrom(request.description, problems),
        enabled: request.enabled,
      };
      if (problems.length > 0) throw invalid(problems);
      call.beginWrite();
      const { workspaceId } = call.caller;
      const fields = Object.entries(change).flatMap(([name, value]) => (value === undefined ? [] : [name]));
      const webhook = await audited(
        sql,
        actorOf(call.caller),
        (tx) => updateWebhook(tx, workspaceId, id, change),
        (row) => row && { ...changeOf("webhook.updated", { workspaceId, id }), fields },
      );
      if (!webhook) throw notFound("webhook", request.id);
      return { webhook: webhookOnWire(webhook) };
    },

    async deleteWebhook(request, call) {
      const id = idFrom(request.id);
      call.beginWrite();
      const { workspaceId } = call.caller;
      const webhook =
        id &&
        (await audited(
          sql,
          actorOf(call.caller),
          (tx) => deleteWebhook(tx, workspaceId, id),
          (row) => row && changeOf("webhook.deleted", { workspaceId, id }),
        ));
      if (!webhook) throw notFound("webhook", request.id);
      return {
        message: `The webhook to ${webhook.url} is deleted. Deliveries that were still waiting are not posted.`,
      };
    },

    async rotateWebhookSecret(request, call) {
      const { id } = await findWebhook(sql, request.id, call);
      const { secret, sealedSecret } = newSecret(id);
      const { workspaceId } = call.caller;
      call.beginWrite();
      const webhook = await audited(
        sql,
        actorOf(call.caller),
        (tx) => rotateSecret(tx, { workspaceId, id, sealedSecret, previousForMs: previousSecretMs }),
        (row) => row && { ...changeOf("webhook.secret_rotated", { workspaceId, id }), fields: ["signingSecret"] },
      );
      if (!webhook) throw notFound("webhook", request.id);
      return { webhook: webhookOnWire(webhook), signingSecret: secret };
    },

    listWebhookDeliveries: async (request, call) =>
      await listWebhookDeliveries(sql, await findWebhook(sql, request.webhookId, call, "webhookId"), request, call),

    listWebhookAttempts: async (request, call) =>
      await listWebhookAttempts(sql, await findWebhook(sql, request.webhookId, call, "webhookId"), request, call),

    redeliverWebhook: async (request, call) =>
      await redeliverWebhook(deps, await findWebhook(sql, request.webhookId, call, "webhookId"), request, call),

    sendTestWebhook: async (request, call) =>
      await sendTestWebhook(await findWebhook(sql, request.id, call), request, call),
  });

  async function checkUrl(text: string, call: Call, problems: Violation[]): Promise<string> {
    const checked = await deps.check(text, call.cancellation.signal);
    if ("url" in checked) return checked.url;
    problems.push({ field: "url", description: checked.problem });
    return text;
  }

  function newSecret(webhookId: string): { secret: string; sealedSecret: string } {
    const secret = makeSigningSecret();
    return { secret, sealedSecret: deps.secrets.seal(secret, secretContext(webhookId)) };
  }
}

function changeOf(action: AuditAction, { workspaceId, id }: { workspaceId: string; id: string }): AuditChange {
  return { action, workspaceId, target: { kind: "webhook", id } };
}

async function findWebhook(sql: Sql, wireId: string, call: Call, field = "id"): Promise<Webhook> {
  const id = idFrom(wireId, field);
  const webhook = id && (await getWebhook(sql, call.caller.workspaceId, id));
  if (!webhook) throw notFound("webhook", wireId);
  return webhook;
}

function idFrom(wireId: string, field = "id"): string | undefined {
  if (wireId === "") throw invalid([{ field, description: "is required: the id of a webhook, wh_…" }]);
  return fromWireId("webhook", wireId);
}

async function listWebhookDeliveries(sql: Sql, webhook: Webhook, request: ListWebhookDeliveriesRequest, call: Call) {
  const page = keysetPage(request);
  const problems: Violation[] = [];
  const status = deliveryStatusFrom(request.status, problems);
  const eventId = request.eventId === "" ? undefined : fromWireId("event", request.eventId);
  if (request.eventId !== "" && !eventId)
    problems.push({ field: "eventId", description: "is not the id of an event, evt_…; omit it for all events" });
  if (problems.length > 0) throw invalid(problems);
  const at = { workspaceId: call.caller.workspaceId, webhookId: webhook.id };
  const rows = await listDeliveries(sql, { ...at, before: page.before, limit: page.limit + 1, status, eventId });
  const cut = cutPage(rows, page.limit);
  const payloadOf = readsPayloads(call.caller) ? await payloadsOf(sql, at, cut.rows) : () => "";
  const { cuts } = await eventBounds(sql, at.workspaceId);
  return {
    data: cut.rows.map((row) => deliveryOnWire(row, { payload: payloadOf(row), cuts })),
    nextPageToken: cut.nextPageToken,
  };
}

async function listWebhookAttempts(sql: Sql, webhook: Webhook, request: ListWebhookAttemptsRequest, call: Call) {
  const problems: Violation[] = [];
  const limit = pageSizeOf(request.pageSize, problems);
  if (request.deliveryId === "")
    problems.push({ field: "deliveryId", description: "is required: the id of a delivery, whd_…" });
  if (!/^([1-9]\d{0,4})?$/.test(request.pageToken))
    problems.push({
      field: "pageToken",
      description: "is not a token that this method returned; leave it out for the first page",
    });
  if (problems.length > 0) throw invalid(problems);
  const id = fromWireId("delivery", request.deliveryId);
  const at = { workspaceId: call.caller.workspaceId, webhookId: webhook.id };
  if (!id || !(await getDelivery(sql, { ...at, id }))) throw notFound("delivery of this webhook", request.deliveryId);
  const before = request.pageToken === "" ? undefined : Number(request.pageToken);
  const rows = await listAttempts(sql, { ...at, deliveryId: id, before, limit: limit + 1 });
  const shown = rows.slice(0, limit);
  return { data: shown.map(attemptOnWire), nextPageToken: rows.length > limit ? String(shown.at(-1)!.number) : "" };
}

/** Payloads are events, with the text of inbound mail. */
function readsPayloads(caller: Caller): boolean {
  return (
    readsInboundText(caller) && (caller.permission === "full" || caller.limits?.scopes?.includes("events") === true)
  );
}

/** The payload of each delivery; empty where the event has been deleted. */
async function payloadsOf(sql: Sql, at: { workspaceId: string; webhookId: string }, rows: readonly Delivery[]) {
  const events = await eventsOf(sql, { ...at, ids: rows.map(({ id }) => id) });
  return (row: Delivery) => {
    const event = row.eventNumber === null ? sampleEvent(row) : events.get(row.eventNumber);
    return event ? eventJson(event) : "";
  };
}

async function redeliverWebhook(
  deps: { sql: Sql; clock: Clock },
  webhook: Webhook,
  request: RedeliverWebhookRequest,
  call: Call,
) {
  const { sql } = deps;
  const requestedRange = readRange(request);
  const { workspaceId } = call.caller;
  const range = requestedRange ?? (await rangeOfDelivery(sql, workspaceId, webhook.id, request.deliveryId));
  if (webhook.disabledAt)
    throw new Problem(
      "failed_precondition",
      "The webhook is disabled, so nothing is posted to it. Enable it with UpdateWebhook first.",
    );
  const bounds = await eventBounds(sql, workspaceId);
  const { oldest, last } = bounds;
  for (const cursor of requestedRange?.cursors ?? []) {
    const shared = lastShared(cursor, bounds.cuts);
    if (shared !== undefined && cursor.number > shared) throw await cutProblem(sql, workspaceId, { shared, bounds });
  }
  if (range.from < oldest || range.to > last)
    throw new Problem(
      "out_of_range",
      oldest > last
        ? "The event log is empty, so there is nothing to post again."
        : `Events ${range.from} to ${range.to} are not all stored: the oldest is ${oldest}, the newest ${last}.`,
    );
  call.beginWrite();
  // A delivery that the caller names is posted even if the webhook no longer subscribes to its type.
  const anyType = requestedRange === undefined;
  const nowMs = deps.clock.nowMs();
  const scheduled = await retrying(() =>
    audited(
      sql,
      actorOf(call.caller),
      (tx) => redeliver(tx, { workspaceId, webhookId: webhook.id, ...range, nowMs, anyType }),
      (count) => (count > 0 ? changeOf("webhook.redelivered", { workspaceId, id: webhook.id }) : undefined),
    ),
  );
  return {
    scheduled,
    message:
      scheduled === 0
        ? "No event in this range has a type that the webhook receives, so nothing is posted."
        : `${scheduled === 1 ? "1 event is" : `${scheduled} events are`} due now and will be posted to ${webhook.url}.`,
  };
}

/** Undefined when the request names a delivery instead. */
function readRange(request: RedeliverWebhookRequest): CursorRange | undefined {
  const { deliveryId, fromCursor, toCursor } = request;
  const noRange = fromCursor === "" && toCursor === "";
  if (deliveryId !== "") {
    if (noRange) return undefined;
    throw invalid([
      { field: "deliveryId", description: "cannot be combined with a range of cursors: give one or the other" },
    ]);
  }
  if (noRange) throw invalid([{ field: "deliveryId", description: "is required, or fromCursor and toCursor instead" }]);
  const problems: Violation[] = [];
  const cursors = [readCursor("fromCursor", fromCursor, problems), readCursor("toCursor", toCursor, problems)] as const;
  const [{ number: from }, { number: to }] = cursors;
  if (problems.length === 0 && to < from)
    problems.push({ field: "toCursor", description: `must not be before fromCursor: ${to} is less than ${from}` });
  if (problems.length === 0 && to - from >= maxRange)
    problems.push({
      field: "toCursor",
      description: `must leave at most ${maxRange} events in the range, but leaves ${to - from + 1n}: split the range`,
    });
  if (problems.length > 0) throw invalid(problems);
  return { from, to, cursors };
}

function readCursor(field: string, text: string, problems: Violation[]): Cursor {
  const cursor = parseCursor(text);
  if (cursor && cursor.number > 0n && cursor.number < 10n ** 18n) return cursor;
  problems.push({ field, description: "must be the cursor of an event" });
  return { number: 0n, cut: undefined };
}

async function rangeOfDelivery(sql: Sql, workspaceId: string, webhookId: string, wireId: string): Promise<Range> {
  const id = fromWireId("delivery", wireId);
  const delivery = id && (await getDelivery(sql, { workspaceId, webhookId, id }));
  if (!delivery) throw notFound("delivery of this webhook", wireId);
  if (delivery.eventNumber === null)
    throw new Problem(
      "failed_precondition",
      "This delivery was a test and cannot be posted again. Call SendTestWebhook.",
    );
  const number = BigInt(delivery.eventNumber);
  return { from: number, to: number };
}
