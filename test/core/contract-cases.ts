/**
 * What the contract test must know of each method beyond its descriptor. Every method of the contract stands here.
 *
 * A method that is planned only is `{ built: false }`; one that is built has `{ built: true, ids: … }`: for each field of the request that holds an
 * id, a function that makes a thing in the other workspace and returns a request naming it, with everything else right; or
 * a sentence that says why the field holds no id of ours. Add the thing's maker below, beside `theirKey`.
 */
import { randomBytes } from "node:crypto";
import { createTransport } from "nodemailer";
import { createKey, type World } from "../harness/workspaces.ts";

export type MakeRequest = (world: World) => Promise<Record<string, unknown>>;

export type MethodCase =
  /** Answers `unimplemented` so far. */
  | { built: false }
  | {
      built: true;
      /** By path of the field: `id`, `filter.emailId`, `items[].id`. */
      ids: Record<string, MakeRequest | string>;
    };

const noIds: MethodCase = { built: true, ids: {} };

/** A key of the other workspace, fresh for each use: some methods end what they name. */
const theirKey = async (world: World) => (await createKey(world.program, { key: world.theirs.full })).id;

/** A domain of the other workspace, with a name of its own. */
const theirDomain = async (world: World) => {
  const domain = `d${randomBytes(6).toString("hex")}.test`;
  const answer = await world.program.call("DomainService/AddDomain", { domain }, { key: world.theirs.full });
  return (answer.body.domain as { id: string }).id;
};

/** An email of the other workspace that waits for its time, so that it can be canceled. */
const theirEmail = async (world: World) => {
  const scheduledAt = new Date(Date.now() + 3_600_000).toISOString();
  const email = {
    from: `us@${world.theirDomain}`,
    to: ["ok@simulator.test"],
    subject: "Later",
    body: "x",
    scheduledAt,
  };
  const answer = await world.program.call("EmailService/SendEmail", email, { key: world.theirs.full });
  return answer.body.id as string;
};
const byEmailId: MethodCase = { built: true, ids: { id: async (world) => ({ id: await theirEmail(world) }) } };

/** A webhook of the other workspace, at a port of this machine where nobody listens. */
const theirWebhook = async (world: World) => {
  const url = "http://127.0.0.1:9/hook";
  const answer = await world.program.call("WebhookService/CreateWebhook", { url }, { key: world.theirs.full });
  return (answer.body.webhook as { id: string }).id;
};
const byWebhookId: MethodCase = { built: true, ids: { id: async (world) => ({ id: await theirWebhook(world) }) } };

/** A delivery of the other workspace: a test of an endpoint leaves one behind at once. */
const theirDelivery = async (world: World) => {
  const webhookId = await theirWebhook(world);
  const key = world.theirs.full;
  const answer = await world.program.call("WebhookService/SendTestWebhook", { id: webhookId }, { key });
  return { webhookId, deliveryId: (answer.body.delivery as { id: string }).id };
};
const byEventsOfEmail: MethodCase = {
  built: true,
  ids: { emailId: async (world) => ({ emailId: await theirEmail(world) }) },
};

/** Mail that arrived for the other workspace, with one attachment. */
const theirInbound = async (world: World) => {
  const subject = randomBytes(6).toString("hex");
  const transport = createTransport({ host: "127.0.0.1", port: world.program.ports.smtp!, ignoreTLS: true });
  await transport.sendMail({
    ...{ from: "ann@there.test", to: `us@${world.theirDomain}`, subject, text: "x" },
    attachments: [{ filename: "a.txt", content: "a" }],
  });
  transport.close();
  const found = await world.program.call("InboundService/ListInbound", { search: subject }, { key: world.theirs.full });
  return (found.body.data as { id: string }[])[0]!.id;
};
const byInboundId: MethodCase = { built: true, ids: { id: async (world) => ({ id: await theirInbound(world) }) } };

const theirWorkspace = async (world: World) => {
  const { body } = await world.program.call("WorkspaceService/ListWorkspaces", {}, { key: world.theirs.full });
  return (body.data as { id: string }[])[0]!.id;
};
const forPeople = "no key may call it; for people: test/journeys/people-workspaces.test.ts";

