/** A person's second factors: authenticator app, recovery codes and passkeys. Every change needs a recent proof of identity and is in the
 * audit log. Called by people.ts for the endpoints under /auth. */
import { type AuditChange, audited, record } from "../audit/record.ts";
import { freshRequired } from "../http/proof.ts";
import { invalid, Problem } from "../ops/problem.ts";
import { makeUuid } from "../postgres/ids.ts";
import type { Sql } from "../postgres/pool.ts";
import type { Secrets } from "../postgres/sealing.ts";
import { refusedCode, totpContext } from "./codes.ts";
import { confirmBy } from "./confirm.ts";
import { createFactorGuard } from "./guards.ts";
import { personActor, signedOut, type Visitor } from "./open-session.ts";
import { type Passkeys, refusedPasskey } from "./passkeys.ts";
import { hashRecoveryCode, makeRecoveryCodes } from "./recovery-codes.ts";
import type { RefusalReason, Refusals } from "./refusals.ts";
import type { Provider } from "./rules/provider.ts";
import {
  beginTotp,
  confirmTotp,
  deleteTotp,
  endOperator,
  type Factors,
  findFactors,
  findTotp,
  hasFactor,
  isRequiredByWorkspace,
  onFactorAdded,
  onLastFactorRemoved,
  replaceRecoveryCodes,
} from "./store/factors.ts";
import { deletePasskey, insertPasskey, listPasskeys, type Passkey, renamePasskey } from "./store/passkeys.ts";
import { type LiveSession, type LockedSession, lockSession } from "./store/sessions.ts";
import { makeTotpSecret, readTotpCode, totpStep, totpUri } from "./totp.ts";

export const maxPasskeys = 10;

export type FactorDeps = {
  sql: Sql;
  secrets: Pick<Secrets, "seal" | "open">;
  passkeys: Passkeys;
  refusals: Refusals;
  /** The operator requires a second factor of every person. */
  requireSecondFactor: boolean;
  /** Whether people sign in with passwords here. */
  passwordSignIn: boolean;
  providers: readonly Provider[];
  requireRecent(live: LiveSession, factors: Factors): void;
  nowMs(): number;
};

