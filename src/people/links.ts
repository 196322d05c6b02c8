/** Links for people: where they lead, and the one-time link of the very first person. */
import { timingSafeEqual } from "node:crypto";
import type { Secrets } from "../store/secrets.ts";

export const linkForMs = { sign_up: 86_400_000, reset: 3_600_000, invitation: 7 * 86_400_000 } as const;

const pages = { first: "sign-up", sign_up: "sign-up", invitation: "invitation", reset: "reset-password" } as const;

/** The token stands in the fragment: it reaches no server's log and no Referer. */
export function linkTo(base: string, kind: keyof typeof pages, token: string): string {
  return `${base}/${pages[kind]}#token=${token}`;
}

/** Derived from the secret: every node and every restart gives the same one. It is valid until a person exists. */
export function firstToken(secrets: Pick<Secrets, "mac">): string {
  return secrets.mac("first sign-up", "one-time link").toString("base64url");
}

export function isFirstToken(secrets: Pick<Secrets, "mac">, token: string): boolean {
  const right = Buffer.from(firstToken(secrets));
  const given = Buffer.from(token);
  return given.length === right.length && timingSafeEqual(given, right);
}

/** What any link's token looks like: anything else is not worth a question to the database. */
export function looksLikeToken(token: string): boolean {
  return /^[\w-]{43}$/.test(token);
}
