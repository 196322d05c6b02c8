/** Tokens of links: one-time ones for sign-up, invitations and new passwords, and those that share a domain's records. The database stores only their hash. */
import { createHash, randomBytes } from "node:crypto";

/** 256 random bits: they cannot be guessed, so a fast hash is enough to store them. */
export function makeToken(): string {
  return randomBytes(32).toString("base64url");
}

export function hashToken(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}
