/** Recovery codes: each replaces a second factor once. 80 random bits cannot be guessed, so a fast hash is enough to store them. Called by
 * factors.ts and codes.ts. */
import { createHash, randomBytes } from "node:crypto";

const count = 10;
const length = 16;
/** Crockford's base 32: no letters that look alike. */
const alphabet = "0123456789abcdefghjkmnpqrstvwxyz";

/** In groups of four characters. */
export function makeRecoveryCodes(): string[] {
  return Array.from({ length: count }, () => {
    const letters = [...randomBytes(length)].map((byte) => alphabet[byte % 32]).join("");
    return letters.replace(/(.{4})(?=.)/g, "$1-");
  });
}

/** The hash of a code as a person types it, or undefined if it does not look like one. */
export function hashRecoveryCode(personId: string, text: string): string | undefined {
  const code = text.toLowerCase().replace(/[\s-]/g, "").replace(/[il]/g, "1").replace(/o/g, "0");
  if (code.length !== length || [...code].some((letter) => !alphabet.includes(letter))) return undefined;
  return createHash("sha256").update(`recovery code ${personId} ${code}`).digest("hex");
}
