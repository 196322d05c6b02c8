/** Decides what a person without a workspace may do. With open sign-up the person creates one. Otherwise the person was removed by the
 * owners, and only an invitation makes the account work again. Called by people.ts and session-caller.ts. */
import { Problem } from "../ops/problem.ts";
import type { Sql } from "../postgres/pool.ts";
import { isInvited, isMemberOrOperator, mayFoundService } from "./store/access.ts";

/** POSTHORN_SIGNUP: who may sign up without an invitation. */
export type SignUpMode = "first" | "open" | "closed";

type Someone = { id: string; email: string };

export type Access = {
  /** Whether the person may call the API, for example to create a workspace. */
  mayUse(person: Someone): Promise<boolean>;
  /** Whether the person may have a session: also to accept an open invitation, but nothing else then. */
  maySignIn(person: Someone): Promise<boolean>;
};

export function createAccess({ sql, mode }: { sql: Sql; mode: SignUpMode }): Access {
  async function mayUse(person: Someone): Promise<boolean> {
    if (mode === "open" || (await isMemberOrOperator(sql, person.id))) return true;
    // Where no workspace has an owner, no one could invite the operator.
    return await mayFoundService(sql, person.id);
  }
  return {
    mayUse,
    maySignIn: async (person) => (await mayUse(person)) || (await isInvited(sql, person.email)),
  };
}

export function notAMember(): Problem {
  return new Problem(
    "permission_denied",
    "You are not a member of any workspace. Ask an owner to invite you; the invitation makes your account work again.",
  );
}
