/** How a signed-in person can sign in: the password and the linked providers. The last one cannot be removed. Called by pages.ts. */
import { record } from "../../audit/record.ts";
import { Problem } from "../../ops/problem.ts";
import type { Sql } from "../../postgres/pool.ts";
import type { Visitor } from "../open-session.ts";
import type { Provider } from "../rules/provider.ts";
import { hasPassword, type LinkedIdentity, listIdentities, lockPerson, removeIdentity } from "../store/identities.ts";
import type { LiveSession } from "../store/sessions.ts";

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
      const { personId } = await deps.requireRecentSession(visitor);
      await sql.begin(async (tx) => {
        await lockPerson(tx, personId);
        const found = (await list(tx, personId)).linked.find((one) => one.id === id);
        if (!found) throw new Problem("not_found", "This provider is not linked with your account.");
        if (!found.mayUnlink) throw new Problem("failed_precondition", onlyMethod);
        await removeIdentity(tx, personId, id);
        const actor = { kind: "person" as const, id: personId, personId, address: visitor.address };
        await record(tx, actor, {
          action: "account.unlinked",
          target: { kind: "person", id: personId },
        });
      });
      return await list(sql, personId);
    },
  };
}

const onlyMethod = "You can sign in only with this provider. Set a password or link another provider first.";

/** As the library compares them: https://login.example.com and https://login.example.com/ are one. */
function sameIssuer(a: string, b: string): boolean {
  return URL.canParse(a) && URL.canParse(b) && new URL(a).href === new URL(b).href;
}
