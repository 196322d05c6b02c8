/** Invitations to a workspace: made for an address, sent there where mail can be sent, and always shown as a link to hand over. */
import { invalid, Problem } from "../rules/problem.ts";
import type { Sql } from "../store/db.ts";
import { makeUuid } from "../store/ids.ts";
import { invite, type MemberRow, type Role } from "../store/members.ts";
import { makeToken } from "../store/people-links.ts";
import { getWorkspace } from "../store/workspaces.ts";
import { createCounter } from "./attempts.ts";
import { noAddress, readEmail } from "./input.ts";
import { invitationLetter } from "./letters.ts";
import { linkForMs, linkTo } from "./links.ts";
import type { SystemMail } from "./mail.ts";

export type Invited = { member: MemberRow; url: string; sent: boolean };
export type Invitations = { invite(wanted: { workspaceId: string; email: string; role: Role }): Promise<Invited> };

export type InvitationDeps = {
  sql: Sql;
  base(): string;
  nowMs(): number;
  /** Undefined on the command line: the link is handed over by hand. */
  mail: SystemMail | undefined;
};

export function createInvitations(deps: InvitationDeps): Invitations {
  const { sql, mail } = deps;
  // Whoever may sign up may invite: our mail must not become a way to write to strangers.
  const byWorkspace = createCounter({ burst: 30, perMs: 120_000 });
  return {
    async invite({ workspaceId, email: text, role }) {
      const email = readEmail(text);
      if (!email) throw invalid([noAddress]);
      byWorkspace.check(workspaceId, deps.nowMs());
      byWorkspace.take(workspaceId, deps.nowMs());
      const token = makeToken();
      const wanted = { workspaceId, id: makeUuid(deps.nowMs()), email, role, token, forMs: linkForMs.invitation };
      const member = await invite(sql, wanted);
      if (!member) throw new Problem("already_exists", `${email} is a member of this workspace already.`);
      const url = linkTo(deps.base(), "invitation", token);
      const sent = (await mail?.canSend()) ?? false;
      if (sent) {
        const workspace = await getWorkspace(sql, workspaceId);
        await mail?.send({ to: email, ...invitationLetter({ workspace: workspace?.name ?? "", role, link: url }) });
      }
      return { member, url, sent };
    },
  };
}
