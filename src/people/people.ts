/** `people` lets humans sign up and sign in to the dashboard. This file combines sessions, passwords and invitations, without HTTP.
 * Parts: pages.ts (the endpoints under /auth), session-caller.ts (people as callers of the API), sign-up.ts, resets.ts, invitations.ts,
 * account-mail.ts and limits.ts (against abuse), access.ts (people without a workspace), open-session.ts, cookies.ts, store.ts (SQL).
 * Next: pages.ts, then sign-up.ts; docs/decisions/0009-people.md. */
import type { Role } from "../http/caller.ts";
import type { Log } from "../ops/log.ts";
import { invalid, Problem } from "../ops/problem.ts";
import { createLoader } from "../postgres/loader.ts";
import type { Sql } from "../postgres/pool.ts";
import type { Secrets } from "../postgres/sealing.ts";
import { readEmail } from "../workspaces/rules.ts";
import { joinByInvite, listWorkspacesOf, type MostOwned } from "../workspaces/store.ts";
import { type Access, notAMember, type SignUpMode } from "./access.ts";
import type { AccountMail } from "./account-mail.ts";
import { cookieValue, readSessionToken, sessionCookie, sessionCookieName } from "./cookies.ts";
import { findInvitation } from "./invitation-links.ts";
import { createAttemptLimit, createSignInGuard } from "./limits.ts";
import { isFirstToken, looksLikeToken } from "./links.ts";
import { createSessionOpener, type Visitor } from "./open-session.ts";
import { createHashTurns, hashPassword, judgePassword, verifyPassword } from "./password.ts";
import { createResets } from "./resets.ts";
import { createSignUp, invalidLink, type SignUpInput } from "./sign-up.ts";
import { endSession, findSessions, type LiveSession, type Proof, renewSession, sessionMs } from "./store/sessions.ts";
import { findLink, findPassword, findPerson, hasPeople, type Person, replacePassword, resetPassword } from "./store.ts";

export type { Visitor } from "./open-session.ts";
export type SignedIn = { person: Person; workspaces: { id: string; name: string; role: Role }[] };
/** A result, and the cookies to set with it. */
export type Answer<T> = { value: T; cookies: string[] };

export type PeopleDeps = {
  sql: Sql;
  log: Log;
  secrets: Secrets;
  mode: SignUpMode;
  mail: AccountMail;
  access: Access;
  mostOwned: MostOwned;
  /** Served over https, so that cookies get the Secure attribute. */
  secure: boolean;
  /** The base URL of links. */
  base(): string;
  nowMs(): number;
  /** Called after a person was added. */
  onPerson(): Promise<void>;
};

export type People = ReturnType<typeof createPeople>;

/** The dashboard shows this many workspaces; ListWorkspaces returns all. */
const shownWorkspaces = 100;
const dayMs = 86_400_000;

