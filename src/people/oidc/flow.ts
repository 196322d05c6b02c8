/** Single sign-on: sends the browser to a provider, and takes it back with the provider's answer. An answer counts once, within ten minutes,
 * and in the browser that began. Parts: client.ts (the protocol), admit.ts (who the person is), confirm.ts (recent proofs), methods.ts
 * (linked providers of a person), refusals.ts (counts and limits). Called by pages.ts; docs/decisions/0040-single-sign-on.md. */
import { randomBytes } from "node:crypto";
import { record } from "../../audit/record.ts";
import { hashToken } from "../../ops/one-time-token.ts";
import { invalid, Problem } from "../../ops/problem.ts";
import { networksOf } from "../../shares/address.ts";
import { createBudget } from "../../shares/budget.ts";
import { createAttemptLimit, createClientLimit } from "../../shares/guessing.ts";
import type { SignUpMode } from "../access.ts";
import { cookieValue } from "../cookies.ts";
import { endOperatorWithoutFactor } from "../factors.ts";
import { findInvitation } from "../invitation-links.ts";
import { looksLikeToken } from "../links.ts";
import { personActor, type Visitor } from "../open-session.ts";
import { OidcRefusal } from "../rules/oidc-refusal.ts";
import { localPath, type Provider } from "../rules/provider.ts";
import { findFactors, hasFactor } from "../store/factors.ts";
import { addIdentity, findByIdentity, listIdentities } from "../store/identities.ts";
import { addFlow, type Flow, flowMs, personOfSession, takeFlow } from "../store/oidc-flows.ts";
import { type LiveSession, lockSession, type Proof } from "../store/sessions.ts";
import type { Person } from "../store.ts";
import { type AdmitDeps, admit } from "./admit.ts";
import { type Answered, createOidcClient } from "./client.ts";
import { confirm } from "./confirm.ts";
import type { OidcRefusals } from "./refusals.ts";

export type OidcDeps = AdmitDeps & {
  providers: readonly Provider[];
  mode: SignUpMode;
  /** Served over https, so that the cookie gets the Secure attribute. */
  secure: boolean;
  base(): string;
  refusals: OidcRefusals;
  /** Opens the session, or asks for a second factor first. The cookies belong to either. */
  begin(person: Person, proof: Proof, visitor: Visitor): Promise<{ cookies: string[]; needsSecondFactor?: boolean }>;
  requireSession(visitor: Visitor): Promise<LiveSession>;
  /** Throws unless the person is signed in and proved recently who they are: a link is another way to sign in. */
  requireRecentSession(visitor: Visitor): Promise<LiveSession>;
};

export type StartInput = {
  provider: string;
  /** Instead of signing in: link the provider to the account of the session, or prove anew who the person of the session is. */
  purpose: "sign_in" | "link" | "confirm";
  /** A path of the dashboard to open afterwards. */
  returnPath: string;
  /** The token of an invitation to accept, or "". */
  invitation: string;
};

/** Where the browser goes next, and its cookies. */
export type Next = { location: string; cookies: string[] };

/** Where a refusal is shown, and whom it is about. */
type Place = { page: string; provider: string; personId?: string | undefined; isConfirmation?: boolean };

export type Oidc = ReturnType<typeof createOidc>;

const callbackPath = "/auth/oidc/callback";
/** Sign-ins that wait for a provider at a time. */
const maxWaiting = 32;