export function createFactors(deps: FactorDeps) {
  const { sql, secrets } = deps;
  const guard = createFactorGuard("change");

  async function requireRecent(live: LiveSession): Promise<Factors> {
    const factors = await findFactors(sql, live.personId);
    deps.requireRecent(live, factors);
    return factors;
  }

  /** A person who has nothing to confirm with, and whose provider cannot confirm either, may add the first factor soon after the sign-in. */
  async function requireRecentToAdd(live: LiveSession): Promise<Factors> {
    const factors = await findFactors(sql, live.personId);
    const hasOther = hasFactor(factors) || (deps.passwordSignIn && factors.hasPassword);
    if (hasOther || !live.mayAddFirstFactor) deps.requireRecent(live, factors);
    return factors;
  }

  /** Adds a factor, and recovery codes if the person has none. Returns the new codes. */
  async function add(
    live: LiveSession,
    visitor: Visitor,
    insert: (tx: Sql) => Promise<AuditChange | undefined>,
  ): Promise<string[] | undefined> {
    return await sql.begin(async (tx) => {
      const { hasSecondFactor } = await requireLocked(tx, live);
      const before = await findFactors(tx, live.personId);
      // The recent proof was checked before the lock; another session may have added the first factor meanwhile.
      if (!hasSecondFactor && hasFactor(before)) throw freshRequired();
      const change = await insert(tx);
      if (!change) return undefined;
      await onFactorAdded(tx, live.personId, live.id);
      await record(tx, personActor(live.personId, visitor), change);
      if (!hasSecondFactor) await endOperatorWithoutFactor(tx, live.personId, visitor);
      return before.recoveryCodes > 0 ? [] : await newCodes(tx, live.personId);
    });
  }

  /** Removes a factor. The last one stays while a second factor is required. */
  async function remove(
    live: LiveSession,
    visitor: Visitor,
    removal: { run(tx: Sql): Promise<boolean>; change: AuditChange; what: string },
  ): Promise<void> {
    await requireRecent(live);
    await sql.begin(async (tx) => {
      const { isOperator } = await requireLocked(tx, live);
      if (!(await removal.run(tx))) throw new Problem("not_found", `You have no ${removal.what}.`);
      if (!hasFactor(await findFactors(tx, live.personId))) {
        const isRequired = deps.requireSecondFactor || isOperator;
        if (isRequired || (await isRequiredByWorkspace(tx, live.personId))) throw lastFactor();
        await onLastFactorRemoved(tx, live.personId);
      }
      await record(tx, personActor(live.personId, visitor), removal.change);
    });
  }

  async function refuse(reason: RefusalReason, { personId }: LiveSession, { address }: Visitor): Promise<void> {
    await deps.refusals.add({ action: "confirmation.refused", reason, personId, address });
  }

  async function newCodes(tx: Sql, personId: string): Promise<string[]> {
    const codes = makeRecoveryCodes();
    await replaceRecoveryCodes(
      tx,
      personId,
      codes.map((code) => hashRecoveryCode(personId, code)!),
    );
    return codes;
  }

  return {
    async list(live: LiveSession, visitor: Visitor) {
      const [factors, passkeys] = [await findFactors(sql, live.personId), await listPasskeys(sql, live.personId)];
      return {
        totp: factors.totp,
        recoveryCodes: factors.recoveryCodes,
        passkeys,
        isRequired: deps.requireSecondFactor || (await isRequiredByWorkspace(sql, live.personId)),
        hasSecondFactor: live.hasSecondFactor,
        confirm: await confirmBy(deps, live, factors),
        passkeyOrigin: deps.passkeys.party(visitor.host)?.origin ?? null,
      };
    },

    /** Returns a new secret for the app, which counts only after `confirmTotp`. */
    async beginTotp(live: LiveSession): Promise<{ secret: string; uri: string }> {
      await requireRecentToAdd(live);
      const secret = await makeTotpSecret();
      const sealed = secrets.seal(secret, totpContext(live.personId));
      if (!(await beginTotp(sql, { personId: live.personId, secret: sealed })))
        throw new Problem("already_exists", "You have an authenticator app already. Remove it first.");
      return { secret, uri: await totpUri(secret, live.email) };
    },

    /** Returns the recovery codes, if there are new ones. */
    async confirmTotp(text: string, live: LiveSession, visitor: Visitor): Promise<string[]> {
      await requireRecentToAdd(live);
      const attempt = { account: live.personId, address: visitor.address };
      guard.check(attempt, performance.now());
      guard.take(attempt, performance.now());
      const totp = await findTotp(sql, live.personId);
      if (!totp || totp.isConfirmed)
        throw new Problem("failed_precondition", "There is no new authenticator app to confirm. Start again.");
      const code = readTotpCode(text);
      const secret = secrets.open(totp.secret, totpContext(live.personId));
      const step = code === undefined ? undefined : await totpStep(secret, code, deps.nowMs());
      if (step === undefined) {
        await refuse("wrong_code", live, visitor);
        throw refusedCode("wrong_code");
      }
      guard.giveBack(attempt, performance.now());
      const codes = await add(live, visitor, async (tx) =>
        (await confirmTotp(tx, { personId: live.personId, secret: totp.secret, step }))
          ? { action: "factor.added", target: { kind: "person", id: live.personId }, fields: ["totp"] }
          : undefined,
      );
      if (!codes) throw new Problem("aborted", "The authenticator app was changed in another window. Start again.");
      return codes;
    },

    removeTotp: (live: LiveSession, visitor: Visitor) =>
      remove(live, visitor, {
        run: (tx) => deleteTotp(tx, live.personId),
        change: { action: "factor.removed", target: { kind: "person", id: live.personId }, fields: ["totp"] },
        what: "authenticator app",
      }),

    async replaceRecoveryCodes(live: LiveSession, visitor: Visitor): Promise<string[]> {
      const factors = await requireRecent(live);
      if (!hasFactor(factors)) throw new Problem("failed_precondition", "Add an authenticator app or a passkey first.");
      return await sql.begin(async (tx) => {
        await requireLocked(tx, live);
        const target = { kind: "person", id: live.personId } as const;
        await record(tx, personActor(live.personId, visitor), { action: "recovery_codes.replaced", target });
        return await newCodes(tx, live.personId);
      });
    },

    async passkeyOptions(live: LiveSession, visitor: Visitor) {
      await requireRecentToAdd(live);
      const person = { id: live.personId, email: live.email, name: live.name };
      return await deps.passkeys.addOptions(person, live.id, visitor.host);
    },

    async addPasskey(
      input: { name: string; credential: unknown },
      live: LiveSession,
      visitor: Visitor,
    ): Promise<{ passkey: Passkey; recoveryCodes: string[] }> {
      const factors = await requireRecentToAdd(live);
      const name = nameFrom(input.name);
      if (factors.passkeys >= maxPasskeys) throw tooManyPasskeys();
      const accepted = await deps.passkeys.accept(input.credential, live.id, visitor.host);
      if (typeof accepted === "string") {
        await refuse(accepted, live, visitor);
        throw refusedPasskey();
      }
      let passkey: Passkey | undefined;
      const recoveryCodes = await add(live, visitor, async (tx) => {
        if ((await findFactors(tx, live.personId)).passkeys >= maxPasskeys) throw tooManyPasskeys();
        const id = makeUuid(deps.nowMs());
        passkey = await insertPasskey(tx, { ...accepted, id, personId: live.personId, name });
        return passkey && { action: "factor.added", target: { kind: "passkey", id }, fields: ["passkey"] };
      });
      if (!passkey || !recoveryCodes) throw new Problem("already_exists", "This passkey was added already.");
      return { passkey, recoveryCodes };
    },

    async renamePasskey(
      input: { id: string | undefined; name: string },
      live: LiveSession,
      visitor: Visitor,
    ): Promise<void> {
      const name = nameFrom(input.name);
      const { id } = input;
      if (!id) throw noSuchPasskey();
      const renamed = await audited(
        sql,
        personActor(live.personId, visitor),
        (tx) => renamePasskey(tx, { personId: live.personId, id, name }),
        (done) => (done ? { action: "factor.updated", target: { kind: "passkey", id }, fields: ["name"] } : undefined),
      );
      if (!renamed) throw noSuchPasskey();
    },

    async removePasskey(id: string | undefined, live: LiveSession, visitor: Visitor): Promise<void> {
      if (!id) throw noSuchPasskey();
      await remove(live, visitor, {
        run: (tx) => deletePasskey(tx, live.personId, id),
        change: { action: "factor.removed", target: { kind: "passkey", id }, fields: ["passkey"] },
        what: "passkey with this id",
      });
    },
  };
}

