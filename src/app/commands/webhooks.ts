/** posthorn webhooks: manages the webhooks of a workspace, locally or at another instance. webhook-deliveries.ts has their deliveries. */
import type { JsonObject } from "@bufbuild/protobuf";
import { type Command, type Option, UsageError } from "../command.ts";
import { jsonLine, plain, write } from "../output.ts";
import { confirm, yesOption } from "./confirm.ts";
import { type Column, constantText, fieldsText, limitOf, listOptions, printList, timeText } from "./listing.ts";
import { readWords } from "./read-options.ts";
import { nameOf } from "./target.ts";
import { webhookDeliveries } from "./webhook-deliveries.ts";
import { apiOptions, targetOf, withApi, withTarget } from "./with-api.ts";

type WireWebhook = JsonObject & {
  id: string;
  url: string;
  eventTypes: string[];
  description: string;
  status: string;
  disabledReason: string;
  disabledAt?: string;
  failingSince?: string;
  previousSecretExpiresAt?: string;
  createdAt: string;
  lastSuccessAt?: string;
  lastFailureAt?: string;
};

const json: Option = { type: "boolean", help: "print the API's response as JSON" };
const settings = {
  "event-type": {
    type: "string",
    many: true,
    help: "an event type to post, such as email.bounced, or * for all; repeatable",
  },
  description: { type: "string", help: "what the webhook is for" },
} satisfies Record<string, Option>;

const typesOf = ({ eventTypes }: WireWebhook) => (eventTypes.length === 0 ? "all" : eventTypes.join(", "));

function stateOf({ status, failingSince }: WireWebhook) {
  const text = constantText(status, "WEBHOOK_STATUS_");
  if (text !== "enabled") return { text, tone: "red" } as const;
  return failingSince ? ({ text: "failing", tone: "yellow" } as const) : ({ text, tone: "green" } as const);
}

const columns: Column<WireWebhook>[] = [
  { head: "ID", of: ({ id }) => id },
  { head: "STATE", of: stateOf },
  { head: "LAST SUCCESS", of: ({ lastSuccessAt }) => timeText(lastSuccessAt) || "never" },
  { head: "URL", of: ({ url }) => url, cut: true },
  { head: "EVENT TYPES", of: typesOf, cut: true },
  { head: "DESCRIPTION", of: ({ description }) => description, cut: true },
];

function show(webhook: WireWebhook): string {
  return fieldsText([
    ["Id", webhook.id],
    ["URL", webhook.url],
    ["State", stateOf(webhook)],
    ["Disabled", [timeText(webhook.disabledAt), webhook.disabledReason].filter(Boolean).join(": ")],
    ["Failing since", timeText(webhook.failingSince)],
    ["Event types", typesOf(webhook)],
    ["Description", webhook.description],
    ["Created", timeText(webhook.createdAt)],
    ["Last success", timeText(webhook.lastSuccessAt) || "never"],
    ["Last failure", timeText(webhook.lastFailureAt) || "never"],
    ["Previous secret valid until", timeText(webhook.previousSecretExpiresAt)],
  ]);
}

const oneId = (words: readonly string[], command: string) =>
  readWords(words, ["the id of a webhook"], `webhooks ${command} wh_…`)[0];

const webhooksList: Command = {
  name: "webhooks list",
  summary: "List webhooks, newest first.",
  options: { ...listOptions, ...apiOptions },
  async run(input) {
    limitOf(input.options);
    const empty = "No webhooks yet. Create the first one: posthorn webhooks create https://example.com/hooks";
    const list = { method: "WebhookService/ListWebhooks", request: {}, columns, empty };
    await withApi(input, (api) => printList(api, input.options, list));
  },
};

