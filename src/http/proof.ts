/** What a signed-in person must have proved before a call: a second factor where one is required, and who they are within the last minutes
 * before a sensitive change. Called by gate.ts, by handlers that know only later that a change is sensitive, and by people. */
import { Problem } from "../ops/problem.ts";

/** How a person of a session has proved who they are. */
export type PersonProof = {
  hasSecondFactor: boolean;
  /** The workspace of the call, or the operator, requires a second factor. */
  needsSecondFactor: boolean;
  /** Milliseconds since the last proof, by service time. Null: unknown. */
  agoMs: number | null;
};

/** A proof counts as recent for this long. */
const freshMs = 15 * 60_000;

export function isFresh(agoMs: number | null | undefined): boolean {
  return typeof agoMs === "number" && agoMs <= freshMs;
}

export function requireFresh(proof: PersonProof | undefined): void {
  if (isFresh(proof?.agoMs)) return;
  throw freshRequired();
}

export function freshRequired(): Problem {
  return new Problem(
    "failed_precondition",
    "Confirm that it is you before this change: your last proof of identity is older than 15 minutes.",
    { reason: "FRESH_AUTHENTICATION_REQUIRED" },
  );
}

export function requireSecondFactor(proof: PersonProof | undefined): void {
  if (proof?.needsSecondFactor && !proof.hasSecondFactor) throw secondFactorRequired();
}

export function secondFactorRequired(): Problem {
  return new Problem(
    "permission_denied",
    "This workspace requires a second factor. Add one on your account page, or sign in with the one that you have.",
    { reason: "SECOND_FACTOR_REQUIRED" },
  );
}
