/** The steps of a sign-in. Whichever way the first step takes, a person with a second factor gets a session only after the second step,
 * unless the first one counts as a second factor. A passkey is both steps in one. Called by people.ts and by other ways to sign in. */
import type { Role } from "../http/caller.ts";
import { makeToken } from "../ops/one-time-token.ts";
import { Problem } from "../ops/problem.ts";
import type { Sql } from "../postgres/pool.ts";
import { createClientLimit } from "../shares/guessing.ts";
import { type Access, notAMember } from "./access.ts";
import { type Codes, refusedCode } from "./codes.ts";
import { cookieValue, sessionCookie, signInCookieName } from "./cookies.ts";
import { createFactorGuard } from "./guards.ts";
import { looksLikeToken } from "./links.ts";
import { refusedProof, type SessionOpener, type Visitor } from "./open-session.ts";
import { type Passkeys, refusedPasskey } from "./passkeys.ts";
import type { RefusalReason, Refusals } from "./refusals.ts";
import { type Factors, findFactors, hasFactor } from "./store/factors.ts";
import type { Proof } from "./store/sessions.ts";
import { endSignIn, findSignIn, insertSignIn, type PendingSignIn, takeTry } from "./store/sign-ins.ts";
import type { Person } from "./store.ts";

export type WorkspaceOfPerson = {
  id: string;
  name: string;
  role: Role;
  requireSecondFactor: boolean;
  /** The session lacks a second factor that this workspace requires. */
  needsSecondFactor: boolean;
};
export type SignedIn = { person: Person; workspaces: WorkspaceOfPerson[] };
/** A result, and the cookies to set with it. */
export type Answer<T> = { value: T; cookies: string[] };

export type SecondFactorMethod = "totp" | "passkey" | "recovery";
/** The first step succeeded, and the second one is missing. A cookie identifies this sign-in. */
export type SecondFactorNeeded = { secondFactor: { methods: SecondFactorMethod[] } };

/** A code of the app or a recovery code, or else a passkey's answer. */
export type SecondStep = { code: string; credential: unknown };

export type SignInDeps = {
  sql: Sql;
  opener: SessionOpener;
  access: Access;
  codes: Codes;
  passkeys: Passkeys;
  refusals: Refusals;
  /** Served over https, so that cookies get the Secure attribute. */
  secure: boolean;
  signedIn(person: Person, hasSecondFactor: boolean): Promise<SignedIn>;
};

export type SignIn = ReturnType<typeof createSignIn>;

/** How long a sign-in waits for its second step. */
const waitMs = 10 * 60_000;
/** Wrong codes and passkeys of one sign-in. */
const maxTries = 5;

