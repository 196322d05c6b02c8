/** Reads the numbers of the navigation. Each call reads a bounded number of rows. Loaded after the first view. */
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Code, createClient } from "@connectrpc/connect";
import { DomainService, DomainStatus } from "../../../src/gen/v1/domain_pb.ts";
import { EmailService } from "../../../src/gen/v1/email_pb.ts";
import { InboundService } from "../../../src/gen/v1/inbound_pb.ts";
import { SuppressionService } from "../../../src/gen/v1/suppression_pb.ts";
import { WebhookService } from "../../../src/gen/v1/webhook_pb.ts";
import { codeOf } from "../api/problem.ts";
import { transport } from "../api/transport.ts";
import type { Counts } from "./counts.ts";

const dayMs = 24 * 60 * 60 * 1000;
const pageSize = 100;
const inboundPageSize = 20;

export async function readCounts(signal: AbortSignal): Promise<Counts> {
  const options = { signal };
  const emails = createClient(EmailService, transport);
  const createdAfter = timestampFromMs(Date.now() - dayMs);
  const [day, open, inbound, domains, suppressions, webhooks] = await Promise.all([
    allowed(emails.countEmails({ filter: { createdAfter } }, options)),
    allowed(emails.countEmails({ filter: { open: true } }, options)),
    allowed(createClient(InboundService, transport).listInbound({ pageSize: inboundPageSize }, options)),
    allowed(createClient(DomainService, transport).listDomains({ page: 1, pageSize }, options)),
    allowed(createClient(SuppressionService, transport).listSuppressions({ pageSize }, options)),
    allowed(createClient(WebhookService, transport).listWebhooks({ pageSize }, options)),
  ]);
  const toFix = domains?.data.filter(({ status }) => status !== DomainStatus.READY);
  const failing = webhooks?.data.filter(({ failingSince, disabledReason }) => failingSince || disabledReason);
  return {
    emails: day && { number: day.total, atLeast: day.atLeast },
    waiting: open && { number: open.total, atLeast: open.atLeast },
    inbound: inbound && { ids: inbound.data.map(({ id }) => id), atLeast: inbound.nextPageToken !== "" },
    domainsToFix: toFix && { number: toFix.length, atLeast: (domains?.total ?? 0) > pageSize },
    suppressions: suppressions && { number: suppressions.data.length, atLeast: suppressions.nextPageToken !== "" },
    failingWebhooks: failing && { number: failing.length, atLeast: webhooks?.nextPageToken !== "" },
  };
}

/** Undefined if the key does not have the permission. */
async function allowed<Answer>(call: Promise<Answer>): Promise<Answer | undefined> {
  try {
    return await call;
  } catch (error) {
    if (codeOf(error) === Code.PermissionDenied) return undefined;
    throw error;
  }
}
