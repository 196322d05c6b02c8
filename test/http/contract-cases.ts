/**
 * Data for the contract test that is not in the descriptors. Every method of the contract has an entry.
 *
 * A planned method has `{ built: false }`. A built one has `{ built: true, ids: … }` with an entry for each request field that
 * holds an id: a function that creates a resource in the other workspace and returns an otherwise valid request that names it, or
 * a sentence that explains why the field holds no id of ours. Functions like `theirKey` below create the resources.
 */
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { createTransport } from "nodemailer";
import { createKey, type TwoWorkspaces } from "../harness/workspaces.ts";

export type MakeRequest = (workspaces: TwoWorkspaces) => Promise<Record<string, unknown>>;

export type MethodCase =
  /** The method still returns `unimplemented`. */
  | { built: false }
  | {
      built: true;
      /** By the path of the field: `id`, `filter.emailId`, `items[].id`. */
      ids: Record<string, MakeRequest | string>;
    };

const noIds: MethodCase = { built: true, ids: {} };
const ownEmails = "selects among the emails of the caller's workspace";
const ownEntries = "selects among the entries of the caller's workspace";
const byAuditFilter: MethodCase = { built: true, ids: { "filter.actorId": ownEntries, "filter.targetId": ownEntries } };

/** Creates a key in the other workspace. Each test gets a new one, because some methods delete what they name. */
const theirKey = async (workspaces: TwoWorkspaces) =>
  (await createKey(workspaces.program, { key: workspaces.theirs.full })).id;

/** Adds a domain with a unique name to the other workspace. */
const byReportedDomain: MethodCase = {
  built: true,
  ids: { domainId: async (workspaces) => ({ domainId: await theirDomain(workspaces) }) },
};
const theirDomain = async (workspaces: TwoWorkspaces) => {
  const domain = `d${randomBytes(6).toString("hex")}.test`;
  const answer = await workspaces.program.call("DomainService/AddDomain", { domain }, { key: workspaces.theirs.full });
  return (answer.body.domain as { id: string }).id;
};

/** A link to a domain of the other workspace. */
const theirLink = async (workspaces: TwoWorkspaces) => {
  const request = { id: await theirDomain(workspaces) };
  const answer = await workspaces.program.call("DomainService/CreateDomainLink", request, {
    key: workspaces.theirs.full,
  });
  return (answer.body.link as { id: string }).id;
};

const importOf = (id: string) => ({
  id,
  selector: "s1",
  privateKeyPem: generateKeyPairSync("rsa", { modulusLength: 1024 })
    .privateKey.export({ type: "pkcs8", format: "pem" })
    .toString(),
});

/** An imported DKIM key of the other workspace. */
const theirDkimKey = async (workspaces: TwoWorkspaces) => {
  const request = importOf(await theirDomain(workspaces));
  const answer = await workspaces.program.call("DomainService/ImportDkimKey", request, {
    key: workspaces.theirs.full,
  });
  return (answer.body.key as { id: string }).id;
};

const tomorrow = () => new Date(Date.now() + 86_400_000).toISOString();

/** Schedules an email in the other workspace, so that it can be rescheduled and canceled. */
const theirEmail = async (workspaces: TwoWorkspaces) => {
  const scheduledAt = new Date(Date.now() + 3_600_000).toISOString();
  const email = {
    from: `us@${workspaces.theirDomain}`,
    to: ["ok@simulator.test"],
    subject: "Later",
    body: "x",
    scheduledAt,
  };
  const answer = await workspaces.program.call("EmailService/SendEmail", email, { key: workspaces.theirs.full });
  return answer.body.id as string;
};
const byEmailId: MethodCase = {
  built: true,
  ids: { id: async (workspaces) => ({ id: await theirEmail(workspaces) }) },
};

/** Creates a webhook in the other workspace, at a local port without a listener. */
const theirWebhook = async (workspaces: TwoWorkspaces) => {
  const url = "http://127.0.0.1:9/hook";
  const answer = await workspaces.program.call(
    "WebhookService/CreateWebhook",
    { url },
    { key: workspaces.theirs.full },
  );
  return (answer.body.webhook as { id: string }).id;
};
const byKeyId: MethodCase = { built: true, ids: { id: async (workspaces) => ({ id: await theirKey(workspaces) }) } };
const byWebhookId: MethodCase = {
  built: true,
  ids: { id: async (workspaces) => ({ id: await theirWebhook(workspaces) }) },
};

/** Creates a delivery in the other workspace with a test event. */
const theirDelivery = async (workspaces: TwoWorkspaces) => {
  const webhookId = await theirWebhook(workspaces);
  const key = workspaces.theirs.full;
  const answer = await workspaces.program.call("WebhookService/SendTestWebhook", { id: webhookId }, { key });
  return { webhookId, deliveryId: (answer.body.delivery as { id: string }).id };
};
const byEventsOfEmail: MethodCase = {
  built: true,
  ids: {
    emailId: async (workspaces) => ({ emailId: await theirEmail(workspaces) }),
    afterEventId: "compared with the event at the cursor: any other event is out_of_range",
  },
};