export function createSignIn(deps: SignInDeps) {
  const { sql, codes, passkeys, refusals } = deps;
  const cookieName = signInCookieName(deps.secure);
  const guard = createFactorGuard("sign-in");
  /** Limits answers of passkeys: each is checked with a signature before the person is known. */
  const byClient = createClientLimit({ burst: 40, periodMs: 5_000 }, "second steps");

  const endCookie = () => sessionCookie("", cookieName, 0);

  async function open(person: Person, proof: Proof, visitor: Visitor): Promise<Answer<SignedIn>> {
    const { cookies } = await deps.opener.open(person, proof, visitor);
    const ended = tokenOf(visitor) === undefined ? [] : [endCookie()];
    return { value: await deps.signedIn(person, proof.hasSecondFactor), cookies: [...cookies, ...ended] };
  }

  function tokenOf(visitor: Visitor): string | undefined {
    const token = cookieValue(visitor.cookie, cookieName);
    return token !== undefined && looksLikeToken(token) ? token : undefined;
  }

  async function pending(visitor: Visitor): Promise<PendingSignIn | undefined> {
    const token = tokenOf(visitor);
    return token === undefined ? undefined : await findSignIn(sql, token, maxTries);
  }

  async function refuse(reason: RefusalReason, personId: string | undefined, visitor: Visitor): Promise<void> {
    await refusals.add({ action: "sign_in.refused", reason, personId, address: visitor.address });
  }

  /** Throws unless the code or the passkey is right. Returns the id of the passkey. */
  async function checkStep(
    { person }: PendingSignIn,
    step: SecondStep,
    token: string,
    visitor: Visitor,
  ): Promise<string | undefined> {
    if (step.credential !== undefined) {
      const forWhat = { purpose: "second_factor", subject: token } as const;
      const found = await passkeys.use(step.credential, forWhat, visitor.host);
      if (typeof found !== "string" && found.person.id === person.id) return found.id;
      await refuse(typeof found === "string" ? found : "wrong_passkey", person.id, visitor);
      throw refusedPasskey();
    }
    const result = await codes.use(person.id, step.code);
    if (result === "right") return undefined;
    await refuse(result, person.id, visitor);
    throw refusedCode(result);
  }

  return {
    /** The first step succeeded: opens the session, or asks for the second step. */
    async begin(person: Person, proof: Proof, visitor: Visitor): Promise<Answer<SignedIn | SecondFactorNeeded>> {
      const factors = proof.hasSecondFactor ? undefined : await findFactors(sql, person.id);
      if (!factors || !hasFactor(factors)) return await open(person, proof, visitor);
      if (!(await deps.access.maySignIn(person))) throw notAMember();
      const token = makeToken();
      if (!(await insertSignIn(sql, { token, personId: person.id, proof, forMs: waitMs })))
        throw await refusedProof(deps, person.id, visitor);
      const cookie = sessionCookie(token, cookieName, waitMs / 1000);
      return { value: { secondFactor: { methods: methodsOf(factors) } }, cookies: [cookie] };
    },

    /** The sign-in of this browser that waits for its second step. */
    async waiting(visitor: Visitor): Promise<SecondFactorNeeded["secondFactor"] | undefined> {
      const found = await pending(visitor);
      return found && { methods: methodsOf(await findFactors(sql, found.person.id)) };
    },

    /** The second step. */
    async finish(step: SecondStep, visitor: Visitor): Promise<Answer<SignedIn>> {
      const token = tokenOf(visitor);
      const found = token === undefined ? undefined : await findSignIn(sql, token, maxTries);
      if (token === undefined || !found) throw signInEnded();
      const attempt = { account: found.person.id, address: visitor.address };
      guard.check(attempt, performance.now());
      guard.take(attempt, performance.now());
      if (!(await takeTry(sql, token, maxTries))) throw await tooManyTries(found, visitor);
      const passkeyId = await checkStep(found, step, token, visitor);
      guard.giveBack(attempt, performance.now());
      if (!(await endSignIn(sql, token))) throw signInEnded();
      return await open(found.person, { by: found.by, hasSecondFactor: true, passkeyId }, visitor);
    },

    /** Gives up a sign-in that waits for its second step. */
    async cancel(visitor: Visitor): Promise<Answer<undefined>> {
      const token = tokenOf(visitor);
      if (token !== undefined) await endSignIn(sql, token);
      return { value: undefined, cookies: [endCookie()] };
    },

    /** What the browser needs to ask for a passkey: as the second step, or instead of a password. */
    async passkeyOptions(purpose: "sign_in" | "second_factor", visitor: Visitor) {
      if (purpose === "sign_in") return await passkeys.useOptions({ purpose, subject: "" }, visitor.host, undefined);
      const [token, found] = [tokenOf(visitor), await pending(visitor)];
      if (token === undefined || !found) throw signInEnded();
      return await passkeys.useOptions({ purpose, subject: token }, visitor.host, found.person);
    },

    async byPasskey(credential: unknown, visitor: Visitor): Promise<Answer<SignedIn>> {
      byClient.check(visitor.address, performance.now());
      byClient.take(visitor.address, performance.now());
      const found = await passkeys.use(credential, { purpose: "sign_in", subject: "" }, visitor.host);
      if (typeof found === "string") {
        await refuse(found, undefined, visitor);
        throw refusedPasskey();
      }
      return await open(found.person, { by: "passkey", hasSecondFactor: true, passkeyId: found.id }, visitor);
    },
  };

  async function tooManyTries({ person }: PendingSignIn, visitor: Visitor): Promise<Problem> {
    await refuse("too_many_tries", person.id, visitor);
    return signInEnded();
  }
}

function methodsOf({ totp, passkeys, recoveryCodes }: Factors): SecondFactorMethod[] {
  const has = { totp, passkey: passkeys > 0, recovery: recoveryCodes > 0 };
  return (["totp", "passkey", "recovery"] as const).filter((method) => has[method]);
}

function signInEnded(): Problem {
  return new Problem("unauthenticated", "This sign-in has ended, after 10 minutes or 5 wrong codes. Start again.", {
    reason: "SIGN_IN_ENDED",
  });
}
