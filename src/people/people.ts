/** People: sign-up, sign-in, sessions, passwords and invitations, for the pages under /auth and for the API's gate. No HTTP in it. */
import type { Log } from "../ops/log.ts";
import { invalid, Problem } from "../rules/problem.ts";
import type { Sql } from "../store/db.ts";
import { makeUuid } from "../store/ids.ts";
import { createLoader } from "../store/loader.ts";
import { findInvite, joinByInvite, listWorkspacesOf, type Role } from "../store/members.ts";
import { findPerson, findSessions, hasPeople, type LiveSession, type Person, resetPassword } from "../store/people.ts";
import { findLink } from "../store/people-links.ts";
import type { Secrets } from "../store/secrets.ts";
import { createCounter, createSignInGuard } from "./attempts.ts";
import { type Auth, createAuth, sessionCookieName, sessionDays } from "./auth.ts";
import { readSessionToken } from "./cookie.ts";
import { readEmail } from "./input.ts";
import { isFirstToken, looksLikeToken } from "./links.ts";
import type { SystemMail } from "./mail.ts";
import { judgePassword } from "./password.ts";
import { createResets } from "./resets.ts";
import { createSignUp, noLink, type SignUpInput, type SignUpMode } from "./sign-up.ts";

/** Who asks, as far as the request tells. */
export type Visitor = { cookie: string | undefined; userAgent: string | undefined; address: string };
export type SignedIn = { person: Person; workspaces: { id: string; name: string; role: Role }[] };
/** What to answer, and the cookies to set with it. */
export type Answer<T> = { value: T; cookies: string[] };

export type PeopleDeps = {
  sql: Sql;
  log: Log;
  secrets: Secrets;
  mode: SignUpMode;
  mail: SystemMail;
  /** Served under https: cookies are for https alone. */
  secure: boolean;
  /** Where links lead to. */
  base(): string;
  nowMs(): number;
  /** A person was added. */
  onPerson(): Promise<void>;
};

export type People = ReturnType<typeof createPeople>;

/** More than a person would page through on a screen; ListWorkspaces shows all. */
const shownWorkspaces = 100;
const dayMs = 86_400_000;

