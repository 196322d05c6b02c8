/** A signed-in person proves again who they are, before a sensitive change: with a passkey, or with the password and, if they have a second
 * factor, a code. Called by people.ts for POST /auth/confirm. */
import { audited } from "../audit/record.ts";
import { freshRequired, isFresh } from "../http/proof.ts";
import { Problem } from "../ops/problem.ts";
import type { Sql } from "../postgres/pool.ts";
import { type Codes, refusedCode } from "./codes.ts";
import { createFactorGuard } from "./guards.ts";
import { confirmingProviders } from "./oidc/confirm.ts";
import { personActor, type Visitor } from "./open-session.ts";
import { type Passkeys, refusedPasskey } from "./passkeys.ts";
import type { RefusalReason, Refusals } from "./refusals.ts";
import type { Provider } from "./rules/provider.ts";
import { needsTrustedProvider } from "./second-factor.ts";
import { type Factors, findFactors, hasFactor } from "./store/factors.ts";
import { type LiveSession, renewProof } from "./store/sessions.ts";

/** What the person needs. A passkey or one of the providers alone is always enough; `signIn` if nothing else works and they have to sign
 * in again. */
export type ConfirmBy = {
  password: boolean;
  code: boolean;
  passkey: boolean;
  providers: { name: string; label: string }[];
  signIn: boolean;
};

export type Confirmation = { password: string; code: string; credential: unknown };

export type ConfirmDeps = {
  sql: Sql;
  codes: Codes;
  passkeys: Passkeys;
  refusals: Refusals;
  /** Whether people sign in with passwords here. */
  passwordSignIn: boolean;
  providers: readonly Provider[];
  isPasswordOf(email: string, password: string, visitor: Visitor): Promise<boolean>;
};

export function createConfirm(deps: ConfirmDeps) {
  const { sql, codes, passkeys } = deps;
  const guard = createFactorGuard("confirm");

  async function refuse(reason: RefusalReason, live: LiveSession, { address }: Visitor): Promise<void> {
    await deps.refusals.add({ action: "confirmation.refused", reason, personId: live.personId, address });
  }

  async function byPasskey(credential: unknown, live: LiveSession, visitor: Visitor): Promise<void> {
    const found = await passkeys.use(credential, { purpose: "confirm", subject: live.id }, visitor.host);
    if (typeof found !== "string" && found.person.id === live.personId) return;
    await refuse(typeof found === "string" ? found : "wrong_passkey", live, visitor);
    throw refusedPasskey();
  }

  /** The password is checked first, so that a wrong one does not use the code up. */
  async function byPasswordAndCode(
    input: Confirmation,
    by: ConfirmBy,
    live: LiveSession,
    visitor: Visitor,
  ): Promise<void> {
    if (by.password && !(await deps.isPasswordOf(live.email, input.password, visitor))) {
      await refuse("wrong_password", live, visitor);
      throw new Problem("unauthenticated", "This is not your password.", {
        violations: [{ field: "password", description: "is not your password" }],
      });
    }
    const result = by.code ? await codes.use(live.personId, input.code) : "right";
    if (result === "right") return;
    await refuse(result, live, visitor);
    throw refusedCode(result);
  }

  return {
    /** Throws unless the session has a recent proof, with a second factor if the person has one. */
    requireRecent(live: LiveSession, factors: Factors): void {
      if (!isFresh(live.provedAgoMs) || (hasFactor(factors) && !live.hasSecondFactor)) throw freshRequired();
    },

    async confirm(input: Confirmation, live: LiveSession, visitor: Visitor): Promise<void> {
      const factors = await findFactors(sql, live.personId);
      const by = await confirmBy(deps, live, factors);
      const withPasskey = input.credential !== undefined;
      if (!withPasskey && by.signIn)
        throw new Problem(
          "failed_precondition",
          "You have neither a password nor a second factor to confirm with. Sign in again.",
        );
      if (!withPasskey && !by.password && !by.code)
        throw new Problem(
          "failed_precondition",
          "Confirm with your passkey or with a linked provider, or sign in again.",
        );
      const attempt = { account: live.personId, address: visitor.address };
      guard.check(attempt, performance.now());
      guard.take(attempt, performance.now());
      if (withPasskey) await byPasskey(input.credential, live, visitor);
      else await byPasswordAndCode(input, by, live, visitor);
      guard.giveBack(attempt, performance.now());
      await audited(
        sql,
        personActor(live.personId, visitor),
        (tx) => renewProof(tx, { id: live.id, withSecondFactor: withPasskey || by.code }),
        (done) => (done ? { action: "session.confirmed", target: { kind: "session", id: live.id } } : undefined),
      );
    },

    async passkeyOptions(live: LiveSession, visitor: Visitor) {
      const person = { id: live.personId, email: live.email, name: live.name };
      return await passkeys.useOptions({ purpose: "confirm", subject: live.id }, visitor.host, person);
    },
  };
}

export async function confirmBy(
  { sql, passwordSignIn, providers: all }: Pick<ConfirmDeps, "sql" | "passwordSignIn" | "providers">,
  live: LiveSession,
  factors: Factors,
): Promise<ConfirmBy> {
  const code = hasFactor(factors) && (factors.totp || factors.recoveryCodes > 0);
  // A password alone is not enough for a person with a second factor.
  const needsProvider = await needsTrustedProvider(sql, live, { factors, providers: all });
  const password = passwordSignIn && factors.hasPassword && !needsProvider && (code || !hasFactor(factors));
  const passkey = factors.passkeys > 0;
  const usable = all.filter(({ secondFactorTrusted }) => secondFactorTrusted || !needsProvider);
  const linked = await confirmingProviders(sql, live.personId, { factors, providers: usable });
  const providers = linked.map(({ name, label }) => ({ name, label }));
  return { password, code, passkey, providers, signIn: !password && !code && !passkey && providers.length === 0 };
}
