/** Opens a session for a person who has proved who they are, in whichever way. Called by sign-in.ts and people.ts. */
import { record } from "../audit/record.ts";
import { Problem } from "../ops/problem.ts";
import type { Sql } from "../postgres/pool.ts";
import { type Access, notAMember } from "./access.ts";
import { readSessionToken, sessionCookie, signToken } from "./cookies.ts";
import type { Refusals } from "./refusals.ts";
import { isDisabled } from "./store/access.ts";
import { endOldSessions, endSession, insertSession, type Proof, sessionMs } from "./store/sessions.ts";
import type { Person } from "./store.ts";

/** More sessions of one person end the oldest ones. */
const keptSessions = 50;

/** The browser that makes a request. */
export type Visitor = {
  cookie: string | undefined;
  userAgent: string | undefined;
  address: string;
  /** The Host header: the name that the browser uses for this service. */
  host?: string;
};

export type SessionOpener = {
  /** Also ends the session of the cookie that came with the request. Returns the cookies to set. */
  open(person: Person, proof: Proof, visitor: Visitor): Promise<{ token: string; cookies: string[] }>;
};

export function createSessionOpener(deps: {
  sql: Sql;
  access: Access;
  /** The first one signs cookies; all are accepted. */
  cookieSecrets(): readonly string[];
  cookieName: string;
  refusals: Refusals;
  nowMs(): number;
}): SessionOpener {
  const { sql, cookieName } = deps;
  return {
    async open(person, proof, visitor) {
      if (!(await deps.access.maySignIn(person))) throw notAMember();
      const { address } = visitor;
      const userAgent = visitor.userAgent?.slice(0, 300);
      const [signing] = deps.cookieSecrets();
      const before = readSessionToken(visitor.cookie, cookieName, deps.cookieSecrets());
      const token = await sql.begin(async (tx) => {
        const opened = await insertSession(tx, { personId: person.id, proof, userAgent, address, nowMs: deps.nowMs() });
        if (!opened) return undefined;
        if (before !== undefined) await endSession(tx, before);
        await endOldSessions(tx, { personId: person.id, keptToken: opened.token, others: keptSessions - 1 });
        const target = { kind: "session", id: opened.id } as const;
        await record(tx, personActor(person.id, visitor), { action: "session.opened", target });
        return opened.token;
      });
      if (token === undefined) throw await refusedProof(deps, person.id, visitor);
      return { token, cookies: [sessionCookie(signToken(token, signing!), cookieName, sessionMs / 1000)] };
    },
  };
}

export function signedOut(): Problem {
  return new Problem("unauthenticated", "You are not signed in, or your session has ended. Sign in again.");
}

/** A signed-in person in the audit log. */
export function personActor(personId: string, { address }: Visitor) {
  return { kind: "person", id: personId, personId, address } as const;
}

/** Why a session was not opened. Only a person who has proved who they are learns this. */
export async function refusedProof(
  { sql, refusals }: { sql: Sql; refusals: Refusals },
  personId: string,
  { address }: Visitor,
): Promise<Problem> {
  if (await isDisabled(sql, personId)) {
    await refusals.add({ action: "sign_in.refused", reason: "account_disabled", personId, address });
    return new Problem("permission_denied", "This account is disabled. Ask the operator of this service to enable it.");
  }
  return new Problem(
    "unauthenticated",
    "Your password, passkey or provider was changed or removed meanwhile. Sign in again.",
  );
}
