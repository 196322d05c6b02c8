/** posthorn webhooks deliveries, attempts, redeliver and test, locally or at another instance. */
import type { JsonObject } from "@bufbuild/protobuf";
import { type Command, type Option, UsageError } from "../command.ts";
import { type Cell, jsonLine, plain, plainLines, write } from "../output.ts";
import { type Column, constantText, fieldsText, limitOf, listOptions, printList, timeText } from "./listing.ts";
import { readChoice, readWords } from "./read-options.ts";
import { apiOptions, withApi } from "./with-api.ts";

type WireDelivery = JsonObject & {
  id: string;
  eventId: string;
  eventType: string;
  cursor: string;
  emailId: string;
  status: string;
  attempts: number;
  responseStatus: number;
  responseHead: string;
  durationMs: number;
  error: string;
  createdAt: string;
  lastAttemptAt?: string;
  nextAttemptAt?: string;
};
type WireAttempt = JsonObject & {
  number: number;
  attemptedAt: string;
  durationMs: number;
  url: string;
  responseStatus: number;
  error: string;
};

const json: Option = { type: "boolean", help: "print the API's response as JSON" };
const statuses = ["queued", "delivered", "failed"];
const tones = { delivered: "green", failed: "red" } as const;

function statusOf({ status }: WireDelivery): Cell {
  const text = constantText(status, "WEBHOOK_DELIVERY_STATUS_");
  const tone = tones[text as keyof typeof tones];
  return tone ? { text, tone } : text;
}

/** The status of the response, or why there was none. */
const resultOf = ({ responseStatus, error }: { responseStatus: number; error: string }) =>
  [responseStatus === 0 ? "" : String(responseStatus), error].filter(Boolean).join(": ");

const deliveryColumns: Column<WireDelivery>[] = [
  { head: "ID", of: ({ id }) => id },
  { head: "CREATED", of: ({ createdAt }) => timeText(createdAt) },
  { head: "EVENT", of: ({ eventType }) => eventType },
  { head: "CURSOR", of: ({ cursor }) => cursor || "test" },
  { head: "STATUS", of: statusOf },
  { head: "ATTEMPTS", of: ({ attempts }) => String(attempts) },
  { head: "NEXT ATTEMPT", of: ({ nextAttemptAt }) => timeText(nextAttemptAt) },
  { head: "RESULT", of: resultOf, cut: true },
];

const attemptColumns: Column<WireAttempt>[] = [
  { head: "ATTEMPT", of: ({ number }) => String(number) },
  { head: "TIME", of: ({ attemptedAt }) => timeText(attemptedAt) },
  { head: "MS", of: ({ durationMs }) => String(durationMs) },
  { head: "RESULT", of: resultOf, cut: true },
  { head: "URL", of: ({ url }) => url, cut: true },
];

const webhooksDeliveries: Command = {
  name: "webhooks deliveries",
  summary: "List the deliveries of a webhook, newest first, each with its last attempt.",
  words: "WEBHOOK_ID",
  options: {
    status: { type: "string", help: `only this status: ${statuses.join(", ")}` },
    event: { type: "string", help: "only deliveries of the event with this id" },
    ...listOptions,
    ...apiOptions,
  },
  async run(input) {
    const { options } = input;
    limitOf(options);
    const [webhookId] = readWords(input.words, ["the id of a webhook"], "webhooks deliveries wh_…");
    const request: JsonObject = { webhookId, eventId: String(options.event ?? "") };
    if (options.status !== undefined)
      request.status = readChoice("status", String(options.status), "WEBHOOK_DELIVERY_STATUS_", statuses);
    const empty =
      options.status === undefined && options.event === undefined
        ? `No deliveries yet. Post a sample event: posthorn webhooks test ${webhookId}`
        : "No delivery matches.";
    const list = { method: "WebhookService/ListWebhookDeliveries", request, columns: deliveryColumns, empty };
    await withApi(input, (api) => printList(api, options, list));
  },
};

const webhooksAttempts: Command = {
  name: "webhooks attempts",
  summary: "List the attempts of a delivery, newest first. --json has the headers and the responses.",
  words: "WEBHOOK_ID DELIVERY_ID",
  options: { ...listOptions, ...apiOptions },
  async run(input) {
    limitOf(input.options);
    const names = ["the id of a webhook", "the id of a delivery"] as const;
    const [webhookId, deliveryId] = readWords(input.words, names, "webhooks attempts wh_… whd_…");
    const empty = "No attempt yet.";
    const request = { webhookId, deliveryId };
    const list = { method: "WebhookService/ListWebhookAttempts", request, columns: attemptColumns, empty };
    await withApi(input, (api) => printList(api, input.options, list));
  },
};

const webhooksRedeliver: Command = {
  name: "webhooks redeliver",
  summary: "Post events again: one delivery, or all events of a range of cursors.",
  words: "WEBHOOK_ID",
  options: {
    delivery: { type: "string", help: "the id of the delivery to repeat, whd_…" },
    "from-cursor": { type: "string", help: "cursor of the first event" },
    "to-cursor": { type: "string", help: "cursor of the last event" },
    json,
    ...apiOptions,
  },
  async run(input) {
    const { options } = input;
    const [webhookId] = readWords(input.words, ["the id of a webhook"], "webhooks redeliver wh_… --delivery whd_…");
    const text = (name: string) => String(options[name] ?? "");
    const ofRange = [options["from-cursor"], options["to-cursor"]].filter((cursor) => cursor !== undefined).length;
    if (options.delivery === undefined ? ofRange < 2 : ofRange > 0)
      throw new UsageError("Give either --delivery, or --from-cursor and --to-cursor.");
    const request = {
      webhookId,
      deliveryId: text("delivery"),
      fromCursor: text("from-cursor"),
      toCursor: text("to-cursor"),
    };
    await withApi(input, async (api) => {
      const answer = await api.call<{ message: string }>("WebhookService/RedeliverWebhook", request);
      await write(options.json ? jsonLine(answer) : `${plain(answer.message)}\n`);
    });
  },
};

const webhooksTest: Command = {
  name: "webhooks test",
  summary: "Post a sample event now and show the endpoint's response. Exit code 1 if it is not a success.",
  words: "WEBHOOK_ID",
  options: {
    type: { type: "string", help: "type of the sample event", value: "email.delivered" },
    json,
    ...apiOptions,
  },
  async run(input) {
    const { options } = input;
    const [id] = readWords(input.words, ["the id of a webhook"], "webhooks test wh_…");
    const request = { id, eventType: String(options.type ?? "") };
    await withApi(input, async (api) => {
      const { delivery } = await api.call<{ delivery: WireDelivery }>("WebhookService/SendTestWebhook", request);
      if (delivery.status !== "WEBHOOK_DELIVERY_STATUS_DELIVERED") process.exitCode = 1;
      if (options.json) return await write(jsonLine(delivery));
      await write(
        fieldsText([
          ["Delivery", delivery.id],
          ["Status", statusOf(delivery)],
          ["Result", resultOf(delivery)],
          ["Duration", `${delivery.durationMs} ms`],
        ]),
      );
      if (delivery.responseHead !== "") await write(`\n${plainLines(delivery.responseHead).trimEnd()}\n`);
    });
  },
};

export const webhookDeliveries = [webhooksDeliveries, webhooksAttempts, webhooksRedeliver, webhooksTest];
