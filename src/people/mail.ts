/** Mail from Posthorn itself to people about their accounts: accepted like any other email, from the first workspace. */
import type { Accept } from "../accept/accept.ts";
import { parseAddress } from "../mail/address.ts";
import type { Sql } from "../store/db.ts";
import { systemKeyId } from "../store/keys.ts";
import { findSendingDomains } from "../store/sending-domains.ts";

export type SystemMail = {
  /** Whether a domain of the first workspace can send for the sender at this moment. */
  canSend(): Promise<boolean>;
  send(mail: { to: string; subject: string; body: string }): Promise<void>;
};

export type SystemMailDeps = {
  sql: Sql;
  accept: Accept;
  workspaceId: string;
  /** `Posthorn <no-reply@example.com>`; undefined: nothing can be sent. */
  from: string | undefined;
};

export function createSystemMail({ sql, accept, workspaceId, from }: SystemMailDeps): SystemMail {
  const sender = from === undefined ? undefined : parseAddress(from);
  return {
    async canSend() {
      if (!sender?.ok) return false;
      const { domain } = sender.address;
      return (await findSendingDomains(sql, workspaceId, [domain])).get(domain)?.canSend ?? false;
    },
    async send({ to, subject, body }) {
      const request = { ...empty, from: from ?? "", to: [to], subject, body };
      const system = { workspaceId, keyId: systemKeyId, domain: undefined, test: false };
      await accept.accept(request, system, { idempotencyKey: undefined, beginWrite() {} });
    },
  };
}

const empty = {
  cc: [],
  bcc: [],
  html: "",
  metadata: {},
  scheduledAt: undefined,
  expiresAt: undefined,
  attachments: [],
  inReplyTo: "",
  references: [],
  // RFC 3834 §5: nobody's absence assistant should answer.
  headers: { "Auto-Submitted": "auto-generated" },
  replyToEmailId: "",
  replyToAddresses: [],
  requireTls: false,
};
