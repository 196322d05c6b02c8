/** `people` lets humans sign up and sign in to the dashboard. This file combines sessions, passwords and invitations, without HTTP.
 * Parts: pages.ts and factor-pages.ts (the endpoints under /auth), session-caller.ts (people as callers of the API), sign-up.ts,
 * sign-in.ts (its two steps), factors.ts with codes.ts and passkeys.ts, confirm.ts, resets.ts, invitations.ts, account-mail.ts and
 * limits.ts (against abuse), access.ts (people without a workspace), open-session.ts, cookies.ts, store.ts (SQL).
 * Next: pages.ts, then sign-up.ts; docs/decisions/0009-people.md. */
import { record } from "../audit/record.ts";
import type { Log } from "../ops/log.ts";
import { invalid, Problem } from "../ops/problem.ts";
import { createLoader } from "../postgres/loader.ts";
import type { Sql } from "../postgres/pool.ts";
import type { Secrets } from "../postgres/sealing.ts";
import { createAttemptLimit } from "../shares/guessing.ts";
import { readEmail } from "../workspaces/rules.ts";
import { joinByInvite, listWorkspacesOf, type MostOwned, membershipOf } from "../workspaces/store.ts";
import { type Access, notAMember, type SignUpMode } from "./access.ts";
import type { AccountMail } from "./account-mail.ts";
import { createCodes } from "./codes.ts";
import { createConfirm } from "./confirm.ts";
import { readSessionToken, sessionCookie, sessionCookieName, signToken } from "./cookies.ts";
import { createFactors, endOperatorWithoutFactor } from "./factors.ts";
import { createSignInGuard } from "./guards.ts";
import { findInvitation } from "./invitation-links.ts";
import { isFirstToken, looksLikeToken } from "./links.ts";
import { createSessionOpener, personActor, signedOut, type Visitor } from "./open-session.ts";
import { createPasskeys } from "./passkeys.ts";
import { createHashTurns, hashPassword, judgePassword, verifyPassword } from "./password.ts";
import { createRefusals, type RecordRefusal, type RefusalReason } from "./refusals.ts";
import { createResets } from "./resets.ts";
import type { Provider } from "./rules/provider.ts";
import { needsTrustedProvider } from "./second-factor.ts";
import { createSessionList } from "./session-list.ts";
import { createSessionUses } from "./session-uses.ts";
import {
  type Answer,
  createSignIn,
  type SecondFactorNeeded,
  type SignedIn,
  type WorkspaceOfPerson,
} from "./sign-in.ts";
import { createSignUp, invalidLink, type SignUpInput } from "./sign-up.ts";
import { findFactors, hasFactor } from "./store/factors.ts";
import { endSession, findSessions, type LiveSession, type Proof, renewSession, sessionMs } from "./store/sessions.ts";
import { findLink, findPassword, findPerson, hasPeople, type Person, replacePassword, resetPassword } from "./store.ts";

export type { Visitor } from "./open-session.ts";
export type { Answer, SignedIn } from "./sign-in.ts";

export type PeopleDeps = {
  sql: Sql;
  log: Log;
  secrets: Secrets;
  mode: SignUpMode;
  /** POSTHORN_PASSWORD_SIGN_IN. */
  passwordSignIn: boolean;
  /** The providers of single sign-on. */
  providers: readonly Provider[];
  mail: AccountMail;
  access: Access;
  mostOwned: MostOwned;
  /** Served over https, so that cookies get the Secure attribute. */
  secure: boolean;
  publicUrl: string | undefined;
  /** The operator requires a second factor of every person. */
  requireSecondFactor: boolean;
  /** The base URL of links. */
  base(): string;
  nowMs(): number;
  recordRefusal: RecordRefusal;
  /** Counts a refused sign-in or confirmation. */
  countRefusal(reason: RefusalReason): void;
  /** Called after a person was added. */
  onPerson(): Promise<void>;
};

export type People = ReturnType<typeof createPeople>;

/** The dashboard shows this many workspaces; ListWorkspaces returns all. */
const shownWorkspaces = 100;
const dayMs = 86_400_000;

