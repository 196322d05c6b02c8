/** How a signed-in person can sign in: the password and the linked providers. The last one cannot be removed. Called by pages.ts. */
import { record } from "../../audit/record.ts";
import { Problem } from "../../ops/problem.ts";
import type { Sql } from "../../postgres/pool.ts";
import { personActor, signedOut, type Visitor } from "../open-session.ts";
import { type Provider, sameIssuer } from "../rules/provider.ts";
import { hasSecondFactor } from "../second-factor.ts";
import { hasPassword, type LinkedIdentity, listIdentities, removeIdentity } from "../store/identities.ts";
import { type LiveSession, lockSession } from "../store/sessions.ts";

export type MethodDeps = {
  sql: Sql;
  providers: readonly Provider[];
  passwordSignIn: boolean;
  requireSession(visitor: Visitor): Promise<LiveSession>;
  /** Also throws without a recent proof. */
  requireRecentSession(visitor: Visitor): Promise<LiveSession>;
};

export type SignInMethods = {
  /** Whether the person has a password, and may use it. */
  password: boolean;
  /** `provider` is null for one that the operator has removed from the settings. */
  linked: { id: string; provider: string | null; label: string; issuer: string; linkedAt: Date; mayUnlink: boolean }[];
};

export function createMethods(deps: MethodDeps) {
  const { sql, providers } = deps;
  const providerOf = ({ issuer }: LinkedIdentity) => providers.find((one) => sameIssuer(one.issuer, issuer));

  async function list(tx: Sql, personId: string): Promise<SignInMethods> {
    const password = deps.passwordSignIn && (await hasPassword(tx, personId));
    const identities = await listIdentities(tx, personId);
    const working = identities.filter(providerOf);
    const linked = identities.map((identity) => {
      const { id, issuer, linkedAt } = identity;
      const provider = providerOf(identity);
      const mayUnlink = !provider || password || working.length > 1;
      return { id, provider: provider?.name ?? null, label: provider?.label ?? issuer, issuer, linkedAt, mayUnlink };
    });
    return { password, linked };
  }

  return {
    async list(visitor: Visitor): Promise<SignInMethods> {
      return await list(sql, (await deps.requireSession(visitor)).personId);
    },
    async unlink(id: string, visitor: Visitor): Promise<SignInMethods> {
      const { id: sessionId, personId } = await deps.requireRecentSession(visitor);
      await sql.begin(async (tx) => {
        const locked = await lockSession(tx, { id: sessionId, personId });
        if (!locked) throw signedOut();
        const found = (await list(tx, personId)).linked.find((one) => one.id === id);
        if (!found) throw new Problem("not_found", "This provider is not linked with your account.");
        if (!found.mayUnlink) throw new Problem("failed_precondition", onlyMethod);
        await removeIdentity(tx, personId, id);
        if (locked.isOperator && !(await hasSecondFactor(tx, personId, providers)))
          throw new Problem("failed_precondition", onlyFactor, { reason: "SECOND_FACTOR_REQUIRED" });
        await record(tx, personActor(personId, visitor), {
          action: "account.unlinked",
          target: { kind: "person", id: personId },
        });
      });
      return await list(sql, personId);
    },
  };
}

const onlyMethod = "You can sign in only with this provider. Set a password or link another provider first.";
const onlyFactor =
  "This provider is your only second factor, and operators need one. Add a passkey or an authenticator app first.";
