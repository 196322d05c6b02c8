/** Configures better-auth for sign-in, sessions and password changes on our tables, and reads session cookies without it. The HTTP
 * endpoints of better-auth are not served; pages.ts has our own. docs/decisions/0009-people.md has the reasons. Called by people.ts. */
import { createHmac, timingSafeEqual } from "node:crypto";
import type { Pool } from "pg";
import type { Log } from "../ops/log.ts";
import { hashPassword, passwordLength, verifyPassword } from "./password.ts";

export type AuthOptions = {
  pool: Pool;
  log: Log;
  /** Signs the cookies. Derived from POSTHORN_SECRET for this purpose only. It changes when POSTHORN_SECRET is replaced. */
  secret(): string;
  /** Cookies get the Secure attribute. */
  secure: boolean;
  makeId(): string;
  /** The database's wall time. The library reads this machine's clock, which may be wrong. */
  nowMs(): number;
};

export const sessionDays = 30;
const daySeconds = 86_400;
export const sessionMs = sessionDays * daySeconds * 1000;

export type Auth = Awaited<ReturnType<typeof load>>;

/** Loads better-auth on first use: loading takes a third of a second, which the start of the program does not wait for. */
export function createAuth(options: AuthOptions): { get(): Promise<Auth> } {
  let loading: { secret: string; auth: Promise<Auth> } | undefined;
  return {
    get() {
      const secret = options.secret();
      if (loading?.secret !== secret) loading = { secret, auth: load({ ...options, secret }) };
      const { auth } = loading;
      auth.catch(() => {
        if (loading?.auth === auth) loading = undefined;
      });
      return auth;
    },
  };
}

/** better-auth adds the prefix `__Secure-` itself. */
export function sessionCookieName(secure: boolean): string {
  return `${secure ? "__Secure-" : ""}posthorn.session_token`;
}

async function load({ pool, log, secret, secure, makeId, nowMs }: Omit<AuthOptions, "secret"> & { secret: string }) {
  const { betterAuth } = await import("better-auth");
  return betterAuth({
    database: pool,
    // A list, because an environment variable of better-auth would override a single secret.
    secrets: [{ version: 1, value: secret }],
    // better-auth uses this only for its own links and redirects, which we do not use.
    baseURL: secure ? "https://posthorn.invalid" : "http://posthorn.invalid",
    user: { modelName: "people", fields: { ...times, emailVerified: "email_verified" } },
    account: {
      modelName: "people_accounts",
      fields: {
        ...times,
        userId: "person_id",
        accountId: "account_id",
        providerId: "provider_id",
        accessToken: "access_token",
        refreshToken: "refresh_token",
        idToken: "id_token",
        accessTokenExpiresAt: "access_token_expires_at",
        refreshTokenExpiresAt: "refresh_token_expires_at",
      },
    },
    session: {
      modelName: "people_sessions",
      fields: {
        ...times,
        userId: "person_id",
        expiresAt: "expires_at",
        ipAddress: "ip_address",
        userAgent: "user_agent",
      },
      expiresIn: sessionDays * daySeconds,
      updateAge: daySeconds,
      // Every call queries the database, so that every node rejects an ended session at once.
      cookieCache: { enabled: false },
    },
    databaseHooks: { session: { create: { before: async () => ({ data: timesOf(nowMs()) }) } } },
    emailAndPassword: {
      enabled: true,
      // store.ts adds people in one transaction with their membership.
      disableSignUp: true,
      minPasswordLength: passwordLength.min,
      maxPasswordLength: passwordLength.max,
      // The library also hashes for an unknown address. Its callers wait for their turn before.
      password: {
        hash: hashPassword,
        verify: ({ hash, password }: { hash: string; password: string }) => verifyPassword(hash, password),
      },
    },
    advanced: {
      cookiePrefix: "posthorn",
      useSecureCookies: secure,
      defaultCookieAttributes: { httpOnly: true, sameSite: "strict", path: "/" },
      database: { generateId: makeId, validateSchema: false },
      ipAddress: { disableIpTracking: true },
    },
    // limits.ts limits attempts by account and address before better-auth is called.
    rateLimit: { enabled: false },
    telemetry: { enabled: false },
    logger: {
      level: "debug",
      // better-auth logs every wrong password as a warning.
      log: (level, message) => log[level === "error" ? "warn" : "debug"]({ library: "better-auth" }, message),
    },
  });
}

const times = { createdAt: "created_at", updatedAt: "updated_at" } as const;

/** The times of a new session. Its end in service time is the default of its column. */
function timesOf(nowMs: number) {
  const now = new Date(nowMs);
  return { createdAt: now, updatedAt: now, expiresAt: new Date(nowMs + sessionMs) };
}

/** The header that keeps a session cookie for as long as a renewed session, in the form of better-auth. */
export function renewedCookie(name: string, token: string, secret: string): string {
  const secure = name.startsWith("__Secure-") ? "; Secure" : "";
  return `${sessionCookie(name, token, secret)}; Max-Age=${sessionDays * daySeconds}; Path=/; HttpOnly${secure}; SameSite=Strict`;
}

/** The session cookie of a token, as in a Cookie header. */
export function sessionCookie(name: string, token: string, secret: string): string {
  return `${name}=${encodeURIComponent(`${token}.${signatureOf(token, secret).toString("base64")}`)}`;
}

function signatureOf(token: string, secret: string): Buffer {
  return createHmac("sha256", secret).update(token).digest();
}

/** The session token in a Cookie header, if one of the secrets signed it. Runs for every API call of a person, without better-auth. */
export function readSessionToken(
  cookies: string | undefined,
  name: string,
  secrets: readonly string[],
): string | undefined {
  const value = cookieValue(cookies, name);
  const match = /^([A-Za-z0-9]{16,128})\.([A-Za-z0-9+/]{43}=)$/.exec(value ?? "");
  if (!match) return undefined;
  const [, token, signature] = match as unknown as [string, string, string];
  const given = Buffer.from(signature, "base64");
  return secrets.some((secret) => timingSafeEqual(signatureOf(token, secret), given)) ? token : undefined;
}

/** RFC 6265 §5.4: pairs separated by semicolons. Of two cookies with the same name the first counts, as in better-auth. */
export function cookieValue(cookies: string | undefined, name: string): string | undefined {
  for (const pair of (cookies ?? "").split(";")) {
    const at = pair.indexOf("=");
    if (at < 0 || pair.slice(0, at).trim() !== name) continue;
    const text = pair.slice(at + 1).trim();
    try {
      return decodeURIComponent(text);
    } catch {
      return undefined;
    }
  }
  return undefined;
}