async function requireLocked(tx: Sql, live: LiveSession): Promise<LockedSession> {
  const locked = await lockSession(tx, live);
  if (!locked) throw signedOut();
  return locked;
}

/** Called when a session without a second factor adds a factor or a provider, which may be trusted as one. The browser may belong to a thief
 * of the password, so an operator has to be appointed again. */
export async function endOperatorWithoutFactor(tx: Sql, personId: string, visitor: Visitor): Promise<void> {
  if (!(await endOperator(tx, personId))) return;
  const target = { kind: "person", id: personId } as const;
  await record(tx, personActor(personId, visitor), { action: "operator.removed", target });
}

function nameFrom(text: string): string {
  const name = text.trim();
  const length = [...name].length;
  if (length < 1 || length > 60)
    throw invalid([{ field: "name", description: `must have 1 to 60 characters, has ${length}` }]);
  if (/[\p{Cc}\u2028\u2029]/u.test(name) || !name.isWellFormed())
    throw invalid([{ field: "name", description: "must not contain control characters" }]);
  return name;
}

function noSuchPasskey(): Problem {
  return new Problem("not_found", "You have no passkey with this id.");
}

function tooManyPasskeys(): Problem {
  return new Problem("resource_exhausted", `You have ${maxPasskeys} passkeys. Remove one first.`);
}

function lastFactor(): Problem {
  return new Problem(
    "failed_precondition",
    "This is your last second factor, and a second factor is required. Add another one first.",
    { reason: "SECOND_FACTOR_REQUIRED" },
  );
}