/** Delivers mail with one attachment to the other workspace. */
const theirInbound = async (workspaces: TwoWorkspaces) => {
  const subject = randomBytes(6).toString("hex");
  const transport = createTransport({ host: "127.0.0.1", port: workspaces.program.ports.smtp!, ignoreTLS: true });
  await transport.sendMail({
    from: "ann@there.test",
    to: `us@${workspaces.theirDomain}`,
    subject,
    text: "x",
    attachments: [{ filename: "a.txt", content: "a" }],
  });
  transport.close();
  const found = await workspaces.program.call(
    "InboundService/ListInbound",
    { search: subject },
    { key: workspaces.theirs.full },
  );
  return (found.body.data as { id: string }[])[0]!.id;
};
const byInboundId: MethodCase = {
  built: true,
  ids: { id: async (workspaces) => ({ id: await theirInbound(workspaces) }) },
};

const theirWorkspace = async (workspaces: TwoWorkspaces) => {
  const { body } = await workspaces.program.call(
    "WorkspaceService/ListWorkspaces",
    {},
    { key: workspaces.theirs.full },
  );
  return (body.data as { id: string }[])[0]!.id;
};
const forPeople = "no key may call it; test/people/workspaces.test.ts tests it with sessions";
const forOperators = "no key may call it; test/people/operators.test.ts tests it with sessions";

