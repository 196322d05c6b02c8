/** Checks a code that a person enters as a second factor: of the authenticator app, or a recovery code. Each works once, on all nodes.
 * Called by sign-in.ts and confirm.ts. */
import { Problem } from "../ops/problem.ts";
import type { Sql } from "../postgres/pool.ts";
import type { Secrets } from "../postgres/sealing.ts";
import { hashRecoveryCode } from "./recovery-codes.ts";
import { findTotp, useRecoveryCode, useTotpStep } from "./store/factors.ts";
import { readTotpCode, totpStep } from "./totp.ts";

export type WrongCode = "wrong_code" | "reused_code";

export type Codes = {
  /** Uses the code up. */
  use(personId: string, text: string): Promise<"right" | WrongCode>;
};

export function createCodes(deps: { sql: Sql; secrets: Pick<Secrets, "open">; nowMs(): number }): Codes {
  const { sql } = deps;

  async function useTotp(personId: string, code: string): Promise<"right" | WrongCode> {
    const totp = await findTotp(sql, personId);
    if (!totp?.isConfirmed) return "wrong_code";
    const secret = deps.secrets.open(totp.secret, totpContext(personId));
    const step = await totpStep(secret, code, deps.nowMs());
    if (step === undefined) return "wrong_code";
    return (await useTotpStep(sql, personId, step)) ? "right" : "reused_code";
  }

  return {
    async use(personId, text) {
      const code = readTotpCode(text);
      if (code !== undefined) return await useTotp(personId, code);
      const hash = hashRecoveryCode(personId, text);
      return hash !== undefined && (await useRecoveryCode(sql, personId, hash)) ? "right" : "wrong_code";
    },
  };
}

/** Seals the secret of a person's app: it does not open in the row of another person. */
export function totpContext(personId: string): string {
  return `totp ${personId}`;
}

export function refusedCode(reason: WrongCode): Problem {
  const description =
    reason === "reused_code"
      ? "was used already. Wait for the next code."
      : "is wrong or was used already. Check that the clock of your device is right.";
  return new Problem("unauthenticated", `The code ${description}`, { violations: [{ field: "code", description }] });
}