export function createOidc(deps: OidcDeps) {
  const { sql, log } = deps;
  const client = createOidcClient(deps);
  const cookieName = `${deps.secure ? "__Host-" : ""}posthorn.oidc`;
  const starts = createClientLimit({ burst: 200, periodMs: 2_000 }, "provider sign-ins");
  /** Each start stores a row for ten minutes. */
  const startsOfNode = createAttemptLimit({ burst: 2000, periodMs: 50 }, "provider sign-ins of all");
  const turns = createBudget({ total: maxWaiting, perOwner: maxWaiting / 4 });

  const providerOf = (name: string) => deps.providers.find((one) => one.name === name);

  async function start(input: StartInput, visitor: Visitor): Promise<{ url: string; cookies: string[] }> {
    const provider = providerOf(input.provider);
    if (!provider) throw invalid([{ field: "provider", description: "is not a provider of this service" }]);
    const linking = input.purpose === "link" ? await deps.requireRecentSession(visitor) : undefined;
    const confirming = input.purpose === "confirm" ? await deps.requireSession(visitor) : undefined;
    const inviteHash = await inviteHashOf(input.invitation);
    for (const [limit, key] of [
      [starts, visitor.address],
      [startsOfNode, "node"],
    ] as const) {
      limit.check(key, performance.now());
      limit.take(key, performance.now());
    }
    const { state, nonce, codeVerifier } = await client.random();
    const redirectUri = deps.base() + callbackPath;
    const owner = networksOf(visitor.address).site;
    const url = await turns
      .run(owner, async () => {
        // Some of these providers also refuse the request to ask again.
        if (confirming && (await client.saysWhen(provider)) === false) throw cannotConfirm(provider);
        return await client.begin(provider, {
          state,
          nonce,
          codeVerifier,
          redirectUri,
          again: confirming !== undefined,
        });
      })
      .catch((error: unknown) => {
        if (error instanceof Problem) throw error;
        log.warn({ err: error, provider: provider.name }, "cannot reach a provider of single sign-on");
        if (error instanceof OidcRefusal) throw new Problem("unavailable", error.message);
        throw error;
      });
    // Two tabs of a browser share the cookie, so that both can finish.
    const browser = browserOf(visitor) ?? randomBytes(32).toString("base64url");
    const returnPath = linking ? "/account" : localPath(input.returnPath);
    const flow = { provider: provider.name, issuer: provider.issuer, nonce, codeVerifier, redirectUri, returnPath };
    const sessions = { sessionId: linking?.id ?? null, confirmSessionId: confirming?.id ?? null };
    await addFlow(sql, { state, browser }, { ...flow, ...sessions, inviteHash });
    return { url, cookies: [browserCookie(browser)] };
  }

  async function inviteHashOf(token: string): Promise<string | null> {
    if (token === "") return null;
    const invitation = looksLikeToken(token) ? await findInvitation(sql, token, deps.mode) : undefined;
    if (!invitation) throw new Problem("not_found", "This invitation is unknown, already used or expired.");
    return hashToken(invitation.token);
  }

  /** Never throws: whatever happens, the browser gets a page of the dashboard. */
  async function callback(query: string, visitor: Visitor): Promise<Next> {
    const place: Place = { page: "/sign-in", provider: "" };
    try {
      deps.refusals.check(visitor.address);
      return await finish(query, visitor, place);
    } catch (error) {
      const reason = await deps.refusals.handle(error, { ...place, address: visitor.address });
      const provider = place.provider === "" ? "" : `&provider=${place.provider}`;
      return { location: `${place.page}?problem=${reason}${provider}`, cookies: [] };
    }
  }

  async function finish(query: string, visitor: Visitor, place: Place): Promise<Next> {
    const parameters = new URLSearchParams(query);
    const [state = "", ...more] = parameters.getAll("state");
    const browser = browserOf(visitor);
    const isWhole = browser !== undefined && more.length === 0 && /^[\w-]{43}$/.test(state);
    const flow = isWhole ? await takeFlow(sql, { state, browser }) : undefined;
    const sessionId = flow?.sessionId ?? flow?.confirmSessionId;
    if (sessionId) {
      place.page = "/account";
      place.isConfirmation = flow!.confirmSessionId !== null;
      place.personId = (await personOfSession(sql, sessionId))?.id;
    }
    const provider = flow && providerOf(flow.provider);
    // The operator may have changed the settings meanwhile.
    if (!flow || !provider || provider.issuer !== flow.issuer) throw new OidcRefusal("oidc_state");
    place.provider = provider.name;
    const owner = networksOf(visitor.address).site;
    const answered = await turns.run(owner, () => client.finish(provider, { ...flow, state }, query));
    const next = await act(flow, provider, answered, visitor);
    deps.refusals.succeeded(visitor.address);
    return next;
  }

  async function act(flow: Flow, provider: Provider, answered: Answered, visitor: Visitor): Promise<Next> {
    if (flow.sessionId !== null) return await link(flow.sessionId, provider, answered, visitor);
    if (flow.confirmSessionId === null) return await signIn(flow, provider, answered, visitor);
    await confirm({ ...deps, client }, flow.confirmSessionId, { ...answered, provider, visitor });
    return { location: flow.returnPath, cookies: [] };
  }

  async function signIn(flow: Flow, provider: Provider, answered: Answered, visitor: Visitor): Promise<Next> {
    const arrival = { ...answered, provider, inviteHash: flow.inviteHash, address: visitor.address };
    const person = await admit(deps, arrival);
    const { issuer, subject, signedInAgoMs } = answered;
    const saysWhen = signedInAgoMs !== undefined || (await client.saysWhen(provider)) !== false;
    const proof: Proof = {
      by: "oidc",
      hasSecondFactor: provider.secondFactorTrusted,
      // The person may have signed in there long ago, and only clicked a button now.
      agoMs: signedInAgoMs ?? null,
      mayAddFirstFactor: !saysWhen,
      identity: { issuer, subject },
    };
    const { cookies, needsSecondFactor } = await deps.begin(person, proof, visitor);
    return { location: needsSecondFactor ? "/sign-in?step=second-factor" : flow.returnPath, cookies };
  }

  /** The session's cookie does not come with a request that begins at another site; the flow remembers the session instead. */
  async function link(sessionId: string, provider: Provider, answered: Answered, visitor: Visitor): Promise<Next> {
    const person = await personOfSession(sql, sessionId);
    if (!person || !(await deps.access.maySignIn(person))) throw new OidcRefusal("oidc_session");
    const next = { location: `/account?linked=${provider.name}`, cookies: [] };
    const owner = await findByIdentity(sql, answered);
    if (owner?.id === person.id) return next;
    const personId = person.id;
    if (owner) throw new OidcRefusal("oidc_linked_elsewhere", { personId });
    await sql.begin(async (tx) => {
      const locked = await lockSession(tx, { id: sessionId, personId });
      if (!locked) throw new OidcRefusal("oidc_session", { personId });
      // The recent proof was checked at the start; the first factor may be newer.
      if (!locked.hasSecondFactor && hasFactor(await findFactors(tx, personId)))
        throw new OidcRefusal("oidc_needs_factor", { personId });
      const linked = await listIdentities(tx, personId);
      if (linked.some(({ issuer }) => issuer === answered.issuer))
        throw new OidcRefusal("oidc_already_linked", { personId });
      if (!(await addIdentity(tx, { personId, identity: answered, nowMs: deps.nowMs() })))
        throw new OidcRefusal("oidc_linked_elsewhere", { personId });
      await record(tx, personActor(personId, visitor), {
        action: "account.linked",
        target: { kind: "person", id: personId },
      });
      if (!locked.hasSecondFactor) await endOperatorWithoutFactor(tx, personId, visitor);
    });
    return next;
  }

  function browserOf(visitor: Visitor): string | undefined {
    const value = cookieValue(visitor.cookie, cookieName);
    return value !== undefined && /^[\w-]{43}$/.test(value) ? value : undefined;
  }

  /** Lax: it must come with the request that the provider's redirect makes. */
  function browserCookie(value: string): string {
    const secure = deps.secure ? "; Secure" : "";
    return `${cookieName}=${value}; Max-Age=${flowMs / 1000}; Path=/; HttpOnly${secure}; SameSite=Lax`;
  }

  return { start, callback };
}

function cannotConfirm({ label }: Provider): Problem {
  return new Problem(
    "failed_precondition",
    `${label} does not say when people signed in there, so it cannot confirm that it is you. Sign out and sign in again. Within 15 minutes after that, confirm with your password, or add a passkey or an authenticator app on your account page and confirm with that.`,
  );
}