export function createPeople(deps: PeopleDeps) {
  const { sql, secure, nowMs } = deps;
  const secret = deps.secrets.derive("session cookies").toString("base64url");
  const cookieName = sessionCookieName(secure);
  const opener = createSessionOpener({ sql, access: deps.access, secret, cookieName, nowMs });
  const hashTurns = createHashTurns();
  const signUps = createSignUp({ ...deps, hashTurns });
  const resets = createResets(deps);
  const guard = createSignInGuard();
  const passwordChanges = createAttemptLimit({ burst: 8, periodMs: 60_000 });
  /** Limits correct passwords, which the guard does not count: each costs a hash and a row. */
  const signIns = createAttemptLimit({ burst: 100, periodMs: 10_000 });
  const sessionOf = createLoader((keys: { token: string; workspaceId: string | undefined }[]) =>
    findSessions(sql, keys),
  );

  const hash = (password: string, { address }: Visitor) => hashTurns.run(address, () => hashPassword(password));

  /** The live session of a Cookie header, with the person's role in a workspace. */
  async function session(cookie: string | undefined, workspaceId?: string): Promise<LiveSession | undefined> {
    const token = readSessionToken(cookie, cookieName, secret);
    return token === undefined ? undefined : await sessionOf({ token, workspaceId });
  }

  async function requireSession(visitor: Visitor): Promise<LiveSession> {
    const live = await session(visitor.cookie);
    if (!live) throw signedOut();
    if (!(await deps.access.maySignIn({ id: live.personId, email: live.email }))) throw notAMember();
    return live;
  }

  async function signedIn(person: Person): Promise<SignedIn> {
    const rows = await listWorkspacesOf(sql, { personId: person.id, before: undefined, limit: shownWorkspaces });
    return { person, workspaces: rows.map(({ id, name, role }) => ({ id, name, role })) };
  }

  /** The person with this address and password. An unknown address takes as long as a wrong password. */
  async function checkPassword(email: string, password: string, visitor: Visitor): Promise<Person | undefined> {
    if (cannotBePassword(password)) return undefined;
    const found = await findPassword(sql, email);
    const matches = await hashTurns.run(visitor.address, () => verifyPassword(found?.hash, password));
    return matches ? found?.person : undefined;
  }

  async function openSession(person: Person, proof: Proof, visitor: Visitor): Promise<Answer<SignedIn>> {
    const { cookies } = await opener.open(person, proof, visitor);
    return { value: await signedIn(person), cookies };
  }

  /** Extends the session and its cookie, at most once a day. */
  async function renew(live: LiveSession, visitor: Visitor): Promise<string[]> {
    if (live.endsInMs > sessionMs - dayMs || !(await renewSession(sql, live.id, sessionMs))) return [];
    return [sessionCookie(cookieValue(visitor.cookie, cookieName) ?? "", cookieName, sessionMs / 1000)];
  }

  return {
    cookieName,
    session,
    hasPeople: () => hasPeople(sql),

    /** What the dashboard needs before it shows its first page: who is signed in, and how to sign up. */
    async state(visitor: Visitor) {
      const live = await session(visitor.cookie);
      const { by, first } = await signUps.signUpOptions();
      const passwordReset = (await deps.mail.canSend()) ? ("mail" as const) : ("command" as const);
      const person = live && { id: live.personId, email: live.email, name: live.name };
      const mayCreateWorkspace = person ? await deps.access.mayUse(person) : deps.mode === "open";
      const who = person && (await signedIn(person));
      const operator = live?.isOperator ? { hasSecondFactor: live.hasSecondFactor } : undefined;
      return {
        value: { who, operator, mayCreateWorkspace, by, first, passwordReset },
        cookies: live ? await renew(live, visitor) : [],
      };
    },

    /** What a link is for, so that the dashboard can show the right form. */
    async link(token: string) {
      if (!looksLikeToken(token)) throw invalidLink();
      if (isFirstToken(deps.secrets, token)) {
        if (deps.mode === "closed" || (await hasPeople(sql))) throw invalidLink();
        return { kind: "first" as const };
      }
      const invitation = await findInvitation(sql, token, deps.mode);
      if (invitation) {
        const { email, role, workspaceName, mayCreateAccount } = invitation;
        // Who may not create an account with this link must not learn whether there is one.
        const hasAccount = !mayCreateAccount || (await findPerson(sql, email)) !== undefined;
        const workspace = { name: workspaceName };
        return { kind: "invitation" as const, email, role, workspace, hasAccount, mayCreateAccount };
      }
      const found = await findLink(sql, token);
      if (!found || (found.kind === "sign_up" && deps.mode !== "open")) throw invalidLink();
      return found;
    },

    /** Signs the person in at once; undefined when a link was sent by mail instead. */
    async signUp(input: SignUpInput, visitor: Visitor): Promise<Answer<SignedIn> | undefined> {
      const person = await signUps.signUp(input, visitor);
      return person && (await openSession(person, byPassword, visitor));
    },

    async signIn(input: { email: string; password: string }, visitor: Visitor): Promise<Answer<SignedIn>> {
      const email = readEmail(input.email);
      const attempt = { email: email ?? input.email.slice(0, 254).toLowerCase(), address: visitor.address };
      guard.check(attempt, performance.now());
      // Counted before the password is checked, so that concurrent attempts cannot pass the limit together.
      guard.take(attempt, performance.now());
      if (!email) throw wrongCredentials();
      signIns.check(email, performance.now());
      const person = await checkPassword(email, input.password, visitor);
      if (!person) throw wrongCredentials();
      const answer = await openSession(person, byPassword, visitor);
      signIns.take(email, performance.now());
      guard.giveBack(attempt, performance.now());
      return answer;
    },

    async signOut(visitor: Visitor): Promise<Answer<undefined>> {
      const token = readSessionToken(visitor.cookie, cookieName, secret);
      if (token !== undefined) await endSession(sql, token);
      return { value: undefined, cookies: [sessionCookie("", cookieName, 0)] };
    },

    /** Ends every other session of the person and gives this one a new token. */
    async changePassword(
      input: { currentPassword: string; newPassword: string },
      visitor: Visitor,
    ): Promise<Answer<SignedIn>> {
      const live = await requireSession(visitor);
      const problems = judgePassword(input.newPassword, "newPassword");
      if (problems.length > 0) throw invalid(problems);
      passwordChanges.check(live.personId, performance.now());
      passwordChanges.take(live.personId, performance.now());
      const person = await checkPassword(live.email, input.currentPassword, visitor);
      if (!person) throw invalid([{ field: "currentPassword", description: "is not your password" }]);
      const passwordHash = await hash(input.newPassword, visitor);
      const proof = { by: "password" as const, hasSecondFactor: live.hasSecondFactor };
      const { token, cookies } = await opener.open(person, proof, visitor);
      await replacePassword(sql, { personId: person.id, passwordHash, keptToken: token });
      return { value: await signedIn(person), cookies };
    },

    requestReset: (email: string, visitor: Visitor) => resets.request(email, visitor.address),

    async resetPassword(input: { token: string; newPassword: string }, visitor: Visitor): Promise<void> {
      if (!looksLikeToken(input.token) || (await findLink(sql, input.token))?.kind !== "reset") throw invalidLink();
      const problems = judgePassword(input.newPassword, "newPassword");
      if (problems.length > 0) throw invalid(problems);
      const passwordHash = await hash(input.newPassword, visitor);
      if (!(await resetPassword(sql, { token: input.token, passwordHash }))) throw invalidLink();
    },

    async acceptInvitation(token: string, visitor: Visitor): Promise<{ id: string; name: string; role: Role }> {
      const live = await requireSession(visitor);
      const invitation = looksLikeToken(token) ? await findInvitation(sql, token, deps.mode) : undefined;
      if (!invitation) throw invalidLink();
      if (invitation.email !== live.email)
        throw new Problem(
          "permission_denied",
          `This invitation is for ${invitation.email}, but you are signed in as ${live.email}. Sign out, then open the link again.`,
        );
      const person = { id: live.personId, email: live.email };
      const join = { token: invitation.token, person, most: deps.mostOwned };
      const joined = await sql.begin((tx) => joinByInvite(tx, join));
      if (!joined) throw invalidLink();
      return { id: joined.workspaceId, name: invitation.workspaceName, role: joined.role };
    },
  };
}

export function signedOut(): Problem {
  return new Problem("unauthenticated", "You are not signed in, or your session has ended. Sign in again.");
}

/** The same error for an address without an account. */
function wrongCredentials(): Problem {
  return new Problem("unauthenticated", "The address or the password is wrong.");
}

/** Empty, or longer than any password can be: not worth hashing. */
function cannotBePassword(password: string): boolean {
  return password.length === 0 || password.length > 128;
}

const byPassword: Proof = { by: "password", hasSecondFactor: false };
