/** Links for people, and the mail that carries them. The mail is plain text, so that a name cannot inject markup. Called by sign-up.ts,
 * resets.ts, invitations.ts and the commands. */
import { timingSafeEqual } from "node:crypto";
import type { Secrets } from "../postgres/sealing.ts";

/** How long a link is valid. The mail below states the same times. */
export const linkLifetimeMs = { sign_up: 86_400_000, reset: 3_600_000, invitation: 7 * 86_400_000 } as const;

/** The page of the dashboard that a link opens. */
const pages = { first: "sign-up", sign_up: "sign-up", invitation: "invitation", reset: "reset-password" } as const;

export type MailText = { subject: string; body: string };

export function resetMail(link: string): MailText {
  return {
    subject: "Set a new password for Posthorn",
    body: `A new password was requested for the Posthorn account with this address.

Set it here within an hour:
${link}

If you did not request this, ignore this email: your password stays the same.
`,
  };
}

export function signUpMail(link: string): MailText {
  return {
    subject: "Sign up for Posthorn",
    body: `A sign-up for Posthorn was requested with this address.

Continue here within 24 hours:
${link}

If you did not request this, ignore this email.
`,
  };
}

/** The dashboard shows the same message as for a new address; only the owner of the mailbox learns that there is an account. */
export function accountExistsMail(base: string): MailText {
  return {
    subject: "You already have a Posthorn account",
    body: `A sign-up for Posthorn was requested with this address, which already has an account.

Sign in or request a new password here:
${base}/sign-in

If you did not request this, ignore this email.
`,
  };
}

export function invitationMail(invitation: { workspace: string; role: string; link: string }): MailText {
  return {
    subject: `You are invited to ${invitation.workspace} on Posthorn`,
    body: `You are invited to the workspace ${invitation.workspace} on Posthorn, as ${invitation.role}.

Join here within 7 days:
${invitation.link}

If you did not expect this invitation, ignore this email.
`,
  };
}

/** The token is in the fragment, so that it is in no server log and in no Referer header. */
export function linkTo(base: string, kind: keyof typeof pages, token: string): string {
  return `${base}/${pages[kind]}#token=${token}`;
}

/** The token of the first person's link. Derived from the secret, so that every node and every restart has the same one. It is valid until
 * a person exists. */
export function firstToken(secrets: Pick<Secrets, "mac">): string {
  return secrets.mac("first sign-up", "one-time link").toString("base64url");
}

export function isFirstToken(secrets: Pick<Secrets, "mac">, token: string): boolean {
  const expected = Buffer.from(firstToken(secrets));
  const given = Buffer.from(token);
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** Whether the text has the form of a token. Anything else needs no query. */
export function looksLikeToken(token: string): boolean {
  return /^[\w-]{43}$/.test(token);
}
