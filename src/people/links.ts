/** Links for people, and the mail that carries them. Its subject is fixed, so that a name cannot inject one; emails/system-mail.ts escapes
 * the text for its HTML. Called by sign-up.ts, resets.ts, invitations.ts and the commands. */
import { hash } from "node:crypto";
import { toWireId } from "../postgres/ids.ts";
import type { Secrets } from "../postgres/sealing.ts";
import { shownName } from "./rules/shown-name.ts";

/** How long a link is valid. The mail below states the same times. */
export const linkLifetimeMs = { sign_up: 86_400_000, reset: 3_600_000, invitation: 7 * 86_400_000 } as const;

/** The page of the dashboard that a link opens. */
const pages = { first: "sign-up", sign_up: "sign-up", invitation: "invitation", reset: "reset-password" } as const;

export type MailText = { subject: string; body: string; link: { url: string; label: string } };

export function resetMail(link: string): MailText {
  return {
    subject: "Set a new password for Posthorn",
    link: { url: link, label: "Set a new password" },
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
    link: { url: link, label: "Continue sign-up" },
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
    link: { url: `${base}/sign-in`, label: "Sign in" },
    body: `A sign-up for Posthorn was requested with this address, which already has an account.

Sign in or request a new password here:
${base}/sign-in

If you did not request this, ignore this email.
`,
  };
}

const unnamedInviter = "An owner";
const afterInviter = " invites you";

/** The id of the inviter goes with the mail, so that deleting this person finds it. */
export function inviterMetadata(personId: string): Record<string, string> {
  return { inviter: toWireId("person", personId) };
}

/** The same for a deleted person. */
export const deletedInviter = { inviter: "deleted" };

/** POSIX patterns for the part of an invitation with the name of the inviter, and the text without the name. A name is one line. In the
 * HTML, it begins the first paragraph. */
export const namedInviter = {
  text: { pattern: `^[^\\n]*${afterInviter}`, replacement: `${unnamedInviter}${afterInviter}` },
  html: { pattern: `(<p [^>]*>)[^<>]*${afterInviter}`, replacement: `\\1${unnamedInviter}${afterInviter}` },
};

/** With open sign-up a stranger chooses both names. They are in the body, as data, and only if they cannot be read as a link. */
export function invitationMail(invitation: {
  inviter: string;
  workspace: string;
  role: string;
  link: string;
}): MailText {
  const inviter = shownName(invitation.inviter) ?? unnamedInviter;
  const workspace = shownName(invitation.workspace);
  return {
    subject: "You are invited to Posthorn",
    link: { url: invitation.link, label: "Join the workspace" },
    body: `${inviter}${afterInviter} to a workspace on Posthorn, as ${invitation.role}.
${workspace === undefined ? "" : `Name of the workspace: ${workspace}\n`}
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

export function isFirstToken(secrets: Pick<Secrets, "isMac">, token: string): boolean {
  return looksLikeToken(token) && secrets.isMac(Buffer.from(token, "base64url"), "first sign-up", "one-time link");
}

/**
 * The token of an invitation as it may be shown to the inviter, derived from the token in the mail, which cannot be computed from it.
 * Only the token in the mail proves that the address belongs to the person.
 */
export function shownToken(token: string): string {
  return hash("sha256", `invitation shown to the inviter ${token}`, "base64url");
}

/** Whether the text has the form of a token. Anything else needs no query. */
export function looksLikeToken(token: string): boolean {
  return /^[\w-]{43}$/.test(token);
}
