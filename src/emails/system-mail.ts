/**
 * Mail from Posthorn to people: sign-up, passwords, invitations, and notices to the owners of workspaces. It is accepted like any other
 * email, in the system workspace, with a domain of the first workspace (docs/decisions/0048-system-mail.md). Called by people/ and quotas/.
 */

import { findSendingDomains } from "../domains/store/sending.ts";
import { systemKeyId } from "../keys/store.ts";
import { parseAddress } from "../mail/address.ts";
import type { Sql } from "../postgres/pool.ts";
import { hasOlderPrograms } from "../workspaces/store/first.ts";
import type { Accept } from "./accept.ts";
import { emptyRequest } from "./rules/request.ts";
import { type SystemText, systemHtml } from "./rules/system-html.ts";

export type SystemMail = {
  /** Whether the sender's domain is registered in the first workspace and can send now. */
  canSend(): Promise<boolean>;
  /** Why mail cannot be sent and what to do, for the operator; undefined if it can. */
  problem(): Promise<string | undefined>;
  /** With an idempotency key, repeated calls send one email. */
  send(mail: SystemText & { to: string; idempotencyKey?: string; metadata?: Record<string, string> }): Promise<void>;
};

export type SystemMailDeps = {
  sql: Sql;
  accept: Accept;
  firstWorkspaceId: string;
  systemWorkspaceId: string;
  /** Such as `Posthorn <no-reply@example.com>`. Undefined: no mail can be sent. */
  from: string | undefined;
};

export function createSystemMail(deps: SystemMailDeps): SystemMail {
  const { sql, accept, firstWorkspaceId, systemWorkspaceId, from } = deps;
  const problem = () => findSenderProblem(sql, { workspaceId: firstWorkspaceId, from });
  return {
    problem,
    canSend: async () => (await problem()) === undefined,
    async send({ to, subject, body, link, idempotencyKey, metadata = {} }) {
      // RFC 3834 §5: Auto-Submitted keeps vacation responders from answering.
      const headers = { "Auto-Submitted": "auto-generated" };
      const html = systemHtml({ subject, body, link });
      const request = { ...emptyRequest, from: from ?? "", to: [to], subject, body, html, headers, metadata };
      // During a rolling upgrade, mail stays where the programs of the earlier release can send it.
      const workspaceId = (await hasOlderPrograms(sql)) ? firstWorkspaceId : systemWorkspaceId;
      const submitter = { workspaceId, domainWorkspaceId: firstWorkspaceId, keyId: systemKeyId, test: false };
      await accept.accept(request, submitter, { idempotencyKey, beginWrite() {} });
    },
  };
}

/** Why mail from this sender cannot be sent and what to do. Also called by posthorn doctor. */
export async function findSenderProblem(
  sql: Sql,
  sender: { workspaceId: string | undefined; from: string | undefined },
): Promise<string | undefined> {
  const { workspaceId, from } = sender;
  if (from === undefined)
    return "POSTHORN_SYSTEM_FROM is not set. Set it to a sender of a domain of the first workspace, such as Posthorn <no-reply@example.com>.";
  const read = parseAddress(from);
  if (!read.ok) return `POSTHORN_SYSTEM_FROM is not an address: ${JSON.stringify(from)}.`;
  const { domain } = read.address;
  const found = workspaceId && (await findSendingDomains(sql, workspaceId, [domain])).get(domain);
  if (!found)
    return `The domain ${domain} of POSTHORN_SYSTEM_FROM is not registered in the first workspace. Add it there.`;
  return found.canSend
    ? undefined
    : `The domain ${domain} of POSTHORN_SYSTEM_FROM cannot send yet. Publish its DNS records.`;
}
