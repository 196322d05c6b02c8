/** The SQL of sign-ins at a provider that have begun. Called by ../oidc/flow.ts. */
import { hashToken } from "../../ops/one-time-token.ts";
import type { Sql } from "../../postgres/pool.ts";
import { isLive } from "./sessions.ts";

export type Flow = {
  provider: string;
  issuer: string;
  nonce: string;
  codeVerifier: string;
  redirectUri: string;
  returnPath: string;
  /** The session whose account the provider is linked with. */
  sessionId: string | null;
  /** The session whose person proves anew who they are. */
  confirmSessionId: string | null;
  inviteHash: string | null;
};

/** `browser` is the value of the cookie that binds the flow to the browser. */
type FlowKey = { state: string; browser: string };

export const flowMs = 600_000;

export async function addFlow(sql: Sql, { state, browser }: FlowKey, flow: Flow): Promise<void> {
  await sql.write`
    insert into oidc_flows (state_hash, browser_hash, provider, issuer, nonce, code_verifier, redirect_uri, return_path, session_id,
      confirm_session_id, invite_hash, expires_at, service_expires_at)
    select ${hashToken(state)}, ${hashToken(browser)}, ${flow.provider}, ${flow.issuer}, ${flow.nonce}, ${flow.codeVerifier},
      ${flow.redirectUri}, ${flow.returnPath}, ${flow.sessionId}::uuid, ${flow.confirmSessionId}::uuid, ${flow.inviteHash}, wall_time() + length,
      service_time() + length
    from (select ${`${flowMs} milliseconds`}::interval as length) l`;
}

/** Deletes the flow and returns it: each answer of a provider counts once. A request from another browser leaves the flow alone. */
export async function takeFlow(sql: Sql, { state, browser }: FlowKey): Promise<Flow | undefined> {
  const [row] = await sql.write<Flow[]>`
    delete from oidc_flows where state_hash = ${hashToken(state)} and browser_hash = ${hashToken(browser)}
      and expires_at > wall_time() and service_expires_at > (select service_time())
    returning provider, issuer, nonce, code_verifier as "codeVerifier", redirect_uri as "redirectUri", return_path as "returnPath",
      session_id as "sessionId", confirm_session_id as "confirmSessionId", invite_hash as "inviteHash"`;
  return row;
}

export type PersonOfSession = { id: string; email: string; hasSecondFactor: boolean };

/** The person of a session that has not ended. Primary key of people_sessions. */
export async function personOfSession(sql: Sql, sessionId: string): Promise<PersonOfSession | undefined> {
  const [row] = await sql<PersonOfSession[]>`
    select p.id, p.email, s.has_second_factor as "hasSecondFactor" from people_sessions s join people p on p.id = s.person_id
    where s.id = ${sessionId} and ${isLive(sql)}`;
  return row;
}