export function createPeople(deps: PeopleDeps) {
  const { sql, secure, nowMs } = deps;
  const secret = deps.secrets.derive("session cookies").toString("base64url");
  const cookieName = sessionCookieName(secure);
  const auth = createAuth({
    pool: sql.pool,
    log: deps.log,
    secret,
    secure,
    makeId: () => makeUuid(nowMs()),
  });
  const underWay = new Set<Promise<void>>();
  const later = (work: Promise<void>) => {
    const watched: Promise<void> = work
      .catch((error) => deps.log.warn({ err: error }, "a mail to a person was not sent"))
      .finally(() => underWay.delete(watched));
    underWay.add(watched);
  };
  const signUps = createSignUp({ ...deps, hasher: auth.hasher, later });
  const resets = createResets({ ...deps, later });
  const guard = createSignInGuard();
  const changes = createCounter({ burst: 8, perMs: 60_000 });
  const sessionOf = createLoader((asked: { token: string; workspaceId: string | undefined }[]) =>
    findSessions(sql, asked),
  );

  /** The live session of a Cookie header, with the person's role in a workspace. */
  async function session(cookie: string | undefined, workspaceId?: string): Promise<LiveSession | undefined> {
    const token = readSessionToken(cookie, cookieName, secret);
    return token === undefined ? undefined : await sessionOf({ token, workspaceId });
  }

  async function requireSession(visitor: Visitor): Promise<LiveSession> {
    const live = await session(visitor.cookie);
    if (!live) throw signedOut();
    return live;
  }

  async function signedIn(person: Person): Promise<SignedIn> {
    const rows = await listWorkspacesOf(sql, { personId: person.id, before: undefined, limit: shownWorkspaces });
    return { person, workspaces: rows.map(({ id, name, role }) => ({ id, name, role })) };
  }

  /** A fresh session, whatever cookie came along; the session of that cookie ends. */
  async function open(email: string, password: string, visitor: Visitor): Promise<Answer<SignedIn>> {
    const library = await auth.get();
    const { headers } = await library.api.signInEmail({
      body: { email, password },
      headers: headersOf(visitor, { cookie: false }),
      returnHeaders: true,
    });
    if (visitor.cookie) await library.api.signOut({ headers: headersOf(visitor) });
    const person = await findPerson(sql, email);
    if (!person) throw signedOut();
    return { value: await signedIn(person), cookies: headers.getSetCookie() };
  }

  return {
    cookieName,
    session,
    hasPeople: () => hasPeople(sql),

    async state(visitor: Visitor) {
      const live = await session(visitor.cookie);
      const { by, first } = await signUps.waysIn();
      const passwordReset = (await deps.mail.canSend()) ? ("mail" as const) : ("command" as const);
      const who = live && (await signedIn({ id: live.personId, email: live.email, name: live.name }));
      return { value: { who, by, first, passwordReset }, cookies: live ? await renew(auth.get, live, visitor) : [] };
    },

    async link(token: string) {
      if (!looksLikeToken(token)) throw noLink();
      if (isFirstToken(deps.secrets, token)) {
        if (deps.mode === "closed" || (await hasPeople(sql))) throw noLink();
        return { kind: "first" as const };
      }
      const invitation = await findInvite(sql, token);
      if (invitation) {
        const { email, role, workspaceName } = invitation;
        const hasAccount = (await findPerson(sql, email)) !== undefined;
        return { kind: "invitation" as const, email, role, workspace: { name: workspaceName }, hasAccount };
      }
      const found = await findLink(sql, token);
      if (!found) throw noLink();
      return found;
    },

    /** Signed in at once, unless the way in is by mail. */
    async signUp(input: SignUpInput, visitor: Visitor): Promise<Answer<SignedIn> | undefined> {
      const person = await signUps.signUp(input, visitor);
      return person && (await open(person.email, input.password, visitor));
    },

    async signIn(input: { email: string; password: string }, visitor: Visitor): Promise<Answer<SignedIn>> {
      const email = readEmail(input.email);
      const who = { email: email ?? input.email.slice(0, 254).toLowerCase(), address: visitor.address };
      guard.check(who, nowMs());
      // Counted before the answer is known, so that tries at the same moment cannot slip through together.
      guard.failed(who, nowMs());
      try {
        if (!email || judgeTyped(input.password)) throw wrong();
        const answer = await open(email, input.password, visitor);
        guard.forgive(who, nowMs());
        return answer;
      } catch (error) {
        throw isRefusal(error) ? wrong() : error;
      }
    },

    async signOut(visitor: Visitor): Promise<Answer<undefined>> {
      const { headers } = await (await auth.get()).api.signOut({ headers: headersOf(visitor), returnHeaders: true });
      return { value: undefined, cookies: headers.getSetCookie() };
    },

    /** Ends every other session and gives this one a new token. */
    async changePassword(
      input: { currentPassword: string; newPassword: string },
      visitor: Visitor,
    ): Promise<Answer<SignedIn>> {
      const live = await requireSession(visitor);
      const problems = judgePassword(input.newPassword, "newPassword");
      if (problems.length > 0) throw invalid(problems);
      changes.check(live.personId, nowMs());
      changes.take(live.personId, nowMs());
      const wrongPassword = invalid([{ field: "currentPassword", description: "is not your password" }]);
      if (judgeTyped(input.currentPassword)) throw wrongPassword;
      const library = await auth.get();
      const { headers } = await library.api
        .changePassword({
          body: { ...input, revokeOtherSessions: true },
          headers: headersOf(visitor),
          returnHeaders: true,
        })
        .catch((error) => {
          throw isRefusal(error) ? wrongPassword : error;
        });
      const person = { id: live.personId, email: live.email, name: live.name };
      return { value: await signedIn(person), cookies: headers.getSetCookie() };
    },

    requestReset: (email: string, visitor: Visitor) => resets.request(email, visitor.address),

    async resetPassword(input: { token: string; newPassword: string }): Promise<void> {
      if (!looksLikeToken(input.token) || (await findLink(sql, input.token))?.kind !== "reset") throw noLink();
      const problems = judgePassword(input.newPassword, "newPassword");
      if (problems.length > 0) throw invalid(problems);
      const passwordHash = await auth.hasher.hash(input.newPassword);
      if (!(await resetPassword(sql, { token: input.token, passwordHash }))) throw noLink();
    },

    async acceptInvitation(token: string, visitor: Visitor): Promise<{ id: string; name: string; role: Role }> {
      const live = await requireSession(visitor);
      const invitation = looksLikeToken(token) ? await findInvite(sql, token) : undefined;
      if (!invitation) throw noLink();
      if (invitation.email !== live.email)
        throw new Problem(
          "permission_denied",
          `This invitation is for ${invitation.email}, and you are signed in as ${live.email}. Sign out, then open the link again.`,
        );
      const joined = await joinByInvite(sql, { token, person: { id: live.personId, email: live.email } });
      if (!joined) throw noLink();
      return { id: joined.workspaceId, name: invitation.workspaceName, role: joined.role };
    },

    /** What is under way in the background has its end. */
    async stop(): Promise<void> {
      await Promise.allSettled(underWay);
    },
  };
}

export function signedOut(): Problem {
  return new Problem("unauthenticated", "You are not signed in, or your session has ended. Sign in again.");
}

/** The same for an address without an account. */
function wrong(): Problem {
  return new Problem("unauthenticated", "The address or the password is wrong.");
}

/** Longer than any password of ours, or empty: nothing to hash. */
function judgeTyped(password: string): boolean {
  return password.length === 0 || password.length > 128;
}

/** The library's own no, as opposed to a fault. */
function isRefusal(error: unknown): boolean {
  const { statusCode } = error as { statusCode?: number };
  return (error as Error)?.name === "APIError" && statusCode !== undefined && statusCode < 500;
}

/** Once a day the session is made longer and the cookie with it. */
async function renew(library: () => Promise<Auth>, live: LiveSession, visitor: Visitor): Promise<string[]> {
  if (live.expiresAt.getTime() - Date.now() > (sessionDays - 1) * dayMs) return [];
  const { headers } = await (await library()).api.getSession({ headers: headersOf(visitor), returnHeaders: true });
  return headers.getSetCookie();
}

function headersOf(visitor: Visitor, with_: { cookie: boolean } = { cookie: true }): Headers {
  const headers = new Headers();
  if (with_.cookie && visitor.cookie) headers.set("cookie", visitor.cookie);
  if (visitor.userAgent) headers.set("user-agent", visitor.userAgent.slice(0, 300));
  return headers;
}