const webhooksCreate: Command = {
  name: "webhooks create",
  summary: "Create a webhook, and print it and its signing secret, which is shown only once.",
  words: "URL",
  options: { ...settings, json, ...apiOptions },
  async run(input) {
    const { options, lists } = input;
    const [url] = readWords(input.words, ["the URL of your endpoint"], "webhooks create https://example.com/hooks");
    const request = { url, eventTypes: lists["event-type"] ?? [], description: String(options.description ?? "") };
    await withApi(input, async (api) => {
      type Created = { webhook: WireWebhook; signingSecret: string };
      const answer = await api.call<Created>("WebhookService/CreateWebhook", request);
      if (options.json) return await write(jsonLine(answer));
      await write(`${show(answer.webhook)}\nSigning secret, shown only now: ${plain(answer.signingSecret)}\n`);
    });
  },
};

const webhooksShow: Command = {
  name: "webhooks show",
  summary: "Show a webhook.",
  words: "WEBHOOK_ID",
  options: { json, ...apiOptions },
  async run(input) {
    const id = oneId(input.words, "show");
    await withApi(input, async (api) => {
      const { webhook } = await api.call<{ webhook: WireWebhook }>("WebhookService/GetWebhook", { id });
      await write(input.options.json ? jsonLine(webhook) : show(webhook));
    });
  },
};

const webhooksUpdate: Command = {
  name: "webhooks update",
  summary: "Change, enable or disable a webhook. What is not given stays.",
  words: "WEBHOOK_ID",
  options: {
    endpoint: { type: "string", help: "the new URL of the webhook" },
    ...settings,
    enable: { type: "boolean", help: "post events again, from now on" },
    disable: { type: "boolean", help: "stop posting events" },
    json,
    ...apiOptions,
  },
  async run(input) {
    const { options, lists } = input;
    const request: JsonObject = { id: oneId(input.words, "update") };
    if (options.enable && options.disable) throw new UsageError("Use either --enable or --disable, not both.");
    if (options.endpoint !== undefined) request.url = String(options.endpoint);
    if (options.description !== undefined) request.description = String(options.description);
    if ((lists["event-type"] ?? []).length > 0) request.eventTypes = lists["event-type"]!;
    if (options.enable || options.disable) request.enabled = options.enable === true;
    if (Object.keys(request).length === 1)
      throw new UsageError("Give what to change: --endpoint, --event-type, --description, --enable or --disable.");
    await withApi(input, async (api) => {
      const { webhook } = await api.call<{ webhook: WireWebhook }>("WebhookService/UpdateWebhook", request);
      await write(options.json ? jsonLine(webhook) : show(webhook));
    });
  },
};

const webhooksDelete: Command = {
  name: "webhooks delete",
  summary: "Delete a webhook and its waiting deliveries.",
  words: "WEBHOOK_ID",
  options: { yes: yesOption, json, ...apiOptions },
  async run(input) {
    const id = oneId(input.words, "delete");
    const target = await targetOf(input);
    await confirm(`This deletes the webhook ${id} at ${nameOf(target)} and its waiting deliveries.`, input);
    await withTarget(input, target, async (api) => {
      const answer = await api.call<{ message: string }>("WebhookService/DeleteWebhook", { id });
      await write(input.options.json ? jsonLine(answer) : `${plain(answer.message)}\n`);
    });
  },
};

const webhooksRotateSecret: Command = {
  name: "webhooks rotate-secret",
  summary: "Replace the signing secret of a webhook and print only the new one. Both sign for 24 hours.",
  words: "WEBHOOK_ID",
  options: { json, ...apiOptions },
  async run(input) {
    const id = oneId(input.words, "rotate-secret");
    await withApi(input, async (api) => {
      const answer = await api.call<{ signingSecret: string }>("WebhookService/RotateWebhookSecret", { id });
      await write(input.options.json ? jsonLine(answer) : `${plain(answer.signingSecret)}\n`);
    });
  },
};

export const webhooks = [
  webhooksList,
  webhooksCreate,
  webhooksShow,
  webhooksUpdate,
  webhooksDelete,
  webhooksRotateSecret,
  ...webhookDeliveries,
];