export function createPeople(deps: PeopleDeps) {
  const { sql, secure, nowMs } = deps;
  /** Cookies are signed with the first one; those that were signed with another one are renewed. */
  const cookieSecrets = () => deps.secrets.keys("session cookies").map((key) => key.export().toString("base64url"));
  const cookieSecret = () => cookieSecrets()[0]!;
  const cookieName = sessionCookieName(secure);
  const tokenOf = (cookie: string | undefined) => readSessionToken(cookie, cookieName, cookieSecrets());
  const refusals = createRefusals({ record: deps.recordRefusal, count: deps.countRefusal });
  const opener = createSessionOpener({ sql, access: deps.access, cookieSecrets, cookieName, refusals, nowMs });
  const hashTurns = createHashTurns();
  const signUps = createSignUp({ ...deps, hashTurns });
  const resets = createResets(deps);
  const guard = createSignInGuard();
  const passwordChanges = createAttemptLimit({ burst: 8, periodMs: 60_000 }, "password changes");
  /** Limits correct passwords, which the guard does not count: each costs a hash and a row. */
  const signIns = createAttemptLimit({ burst: 100, periodMs: 10_000 }, "sign-ins");
  const sessionOf = createLoader((keys: { token: string; workspaceId: string | undefined }[]) =>
    findSessions(sql, keys),
  );

  const uses = createSessionUses(deps);
  const codes = createCodes(deps);
  const passkeys = createPasskeys(deps);
  const signInSteps = createSignIn({ sql, opener, access: deps.access, codes, passkeys, refusals, secure, signedIn });
  const isPasswordOf = async (email: string, password: string, visitor: Visitor) =>
    (await checkPassword(email, password, visitor)) !== undefined;
  const confirmation = createConfirm({
    sql,
    codes,
    passkeys,
    refusals,
    passwordSignIn: deps.passwordSignIn,
    providers: deps.providers,
    isPasswordOf,
  });
  const factors = createFactors({ ...deps, passkeys, refusals, requireRecent: confirmation.requireRecent });

  function requirePasswords(): void {
    if (!deps.passwordSignIn) throw passwordsOff();
  }

  const hash = (password: string, { address }: Visitor) => hashTurns.run(address, () => hashPassword(password));

  /** The live session of a Cookie header, with the person's role in a workspace. */
  async function session(cookie: string | undefined, workspaceId?: string): Promise<LiveSession | undefined> {
    const token = tokenOf(cookie);
    const live = token === undefined ? undefined : await sessionOf({ token, workspaceId });
    if (live) uses.note(live);
    return live;
  }

  async function requireSession(visitor: Visitor): Promise<LiveSession> {
    const live = await session(visitor.cookie);
    if (!live) throw signedOut();
    if (!(await deps.access.maySignIn({ id: live.personId, email: live.email }))) throw notAMember();
    return live;
  }

  /** For changes of the ways to sign in. */
  async function requireRecentSession(visitor: Visitor): Promise<LiveSession> {
    const live = await requireSession(visitor);
    confirmation.requireRecent(live, await findFactors(sql, live.personId));
    return live;
  }

  async function signedIn(person: Person, hasSecondFactor: boolean): Promise<SignedIn> {
    const rows = await listWorkspacesOf(sql, { personId: person.id, before: undefined, limit: shownWorkspaces });
    const workspaces = rows.map(({ id, name, role, requireSecondFactor }) => {
      const isRequired = deps.requireSecondFactor || requireSecondFactor;
      return { id, name, role, requireSecondFactor, needsSecondFactor: isRequired && !hasSecondFactor };
    });
    return { person, workspaces };
  }

  /** The person with this address and password. An unknown address takes as long as a wrong password. */
  async function checkPassword(email: string, password: string, visitor: Visitor) {
    if (cannotBePassword(password)) return undefined;
    const found = await findPassword(sql, email);
    const matches = await hashTurns.run(visitor.address, () => verifyPassword(found?.hash, password));
    return matches ? found : undefined;
  }

  /** The same error, after the same work, for an address without an account. */
  async function wrongCredentials(email: string | undefined, { address }: Visitor): Promise<Problem> {
    const personId = email === undefined ? undefined : (await findPerson(sql, email))?.id;
    await refusals.add({ action: "sign_in.refused", reason: "wrong_password", personId, address });
    return new Problem("unauthenticated", "The address or the password is wrong.");
  }

  async function openSession(person: Person, proof: Proof, visitor: Visitor): Promise<Answer<SignedIn>> {
    const { cookies } = await opener.open(person, proof, visitor);
    return { value: await signedIn(person, proof.hasSecondFactor), cookies };
  }

  /** Extends the session and its cookie, at most once a day, and signs the cookie anew after a replacement of the secret. */
  async function renew(live: LiveSession, visitor: Visitor): Promise<string[]> {
    const token = tokenOf(visitor.cookie);
    if (token === undefined) return [];
    const isFresh = live.endsInMs > sessionMs - dayMs && readSessionToken(visitor.cookie, cookieName, [cookieSecret()]);
    if (isFresh || !(await renewSession(sql, live.id, sessionMs))) return [];
    return [sessionCookie(signToken(token, cookieSecret()), cookieName, sessionMs / 1000)];
  }

  return {
    cookieName,
    session,
    requireSession,
    requireRecentSession,
    signInSteps,
    confirmation,
    factors,
    sessions: createSessionList({ sql }),
    stop: uses.stop,
    hasPeople: () => hasPeople(sql),

    /** What the dashboard needs before it shows its first page: who is signed in, and how to sign up. */
    async state(visitor: Visitor) {
      const live = await session(visitor.cookie);
      const { by, first } = await signUps.signUpOptions();
      const passwordReset = (await deps.mail.canSend()) ? ("mail" as const) : ("command" as const);
      const person = live && { id: live.personId, email: live.email, name: live.name };
      const mayCreateWorkspace = person ? await deps.access.mayUse(person) : deps.mode === "open";
      const who = person && (await signedIn(person, live.hasSecondFactor));
      const operator = live?.isOperator ? { hasSecondFactor: live.hasSecondFactor } : undefined;
      const secondFactor = person ? undefined : await signInSteps.waiting(visitor);
      const passkeyOrigin = passkeys.party(visitor.host)?.origin ?? null;
      return {
        value: { who, operator, mayCreateWorkspace, by, first, passwordReset, secondFactor, passkeyOrigin },
        cookies: live ? await renew(live, visitor) : [],
      };
    },

    /** What a link is for, so that the dashboard can show the right form. */
    async link(token: string) {
      if (!looksLikeToken(token)) throw invalidLink();
      if (isFirstToken(deps.secrets, token)) {
        requirePasswords();
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
      if (found) requirePasswords();
      if (!found || (found.kind === "sign_up" && deps.mode !== "open")) throw invalidLink();
      return found;
    },

    /** Signs the person in at once; undefined when a link was sent by mail instead. */
    async signUp(input: SignUpInput, visitor: Visitor): Promise<Answer<SignedIn> | undefined> {
      requirePasswords();
      const person = await signUps.signUp(input, visitor);
      return person && (await openSession(person, byPassword, visitor));
    },

    async signIn(
      input: { email: string; password: string },
      visitor: Visitor,
    ): Promise<Answer<SignedIn | SecondFactorNeeded>> {
      requirePasswords();
      const email = readEmail(input.email);
      const attempt = { account: email ?? input.email.slice(0, 254).toLowerCase(), address: visitor.address };
      guard.check(attempt, performance.now());
      // Counted before the password is checked, so that concurrent attempts cannot pass the limit together.
      guard.take(attempt, performance.now());
      if (!email) throw await wrongCredentials(undefined, visitor);
      signIns.check(email, performance.now());
      const checked = await checkPassword(email, input.password, visitor);
      if (!checked) throw await wrongCredentials(email, visitor);
      const answer = await signInSteps.begin(checked.person, { ...byPassword, passwordHash: checked.hash }, visitor);
      signIns.take(email, performance.now());
      guard.giveBack(attempt, performance.now());
      return answer;
    },

    async signOut(visitor: Visitor): Promise<Answer<undefined>> {
      const token = tokenOf(visitor.cookie);
      if (token !== undefined)
        await sql.begin(async (tx) => {
          const ended = await endSession(tx, token);
          if (!ended) return;
          const target = { kind: "session", id: ended.id } as const;
          await record(tx, personActor(ended.personId, visitor), { action: "session.ended", target });
        });
      return { value: undefined, cookies: [sessionCookie("", cookieName, 0)] };
    },

    /** Ends every other session of the person and gives this one a new token. */
    async changePassword(
      input: { currentPassword: string; newPassword: string },
      visitor: Visitor,
    ): Promise<Answer<SignedIn>> {
      requirePasswords();
      const startedMs = performance.now();
      const live = await requireSession(visitor);
      await requireGoodPassword(input.newPassword, live.email);
      const owned = await findFactors(sql, live.personId);
      if (hasFactor(owned)) confirmation.requireRecent(live, owned);
      passwordChanges.check(live.personId, performance.now());
      passwordChanges.take(live.personId, performance.now());
      const wrongPassword = invalid([{ field: "currentPassword", description: "is not your password" }]);
      const checked = await checkPassword(live.email, input.currentPassword, visitor);
      if (!checked) {
        const refusal = { reason: "wrong_password", personId: live.personId, address: visitor.address } as const;
        await refusals.add({ action: "confirmation.refused", ...refusal });
        throw wrongPassword;
      }
      const { person } = checked;
      const passwordHash = await hash(input.newPassword, visitor);
      await sql.begin(async (tx) => {
        const change = { personId: person.id, from: checked.hash, to: passwordHash };
        if (!(await replacePassword(tx, change))) throw wrongPassword;
        const target = { kind: "person", id: person.id } as const;
        await record(tx, personActor(person.id, visitor), { action: "password.changed", target });
      });
      // The current password is a proof, as in `confirm`: for a person with a second factor it is not enough, and the last proof stays.
      const lastProofMs = live.provedAgoMs === null ? null : live.provedAgoMs + performance.now() - startedMs;
      const isPartial =
        hasFactor(owned) || (await needsTrustedProvider(sql, live, { factors: owned, providers: deps.providers }));
      const agoMs = isPartial ? lastProofMs : 0;
      const proof = { by: "password" as const, hasSecondFactor: live.hasSecondFactor, passwordHash, agoMs };
      const { cookies } = await opener.open(person, proof, visitor);
      return { value: await signedIn(person, proof.hasSecondFactor), cookies };
    },

    async requestReset(email: string, visitor: Visitor): Promise<string> {
      requirePasswords();
      return await resets.request(email, visitor.address);
    },

    async resetPassword(input: { token: string; newPassword: string }, visitor: Visitor): Promise<void> {
      requirePasswords();
      const link = looksLikeToken(input.token) ? await findLink(sql, input.token) : undefined;
      if (link?.kind !== "reset") throw invalidLink();
      await requireGoodPassword(input.newPassword, link.email);
      const passwordHash = await hash(input.newPassword, visitor);
      const changed = await sql.begin(async (tx) => {
        const reset = await resetPassword(tx, { token: input.token, passwordHash });
        if (!reset) return undefined;
        const target = { kind: "person", id: reset.person.id } as const;
        const actor = personActor(reset.person.id, visitor);
        await record(tx, actor, { action: "password.reset", target });
        if (reset.unlinked > 0) {
          await record(tx, actor, { action: "account.unlinked", target });
          // A provider was the operator's second factor.
          await endOperatorWithoutFactor(tx, reset.person.id, visitor);
        }
        return reset;
      });
      if (!changed) throw invalidLink();
    },

    async acceptInvitation(token: string, visitor: Visitor): Promise<WorkspaceOfPerson> {
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
      const joined = await sql.begin(async (tx) => {
        const member = await joinByInvite(tx, join);
        const target = { kind: "person", id: person.id } as const;
        const change = { action: "member.joined", workspaceId: member?.workspaceId, target } as const;
        if (member) await record(tx, personActor(person.id, visitor), change);
        return member;
      });
      if (!joined) throw invalidLink();
      const membership = await membershipOf(sql, joined.workspaceId, person.id);
      const requireSecondFactor = membership?.requireSecondFactor ?? false;
      const needsSecondFactor = (deps.requireSecondFactor || requireSecondFactor) && !live.hasSecondFactor;
      const { workspaceId: id, role } = joined;
      return { id, name: invitation.workspaceName, role, requireSecondFactor, needsSecondFactor };
    },
  };
}

async function requireGoodPassword(newPassword: string, email: string): Promise<void> {
  const problems = await judgePassword(newPassword, { field: "newPassword", email });
  if (problems.length > 0) throw invalid(problems);
}

export function passwordsOff(): Problem {
  return new Problem(
    "failed_precondition",
    "Passwords are turned off on this server. Sign in with one of the providers on the sign-in page.",
  );
}

/** Empty, or longer than any password can be: not worth hashing. */
function cannotBePassword(password: string): boolean {
  return password.length === 0 || password.length > 128;
}

const byPassword: Proof = { by: "password", hasSecondFactor: false };
