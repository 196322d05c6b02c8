/** Creates invitations to a workspace. Sends the link by mail if the service can send mail, and always returns it, so that the owner can
 * pass it on. Called by WorkspaceService and by the command line. */
import type { SystemMail } from "../emails/system-mail.ts";
import { makeToken } from "../ops/one-time-token.ts";
import { invalid, Problem } from "../ops/problem.ts";
import { makeUuid } from "../postgres/ids.ts";
import type { Sql } from "../postgres/pool.ts";
import type { Quotas } from "../quotas/quotas.ts";
import { invalidEmail, readEmail } from "../workspaces/rules.ts";
import type { Invitations } from "../workspaces/store.ts";
import { getWorkspace, invite, isMemberOrInvited } from "../workspaces/store.ts";
import { createAttemptLimit } from "./limits.ts";
import { invitationMail, linkLifetimeMs, linkTo } from "./links.ts";

export type InvitationDeps = {
  sql: Sql;
  base(): string;
  nowMs(): number;
  /** Undefined on the command line, which prints the link. */
  mail: SystemMail | undefined;
  /** Undefined on the command line, which is not limited. */
  quotas?: Quotas;
};

export function createInvitations(deps: InvitationDeps): Invitations {
  const { sql, mail } = deps;
  // With open sign-up every person may invite. The limit keeps invitations from becoming a means to send spam.
  const byWorkspace = createAttemptLimit({ burst: 30, periodMs: 120_000 });
  return {
    async invite({ workspaceId, email: text, role }) {
      const email = readEmail(text);
      if (!email) throw invalid([invalidEmail]);
      byWorkspace.check(workspaceId, performance.now());
      byWorkspace.take(workspaceId, performance.now());
      const token = makeToken();
      const invitation = {
        workspaceId,
        id: makeUuid(deps.nowMs()),
        email,
        role,
        token,
        forMs: linkLifetimeMs.invitation,
      };
      const add = (tx: Sql) => invite(tx, invitation);
      // A renewed invitation adds no member.
      const isLimited = deps.quotas && !(await isMemberOrInvited(sql, workspaceId, email));
      const member = await (isLimited ? deps.quotas!.adding(workspaceId, "members", add) : add(sql));
      if (!member) throw new Problem("already_exists", `${email} is already a member of this workspace.`);
      const url = linkTo(deps.base(), "invitation", token);
      const sent = (await mail?.canSend()) ?? false;
      if (sent) {
        const workspace = await getWorkspace(sql, workspaceId);
        await mail?.send({ to: email, ...invitationMail({ workspace: workspace?.name ?? "", role, link: url }) });
      }
      return { member, url, sent };
    },
  };
}
