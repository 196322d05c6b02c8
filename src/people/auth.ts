/** better-auth as this house uses it: sign-in, sessions and change of password, on our tables. Its HTTP surface is not served; our own
 * calls in (src/api/people-pages.ts) are few and judged by our guards. docs/decisions/0009-people.md says what is whose. */
import type { Pool } from "pg";
import type { Log } from "../ops/log.ts";
import { createHasher, type Hasher, passwordLength } from "./password.ts";

export type AuthOptions = {
  pool: Pool;
  log: Log;
  /** Signs the cookies; a key of its own, derived from POSTHORN_SECRET. */
  secret: string;
  /** Cookies go over https only. */
  secure: boolean;
  makeId(): string;
};

export const sessionDays = 30;
const daySeconds = 86_400;

export type Auth = Awaited<ReturnType<typeof load>>;

/** Loaded when the first person comes: a third of a second that no start has to wait for. */
export function createAuth(options: AuthOptions): { get(): Promise<Auth>; hasher: Hasher } {
  const hasher = createHasher();
  let loading: Promise<Auth> | undefined;
  return {
    hasher,
    get() {
      loading ??= load(options, hasher).catch((error) => {
        loading = undefined;
        throw error;
      });
      return loading;
    },
  };
}

/** The library puts `__Secure-` before the name by itself. */
export function sessionCookieName(secure: boolean): string {
  return `${secure ? "__Secure-" : ""}posthorn.session_token`;
}

async function load({ pool, log, secret, secure, makeId }: AuthOptions, hasher: Hasher) {
  const { betterAuth } = await import("better-auth");
  return betterAuth({
    database: pool,
    // As a list: a lone secret would give way to an environment variable of the library's.
    secrets: [{ version: 1, value: secret }],
    // Only for links and redirects of its own, of which none is used.
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
      // Every call asks the database, so that a session that was ended is over at once on every node.
      cookieCache: { enabled: false },
    },
    emailAndPassword: {
      enabled: true,
      // People are added in one transaction with their membership: src/store/people.ts.
      disableSignUp: true,
      minPasswordLength: passwordLength.min,
      maxPasswordLength: passwordLength.max,
      password: {
        hash: hasher.hash,
        verify: ({ hash, password }: { hash: string; password: string }) => hasher.verify(hash, password),
      },
    },
    advanced: {
      cookiePrefix: "posthorn",
      useSecureCookies: secure,
      defaultCookieAttributes: { httpOnly: true, sameSite: "strict", path: "/" },
      database: { generateId: makeId, validateSchema: false },
      ipAddress: { disableIpTracking: true },
    },
    // Ours slows by account and address, before the library is asked: src/people/attempts.ts.
    rateLimit: { enabled: false },
    telemetry: { enabled: false },
    logger: {
      level: "debug",
      // What it calls a warning (a wrong password) is daily life.
      log: (level, message) => log[level === "error" ? "warn" : "debug"]({ library: "better-auth" }, message),
    },
  });
}

const times = { createdAt: "created_at", updatedAt: "updated_at" } as const;
