/** Codes of an authenticator app (TOTP, RFC 6238): SHA-1, six digits, 30 seconds, as every app supports them. This file computes; the
 * store decides whether a code was used before. The time is an argument: wall time of the database. Called by factors.ts and codes.ts. */

const stepMs = 30_000;
/** RFC 6238 §5.2: at most one step back and one step ahead, for clocks that differ. */
const window = 1;
/** RFC 4226 §4, R6: 160 bits. */
const secretBytes = 20;

/** Loaded on first use: most starts need no codes. */
const load = () => import("otpauth");

export async function makeTotpSecret(): Promise<string> {
  const { Secret } = await load();
  return new Secret({ size: secretBytes }).base32;
}

/** What a QR code contains. */
export async function totpUri(secret: string, email: string): Promise<string> {
  return (await totpOf(secret, email)).toString();
}

/** The time step of a code, or undefined if it is wrong at this time. */
export async function totpStep(secret: string, code: string, nowMs: number): Promise<number | undefined> {
  const delta = (await totpOf(secret)).validate({ token: code, timestamp: nowMs, window });
  return delta === null ? undefined : Math.floor(nowMs / stepMs) + delta;
}

/** The six digits of a code as a person types it, or undefined if it does not look like one. */
export function readTotpCode(text: string): string | undefined {
  const code = text.replace(/\s/g, "");
  return /^[0-9]{6}$/.test(code) ? code : undefined;
}

async function totpOf(secret: string, label = "") {
  const { TOTP, Secret } = await load();
  const period = stepMs / 1000;
  return new TOTP({
    issuer: "Posthorn",
    label,
    algorithm: "SHA1",
    digits: 6,
    period,
    secret: Secret.fromBase32(secret),
  });
}