export const cases: Record<string, MethodCase> = {
  "DomainService/AddDomain": noIds,
  "DomainService/GetDomain": { built: true, ids: { id: async (world) => ({ id: await theirDomain(world) }) } },
  "DomainService/ListDomains": noIds,
  "DomainService/VerifyDomain": { built: true, ids: { id: async (world) => ({ id: await theirDomain(world) }) } },
  "DomainService/DeleteDomain": { built: true, ids: { id: async (world) => ({ id: await theirDomain(world) }) } },
  "DomainService/RotateDkim": { built: true, ids: { id: async (world) => ({ id: await theirDomain(world) }) } },
  "DomainService/PublishToLocalDns": { built: true, ids: { id: async (world) => ({ id: await theirDomain(world) }) } },

  "EmailService/SendEmail": {
    built: true,
    ids: {
      "attachments[].contentId": "names an image inside the same email",
      replyToEmailId: "test/journeys/sending-threading.test.ts: a sender needs a domain before this is looked at",
    },
  },
  "EmailService/StreamEvents": byEventsOfEmail,
  "EmailService/GetEmail": byEmailId,
  "EmailService/ListEmails": noIds,
  "EmailService/CancelEmail": byEmailId,
  "EmailService/GetEmailContent": byEmailId,
  "EmailService/SendEmailBatch": {
    built: true,
    ids: {
      "emails[].attachments[].contentId": "names an image inside the same email",
      "emails[].replyToEmailId": "told in the result of its own email",
    },
  },
  "EmailService/ListEvents": byEventsOfEmail,

  "KeyService/CreateKey": noIds,
  "KeyService/ListKeys": noIds,
  "KeyService/RevokeKey": { built: true, ids: { id: async (world) => ({ id: await theirKey(world) }) } },

  "WebhookService/CreateWebhook": noIds,
  "WebhookService/GetWebhook": byWebhookId,
  "WebhookService/ListWebhooks": noIds,
  "WebhookService/UpdateWebhook": byWebhookId,
  "WebhookService/DeleteWebhook": byWebhookId,
  "WebhookService/RotateWebhookSecret": byWebhookId,
  "WebhookService/ListWebhookDeliveries": {
    built: true,
    ids: {
      webhookId: async (world) => ({ webhookId: await theirWebhook(world) }),
      eventId: "a filter: an event of others has no deliveries here",
    },
  },
  "WebhookService/RedeliverWebhook": {
    built: true,
    ids: { webhookId: theirDelivery, deliveryId: theirDelivery },
  },
  "WebhookService/SendTestWebhook": byWebhookId,

  "SuppressionService/ListSuppressions": noIds,
  "SuppressionService/AddSuppression": noIds,
  "SuppressionService/RemoveSuppression": noIds,
  "SuppressionService/ImportSuppressions": noIds,
  "SuppressionService/ExportSuppressions": noIds,

  "InboundService/ListInbound": {
    built: true,
    ids: { parentEmailId: "a filter: an email of others has no answers here" },
  },
  "InboundService/GetInbound": byInboundId,
  "InboundService/GetInboundContent": byInboundId,
  "InboundService/GetInboundAttachment": {
    built: true,
    ids: {
      id: async (world) => ({ id: await theirInbound(world), attachmentId: "1" }),
      attachmentId: "a place within the message",
    },
  },

  "QueueService/ListDestinations": noIds,
  "QueueService/RetryDestination": noIds,
  "QueueService/PauseDestination": noIds,
  "QueueService/ResumeDestination": noIds,
  "QueueService/PurgeDestination": noIds,

  "StatsService/GetStats": noIds,

  "WorkspaceService/CreateWorkspace": noIds,
  "WorkspaceService/ListWorkspaces": noIds,
  "WorkspaceService/UpdateWorkspace": { built: true, ids: { workspaceId: forPeople } },
  "WorkspaceService/ListMembers": {
    built: true,
    ids: { workspaceId: async (world) => ({ workspaceId: await theirWorkspace(world) }) },
  },
  "WorkspaceService/InviteMember": { built: true, ids: { workspaceId: forPeople } },
  "WorkspaceService/UpdateMember": { built: true, ids: { workspaceId: forPeople, memberId: forPeople } },
  "WorkspaceService/RemoveMember": { built: true, ids: { workspaceId: forPeople, memberId: forPeople } },
};
