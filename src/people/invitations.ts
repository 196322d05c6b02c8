/** Creates invitations to a workspace. Sends the link by mail if the service can send mail, and always returns one, so that the owner can
 * pass it on. Called by WorkspaceService and by the command line. */
import { record } from "../audit/record.ts";
import { makeToken } from "../ops/one-time-token.ts";
import { invalid, Problem } from "../ops/problem.ts";
import { makeUuid } from "../postgres/ids.ts";
import type { Sql } from "../postgres/pool.ts";
import type { Quotas } from "../quotas/quotas.ts";
import { createAttemptLimit, tooMany } from "../shares/guessing.ts";
import { invalidEmail, readEmail } from "../workspaces/rules.ts";
import type { Invitations } from "../workspaces/store.ts";
import { getWorkspace, invite, isMemberOrInvited } from "../workspaces/store.ts";
import type { SignUpMode } from "./access.ts";
import type { AccountMail } from "./account-mail.ts";
import { invitationMail, inviterMetadata, linkLifetimeMs, linkTo, shownToken } from "./links.ts";
import { findPersonById } from "./store.ts";

export type InvitationDeps = {
  sql: Sql;
  base(): string;
  nowMs(): number;
  mode: SignUpMode;
  /** Undefined on the command line, which prints the link. */
  mail: AccountMail | undefined;
  /** Undefined on the command line, which is not limited. */
  quotas?: Quotas;
  /** Erases the name in mail of an inviter who was deleted meanwhile. Undefined on the command line, which sends no mail. */
  forgetDeletedInviter?(personId: string): Promise<void>;
};

export function createInvitations(deps: InvitationDeps): Invitations {
  const { sql, mail } = deps;
  // With open sign-up every person may invite. The limit keeps one person from filling the table of members.
  const byWorkspace = createAttemptLimit({ burst: 30, periodMs: 120_000 }, "invitations");

  /** Whether to send the mail: "sent", or why not. Throws when the inviter has used up the day's invitations. */
  async function mayMail(email: string, personId: string | undefined): Promise<"sent" | "no mail" | "enough mail"> {
    if (!mail || personId === undefined || !(await mail.canSend())) return "no mail";
    const refused = await mail.take({ kind: "invitation", email, personId, client: undefined });
    if (refused?.by === "inviter")
      throw tooMany("You have sent as many invitations as one person may in a day.", refused.retryAfterMs);
    return refused ? "enough mail" : "sent";
  }

  return {
    async invite({ workspaceId, email: text, role, inviter, actor }) {
      const email = readEmail(text);
      if (!email) throw invalid([invalidEmail]);
      byWorkspace.check(workspaceId, performance.now());
      byWorkspace.take(workspaceId, performance.now());
      const result = await mayMail(email, inviter?.id);
      const token = makeToken();
      // A person who signed up openly is not trusted with a link that creates an account for another address.
      const shown = deps.mode === "open" ? shownToken(token) : token;
      const invitation = {
        workspaceId,
        id: makeUuid(deps.nowMs()),
        email,
        role,
        token: shown,
        forMs: linkLifetimeMs.invitation,
        // Only the mail contains the token: the inviter sees another one.
        isMailed: result === "sent" && shown !== token,
      };
      const add = async (tx: Sql) => {
        const invited = await invite(tx, invitation);
        if (invited) {
          const target = { kind: "member", id: invited.id } as const;
          await record(tx, actor, { action: "member.invited", workspaceId, target, fields: ["role"] });
        }
        return invited;
      };
      // A renewed invitation adds no member.
      const isLimited = deps.quotas && !(await isMemberOrInvited(sql, workspaceId, email));
      const member = await (isLimited ? deps.quotas!.adding(workspaceId, "members", add) : sql.begin(add));
      if (!member) throw new Problem("already_exists", `${email} is already a member of this workspace.`);
      const link = linkTo(deps.base(), "invitation", token);
      if (result === "sent") {
        const workspace = await getWorkspace(sql, workspaceId);
        const person = inviter && (await findPersonById(sql, inviter.id));
        const names = { inviter: person?.name ?? "", workspace: workspace?.name ?? "" };
        await mail!.send(email, invitationMail({ ...names, role, link }), person && inviterMetadata(person.id));
        if (person) await deps.forgetDeletedInviter?.(person.id);
      }
      const forWhom = shown === token ? "" : ` The link below works for a person who signs in as ${email}.`;
      const url = inviter === undefined ? link : linkTo(deps.base(), "invitation", shown);
      return { member, url, message: messages[result](email) + forWhom };
    },
  };
}

const messages = {
  sent: (email: string) => `The invitation was sent to ${email}. It is valid for 7 days.`,
  "no mail": (email: string) =>
    `This service cannot send mail yet: give the link to ${email} yourself. It is valid for 7 days.`,
  "enough mail": (email: string) =>
    `${email} has got several invitations already, so no further mail was sent: give the link to ${email} yourself. It is valid for 7 days.`,
} as const;
