/**
 * Mail from Posthorn to people: sign-up, passwords, invitations, and notices to the owners of workspaces. It is accepted like any other
 * email, in the first workspace. Called by people/ and quotas/.
 */

import { findSendingDomains } from "../domains/store/sending.ts";
import { systemKeyId } from "../keys/store.ts";
import { parseAddress } from "../mail/address.ts";
import type { Sql } from "../postgres/pool.ts";
import type { Accept } from "./accept.ts";
import { emptyRequest } from "./rules/request.ts";

export type SystemMail = {
  /** Whether the sender's domain is registered in the first workspace and can send now. */
  canSend(): Promise<boolean>;
  /** With an idempotency key, repeated calls send one email. */
  send(mail: { to: string; subject: string; body: string; idempotencyKey?: string }): Promise<void>;
};

export type SystemMailDeps = {
  sql: Sql;
  accept: Accept;
  workspaceId: string;
  /** Such as `Posthorn <no-reply@example.com>`. Undefined: no mail can be sent. */
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
    async send({ to, subject, body, idempotencyKey }) {
      // RFC 3834 §5: Auto-Submitted keeps vacation responders from answering.
      const headers = { "Auto-Submitted": "auto-generated" };
      const request = { ...emptyRequest, from: from ?? "", to: [to], subject, body, headers };
      const system = { workspaceId, keyId: systemKeyId, domain: undefined, test: false };
      await accept.accept(request, system, { idempotencyKey, beginWrite() {} });
    },
  };
}
