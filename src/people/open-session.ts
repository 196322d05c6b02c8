/** Opens a session for a person who has proved who they are, in whichever way. Called by people.ts. */
import { Problem } from "../ops/problem.ts";
import type { Sql } from "../postgres/pool.ts";
import { type Access, notAMember } from "./access.ts";
import { readSessionToken, sessionCookie, signToken } from "./cookies.ts";
import { endOldSessions, endSession, insertSession, type Proof, sessionMs } from "./store/sessions.ts";
import type { Person } from "./store.ts";

/** More sessions of one person end the oldest ones. */
const keptSessions = 50;

/** The browser that makes a request. */
export type Visitor = { cookie: string | undefined; userAgent: string | undefined; address: string };

export type SessionOpener = {
  /** Also ends the session of the cookie that came with the request. Returns the cookies to set. */
  open(person: Person, proof: Proof, visitor: Visitor): Promise<{ token: string; cookies: string[] }>;
};

export function createSessionOpener(deps: {
  sql: Sql;
  access: Access;
  /** Signs the cookies. */
  secret: string;
  cookieName: string;
  nowMs(): number;
}): SessionOpener {
  const { sql, secret, cookieName } = deps;
  return {
    async open(person, proof, visitor) {
      if (!(await deps.access.maySignIn(person))) throw notAMember();
      const { address } = visitor;
      const userAgent = visitor.userAgent?.slice(0, 300);
      const token = await insertSession(sql, { personId: person.id, proof, userAgent, address, nowMs: deps.nowMs() });
      if (token === undefined) throw accountDisabled();
      const before = readSessionToken(visitor.cookie, cookieName, secret);
      if (before !== undefined) await endSession(sql, before);
      await endOldSessions(sql, { personId: person.id, keptToken: token, others: keptSessions - 1 });
      return { token, cookies: [sessionCookie(signToken(token, secret), cookieName, sessionMs / 1000)] };
    },
  };
}

/** Only a person who has proved who they are learns this. */
function accountDisabled(): Problem {
  return new Problem("permission_denied", "This account is disabled. Ask the operator of this service to enable it.");
}