export const cases: Record<string, MethodCase> = {
  "DomainService/AddDomain": noIds,
  "DomainService/GetDomain": {
    built: true,
    ids: { id: async (workspaces) => ({ id: await theirDomain(workspaces) }) },
  },
  "DomainService/ListDomains": noIds,
  "DomainService/VerifyDomain": {
    built: true,
    ids: { id: async (workspaces) => ({ id: await theirDomain(workspaces) }) },
  },
  "DomainService/DeleteDomain": {
    built: true,
    ids: { id: async (workspaces) => ({ id: await theirDomain(workspaces) }) },
  },
  "DomainService/RotateDkim": {
    built: true,
    ids: { id: async (workspaces) => ({ id: await theirDomain(workspaces) }) },
  },
  "DomainService/GetDkimKeys": {
    built: true,
    ids: { id: async (workspaces) => ({ id: await theirDomain(workspaces) }) },
  },
  "DomainService/ImportDkimKey": {
    built: true,
    ids: { id: async (workspaces) => importOf(await theirDomain(workspaces)) },
  },
  "DomainService/ExportDkimKey": {
    built: true,
    ids: { id: "no key may call it; test/domains/own-keys.test.ts tests it with sessions" },
  },
  "DomainService/RemoveDkimKey": {
    built: true,
    ids: { id: async (workspaces) => ({ id: await theirDkimKey(workspaces) }) },
  },
  "DomainService/GetZoneFile": {
    built: true,
    ids: { id: async (workspaces) => ({ id: await theirDomain(workspaces) }) },
  },
  "DomainService/CreateDomainLink": {
    built: true,
    ids: { id: async (workspaces) => ({ id: await theirDomain(workspaces) }) },
  },
  "DomainService/ListDomainLinks": {
    built: true,
    ids: { id: async (workspaces) => ({ id: await theirDomain(workspaces) }) },
  },
  "DomainService/RevokeDomainLink": {
    built: true,
    ids: { id: async (workspaces) => ({ id: await theirLink(workspaces) }) },
  },
  "DomainService/PublishToLocalDns": {
    built: true,
    ids: { id: async (workspaces) => ({ id: await theirDomain(workspaces) }) },
  },

  "DeliverabilityService/CheckDeliverability": {
    built: true,
    ids: {
      domainId: async (workspaces) => ({ domainId: await theirDomain(workspaces) }),
      emailId: async (workspaces) => ({ emailId: await theirEmail(workspaces) }),
      "email.attachments[].contentId": "names an image inside the same email",
      "email.replyToEmailId": "is not resolved: the sample is not sent",
    },
  },

  "EmailService/SendEmail": {
    built: true,
    ids: {
      "attachments[].contentId": "names an image inside the same email",
      replyToEmailId: "needs a sender with a domain; test/emails/threading.test.ts tests it",
    },
  },
  "EmailService/StreamEvents": byEventsOfEmail,
  "EmailService/GetEmail": byEmailId,
  "EmailService/ListEmails": { built: true, ids: { keyId: ownEmails } },
  "EmailService/CountEmails": { built: true, ids: { "filter.keyId": ownEmails } },
  "EmailService/ExportEmails": { built: true, ids: { "filter.keyId": ownEmails } },
  "EmailService/CancelEmail": byEmailId,
  "EmailService/UpdateEmail": {
    built: true,
    ids: { id: async (workspaces) => ({ id: await theirEmail(workspaces), scheduledAt: tomorrow() }) },
  },
  "EmailService/GetEmailContent": byEmailId,
  "EmailService/SendEmailBatch": {
    built: true,
    ids: {
      "emails[].attachments[].contentId": "names an image inside the same email",
      "emails[].replyToEmailId": "reported in the result of the single email",
    },
  },
  "EmailService/ListEvents": byEventsOfEmail,

  "AuditService/ListAuditEntries": byAuditFilter,
  "AuditService/ExportAuditEntries": byAuditFilter,

  "KeyService/CreateKey": noIds,
  "KeyService/ListKeys": noIds,
  "KeyService/UpdateKey": byKeyId,
  "KeyService/RotateKey": byKeyId,
  "KeyService/RevokeKey": byKeyId,

  "WebhookService/CreateWebhook": noIds,
  "WebhookService/GetWebhook": byWebhookId,
  "WebhookService/ListWebhooks": noIds,
  "WebhookService/UpdateWebhook": byWebhookId,
  "WebhookService/DeleteWebhook": byWebhookId,
  "WebhookService/RotateWebhookSecret": byWebhookId,
  "WebhookService/ListWebhookDeliveries": {
    built: true,
    ids: {
      webhookId: async (workspaces) => ({ webhookId: await theirWebhook(workspaces) }),
      eventId: "a filter: events of other workspaces have no deliveries here",
    },
  },
  "WebhookService/ListWebhookAttempts": {
    built: true,
    ids: { webhookId: theirDelivery, deliveryId: theirDelivery },
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
  "SuppressionService/ListUnsubscribes": noIds,
  "SuppressionService/AddUnsubscribe": noIds,
  "SuppressionService/RemoveUnsubscribe": noIds,

  "InboundService/ListInbound": {
    built: true,
    ids: { parentEmailId: "a filter: emails of other workspaces have no replies here" },
  },
  "InboundService/ListUnattributedReports": noIds,
  "InboundService/GetInbound": byInboundId,
  "InboundService/GetInboundContent": byInboundId,
  "InboundService/GetInboundAttachment": {
    built: true,
    ids: {
      id: async (workspaces) => ({ id: await theirInbound(workspaces), attachmentId: "1" }),
      attachmentId: "a position within the message",
    },
  },

  "QueueService/ListDestinations": noIds,
  "QueueService/RetryDestination": noIds,
  "QueueService/PauseDestination": noIds,
  "QueueService/ResumeDestination": noIds,
  "QueueService/PurgeDestination": noIds,

  "StatsService/GetStats": noIds,
  "StatsService/GetStatsSettings": noIds,
  "StatsService/UpdateStatsSettings": noIds,

  "ReportService/GetDmarcSummary": byReportedDomain,
  "ReportService/ListDmarcSources": byReportedDomain,
  "ReportService/ListReports": byReportedDomain,
  "ReportService/GetTlsSummary": byReportedDomain,

  "WorkspaceService/CreateWorkspace": noIds,
  "WorkspaceService/ListWorkspaces": noIds,
  "WorkspaceService/UpdateWorkspace": { built: true, ids: { workspaceId: forPeople } },
  "WorkspaceService/ListMembers": {
    built: true,
    ids: { workspaceId: async (workspaces) => ({ workspaceId: await theirWorkspace(workspaces) }) },
  },
  "WorkspaceService/GetQuotas": {
    built: true,
    ids: { workspaceId: async (workspaces) => ({ workspaceId: await theirWorkspace(workspaces) }) },
  },
  "WorkspaceService/InviteMember": { built: true, ids: { workspaceId: forPeople } },
  "WorkspaceService/UpdateMember": { built: true, ids: { workspaceId: forPeople, memberId: forPeople } },
  "WorkspaceService/ListMemberKeys": { built: true, ids: { workspaceId: forPeople, memberId: forPeople } },
  "WorkspaceService/RemoveMember": { built: true, ids: { workspaceId: forPeople, memberId: forPeople } },

  "OperatorService/ListPeople": noIds,
  "OperatorService/ListServiceAuditEntries": {
    built: true,
    ids: { "filter.actorId": forOperators, "filter.targetId": forOperators },
  },
  "OperatorService/ExportServiceAuditEntries": {
    built: true,
    ids: { "filter.actorId": forOperators, "filter.targetId": forOperators },
  },
  "OperatorService/DisablePerson": { built: true, ids: { id: forOperators } },
  "OperatorService/EnablePerson": { built: true, ids: { id: forOperators } },
  "OperatorService/DeletePerson": { built: true, ids: { id: forOperators } },
  "OperatorService/ListSystemMail": noIds,
  "OperatorService/ListUnknownWordings": noIds,
  "OperatorService/RemoveSystemSuppression": noIds,
  "OperatorService/ListAllWorkspaces": noIds,
  "OperatorService/SuspendWorkspace": { built: true, ids: { workspaceId: forOperators } },
  "OperatorService/ResumeWorkspace": { built: true, ids: { workspaceId: forOperators } },
  "OperatorService/SetQuotas": { built: true, ids: { workspaceId: forOperators } },
  "OperatorService/DeleteWorkspace": { built: true, ids: { workspaceId: forOperators } },
};
