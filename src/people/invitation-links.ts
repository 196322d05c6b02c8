/** Finds the invitation of a link, and whether the link may create an account. Called by people.ts and sign-up.ts. */
import { Problem } from "../ops/problem.ts";
import type { Sql } from "../postgres/pool.ts";
import { findInvite, type Invitation } from "../workspaces/store.ts";
import type { SignUpMode } from "./access.ts";
import { shownToken } from "./links.ts";

/** `token` is the one that is stored. */
export type FoundInvitation = Invitation & {
  token: string;
  mayCreateAccount: boolean;
  /** Only a mail to the address contained this link. */
  provesAddress: boolean;
};

/**
 * With open sign-up the inviter may be a stranger, who sees a link, too. That link works only for a signed-in person: otherwise the
 * inviter could take an address without proving it, and could find out whether it has an account.
 */
export async function findInvitation(sql: Sql, token: string, mode: SignUpMode): Promise<FoundInvitation | undefined> {
  const fromMail = await findInvite(sql, shownToken(token));
  if (fromMail)
    return { ...fromMail, token: shownToken(token), mayCreateAccount: true, provesAddress: fromMail.isMailed };
  const shown = await findInvite(sql, token);
  return shown && { ...shown, token, mayCreateAccount: mode !== "open", provesAddress: false };
}

/** The same for addresses with and without an account. */
export function proofRequired(): Problem {
  return new Problem(
    "permission_denied",
    "This link does not prove that the address is yours. Open the link in the invitation email, or sign in and open this link again.",
  );
}
